"""Each invariant of the quorum as events show it broken: one tiny history, one violation; and what is none."""

from __future__ import annotations

from highwater_chaos.backends.local.quorum_events import QuorumJudge
from highwater_chaos.backends.protocol import TimedEvent
from highwater_runtime.ports.trace import (
    NodeEvent,
    NodeStarted,
    NodeStopped,
    RaftAppended,
    RaftBroken,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
    RaftTruncated,
)

VOTERS = {1000: "controller-0", 1001: "controller-1", 1002: "controller-2"}


def broken(
    *happened: tuple[int, NodeEvent] | tuple[int, NodeEvent, int], wiped: tuple[int, int] | None = None
) -> list[str]:
    """Names of what is broken; an event is (controller, event[, incarnation])."""
    judge = QuorumJudge(VOTERS, () if wiped is None else {(f"controller-{wiped[0]}", wiped[1])})
    events = [
        TimedEvent(seq, seq, f"controller-{one[0]}", one[2] if len(one) == 3 else 1, one[1])
        for seq, one in enumerate(happened)
    ]
    start = [TimedEvent(0, 0, name, 1, NodeStarted()) for name in VOTERS.values()]
    return [violation.name for violation in judge.judge([*start, *events])]


def state(reason: str, epoch: int, leader: int = -1) -> RaftStateChanged:
    return RaftStateChanged(epoch=epoch, leader=leader, broker=-1, reason=reason)


def batch(offset: int, epoch: int = 1, crc: int = 7) -> RaftAppended:
    return RaftAppended(offset=offset, end_offset=offset + 1, epoch=epoch, crc=crc)


def hw(offset: int, epoch: int = 1, leader: int = 1000) -> RaftHighWatermark:
    return RaftHighWatermark(offset=offset, epoch=epoch, leader=leader)


def test_a_run_without_trouble() -> None:
    assert broken(
        (0, state("candidate", 1)),
        (0, state("leader", 1, 1000)),
        (1, state("follower", 1, 1000)),
        (2, state("follower", 1, 1000)),
        (0, batch(0)),
        (1, batch(0)),
        (0, hw(1)),
        (2, batch(0)),
        (1, hw(1)),
        (2, hw(1)),
        (0, NodeStopped(reason="power-loss")),
        (1, state("candidate", 2)),
        (1, state("leader", 2, 1001)),
    ) == ["stable-leadership"], "another leader after a crash is no broken rule, but what an experiment may ask about"


def test_two_leaders_in_an_epoch() -> None:
    assert broken((0, state("leader", 1, 1000)), (1, state("leader", 1, 1001))) == ["raft-election-safety"]


def test_an_epoch_that_goes_back() -> None:
    assert broken((0, state("voted", 3)), (0, state("voted", 2))) == ["raft-epoch-regression"]


def test_power_loss_is_no_excuse_for_a_forgotten_epoch() -> None:
    found = broken(
        (0, state("voted", 3)), (0, NodeStopped(reason="power-loss")), (0, NodeStarted(), 2), (0, state("voted", 2), 2)
    )
    assert found == ["raft-epoch-regression"]


def test_a_new_disk_is() -> None:
    stopped = NodeStopped(reason="power-loss")
    life = [(0, state("voted", 3)), (0, stopped), (0, NodeStarted(), 2), (0, state("unattached", 0), 2)]
    assert broken(*life, wiped=(0, 2)) == []
    assert broken(*life) == ["raft-epoch-regression"]


def test_logs_that_do_not_match() -> None:
    assert broken((0, batch(0, crc=1)), (1, batch(0, crc=2))) == ["raft-log-matching"]


def test_a_leader_without_what_was_committed() -> None:
    found = broken(
        (0, batch(0)), (1, batch(0)), (0, state("leader", 1, 1000)), (0, hw(1)), (2, state("leader", 2, 1002))
    )
    assert found == ["stable-leadership", "raft-leader-completeness"]


def test_a_leader_that_lost_power_has_not_told_what_it_holds() -> None:
    found = broken(
        (0, batch(0)),
        (1, batch(0)),
        (2, batch(0)),
        (0, state("leader", 1, 1000)),
        (0, hw(1)),
        (2, NodeStopped(reason="power-loss")),
        (2, NodeStarted(), 2),
        (2, state("leader", 2, 1002), 2),
    )
    assert found == ["stable-leadership"]


def test_committed_by_a_minority() -> None:
    assert broken((0, batch(0)), (0, hw(1))) == ["raft-commit-majority"]


def test_another_batch_below_the_high_watermark() -> None:
    found = broken((0, batch(0)), (1, batch(0)), (0, hw(1)), (2, batch(0, epoch=2)), (2, hw(1, epoch=2)))
    assert found == ["raft-committed-data"]


def test_a_log_cut_below_its_high_watermark() -> None:
    cut = RaftTruncated(offset=0, end_offset=1, epoch=2)
    assert broken((0, batch(0)), (1, batch(0)), (0, hw(1)), (0, cut)) == ["raft-committed-data"]


def test_a_high_watermark_that_goes_back_within_a_life() -> None:
    life = [(0, batch(0)), (1, batch(0)), (1, hw(1))]
    assert broken(*life, (1, hw(1))) == ["raft-hw-regression"]
    assert broken(*life, (1, NodeStopped(reason="kill")), (1, NodeStarted(), 2), (1, hw(1), 2)) == []


def test_an_epoch_bumped_though_a_leader_is_heard() -> None:
    life = [(0, state("leader", 1, 1000)), (1, state("follower", 1, 1000)), (2, state("follower", 1, 1000))]
    assert broken(*life, (2, state("candidate", 2))) == ["epoch-inflation"]
    assert broken(*life, (1, state("prospective", 1)), (2, state("candidate", 2))) == [], "only one heard it"
    assert broken(*life, (0, NodeStopped(reason="kill")), (2, state("candidate", 2))) == []


def test_a_leader_that_loads_a_snapshot() -> None:
    loaded = RaftSnapshot(offset=1, epoch=1, crc=3, reason="loaded")
    assert broken((0, state("leader", 1, 1000)), (0, loaded)) == ["raft-leader-loads-snapshot"]


def test_snapshots_that_differ() -> None:
    first, second = (RaftSnapshot(offset=1, epoch=1, crc=crc, reason="written") for crc in (3, 4))
    assert broken((0, first), (1, second)) == ["raft-committed-data"]


def test_what_a_node_itself_found_broken() -> None:
    told = RaftBroken(epoch=2, leader=1000, reason="raft-log-matching")
    assert broken((1, told)) == ["raft-log-matching"]
