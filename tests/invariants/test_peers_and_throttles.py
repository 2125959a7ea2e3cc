"""What leaders and followers make of what the other one says, and how much throttles hold back; voters are called."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from highwater_pipeline.anomalies import ON_REQUEST
from highwater_runtime.broker.apis.fetch import DelayedFetch
from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replication_quota import ReplicationQuota
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, ConfigResource
from highwater_runtime.metadata.topic_config import (
    FOLLOWER_THROTTLED_RATE,
    FOLLOWER_THROTTLED_REPLICAS,
    LEADER_THROTTLED_RATE,
    LEADER_THROTTLED_REPLICAS,
)
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import BecameFollower
from highwater_runtime.raft.leading import Leading
from highwater_runtime.sim.invariants import voters
from highwater_runtime.sim.invariants.peers import PeerInvariants
from highwater_runtime.sim.invariants.throttles import ThrottleInvariants, _Traffic
from highwater_runtime.sim.invariants.violation import Violations

Break = Callable[[pytest.MonkeyPatch], None]

LAGGARD = """
    - inject: {hold: {rpc: Fetch, from: {broker: 1}, of: request}, for: 8s}
    - wait: 12s
"""
DELETION = """
    - wait: 9s
    - admin: {deleteRecords: {partition: orders-0, before: 5}}
    - wait: 2s
"""
SLOW = """
    - wait: 8s
    - admin: {reassign: {partition: orders-0, replicas: [0, 1, 2], throttle: 500}}
    - wait: 8s
"""
IN_PARTS = {"replica.fetch.max.bytes": 500}
UNHEARD = """
    - parallel:
      - - inject: {drop: {rpc: BeginQuorumEpoch}, for: 6s}
      - - inject: {kill: {target: {activeController: true}}, for: 12s}
    - wait: 12s
