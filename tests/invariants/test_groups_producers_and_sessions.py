"""What coordinators owe members, what logs know of producers, and what brokers owe their controller, in small runs."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from highwater_lab.mutants import Mutant, applied
from highwater_runtime.log import build_batch
from highwater_runtime.log.records import iter_batches
from highwater_runtime.sim.invariants.producers import ProducerInvariants
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.wire.errors import ErrorCode

_SCHEDULE: Final = """
    - repeat:
        times: 3
        steps:
          - inject: {drop: {rpc: Produce, of: response}, for: 300ms}
          - wait: 3s
    - inject: {stop: {target: {broker: 1}, restartAfter: 1s}}
    - wait: 12s
    - admin: {reassign: {partition: __consumer_offsets-0, replicas: [2, 0]}}
    - wait: 20s
    - admin: {deleteTopic: {name: orders}}
    - wait: 5s
"""
_BROKEN: Final = {
    "knows one batch of a producer": (
        "log.producer_state:ProducerStates.update",
        "if len(entry.batches) > BATCHES_KEPT:",
        "if len(entry.batches) > 1:",
        "producer-state",
    ),
    "leaves a producer out of the snapshot": (
        "log.producer_state:ProducerStates.encode",
        "for producer_id, entry in sorted(self._entries.items()):",
        "for producer_id, entry in sorted(self._entries.items())[1:]:",
        "producer-state",
    ),
    "takes the last batch alone for repeated": (
        "log.producer_state:ProducerStates.check",
        "for known in entry.batches:",
        "for known in entry.batches[-1:]:",
        "producer-state",
    ),
    "goes on without a member": (
        "broker.groups.membership:Membership._remove",
        "self._prepare_if_possible(group)",
        "pass",
        "group-state",
    ),
    "assigns before the record is there": (
        "broker.groups.membership:Membership._store_assignment",
        "self._store.store_group(group, assignment, stored)",
        "stored(ErrorCode.NONE)",
        "group-state",
    ),
    "keeps the offsets of a deleted topic": (
        "broker.groups.coordinator:GroupCoordinator._forget_topic",
        "self.forget_offsets(group, gone, lambda _error: None)",
        "pass",
        "group-offset-stale",
    ),
    "asks for no fence at once": (
        "broker.kraft.lifecycle:Lifecycle._heartbeat_request",
        "want_fence=not self._caught_up,",
        "want_fence=False,",
        "unfencing-early",
    ),
    "stops without leave": (
        "broker.kraft.lifecycle:Lifecycle._alive",
        "if may_leave:",
        "if True:",
        "shutdown-early",
    ),
    "begins to lead without an epoch": (
        "broker.leadership:Leadership.begin",
        "p.log.assign_epoch_start(self.epoch, self.start_offset)",
        "pass",
        "leader-epoch-cache",
    ),
    "begins with one replica in sync": (
        "controller.topics:_partition_records",
        "isr=list(partition.isr),",
        "isr=list(partition.isr)[:1],",
        "new-partition-isr",
    ),
}


@pytest.mark.parametrize("broken", [None, *_BROKEN])
def test_each_is_found(simulate: Any, broken: str | None) -> None:
    where, old, new, found = ("", "", "", "") if broken is None else _BROKEN[broken]
    with nullcontext() if broken is None else applied(Mutant("broken", where, old, new, broken)):
        run = simulate(
            _SCHEDULE,
            config={"offsets.topic.num.partitions": 1, "group.initial.rebalance.delay.ms": 500},
            topic="{name: orders, partitions: 1, assignment: [[0, 1]]}, {name: other, partitions: 1}",
            workload="{producers: 2, rate: 60/s, requestTimeout: 500ms, groupMembers: 2}",
        )
    if broken is None:
        assert run.violations == set()
    else:
        assert found in run.violations


@pytest.mark.parametrize("broken", [False, True])
def test_who_waits_to_join_is_told_that_the_coordinator_is_another_broker(simulate: Any, broken: bool) -> None:
    where = "broker.groups.membership:Membership.give_up"
    silent = Mutant("silent", where, "self._stop_waiting(member, error)", "pass", "who waits is answered")
    with applied(silent) if broken else nullcontext():
        run = simulate(
            "[{wait: 2s}, {admin: {reassign: {partition: __consumer_offsets-0, replicas: [2, 1]}}}, {wait: 30s}]",
            config={"group.initial.rebalance.delay.ms": 8000},
            topic="{name: orders, partitions: 1}, {name: __consumer_offsets, partitions: 1, assignment: [[0, 1]],"
            " config: {cleanup.policy: compact}}",
            workload="{producers: 1, rate: 5/s, groupMembers: 2, topics: [orders]}",
        )
    assert run.violations == ({"group-state"} if broken else set())


@pytest.mark.parametrize(("now_ms", "is_broken"), [(1299, True), (1300, False)])
def test_a_repetition_may_be_refused_once_its_producer_may_be_forgotten(now_ms: int, is_broken: bool) -> None:
    """The producer is forgotten between its first batch and its second, which is taken for its first."""
    written = [
        build_batch(
            [b"v"], base_offset=n, producer_id=7, producer_epoch=3, base_sequence=n, timestamp_ms=1000 + 100 * n
        )
        for n in range(2)
    ]
    log = SimpleNamespace(
        partition="orders-0",
        log_start_offset=0,
        config=SimpleNamespace(producer_id_expiration_ms=300),
        headers=lambda begin: [batch for one in written for batch in iter_batches(one)],
    )
    replica = SimpleNamespace(topic="orders", index=0, log=log)
    live = SimpleNamespace(
        broker=lambda node: SimpleNamespace(partitions={0: replica}), latest_wall_ms=lambda node: now_ms
    )
    refusal = SimpleNamespace(index=0, error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    sent = SimpleNamespace(index=0, records=written[0])
    call = SimpleNamespace(
        response=SimpleNamespace(responses=[SimpleNamespace(name="orders", partition_responses=[refusal])]),
        body=SimpleNamespace(topic_data=[SimpleNamespace(name="orders", partition_data=[sent])]),
    )
    violations = Violations()
    simulator = SimpleNamespace(now_ns=0)
    ProducerInvariants(cast(Any, simulator), cast(Any, live), violations).on_request("broker-0", cast(Any, call))
    assert [one.name for one in violations.found] == ["producer-state"] * is_broken
