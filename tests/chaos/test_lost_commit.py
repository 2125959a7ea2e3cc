"""Offsets that vanish, and groups that return: each way in which a coordinator may do that is found; a sound one is not
blamed."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_runtime.broker.groups import loading, offsets
from highwater_runtime.broker.groups.offsets_log import OffsetsLog, Written
from highwater_runtime.log.records import build_batch
from highwater_runtime.wire.errors import ErrorCode

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: groups}}
spec:
  seed: 1
  timeout: 4m
  cluster:
    mode: {mode}
    brokers: 3
    config:
      min.insync.replicas: 1
      offsets.topic.num.partitions: 1
      offsets.topic.replication.factor: 2
      offsets.retention.check.interval.ms: 1000
      group.initial.rebalance.delay.ms: 500
    topics: [{{name: orders, partitions: 2, replicationFactor: 3}}]
  workload: {{producers: 1, rate: 8/s, consumers: 1, groupMembers: 3}}
  schedule:
    - await: {{highWatermark: {{partition: __consumer_offsets-0, atLeast: 12}}, within: 30s}}
    - inject: {{name: behind, hold: {{rpc: Fetch, from: {{followerOf: __consumer_offsets-0}}}}}}
    - wait: 3s
    - inject: {{kill: {{target: {{leaderOf: __consumer_offsets-0}}, restartAfter: 20s}}}}
    - wait: 12s
    - heal: behind
    - wait: 20s
"""


def _verdict(mode: str = "kraft") -> dict[str, Any]:
    return run_and_forget(parse_experiment(EXPERIMENT.format(mode=mode), "groups.yaml"), wire=False)[1]


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_a_sound_coordinator_is_not_blamed(mode: str) -> None:
    verdict = _verdict(mode=mode)
    assert (verdict["verdict"], verdict["checks"]["lost-commit"]) == ("pass", "ok"), verdict["reasons"]


@pytest.mark.thorough
def test_a_coordinator_that_forgets_offsets_of_a_group_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(self: Any, *_args: object, now_ms: int, **_more: object) -> list[Any]:
        stored = self._stored.items()
        return [p for p, (c, _) in stored if p not in self._pending and now_ms >= c.commit_ms + 2000]

    monkeypatch.setattr(offsets.GroupOffsets, "expired", forgets)
    assert "lost-commit" in _verdict()["anomalies"]


def test_a_coordinator_that_loads_all_but_the_last_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members commit at the same time, so what counts as the last one is their last round."""
    replay, groups = loading.Loader._replay_offset, loading.Loader.groups
    read: dict[tuple[int, Any], list[Any]] = defaultdict(list)

    def noted(self: Any, key: Any, record: Any) -> None:
        partition = (key.topic, key.partition)
        replay(self, key, record)
        read[id(self), partition].append(self._offsets.get(key.group, {}).get(partition))

    def without_the_last(self: Any) -> Any:
        for offsets_of_group in self._offsets.values():
            for partition in offsets_of_group:
                offsets_of_group[partition] = read[id(self), partition][:-4][-1]
        return groups(self)

    monkeypatch.setattr(loading.Loader, "_replay_offset", noted)
    monkeypatch.setattr(loading.Loader, "groups", without_the_last)
    assert "lost-commit" in _verdict()["anomalies"]


def test_a_commit_that_is_acknowledged_before_it_is_replicated(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: Any, partition: Any, leader_epoch: int, records: Any, on_written: Any) -> None:
        if partition.leading is None or partition.leader_epoch != leader_epoch:
            on_written(Written(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            return
        batch = build_batch(records, timestamp_ms=self._replicas.ports.clock.wall_ms())
        on_written(Written(ErrorCode.NONE, partition.leading.append(batch).first_offset))

    monkeypatch.setattr(OffsetsLog, "append", at_once)
    assert "lost-commit" in _verdict()["anomalies"]


def test_a_coordinator_that_loads_deleted_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members pass by groups to which nobody comes back: the coordinator deletes them."""
    replay, deleted = loading.Loader.replay, 0

    def without_tombstones(self: Any, record: Any) -> None:
        nonlocal deleted
        if record.value is None and b"passing-" in (record.key or b""):
            deleted += 1
        else:
            replay(self, record)

    monkeypatch.setattr(loading.Loader, "replay", without_tombstones)
    assert "group-state" in _verdict()["anomalies"]
    assert deleted > 0