"""
SLOW_TO_RESIGN = {
    "controller.quorum.election.timeout.ms": 6000,
    "controller.quorum.fetch.timeout.ms": 4000,
    "controller.quorum.request.timeout.ms": 300,
}


def forget_followers(patch: pytest.MonkeyPatch) -> None:
    match = Leadership._match_followers

    def wrong(self: Leadership) -> None:
        self.followers.clear()
        match(self)

    patch.setattr(Leadership, "_match_followers", wrong)


def take_over_records_alone(patch: pytest.MonkeyPatch) -> None:
    take = Partition.append_from_leader

    def wrong(self: Partition, records: bytes, epoch: int, hw: int, start: int = -1, **how: Any) -> int:
        return take(self, records, epoch, hw, start if records else -1, **how)

    patch.setattr(Partition, "append_from_leader", wrong)


def take_over_no_high_watermark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "_follow_high_watermark", lambda *_: None)


def obey_no_throttle(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReplicationQuota, "is_exceeded", property(lambda _: False))


def count_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DelayedFetch, "_count_throttled", lambda *_: None)
    patch.setattr(ReplicationQuota, "record", lambda *_: None)


def call_voters_once(patch: pytest.MonkeyPatch) -> None:
    call, called = Leading._call_voters, dict[Leading, None]()

    def wrong(self: Leading) -> None:
        if self not in called:
            called[self] = None
            call(self)

    patch.setattr(Leading, "_call_voters", wrong)


BROKEN: list[tuple[str, Break, dict[str, Any]]] = [
    ("peer-forgotten", forget_followers, {"schedule": LAGGARD}),
    ("peer-forgotten", take_over_records_alone, {"schedule": DELETION, "workload": "{producers: 1, rate: 1/s}"}),
    ("peer-forgotten", take_over_no_high_watermark, {"schedule": "[{wait: 1s}]"}),
    ("throttle", obey_no_throttle, {"schedule": SLOW, "config": IN_PARTS, "workload": "{producers: 1, rate: 50/s}"}),
    ("throttle", count_nothing, {"schedule": SLOW, "config": IN_PARTS, "workload": "{producers: 1, rate: 50/s}"}),
    ("raft-overdue", call_voters_once, {"schedule": UNHEARD, "config": SLOW_TO_RESIGN, "controllers": 5, "seed": 3}),
]


@pytest.mark.parametrize(("name", "broken", "options"), BROKEN, ids=[one[1].__name__ for one in BROKEN])
def test_a_broken_rule_is_found(
    simulate: Any, monkeypatch: pytest.MonkeyPatch, name: str, broken: Break, options: dict[str, Any]
) -> None:
    assert simulate(**options).violations <= {*ON_REQUEST}
    broken(monkeypatch)
    assert name in simulate(**options).violations


def test_a_rate_is_exceeded_or_nobody_knows() -> None:
    """In ten seconds there was more than eleven allow."""
    traffic = _Traffic(deque())
    for second in range(5):
        traffic.add(second * SECOND, second * SECOND, 250)
    at = 5 * SECOND
    assert traffic.exceeds(113, at, at)
    assert not traffic.exceeds(114, at, at)
    assert not traffic.exceeds(113, at - 2 * SECOND, at), "what was counted since may have come later"
    assert not traffic.exceeds(113, at + 7 * SECOND, at + 7 * SECOND), "the first have left their windows"


ID = UUID(int=7)


def fetch(connection: object, offset: int, high_watermark: int, session_epoch: int = 1) -> Any:
    """A fetch of broker 1, with its response of a hundred bytes."""
    of_partition = {"partition_index": 0, "error_code": 0, "high_watermark": high_watermark, "log_start_offset": 0}
    data = SimpleNamespace(**of_partition, records=b"x" * 100, diverging_epoch=SimpleNamespace(epoch=-1))
    response = SimpleNamespace(error_code=0, responses=[SimpleNamespace(topic_id=ID, partitions=[data])])
    body = SimpleNamespace(replica_state=SimpleNamespace(replica_id=1), session_epoch=session_epoch)
    return SimpleNamespace(connection=connection, version=15, body=body, response=response, wanted={(ID, 0): offset})


def test_who_is_told_where_the_logs_part_is_not_told_the_high_watermark() -> None:
    """It cuts its log, and its session has been told the HW: the leader says it again when it moves."""
    follower = SimpleNamespace(partitions={(ID, 0): replica(leading=None, high_watermark=5)})
    live: Any = SimpleNamespace(broker=lambda _: follower)
    violations, connection = Violations(), object()
    peers = PeerInvariants(SimpleNamespace(now_ns=0), live, SimpleNamespace(), violations)  # type: ignore[arg-type]
    parting = fetch(connection, 9, 9)
    parting.response.responses[0].partitions[0].diverging_epoch.epoch = 1
    for call in (parting, fetch(connection, 9, 5)):
        peers.on_request("broker-0", call)
    assert ("broker-1", (ID, 0)) in peers.unheard
    peers.on_request("broker-0", fetch(connection, 9, 5))
    assert not peers.unheard
    assert violations.found == []


def replica(**of_it: Any) -> Any:
    log = SimpleNamespace(is_online=True, log_start_offset=0, log_end_offset=9)
    return SimpleNamespace(name="orders-0", topic="orders", index=0, topic_id="7", leader_epoch=2, log=log, **of_it)


def test_a_response_to_what_was_asked_in_an_earlier_role_is_left_alone() -> None:
    follower = SimpleNamespace(partitions={(ID, 0): replica(leading=None, high_watermark=5)})
    simulator: Any = SimpleNamespace(now_ns=0)
    live: Any = SimpleNamespace(broker=lambda _: follower)
    violations, connection = Violations(), object()
    peers = PeerInvariants(simulator, live, SimpleNamespace(), violations)  # type: ignore[arg-type]
    peers.on_request("broker-0", fetch(connection, 9, 5))
    role = {"leader": 0, "leader_epoch": 2, "offset": 5, "end_offset": 9}
    peers.on_event("broker-1", 1, BecameFollower(partition="orders-0", topic_id="7", **role))
    for _ in range(2):
        peers.on_request("broker-0", fetch(connection, 9, 9))
        assert violations.found == [], "the second fetch may have been on its way before"
    peers.on_request("broker-0", fetch(connection, 9, 9, session_epoch=0))
    peers.on_request("broker-0", fetch(connection, 9, 9))
    assert violations.found == [], "another fetcher may have sent the first two at once"
    for _ in range(2):
        peers.on_request("broker-0", fetch(connection, 9, 9))
    assert [one.name for one in violations.found] == ["peer-forgotten"]


def broker(node_id: int, present: dict[str, str]) -> Any:
    """A broker that leads a partition, with these settings of its topic."""
    led = replica(leading=object(), committed_isr=(0,), partition_epoch=1)
    rates = {LEADER_THROTTLED_RATE: "1", FOLLOWER_THROTTLED_RATE: "1"}
    image = SimpleNamespace(
        configs={ConfigResource(BROKER_RESOURCE, str(node_id)): rates},
        topics_by_id={ID: SimpleNamespace(id=ID)},
        topic_config=lambda _: present,
    )
    return SimpleNamespace(image=image, options=SimpleNamespace(node_id=node_id), partitions={(ID, 0): led})


@pytest.mark.parametrize(("before", "found"), [(1, {"throttle"}), (99, set())])
def test_a_fetch_that_was_on_its_way_when_a_rate_was_set_is_left_alone(before: int, found: set[str]) -> None:
    brokers = {f"broker-{number}": broker(number, {FOLLOWER_THROTTLED_REPLICAS: "*"}) for number in (0, 1)}
    simulator: Any = SimpleNamespace(now_ns=0)
    live: Any = SimpleNamespace(broker=brokers.get)
    violations, connection = Violations(), object()
    throttles = ThrottleInvariants(simulator, live, violations, lambda call: getattr(call, "wanted"))  # noqa: B009
    set_rates = brokers["broker-1"].image.configs[ConfigResource(BROKER_RESOURCE, "1")]
    for offset, rate in enumerate((before, before, before, 1)):
        simulator.now_ns += SECOND
        set_rates[FOLLOWER_THROTTLED_RATE] = str(rate)
        throttles.on_request("broker-0", fetch(connection, offset, 9))
    assert {one.name for one in violations.found} == found


@pytest.mark.parametrize(
    ("restarts", "throttled", "found"),
    [
        (False, "****", ["throttle"]),
        (True, "****", []),
        # Meanwhile it was another partition's turn, so nobody knows whether the first response was counted.
        (False, "* **", []),
        (False, " ***", []),
    ],
)
def test_a_broker_that_has_restarted_or_throttled_nothing_has_sent_nothing_yet(
    restarts: bool, throttled: str, found: list[str]
) -> None:
    present = {LEADER_THROTTLED_REPLICAS: ""}
    brokers = {"broker-0": broker(0, present), "broker-1": broker(1, present)}
    simulator: Any = SimpleNamespace(now_ns=0)
    live: Any = SimpleNamespace(broker=brokers.get)
    violations = Violations()
    throttles = ThrottleInvariants(simulator, live, violations, lambda call: getattr(call, "wanted"))  # noqa: B009
    first, second = object(), object()
    for connection, names in zip((first, first, second, second), throttled, strict=True):
        simulator.now_ns += SECOND
        present[LEADER_THROTTLED_REPLICAS] = names.strip()
        if connection is second and restarts:
            brokers["broker-0"], restarts = broker(0, present), False
        throttles.on_request("broker-0", fetch(connection, 0, 9))
    assert [one.name for one in violations.found] == found


def test_a_voter_that_stood_and_was_sent_back_has_not_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own time was up first, and another voter told it that the epoch goes on."""
    notice = SimpleNamespace(epoch=1, leader_id=1001, successors=(1002, 1000))
    monkeypatch.setattr(voters, "end_of", lambda _: notice)
    timing = SimpleNamespace(successor_backoff_ns=lambda *_: SECOND)
    raft: Any = SimpleNamespace(epoch=1, leader_id=1001, node_id=1000, is_voter=True, state=object(), timing=timing)
    looked_at: list[Callable[[], bool]] = []
    live: Any = SimpleNamespace(must_end=lambda _within, _node, lasts, *_: looked_at.append(lasts))
    simulator: Any = SimpleNamespace(now_ns=0)
    invariants = voters.VoterInvariants(simulator, live, Violations(), lambda: 0, lambda _: False)
    invariants._takes_over("controller-0", raft, SimpleNamespace(body=None))  # type: ignore[arg-type]
    (waits,) = looked_at
    assert waits()
    raft.state = object()
    assert not waits()
