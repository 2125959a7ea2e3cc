"""The nodes' logs of one run, read along, and the starts of their processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from highwater_chaos.backends.local.apache_kafka.node_log import LogEvent, LogTail
from highwater_chaos.backends.local.program import NodePlace, Observed, Site
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.ports.trace import NodeEvent, NodeStarted


class ReadsLines(Protocol):
    """What knows the lines of one incarnation of a node."""

    def event_of(self, line: str) -> LogEvent | None:
        """Return the event that a line reports; None if it reports none."""


R = TypeVar("R", bound=ReadsLines)


class Incarnation(Generic[R]):
    """The log of one incarnation of a node; ``reader`` knows its lines."""

    def __init__(self, place: NodePlace, number: int, started_ns: int, tail: LogTail, reader: R) -> None:
        self.reader: Final = reader
        self._place = place
        self._number = number
        self._last_ns = started_ns
        self._tail = tail

    def read(self) -> list[Observed]:
        """The events of new lines, in their order."""
        events: list[Observed] = []
        for line in self._tail.lines():
            found = self.reader.event_of(line)
            if found is not None:
                events.append(self._observed(found.wall_ns, found.event))
        return events

    def happened(self, event: NodeEvent) -> Observed:
        """An event of the node that is known only now."""
        return self._observed(time.time_ns(), event)

    def _observed(self, wall_ns: int, event: NodeEvent) -> Observed:
        # The log's milliseconds must not put an event before the start of its process, or after now; and however the
        # wall clock is set meanwhile, its order is that of the log.
        ahead = how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
        self._last_ns = min(max(wall_ns - ahead, self._last_ns), time.monotonic_ns())
        return Observed(self._last_ns, wall_ns, self._place.name, self._number, event)

    def close(self) -> None:
        self._tail.close()


class NodeLogs(Generic[R]):
    """Args:

    log_file: where an incarnation of a node logs.
    reader: makes what knows the lines of a new incarnation.
    """

    def __init__(
        self, site: Site, log_file: Callable[[NodePlace, int], Path], reader: Callable[[NodePlace], R]
    ) -> None:
        self.present: dict[str, Incarnation[R]] = {}
        """The last incarnation of each node, by its name."""
        self._site = site
        self._log_file = log_file
        self._reader = reader
        self._events: list[Observed] = []

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """Add the event ``NodeStarted``, since Kafka's nodes do not report their start, and begin to read the log."""
        self._events.append(Observed(time_ns, wall_of(time_ns), node, incarnation, NodeStarted()))
        place = self._site.plan.place(node)
        if (before := self.present.get(node)) is not None:
            self._events += before.read()
            before.close()
        tail = LogTail(self._log_file(place, incarnation))
        self.present[node] = Incarnation(place, incarnation, time_ns, tail, self._reader(place))

    def take(self) -> list[Observed]:
        """What has come up since the last call."""
        events, self._events = self._events, []
        for incarnation in self.present.values():
            events += incarnation.read()
        return events

    def close(self) -> None:
        for incarnation in self.present.values():
            incarnation.close()


def wall_of(time_ns: int) -> int:
    """The wall clock at a time of CLOCK_MONOTONIC."""
    return time_ns + how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
