"""A bug put into the runtime is found under its name, by the simulator's invariant and by the check of recordings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from highwater_runtime.broker import leadership
from highwater_runtime.broker.partition import Partition
from highwater_runtime.log import log as log_module
from highwater_runtime.log.errors import OutOfOrderSequenceError
from highwater_runtime.log.log import Log
from highwater_runtime.log.producer_state import ProducerStates
from highwater_runtime.log.segments import SegmentChain

KILL_FOLLOWER = """
    - inject: {name: away, kill: {target: {broker: 1}}}
    - wait: 10s
"""
LATE_PRODUCES = """
    - repeat:
        times: 4
        steps:
          - inject: {drop: {rpc: Produce, of: request}, for: 20ms}
          - wait: 3s
"""
SMALL_SEGMENTS = "{{name: orders, partitions: 1, assignment: [[0, 1]], config: {{segment.bytes: 700, {}}}}}"
BY_SIZE = SMALL_SEGMENTS.format("retention.bytes: 2000")
BY_TIME = SMALL_SEGMENTS.format("retention.ms: 3000")
WAIT = '[{"wait": "12s"}]'

Mutation = Any


def acknowledge_below_min_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    next_hw = leadership.next_high_watermark
    monkeypatch.setattr(Partition, "under_min_isr", property(lambda self: False))
    monkeypatch.setattr(leadership, "next_high_watermark", lambda *a, **k: next_hw(*a, **{**k, "min_isr": 0}))


def write_another_byte_on_the_follower(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Log._write

    def wrong(self: Log, data: Any, batches: Any, leader_epoch: int, now_ms: int, role: str) -> Any:
        end = batches[-1].end_offset
        if self.partition == "orders-0" and role == "follower" and batches[0].base_offset <= 100 < end:
            data = bytes(data[:-1]) + bytes([data[-1] ^ 1])
        return write(self, data, batches, leader_epoch, now_ms, role)

    monkeypatch.setattr(Log, "_write", wrong)


def skip_a_batch_on_the_follower(monkeypatch: pytest.MonkeyPatch) -> None:
    write, append = Log._write, SegmentChain.append

    def wrong(self: Log, data: Any, batches: Any, leader_epoch: int, now_ms: int, role: str) -> Any:
        end = batches[-1].end_offset
        if self.partition == "orders-0" and role == "follower" and batches[0].base_offset <= 100 < end:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(SegmentChain, "append", lambda *_: None)
                return write(self, data, batches, leader_epoch, now_ms, role)
        return write(self, data, batches, leader_epoch, now_ms, role)

    assert append is SegmentChain.append
    monkeypatch.setattr(Log, "_write", wrong)


def take_any_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    check = ProducerStates.check

    def wrong(self: ProducerStates, batch: Any) -> Any:
        try:
            return check(self, batch)
        except OutOfOrderSequenceError:
            return None

    monkeypatch.setattr(ProducerStates, "check", wrong)


def delete_one_segment_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    deletable = log_module.deletable

    def wrong(segments: Any, *rest: Any) -> Any:
        reasons = deletable(segments, *rest)
        return [*reasons, reasons[-1]] if reasons and len(segments) > len(reasons) + 1 else reasons

    monkeypatch.setattr(log_module, "deletable", wrong)


def delete_records_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader deletes what is committed as if it had been sent DeleteRecords."""
    move = Partition.move_high_watermark

    def wrong(self: Partition, to: int) -> None:
        move(self, to)
        if self.leading is not None and to > 20 and self.log.log_start_offset == 0:
            self.begin_at(10, "delete-records")

    monkeypatch.setattr(Partition, "move_high_watermark", wrong)


def forget_who_set_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    deletable = log_module.deletable

    def wrong(segments: Any, config: Any, *rest: Any) -> Any:
        return deletable(segments, replace(config, retention_ms=1000), *rest)

    monkeypatch.setattr(log_module, "deletable", wrong)


MUTATIONS: list[tuple[str, Mutation, dict[str, Any]]] = [
    ("min-isr", acknowledge_below_min_isr, {"schedule": KILL_FOLLOWER, "min_isr": 2}),
    ("replica-incomplete", write_another_byte_on_the_follower, {"schedule": WAIT}),
    ("sequence-gap", take_any_sequence, {"schedule": LATE_PRODUCES, "workload": "{producers: 2, rate: 200/s}"}),
    ("retention-too-greedy", delete_one_segment_too_many, {"schedule": WAIT, "topic": BY_SIZE}),
    ("retention-too-greedy", delete_one_segment_too_many, {"schedule": WAIT, "topic": BY_TIME}),
    ("retention-too-greedy", delete_records_that_nobody_asked_for, {"schedule": WAIT}),
    ("retention-too-greedy", forget_who_set_the_limit, {"schedule": WAIT, "topic": BY_TIME}),
]
IDS = [f"{mutation.__name__}-{i}" for i, (_, mutation, _) in enumerate(MUTATIONS)]


@pytest.mark.quick(
    "acknowledge_below_min_isr-0", "write_another_byte_on_the_follower-1", "delete_records_that_nobody_asked_for"
)
@pytest.mark.parametrize(("anomaly", "mutation", "options"), MUTATIONS, ids=IDS)
def test_a_mutation_is_found(
    simulate: Any, monkeypatch: pytest.MonkeyPatch, anomaly: str, mutation: Mutation, options: dict[str, Any]
) -> None:
    mutation(monkeypatch)
    run = simulate(**options)
    assert run.result.acknowledged > 100
    # The executable specification may name the step as well.
    assert (run.violations, run.anomalies - {"model-step"}) == ({anomaly}, {anomaly})


DIFFERENT = {repr(options): options for _, _, options in MUTATIONS}.values()
"""Several mutations are sought in the same run."""


@pytest.mark.quick("options0")
@pytest.mark.parametrize("options", DIFFERENT)
def test_the_same_run_without_the_mutation_shows_nothing(simulate: Any, options: dict[str, Any]) -> None:
    run = simulate(**options)
    assert (run.violations, run.anomalies) == (set(), set())


def test_a_skipped_batch_is_seen_while_the_replica_is_in_sync(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The follower finds out itself, gives its replica up and leaves the ISR for good. So the end of the recording
    shows nothing that is incomplete; the simulator saw the batch pass the HW without it."""
    skip_a_batch_on_the_follower(monkeypatch)
    run = simulate(WAIT)
    assert run.violations == {"replica-incomplete", "unavailable"}
    assert run.anomalies == set()


@pytest.mark.quick("0")
@pytest.mark.parametrize("acks", ["1", "0"])
def test_who_asked_for_less_is_owed_less(simulate: Any, acks: str) -> None:
    """min.insync.replicas binds acks=all alone."""
    workload = f"{{producers: 1, rate: 50/s, acks: {acks}, idempotence: false}}"
    run = simulate(KILL_FOLLOWER, min_isr=2, workload=workload)
    assert (run.violations, run.anomalies) == (set(), set())
