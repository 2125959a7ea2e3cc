"""What of a cluster's life an experiment that borrows it is judged by."""

from __future__ import annotations

from typing import Any

from highwater_chaos.backends.kubernetes.borrowed import Past, judge_quorum
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.protocol import TimedEvent
from highwater_runtime.ports.trace import (
    HighWatermarkAdvanced,
    NodeStarted,
    RaftAppended,
    RaftHighWatermark,
    RaftStateChanged,
)

BEGAN = 1000
VOTERS = {1000: "controller-0", 1001: "controller-1"}


def seen(at: int, event: Any, node: str = "broker-0") -> Observed:
    return Observed(at, at, node, 1, event)


def moved(partition: str) -> HighWatermarkAdvanced:
    return HighWatermarkAdvanced(partition=partition, leader_epoch=0, offset=1)


def test_own_topics_from_the_beginning_on_and_lives_from_ever() -> None:
    past = Past(BEGAN, ["orders"])
    start = seen(10, NodeStarted())
    old, own, theirs = (
        seen(20, moved("orders-0")),
        seen(BEGAN + 1, moved("orders-0")),
        seen(BEGAN + 2, moved("old-1")),
    )
    assert past.view([start, old, own, theirs]) == [start, own]
    assert past.judged([start, old, own, theirs]) == [start._replace(time_ns=BEGAN), own]
    assert (past.is_own("orders-7"), past.is_own("old-1"), past.is_own("orders-b-0")) == (True, False, False)


def timeline(*events: tuple[int, str, Any]) -> list[TimedEvent]:
    return [TimedEvent(seq, at, node, 1, event) for seq, (at, node, event) in enumerate(events)]


def leads(epoch: int, node: int) -> RaftStateChanged:
    return RaftStateChanged(epoch=epoch, leader=node, broker=-1, reason="leader")


def appended(offset: int, crc: int) -> RaftAppended:
    return RaftAppended(offset=offset, end_offset=offset + 1, epoch=3, crc=crc)


def test_a_quorum_is_judged_by_what_it_did_since() -> None:
    before = [(-9, "controller-0", leads(3, 1000)), (-8, "controller-1", leads(3, 1001))]
    # What the log held then nobody told: neither is it missed now, nor is any of it taken for committed.
    since = [
        (1, "controller-0", appended(500, 7)),
        (2, "controller-0", RaftHighWatermark(offset=501, epoch=3, leader=1000)),
        (3, "controller-1", appended(500, 7)),
        (4, "controller-1", leads(4, 1001)),
    ]
    found = judge_quorum(VOTERS, set(), timeline(*before, *since))
    assert [one.name for one in found] == ["stable-leadership"]  # looked at where an experiment asks for it, and true
    wrong = [*since[:2], (3, "controller-1", appended(500, 8))]
    (found,) = judge_quorum(VOTERS, set(), timeline(*before, *wrong))
    assert (found.name, found.time_ns) == ("raft-log-matching", 3)
