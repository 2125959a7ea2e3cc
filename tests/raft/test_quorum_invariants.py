"""The invariants of the quorum: each is broken on purpose, in a cluster or by an event, and found under its name."""

from __future__ import annotations

from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.local.quorum_events import QuorumJudge
from highwater_chaos.backends.protocol import TimedEvent
from highwater_lab.benchmarks import quorum
from highwater_pipeline.anomalies import ON_REQUEST, QUORUM_INVARIANTS
from highwater_runtime.ports.trace import (
    NodeEvent,
    RaftAppended,
    RaftBroken,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
    RaftTruncated,
)
from highwater_runtime.raft import snapshotting
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.progress import LeaderProgress
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.quorum import QuorumInvariants
from highwater_runtime.sim.invariants.violation import Violations


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """Random schedules under every invariant."""
    return quorum


def found(benchmark: ModuleType, seeds: range, **switches: str) -> set[str]:
    given = tuple((name.replace("_", "-"), value) for name, value in switches.items())
    return {name for seed in seeds for name in benchmark.run_seed((seed, given)).violations}


def is_found(benchmark: ModuleType, name: str, seeds: range, **switches: str) -> bool:
    """Whether a seed shows it. Later ones are not run: a broken cluster may halt again and again, or crash."""
    return any(name in found(benchmark, range(seed, seed + 1), **switches) for seed in seeds)


def test_nothing_is_found_where_nothing_is_broken(benchmark, thorough) -> None:
    assert found(benchmark, range(10 if thorough else 2)) == set()


def test_pre_vote_off(benchmark) -> None:
    assert found(benchmark, range(1, 4), pre_vote="off") == {"epoch-inflation"}


def test_quorum_state_not_synced(benchmark) -> None:
    assert is_found(benchmark, "raft-epoch-regression", range(1, 8), quorum_state_sync="off")


def test_a_vote_for_any_log(benchmark, monkeypatch) -> None:
    monkeypatch.setattr(LogEnd, "at_least", lambda self, other: True)
    assert is_found(benchmark, "raft-leader-completeness", range(8))


def test_a_commit_without_majority(benchmark, monkeypatch) -> None:
    monkeypatch.setattr(LeaderProgress, "high_watermark", lambda self, own: own if own > self.epoch_start else None)
    assert is_found(benchmark, "raft-commit-majority", range(2))


def test_a_commit_before_the_flush(benchmark, monkeypatch) -> None:
    """Each voter tells others what it has in the page cache alone. A majority *has* it, so only the disks show it."""

    def at_once(self) -> None:
        self.flushed_end = self.end_offset
        self._clock.call_later(0, self._on_flushed)

    monkeypatch.setattr(MetadataLog, "flush_soon", at_once)
    names = found(benchmark, range(1))
    assert "raft-commit-durable" in names
    assert "raft-commit-majority" not in names


def test_a_commit_of_earlier_epochs_alone(benchmark, monkeypatch) -> None:
    """Figure 8: the new leader takes any record that a majority has for committed, whatever its epoch."""
    begin = MetadataLog.append_leader_change

    def forgotten(self, *arguments) -> int:
        begin(self, *arguments)
        return -1

    monkeypatch.setattr(MetadataLog, "append_leader_change", forgotten)
    assert found(benchmark, range(1)) == {"raft-commit-own-epoch"}


def test_recordings_show_a_commit_of_earlier_epochs_alone() -> None:
    def event(seq: int, node: str, what: NodeEvent) -> TimedEvent:
        return TimedEvent(seq, seq, node, 1, what)

    def judged(high_watermark: int) -> list[str]:
        events = [
            event(0, "a", state(2, "leader")),
            event(1, "a", RaftAppended(offset=0, end_offset=3, epoch=1, crc=7)),
            event(2, "a", RaftAppended(offset=3, end_offset=4, epoch=2, crc=8)),
            event(3, "b", RaftAppended(offset=0, end_offset=3, epoch=1, crc=7)),
            event(4, "b", RaftAppended(offset=3, end_offset=4, epoch=2, crc=8)),
            event(5, "a", RaftHighWatermark(offset=high_watermark, epoch=2, leader=1)),
        ]
        return [violation.name for violation in QuorumJudge({1: "a", 2: "b", 3: "c"}).judge(events)]

    assert judged(3) == ["raft-commit-own-epoch"]
    assert judged(4) == []


def test_snapshots_that_differ(benchmark, monkeypatch) -> None:
    counter, build = count(), snapshotting.build_snapshot
    monkeypatch.setattr(
        snapshotting, "build_snapshot", lambda id_, records, time: build(id_, [*records, b"%d" % next(counter)], time)
    )
    monkeypatch.setattr(snapshotting, "read_snapshot", lambda data: snapshotting_read(data)[:-1])
    assert is_found(benchmark, "raft-committed-data", range(3))


snapshotting_read = snapshotting.read_snapshot


def state(epoch: int, reason: str) -> RaftStateChanged:
    return RaftStateChanged(epoch=epoch, leader=-1, broker=-1, reason=reason)


def snapshot(offset: int, crc: int, reason: str) -> RaftSnapshot:
    return RaftSnapshot(offset=offset, epoch=1, crc=crc, reason=reason)


