"""What brokers and controllers do inside, joined from what their processes log (:mod:`.broker_lines`).

Lines have a time of the clock that all processes of a machine share, and a node's own come in their order. What the
cluster has decided is seen by an observer, and later than brokers act on it. So if a broker knew a decision before the
observer saw it, the decision gets the time at which the broker knew it: nothing is put in order by guess. A broker that
takes a log away does not say by which decision. If the observer sees one soon afterwards that asks for it, it is that
one.

If lines are lost or cannot be understood, the kinds of events that rest on them were not recorded in full, and the run
says so (``recorded.json``). Checks that need them are not available then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from highwater_chaos.backends.local.apache_kafka.broker_lines import BrokerLines, Found
from highwater_chaos.backends.local.apache_kafka.controller_lines import ControllerLines, Judged
from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_chaos.backends.local.program import NodePlace, Observed, Site
from highwater_runtime.model.in_sync import UNKNOWN, Registrations
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    LogRemoved,
    NodeEvent,
    PartitionChanged,
)

_SOON_NS: Final = 5 * SECOND
"""How long after a broker the observer may see a decision."""


class Lines(Protocol):
    """What one incarnation of a node writes, as :class:`~.event_lines.EventLines` reads it from a file."""

    @property
    def lost(self) -> str | None:
        """Why lines may be missing; None: none is."""

    def read(self) -> Iterator[Line]:
        """Lines that have come up since the last call."""

    def close(self) -> None: ...


class _Incarnation:
    def __init__(self, place: NodePlace, number: int, started_ns: int, lines: Lines) -> None:
        self.place: Final = place
        self.number: Final = number
        self.lines: Final = lines
        self.last_ns = started_ns

    def observed(self, ns: int, wall_ns: int, event: NodeEvent) -> Observed:
        """An event of this process: not before its start, not in the future, and in its order."""
        self.last_ns = min(max(ns, self.last_ns), time.monotonic_ns())
        return Observed(self.last_ns, wall_ns, self.place.name, self.number, event)


class _Broker(_Incarnation):
    def __init__(self, place: NodePlace, number: int, started_ns: int, lines: Lines, reader: BrokerLines) -> None:
        super().__init__(place, number, started_ns, lines)
        self.reader: Final = reader


class WhiteBox:
    """Args:

    lines: what an incarnation of a node writes for the harness.
    lose: gets a clause when lines of a node of that role were lost, at most once a role.
    """

    def __init__(self, site: Site, lines: Callable[[NodePlace, int], Lines], lose: Callable[[str, str], None]) -> None:
        self._site = site
        self._lines = lines
        self._lose = lose
        self._present: dict[str, _Incarnation] = {}
        self._controllers: dict[str, ControllerLines] = {}
        self._ready: list[Observed] = []
        self._lost: set[str] = set()  # membership only, never iterated
        self._known: dict[tuple[str, str], dict[int, int]] = {}
        """By partition and topic id: partition epochs that brokers knew and the observer had not seen, each with the
        time at which the first broker knew it."""
        self._removed: dict[tuple[str, str], dict[int, int]] = {}
        """By partition and topic id: when each broker took its log away."""
        self._assigned: dict[tuple[str, str], Sequence[int]] = {}
        """By partition and topic id: the replicas that the decision before gave it."""
        self._registered: dict[int, int] = {}
        self._topics: dict[str, str] = {}
        self._states: dict[tuple[str, str, int], tuple[int, int]] = {}
        """By partition, topic id and partition epoch: when it was committed, and its metadata offset."""
        self._registrations = Registrations()
        self._judged: list[tuple[_Incarnation, Judged]] = []

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """A process is about to be started; what the one before wrote is read to its end."""
        if (before := self._present.pop(node, None)) is not None:
            self._ready += self._read(before, is_over=True)
            before.lines.close()
        place = self._site.plan.place(node)
        lines = self._lines(place, incarnation)
        if place.role == "broker":
            reader = BrokerLines(place.node_id, self._decided_at)
            self._present[node] = _Broker(place, incarnation, time_ns, lines, reader)
        else:
            self._present[node] = _Incarnation(place, incarnation, time_ns, lines)
        self._controllers[node] = ControllerLines(self._topics.get)

    def take(self) -> list[Observed]:
        """What has come up since the last call, node by node."""
        events, self._ready = self._ready, []
        for incarnation in self._present.values():
            events += self._read(incarnation, is_over=False)
        return events

    def settled(self, decided: Sequence[Observed]) -> list[Observed]:
        """What the observer saw, in the order of the metadata, each at the time at which it was known at the latest;
        and judgements of controllers that have become, or not become, a state by then."""
        times = [one.time_ns for one in decided]
        for number, one in enumerate(decided):
            times[number] = min(one.time_ns, self._first_known(one.event))
        for number in range(len(times) - 2, -1, -1):
            times[number] = min(times[number], times[number + 1])
        found = [one._replace(time_ns=at) for one, at in zip(decided, times, strict=True)]
        for one in found:
            self._take_in(one)
        return [*self._judgements(), *found]

    def close(self) -> None:
        for incarnation in self._present.values():
            incarnation.lines.close()

    # --- lines ---

    def _read(self, incarnation: _Incarnation, *, is_over: bool) -> list[Observed]:
        events: list[Observed] = []
        controller = self._controllers[incarnation.place.name]
        reader = incarnation.reader if isinstance(incarnation, _Broker) else None
        for line in incarnation.lines.read():
            if reader is None:
                self._judged += [(incarnation, one) for one in controller.judgements_of(line)]
            else:
                events += self._of(incarnation, reader.events_of(line))
        if reader is not None:
            if is_over:
                events += self._of(incarnation, reader.close())
            self._learn(reader)
        lost = incarnation.lines.lost or (controller.lost if reader is None else reader.lost)
        if lost is not None and incarnation.place.role not in self._lost:
            self._lost.add(incarnation.place.role)
            self._lose(incarnation.place.role, f"the log of {incarnation.place.name} is not whole: {lost}")
        return events

    def _of(self, incarnation: _Incarnation, found: Iterable[Found]) -> list[Observed]:
        events = [incarnation.observed(*one) for one in found]
        for one in events:
            if isinstance(one.event, LogRemoved):
                removed = self._removed.setdefault((one.event.partition, one.event.topic_id), {})
                removed[incarnation.place.node_id] = one.time_ns
        return events

    def _learn(self, reader: BrokerLines) -> None:
        known, reader.known = reader.known, []
        for one in known:
            if one.partition is None:
                self._registered.setdefault(one.epoch, one.ns)
            elif (one.partition, one.topic_id, one.epoch) not in self._states:
                of_partition = self._known.setdefault((one.partition, one.topic_id), {})
                of_partition[one.epoch] = min(one.ns, of_partition.get(one.epoch, one.ns))

    # --- decisions ---

    def _decided_at(self, partition: str, topic_id: str, epoch: int) -> int | None:
        state = self._states.get((partition, topic_id, epoch))
        return None if state is None else state[1]

    def _first_known(self, event: NodeEvent) -> int:
        """When a broker knew a decision, or a later one of the same partition, as far as that is known: just before it
        acted on it, for of two events of one time either may come first in the recording."""
        now = never = time.monotonic_ns()
        if isinstance(event, BrokerRegistered):
            return self._registered.pop(event.broker_epoch, never + 1) - 1
        if not isinstance(event, PartitionChanged):
            return never
        key, assigned = (event.partition, event.topic_id), () if event.reason == "deleted" else event.replicas
        moved = [broker for broker in self._assigned.get(key, ()) if broker not in assigned]
        self._assigned[key] = assigned
        removed = self._removed.get(key, {})
        obeyed = [ns for broker in moved if (ns := removed.get(broker)) is not None and now - ns < _SOON_NS]
        known = self._known.get(key, {}) if event.reason != "deleted" else {}
        acted = [*obeyed, *(ns for epoch, ns in known.items() if epoch >= event.partition_epoch)]
        return min([never, *(ns - 1 for ns in acted)])

    def _take_in(self, one: Observed) -> None:
        event = one.event
        match event:
            case BrokerRegistered():
                self._registrations.add(event.broker, event.metadata_offset, event.broker_epoch)
            case BrokerRegistrationChanged(reason="unregistered"):
                self._registrations.add(event.broker, event.metadata_offset, UNKNOWN)
            case PartitionChanged():
                self._topics[event.topic_id] = event.partition.rpartition("-")[0]
                key = (event.partition, event.topic_id)
                if event.reason == "deleted":
                    self._known.pop(key, None)
                    return
                self._states[*key, event.partition_epoch] = one.time_ns, event.metadata_offset
                known = self._known.get(key, {})
                for epoch in [epoch for epoch in known if epoch <= event.partition_epoch]:
                    del known[epoch]

    def _judgements(self) -> list[Observed]:
        found: list[Observed] = []
        waiting: list[tuple[_Incarnation, Judged]] = []
        for incarnation, one in self._judged:
            if one.partition_epoch < 0:
                found.append(_of_controller(incarnation, one.ns, one, one.event))
                continue
            state = self._states.get((one.event.partition, one.topic_id, one.partition_epoch))
            if state is None:
                waiting.append((incarnation, one))
                continue
            at, offset = state
            registered = [self._registrations.in_force(broker, offset) for broker in one.event.isr]
            event = msgspec.structs.replace(
                one.event,
                metadata_offset=offset,
                registered_epochs=[UNKNOWN if epoch is None else epoch for epoch in registered],
            )
            found.append(_of_controller(incarnation, min(at, one.ns), one, event))
        self._judged = waiting
        return found


def _of_controller(incarnation: _Incarnation, at: int, one: Judged, event: NodeEvent) -> Observed:
    return Observed(at, one.wall_ns, incarnation.place.name, incarnation.number, event)
