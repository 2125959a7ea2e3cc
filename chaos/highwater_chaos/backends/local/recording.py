"""All events of a run: in the order in which the harness learnt of them, and, in the end, in that of their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.protocol import TimedEvent
from highwater_runtime.ports.trace import NodeCrashed, NodeEvent

_ENCODE: Final = msgspec.json.Encoder().encode


class EventLog:
    """``start_ns``: when run time begins, by ``clock``: the one by which events are ordered (CLOCK_MONOTONIC where all
    nodes are on this machine)."""

    def __init__(self, start_ns: int = 0, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.start_ns = start_ns
        self._clock = clock
        self.events: list[TimedEvent] = []
        """As they came in; ``seq`` is the place in this list."""
        self._observed: list[Observed] = []

    def add(self, observed: Iterable[Observed]) -> None:
        """Take in further events."""
        for one in observed:
            self._observed.append(one)
            self.events.append(
                TimedEvent(len(self.events), one.time_ns - self.start_ns, one.node, one.incarnation, one.event)
            )

    def host_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """What the harness itself has to say of a node, now."""
        self.add([Observed(self._clock(), time.time_ns(), node, incarnation, event)])

    def has_crashed(self, node: str, incarnation: int) -> bool:
        """Whether this incarnation has reported that it ended by an exception."""
        return any(
            isinstance(one.event, NodeCrashed) and (one.node, one.incarnation) == (node, incarnation)
            for one in self.events
        )

    def by_time(self) -> list[TimedEvent]:
        """All events by time; those of one time as they came in."""
        ordered = sorted(self.events, key=lambda event: event.time_ns)
        return [event._replace(seq=seq) for seq, event in enumerate(ordered)]

    def lines(self) -> list[bytes]:
        """Lines of ``events/nodes.jsonl``, by time, without line ends."""
        ordered = sorted(self._observed, key=lambda one: one.time_ns)
        return [
            b'{"seq":%d,"time_ns":%d,"node_time_ns":%d,"node":%b,"incarnation":%d,%b'
            % (
                seq,
                one.time_ns - self.start_ns,
                one.node_time_ns,
                _ENCODE(one.node),
                one.incarnation,
                _ENCODE(one.event)[1:],
            )
            for seq, one in enumerate(ordered)
        ]