STORIES: list[tuple[str, list[tuple[str, NodeEvent]]]] = [
    ("raft-election-safety", [("a", state(3, "leader")), ("b", state(3, "leader"))]),
    ("raft-election-safety", [("a", RaftBroken(epoch=3, leader=1, reason="raft-election-safety"))]),
    ("raft-epoch-regression", [("a", state(3, "voted")), ("a", state(2, "unattached"))]),
    ("stable-leadership", [("a", state(3, "leader")), ("b", state(4, "leader"))]),
    (
        "raft-log-matching",
        [
            ("a", RaftAppended(offset=0, end_offset=1, epoch=1, crc=7)),
            ("b", RaftAppended(offset=0, end_offset=1, epoch=1, crc=8)),
        ],
    ),
    (
        "raft-hw-regression",
        [("a", RaftHighWatermark(offset=5, epoch=1, leader=1)), ("a", RaftHighWatermark(offset=4, epoch=1, leader=1))],
    ),
    (
        "raft-committed-data",
        [
            ("a", RaftAppended(offset=0, end_offset=2, epoch=1, crc=7)),
            ("a", RaftHighWatermark(offset=2, epoch=1, leader=1)),
            ("a", RaftTruncated(offset=0, end_offset=2, epoch=2)),
        ],
    ),
    ("raft-committed-data", [("a", snapshot(9, 1, "written"))]),
    (
        "raft-committed-data",
        [
            ("a", RaftHighWatermark(offset=9, epoch=1, leader=1)),
            ("a", snapshot(9, 1, "written")),
            ("b", snapshot(9, 2, "written")),
        ],
    ),
    (
        "raft-leader-loads-snapshot",
        [
            ("a", RaftHighWatermark(offset=9, epoch=1, leader=1)),
            ("a", state(2, "leader")),
            ("a", snapshot(9, 1, "loaded")),
        ],
    ),
]


@pytest.mark.parametrize(("name", "events"), STORIES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(STORIES)])
def test_events_that_cannot_be(name: str, events: list[tuple[str, NodeEvent]]) -> None:
    simulator, violations = Simulator(1), Violations()
    for node in ("a", "b"):
        simulator.add_node(node, 1, lambda ports: pytest.fail(f"not started: {ports}"))
    invariants = QuorumInvariants(simulator, LiveCluster(simulator), violations)
    for node, event in events[:-1]:
        invariants.on_event(node, 1, event)
    assert violations.found == []
    invariants.on_event(events[-1][0], 1, events[-1][1])
    assert [violation.name for violation in violations.found] == [name]


def test_every_invariant_has_been_seen_broken() -> None:
    in_clusters = {"epoch-inflation", "raft-leader-completeness", "raft-commit-majority"}
    in_clusters |= {"raft-commit-durable", "raft-commit-own-epoch"}
    seen = {name for name, _ in STORIES} | in_clusters
    assert seen == {*QUORUM_INVARIANTS, *ON_REQUEST}


@pytest.mark.parametrize(("heard_before_it_stood", "shown"), [(True, ["epoch-inflation"]), (False, [])])
def test_pre_votes_granted_before_the_leader_was_heard_count(heard_before_it_stood: bool, shown: list[str]) -> None:
    """A voter may grant its pre-vote, and hear the leader again before the candidate has its majority."""
    leader = SimpleNamespace(is_leader=True, epoch=4, node_id=0, leader_id=0, voter_count=3, is_voter=True)
    follower = SimpleNamespace(**{**vars(leader), "is_leader": False, "node_id": 1}, hears_leader=True)
    leader.hears_leader = False
    candidate = SimpleNamespace(**{**vars(follower), "node_id": 2, "hears_leader": False})
    replicas = {"a": leader, "b": follower, "c": candidate}
    host = SimpleNamespace(is_paused=False, is_held=False, disk=SimpleNamespace(wipes=0))
    told: list[str] = []
    violations: Any = SimpleNamespace(add=lambda name, *_: told.append(name))
    simulator: Any = SimpleNamespace(nodes=dict.fromkeys(replicas, host), call_later=lambda *_: None)
    invariants: Any = QuorumInvariants(simulator, LiveCluster(simulator), violations)
    invariants._replica = replicas.get
    events = [("b", state(4, "follower")), ("c", state(4, "prospective"))]
    for node, event in [*(events if heard_before_it_stood else events[::-1]), ("c", state(5, "candidate"))]:
        invariants.on_event(node, 1, event)
    assert told == shown


@pytest.mark.parametrize(("gone", "shown"), [("bc", ["raft-overdue"]), ("c", [])])
def test_a_leader_whose_majority_has_gone_resigns(gone: str, shown: list[str], monkeypatch) -> None:
    monkeypatch.setattr("highwater_runtime.sim.invariants.quorum.is_voter", lambda _: True)
    timing = SimpleNamespace(check_quorum_ns=0)
    leader = SimpleNamespace(is_leader=True, epoch=4, voter_count=3, timing=timing)
    host = SimpleNamespace(disk=SimpleNamespace(wipes=0))
    told: list[str] = []
    violations: Any = SimpleNamespace(add=lambda name, *_: told.append(name))
    simulator: Any = SimpleNamespace(nodes=dict.fromkeys(("a", "b", "c"), host), call_later=lambda *_: None, now_ns=0)
    live: Any = SimpleNamespace(must_end=lambda _ns, _node, lasts, found: found() if lasts() else None)
    invariants: Any = QuorumInvariants(simulator, live, violations)
    invariants._replica = {"a": leader}.get
    for node in gone:
        invariants.on_event(node, 1, state(5, "voted"))
    assert told == shown
