"""What leaders and followers make of what the other one says, and how much throttles hold back; voters are called."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from highwater_pipeline.anomalies import ON_REQUEST
from highwater_runtime.broker.apis.fetch import DelayedFetch
from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replication_quota import ReplicationQuota
from highwater_runtime.ports import SECOND
from highwater_runtime.raft.leading import Leading
from highwater_runtime.sim.invariants.throttles import _Traffic

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
FAST = SLOW.replace("500", "100000")
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


def send_nothing(patch: pytest.MonkeyPatch) -> None:
    holds_back = DelayedFetch._holds_back

    def wrong(self: DelayedFetch, partition: Partition) -> bool:
        quota = self._replicas.quotas.leader
        may = quota.is_throttled(partition.topic, partition.index) and quota.rate is not None
        return holds_back(self, partition) or (may and self._who.replica_id == 2)

    patch.setattr(DelayedFetch, "_holds_back", wrong)


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
    ("throttle", send_nothing, {"schedule": FAST, "config": IN_PARTS, "workload": "{producers: 1, rate: 50/s}"}),
    ("raft-overdue", call_voters_once, {"schedule": UNHEARD, "config": SLOW_TO_RESIGN, "controllers": 5, "seed": 3}),
]


@pytest.mark.parametrize(("name", "broken", "options"), BROKEN, ids=[one[1].__name__ for one in BROKEN])
def test_a_broken_rule_is_found(
    simulate: Any, monkeypatch: pytest.MonkeyPatch, name: str, broken: Break, options: dict[str, Any]
) -> None:
    assert simulate(**options).violations <= {*ON_REQUEST}
    broken(monkeypatch)
    assert name in simulate(**options).violations


def test_a_rate_is_exceeded_or_not_or_nobody_knows() -> None:
    """Ten seconds for more than eleven allow; twelve for less than the time since the first traffic of ten allows."""
    traffic = _Traffic(deque())
    assert traffic.is_below(100, SECOND, SECOND)
    for second in range(5):
        traffic.add(second * SECOND, second * SECOND, 250)
    at = 5 * SECOND
    assert traffic.exceeds(113, at, at)
    assert not traffic.exceeds(114, at, at)
    assert traffic.is_below(251, at, at)
    assert not traffic.is_below(250, at, at)
    assert not traffic.exceeds(113, at - 2 * SECOND, at), "what was counted since may have come later"
    assert not traffic.exceeds(113, at + 7 * SECOND, at + 7 * SECOND), "the first have left their windows"
    assert traffic.is_below(126, at + 7 * SECOND, at + 7 * SECOND)
    assert not traffic.is_below(125, at + 7 * SECOND, at + 7 * SECOND), "the first may still be in theirs"
