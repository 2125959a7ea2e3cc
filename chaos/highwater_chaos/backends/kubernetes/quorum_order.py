"""Put the events of the quorum in order by what caused what, since pods of several machines have several clocks.

The same as ``highwater_pipeline.checks.causes`` does for the events of a partition: an order that the errors of the
clocks and the causes permit, so that what lies within the errors is no finding.

* What a majority has; the leader's announcement of a high watermark over it.
* A voter that leaves its leader, and a leader that resigns or ends; a candidate of a higher epoch. (``epoch-inflation``
  asks whether a majority followed a leader when a candidate raised the epoch. A voter that may have left the leader by
  then did so, and one that may have joined it only afterwards did that.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from highwater_chaos.backends.protocol import TimedEvent
from highwater_pipeline.checks.causal_order import causal_order
from highwater_runtime.ports.trace import (
    NodeStarted,
    NodeStopped,
    RaftAppended,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
    RaftTruncated,
)

_STATES: Final = (RaftStateChanged, NodeStopped, NodeStarted)


def in_causal_order(
    events: Sequence[TimedEvent], voters: Mapping[int, str], error_ns: Callable[[str], int]
) -> Sequence[TimedEvent]:
    """Return ``events`` in an order that the clocks and the causes permit, each with its time.

    ``voters``: names of the controllers, by node id; ``error_ns``: how far the time of a node's events may be off.
    """
    names = {name: number for number, name in enumerate(dict.fromkeys(event.node for event in events))}
    node = np.array([names[event.node] for event in events], np.int64)
    error = np.array([error_ns(name) for name in names], np.int64)[node]
    if not error.any():
        return events
    time = np.array([event.time_ns for event in events], np.int64)
    earliest, latest = (time - error).tolist(), (time + error).tolist()
    pairs = [*_of_high_watermarks(events, voters, earliest), *_of_candidates(events, voters, earliest, latest)]
    if not pairs:
        return events
    causes, effects = np.array(pairs, np.int64).T
    order = causal_order(node, time, error, causes, effects)
    return events if order is None else [events[at] for at in order.tolist()]


def _of_high_watermarks(
    events: Sequence[TimedEvent], voters: Mapping[int, str], earliest: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield, for each high watermark that a leader announces, the appends of other voters that make it a majority."""
    reached = {name: _reached(events, name) for name in voters.values()}
    others = len(voters) // 2  # beside the leader
    for at, timed in enumerate(events):
        event = timed.event
        if not isinstance(event, RaftHighWatermark) or voters.get(event.leader) != timed.node:
            continue
        held: list[int] = []
        for name, incarnations in reached.items():
            firsts = [_first(ends, event.offset) for ends in incarnations if name != timed.node]
            known = [first for first in firsts if first is not None]
            earlier = [first for first in known if first < at]
            if known:
                held.append(max(earlier) if earlier else min(known, key=lambda first: (earliest[first], first)))
        held.sort(key=lambda first: (first > at, first if first < at else earliest[first]))
        yield from ((first, at) for first in held[:others])


_Ends = tuple[list[int], list[int]]
"""Offsets and positions, both ascending: from that position on a log never ended below that offset."""


def _reached(events: Sequence[TimedEvent], voter: str) -> list[_Ends]:
    """How far a voter's log went, one incarnation after the other."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for at, timed in enumerate(events):
        if timed.node != voter:
            continue
        match timed.event:
            case RaftAppended(end_offset=end):
                found[timed.incarnation].append((end, at))
            case RaftTruncated(offset=end) | RaftSnapshot(offset=end, reason="fetched"):
                found[timed.incarnation].append((end, at))
    made = []
    for steps in found.values():
        ends, least = [], steps[-1][0]
        for end, _ in reversed(steps):
            least = min(least, end)
            ends.append(least)
        made.append((ends[::-1], [at for _, at in steps]))
    return made


def _first(ends: _Ends, offset: int) -> int | None:
    which = bisect_left(ends[0], offset)
    return ends[1][which] if which < len(ends[1]) else None


def _of_candidates(
    events: Sequence[TimedEvent], voters: Mapping[int, str], earliest: Sequence[int], latest: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield what must have come first for a candidate to be no surprise, as far as clocks permit it."""
    states: dict[str, list[int]] = {name: [] for name in voters.values()}
    for at, timed in enumerate(events):
        if isinstance(timed.event, _STATES) and timed.node in states:
            states[timed.node].append(at)
    for at, timed in enumerate(events):
        event = timed.event
        if not isinstance(event, RaftStateChanged) or event.reason != "candidate" or timed.node not in states:
            continue
        for name, mine in states.items():
            place = bisect_right(mine, at)
            if name == timed.node or not place:
                continue
            entered = events[mine[place - 1]].event
            if not isinstance(entered, RaftStateChanged) or entered.epoch >= event.epoch:
                continue
            if entered.reason not in ("follower", "leader"):
                continue
            left = mine[place] if place < len(mine) else None
            if left is not None and earliest[left] <= latest[at] and not _is_after(events[left].event, event.epoch):
                yield left, at
            elif earliest[at] <= latest[mine[place - 1]]:
                yield at, mine[place - 1]


def _is_after(left: object, epoch: int) -> bool:
    """Whether a voter left its leader because it heard of the candidate's epoch."""
    return isinstance(left, RaftStateChanged) and left.epoch >= epoch
