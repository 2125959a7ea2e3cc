"""The machine on millions of events: long stretches of appends, commits and acknowledgements are taken at once.

Example: a leader and two followers append a hundred thousand batches, and the high watermark follows. Each event is
permitted for the same reason as the one before it.

No rule is said again here. All events of one kind and node in a stretch are given to the machine as one event, whose
offsets and times are :class:`~.many.Many` numbers. The state that it meets then is that before each of the events:
:data:`_SETS` says what each kind sets. If the machine takes the same way for all of them, refuses nothing, and sets
what was assumed and nothing else, each event alone is permitted and leads to the same state. In any other case the
stretch is cut into shorter ones, and at last taken event by event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.arrow.view import View
from highwater_pipeline.specification.decisions import Event
from highwater_pipeline.specification.machine import Machine
from highwater_pipeline.specification.many import Many, MixedError
from highwater_pipeline.specification.permitted import Led
from highwater_pipeline.specification.refusal import Refusal
from highwater_pipeline.specification.replica import Replica
from highwater_runtime.model.leaders import HighWatermarks, Move

LEAST = 256
"""Events of a stretch, at least: to step through fewer takes no longer."""

AT_ONCE = 20_000
"""Events that are in memory as Python objects at one time."""

_SETS: Final[dict[str, dict[str, str | None]]] = {
    "log-appended": {"end": "end_offset", "end_row": "row"},
    "batch-committed": {"committed": "end_offset"},
    "high-watermark": {"high_watermark": "offset", "promised_min_isr": None},
    "write-acknowledged": {"promised_min_isr": None},
}
"""The kinds of events that are taken at once: which variables of its replica an event sets, and to which of its fields;
None: to what no event of a stretch looks at. An append moves the end of its leader epoch too, or how far its follower
has fetched; a move of the high watermark is one of the partition too."""

_MANY: Final = ("offset", "end_offset", "row", "time_ns")
_NUMBERS: Final = ("incarnation", "leader_epoch", "partition_epoch", "epoch", "min_isr")
_EQUAL: Final = ("node", "kind", "reason", "isr", *_NUMBERS)
"""What all events of a group have in common. Steps of these kinds look at no other fields."""


@dataclass(frozen=True, slots=True)
class _Group:
    """The events of one kind and node in a stretch. ``at``: their positions; ``event``: all of them as one."""

    at: Ints
    event: Event

    @property
    def key(self) -> tuple[str, int]:
        return str(self.event["kind"]), int(self.event["node"].rpartition("-")[2])

    @property
    def is_of_follower(self) -> bool:
        return bool(self.event["kind"] == "log-appended" and self.event["reason"] != "leader")

    def before(self, name: str, at: Ints, initial: int | None) -> Many:
        """Return, for each event at ``at``, the field ``name`` of the last event of this group before it; ``initial``
        if there is none."""
        if initial is None:
            raise MixedError
        values = self.event[name].values
        return Many(lambda: np.append(np.int64(initial), values)[np.searchsorted(self.at, at)])

    def replica_after(self, before: Replica, seen: Replica) -> Replica:
        """The replica ``before`` the events as it should be after each of them; ``seen``: what is not looked at."""
        kind, event = self.event["kind"], self.event
        sets = {variable: event[name] if name else getattr(seen, variable) for variable, name in _SETS[kind].items()}
        if self.is_of_follower:
            sets["reached"] = {**before.reached, event["leader_epoch"]: event["end_offset"]}
            sets["high_watermark"] = seen.high_watermark
        return replace(before, **sets)

    def led_after(self, before: Led) -> Led:
        """The same of their leader epoch."""
        sets: dict[str, Any] = {}
        if self.event["kind"] == "high-watermark":
            sets = {"ends": [before.end], "high_watermarks": [self.event["offset"]]}
        elif self.event["kind"] == "log-appended" and not self.is_of_follower:
            sets = {"end": self.event["end_offset"]}
        return replace(before, **sets)


@dataclass(slots=True)
class _LedMeanwhile(Led):
    """A leader epoch before each event of a group. Of a follower's: ``known`` is how many moves of the high watermark
    there were by then, of those at ``moved_at`` to ``moved_to``, and ``least`` what it knew before the stretch."""

    moved_at: Ints = field(compare=False, kw_only=True)
    moved_to: Ints = field(compare=False, kw_only=True)
    known: Ints = field(compare=False, kw_only=True)
    least: int = field(compare=False, kw_only=True)

    def high_watermark_known_at(self, end: Any) -> Any:
        """Return it, or a higher one that was known at an event before."""
        place = np.minimum(np.searchsorted(self.moved_at, end.values), self.known)
        known = np.append(np.int64(0), self.moved_to)[place]
        return Many(np.maximum(np.maximum.accumulate(known), self.least))


class _Stretch:
    """Groups of events, and the state before each of these events.

    Raises:
        MixedError: there is more than one leader, or leader epoch.
    """

    def __init__(self, groups: list[_Group]) -> None:
        self._of: Final = {group.key: group for group in groups}
        self.epoch: Final = groups[0].event["leader_epoch"]
        followers = {group.key[1] for group in groups if group.is_of_follower}
        leaders = {group.key[1] for group in groups if not group.is_of_follower}
        if len(leaders) > 1 or leaders & followers or any(one.event["leader_epoch"] != self.epoch for one in groups):
            raise MixedError
        leader = next(iter(leaders), None)
        self._appends = None if leader is None else self._of.get(("log-appended", leader))
        self._moves = None if leader is None else self._of.get(("high-watermark", leader))

    def replica(self, replica: Replica, at: Ints) -> Replica:
        """A replica before each event at ``at``. What high watermark a follower knows is left out."""
        before: dict[str, Any] = {"log": replica.log.copy(), "reached": {**replica.reached}}
        for kind, sets in _SETS.items():
            group = self._of.get((kind, replica.broker))
            if group is None:
                continue
            for variable, name in sets.items():
                if name is not None:
                    before[variable] = group.before(name, at, getattr(replica, variable))
            if group.is_of_follower:
                reached = replica.reached.get(self.epoch)
                before["reached"][self.epoch] = group.before("end_offset", at, reached)
                before["high_watermark"] = None
        return replace(replica, **before)

    def led(self, led: Led, group: _Group, replica: Replica) -> Led:
        """The leader epoch before each event of ``group``, which is of ``replica``."""
        changed: dict[str, Any] = {"end": self._end(led, group.at), "ends": [], "high_watermarks": []}
        if not group.is_of_follower:
            return replace(led, **changed)
        least, moves = replica.high_watermark or 0, self._moves
        if least < 0 or not led.is_ascending:
            raise MixedError
        first = max(bisect_left(led.ends, int(group.event["end_offset"].values.min())) - 1, 0)
        moved_at, moved_to = np.array(led.ends[first:], np.int64), np.array(led.high_watermarks[first:], np.int64)
        known = np.full(len(group.at), len(moved_at))
        if moves is not None:
            moved_at = np.append(moved_at, self._end(led, moves.at).values)
            moved_to = np.append(moved_to, moves.event["offset"].values)
            known += np.searchsorted(moves.at, group.at)
        if (moved_at[1:] < moved_at[:-1]).any():
            raise MixedError
        changed |= {"moved_at": moved_at, "moved_to": moved_to, "known": known, "least": least}
        return _LedMeanwhile(led.broker, led.log, led.start, row=led.row, **changed)

    def _end(self, led: Led, at: Ints) -> Many:
        appends = self._appends
        return Many(np.full(len(at), led.end)) if appends is None else appends.before("end_offset", at, led.end)


class _Events:
    """Events by kind and node. ``stretches`` are those in which the events of each kind and node differ in nothing but
    numbers that ascend, and each has one before it: what it sets is known, and which leader epoch it claims."""

    def __init__(self, events: View) -> None:
        self._events: Final = events
        self._columns: Final = {name: (events.ints(name, -1), events.is_known(name)) for name in _MANY}
        node, nodes = events.codes("node")
        kind, _ = events.codes("kind")
        is_broker = np.array([*(name.startswith("broker-") for name in nodes), False])
        is_other = ~(events.is_any("kind", tuple(_SETS)) & is_broker[node])
        group = np.where(is_other, -1, kind * len(nodes) + node)
        order = np.argsort(group, kind="stable")
        is_first = np.append(True, np.diff(group[order]) != 0)[: len(group)]
        is_new = is_other.copy()
        is_new[order] |= is_first | self._differs(order)
        edges = np.append(np.flatnonzero(is_new), len(group)).tolist()
        self.stretches: Final = [(new + 1, end) for new, end in pairwise(edges) if end - new > LEAST]
        self._groups: Final = np.split(order, np.flatnonzero(is_first)[1:])

    def _differs(self, order: Ints) -> Bools:
        """Whether an event differs from the one before it in ``order`` in a field that a group has in common."""
        events = self._events.take(order)
        columns = [events.codes("reason")[0], events.is_known("isr"), *(events.is_known(name) for name in _MANY)]
        columns += [column for name in _NUMBERS for column in (events.ints(name, -1), events.is_known(name))]
        members, of = events.lists("isr")
        length = np.bincount(of, minlength=len(order))
        differs = np.zeros(len(order), np.bool_)
        for column in (*columns, length):
            differs[1:] |= column[1:] != column[:-1]
        same = np.flatnonzero((of > 0) & ~differs[of])  # the list before is as long
        differs[of[same[members[same] != members[same - length[of[same]]]]]] = True
        return differs

    def groups(self, start: int, end: int) -> list[_Group]:
        """The events from ``start`` to before ``end``, those groups first whose last event comes first."""
        found = []
        for positions in self._groups:
            first, behind = np.searchsorted(positions, (start, end)).tolist()
            if first < behind:
                found.append(self._group(positions[first:behind]))
        return sorted(found, key=lambda group: int(group.at[-1]))

    def _group(self, at: Ints) -> _Group:
        event = self._events.row(int(at[0]), *_EQUAL)
        for name, (column, is_known) in self._columns.items():
            event[name] = Many(column[at]) if is_known[at[0]] else None
        return _Group(at, event)


class StretchMachine(Machine):
    """The same machine, which takes long stretches at once."""

    def steps(self, events: View, names: Sequence[str]) -> Iterator[Refusal]:
        """Take events, all of kinds that are steps; yield the rules that they break, in order. ``names``: the fields
        that steps look at."""
        by_group, at = _Events(events), 0
        for start, end in by_group.stretches:
            yield from self._one_by_one(events.slice(at, start - at), names)
            at, size = start, end - start
            while at < end:
                size = min(size, end - at)
                is_taken = size >= LEAST and self._take(by_group.groups(at, at + size))
                if not is_taken and size > LEAST:
                    size = max(size // 2, LEAST)
                    continue
                if not is_taken:
                    yield from self._one_by_one(events.slice(at, size), names)
                at, size = at + size, 2 * size
        yield from self._one_by_one(events.slice(at), names)

    def _one_by_one(self, events: View, names: Sequence[str]) -> Iterator[Refusal]:
        for start in range(0, events.num_rows, AT_ONCE):
            for event in events.slice(start, AT_ONCE).to_pylist(*names):
                yield from self.step(event)

    def _take(self, groups: list[_Group]) -> bool:
        """Take a stretch, if that can be done at once."""
        try:
            stretch = _Stretch(groups)
            after = [self._after(group, stretch) for group in groups]
        except MixedError:
            return False
        for group, (replica, led, highest) in zip(groups, after, strict=True):
            self._set(group, replica, led, highest)
        return True

    def _after(self, group: _Group, stretch: _Stretch) -> tuple[Replica, Led | None, Any]:
        """Take the events of a group at once, and restore the state. Returns their replica and their leader epoch after
        each of them, and the highest high watermark of the partition.

        Raises:
            MixedError: steps differ, are refused, or set something else than was assumed.
        """
        (kind, broker), event, epoch = group.key, group.event, stretch.epoch
        state, leaders = (self._replicas, self._led, self._high_watermarks, self._high_watermark), self._leaders
        before = {number: stretch.replica(one, group.at) for number, one in self._replicas.items()}
        led = stretch.led(self._led[epoch], group, self._replicas[broker]) if epoch in self._led else None
        try:
            self._replicas = {
                number: replace(one, log=one.log.copy(), reached={**one.reached}) for number, one in before.items()
            }
            if led is not None:
                self._led = {**self._led, epoch: replace(led, ends=[], high_watermarks=[])}
            self._leaders = deepcopy(self._leaders)
            if kind == "high-watermark":
                self._begin_moves(event, before[broker])
            if self.step(event) or self._leaders.claims != leaders.claims:
                raise MixedError
            replica, led_after = self._replicas[broker], self._led.get(epoch)
            if self._replicas != {**before, broker: group.replica_after(before[broker], replica)}:
                raise MixedError
            if led is not None and led_after != group.led_after(led):
                raise MixedError
            return replica, led_after, self._high_watermark
        finally:
            self._replicas, self._led, self._high_watermarks, self._high_watermark = state
            self._leaders = leaders

    def _begin_moves(self, event: Event, before: Replica) -> None:
        """Let the high watermark before each move be that of the move before it, if the first move is permitted."""
        self._high_watermarks = deepcopy(self._high_watermarks)
        if self._move(Move(event["leader_epoch"], int(event["offset"].values[0]))) is not None:
            raise MixedError  # there was a higher one
        self._high_watermarks, highest = HighWatermarks(), before.high_watermark
        assert highest is not None
        self._move(Move(event["leader_epoch"], highest))

    def _set(self, group: _Group, after: Replica, led_after: Led | None, highest: Any) -> None:
        """Go to the state that is there after the last event of a group."""
        (kind, broker), event = group.key, group.event
        replica, led = self._replicas[broker], self._led.get(event["leader_epoch"])
        for variable in _SETS[kind]:
            setattr(replica, variable, _last(getattr(after, variable)))
        if group.is_of_follower:
            replica.fetches_up_to(_last(event["end_offset"]), event["leader_epoch"])
            if led is not None:
                replica.high_watermark = _last(after.high_watermark)
        elif kind == "log-appended" and led is not None:
            led.end = _last(event["end_offset"])
        elif kind == "high-watermark":
            self._high_watermark = _last(highest)
            self._move(Move(event["leader_epoch"], _last(event["offset"]), _last(event["row"])))
            if led is not None and led_after is not None:
                moves: list[Any] = [*led_after.ends, *led_after.high_watermarks]
                led.extend(*(many.values.tolist() for many in moves))


def _last(value: Any) -> Any:
    return value.last if isinstance(value, Many) else value
