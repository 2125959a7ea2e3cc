"""The events of one register in order, and what is open between any two of them: the board on which the search plays.

The search (``search``) walks forward through events and back again to where it left other choices. What does not depend
on its choices lives here: which operations are open, by value; how many writes of unknown outcome have begun; which
values are still going to be read. Acknowledged operations have a *slot*, a small number that is theirs while they are
open, so that sets of open operations are bits of an integer. Unknown writes of one value are all alike, and so are
unknown cas of one pair: they are counted in a *group*, and a packed integer has one field per group for how many the
search has used. A group's field is given to another once no operation can observe its value any more.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import defaultdict
from typing import Final

import numpy as np

from highwater_pipeline.linearizability.registers import CAS, NEVER, READ, WRITE, Register

FIELD: Final = 24
"""Bits of a group's field: its highest bit stays clear, so that fields can be compared side by side."""

BEGIN: Final = 0
END: Final = 1
BEGIN_UNKNOWN: Final = 2

Pair = tuple[int, int]
"""A cas: (expected value, new value); a write as a group: (−1, value)."""

_NONE: Final[tuple[list[int], list[int]]] = ([], [])


class Timeline:
    """One register's events, and a position among them that moves one event at a time.

    Where the position is ``i``, events below ``i`` have happened. ``open_reads`` and ``open_writes`` are bits of slots
    by value, ``open_cas`` by pair; ``begun`` counts invocations by group.
    """

    def __init__(self, register: Register) -> None:
        self.kind: list[int] = register.kind.tolist()
        self.value: list[int] = register.value.tolist()
        self.expected: list[int] = register.expected.tolist()
        known: list[bool] = register.known.tolist()
        self._order(register, known)
        self._observers(known)
        self._groups(known)
        self.open_reads: dict[int, int] = defaultdict(int)
        self.open_writes: dict[int, int] = defaultdict(int)
        self.open_cas: dict[Pair, int] = defaultdict(int)
        self.all_writes = 0
        self.all_cas = 0
        self.unread: set[int] = set()  # values with open reads; for iteration always sorted
        self.open_pairs: set[Pair] = set()
        self.begun: dict[Pair, int] = defaultdict(int)
        self.in_slot: list[int] = [-1] * self.slots
        self.position = 0

    def _order(self, register: Register, known: list[bool]) -> None:
        size = register.size
        times = np.concatenate([register.invoked, register.completed])
        events = np.argsort(times, kind="stable")[: size + sum(known)]
        self.events: list[tuple[int, int]] = []
        self.begin_at = [0] * size
        self.end_at = [NEVER] * size
        self.slot = [-1] * size
        free: list[int] = []
        self.slots = 0
        for at, event in enumerate(events.tolist()):
            if event >= size:
                op = event - size
                self.events.append((END, op))
                self.end_at[op] = at
                heapq.heappush(free, self.slot[op])
                continue
            self.begin_at[event] = at
            if not known[event]:
                self.events.append((BEGIN_UNKNOWN, event))
                continue
            self.events.append((BEGIN, event))
            if not free:
                free.append(self.slots)
                self.slots += 1
            self.slot[event] = heapq.heappop(free)

    def _observers(self, known: list[bool]) -> None:
        """By value: when acknowledged observers begin (and from each on, the earliest end of one), when the last one
        begins, when the last one ends, whether an unknown cas may observe it, and when its writers begin."""
        self.last_observed: dict[int, int] = defaultdict(lambda: -1)
        self.observed_until: dict[int, int] = defaultdict(lambda: -1)
        self.expected_by_unknown: set[int] = set()
        self.written_at: dict[int, list[int]] = defaultdict(list)
        observers: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for op, kind in enumerate(self.kind):
            if kind != READ:
                self.written_at[self.value[op]].append(self.begin_at[op])
            seen = self.value[op] if kind == READ else self.expected[op]
            if kind == WRITE:
                continue
            if known[op]:
                observers[seen].append((self.begin_at[op], self.end_at[op]))
                self.last_observed[seen] = max(self.last_observed[seen], self.begin_at[op])
                self.observed_until[seen] = max(self.observed_until[seen], self.end_at[op])
            else:
                self.expected_by_unknown.add(seen)
        for begins in self.written_at.values():
            begins.sort()
        self.observers: dict[int, tuple[list[int], list[int]]] = {}
        for seen, spans in observers.items():
            spans.sort()
            ends = [end for _, end in spans]
            for at in range(len(ends) - 2, -1, -1):
                ends[at] = min(ends[at], ends[at + 1])
            self.observers[seen] = [begin for begin, _ in spans], ends

    def _groups(self, known: list[bool]) -> None:
        members: dict[Pair, list[int]] = defaultdict(list)
        for op in sorted((op for op in range(len(known)) if not known[op]), key=self.begin_at.__getitem__):
            members[self.pair(op)].append(op)
        self.members = members
        self.field: dict[Pair, int] = {}
        self.until: dict[Pair, int] = {}  # the event from which on no operation observes a group's value
        self.forgotten: dict[int, int] = defaultdict(int)  # by event: fields that mean nothing from there on
        self.unknown_from: dict[int, list[Pair]] = defaultdict(list)
        free: list[int] = []
        busy: list[tuple[int, int]] = []
        self.fields = 0
        for pair, ops in sorted(members.items(), key=lambda item: self.begin_at[item[1][0]]):
            begins = self.begin_at[ops[0]]
            ends = NEVER if pair[1] in self.expected_by_unknown else self.observed_until[pair[1]]
            self.until[pair] = ends
            if ends <= begins:
                continue  # operations that observed the value had done so before
            while busy and busy[0][0] < begins:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if not free:
                free.append(self.fields)
                self.fields += 1
            number = heapq.heappop(free)
            heapq.heappush(busy, (ends, number))
            self.field[pair] = number * FIELD
            self.forgotten[ends] |= ((1 << FIELD) - 1) << (number * FIELD)
            if pair[0] >= 0:
                self.unknown_from[pair[0]].append(pair)
        self.guard = sum(1 << (number * FIELD + FIELD - 1) for number in range(self.fields))

    def pair(self, op: int) -> Pair:
        """What an operation that writes does."""
        return (self.expected[op] if self.kind[op] == CAS else -1, self.value[op])

    def written_next(self, value: int, position: int) -> int:
        """The next event from ``position`` on at which a writer of ``value`` begins; ``NEVER`` if none does."""
        begins = self.written_at.get(value, ())
        at = bisect_right(begins, position - 1)
        return begins[at] if at < len(begins) else NEVER

    def observed_by(self, value: int, position: int) -> int:
        """The first end of an acknowledged observer of ``value`` that begins from ``position`` on; ``NEVER``: none."""
        begins, ends = self.observers.get(value, _NONE)
        at = bisect_right(begins, position - 1)
        return ends[at] if at < len(ends) else NEVER

    def earliest(self, open_ones: int) -> int:
        """Of a set of open operations, the one that completes first."""
        best, ends = -1, NEVER + 1
        while open_ones:
            low = open_ones & -open_ones
            op = self.in_slot[low.bit_length() - 1]
            if self.end_at[op] < ends:
                best, ends = op, self.end_at[op]
            open_ones ^= low
        return best

    # --- moving ---

    def forward(self) -> None:
        """Let the next event happen."""
        kind, op = self.events[self.position]
        self.position += 1
        if kind == BEGIN_UNKNOWN:
            self.begun[self.pair(op)] += 1
        else:
            self._toggle(op, opened=kind == BEGIN)

    def back_to(self, position: int) -> None:
        """Undo events, to ``position``."""
        while self.position > position:
            self.position -= 1
            kind, op = self.events[self.position]
            if kind == BEGIN_UNKNOWN:
                self.begun[self.pair(op)] -= 1
            else:
                self._toggle(op, opened=kind == END)

    def _toggle(self, op: int, *, opened: bool) -> None:
        slot, value = self.slot[op], self.value[op]
        bit = 1 << slot
        if opened:
            self.in_slot[slot] = op
        match self.kind[op]:
            case 0:  # READ
                self.open_reads[value] ^= bit
                if self.open_reads[value]:
                    self.unread.add(value)
                else:
                    self.unread.discard(value)
            case 1:  # WRITE
                self.open_writes[value] ^= bit
                self.all_writes ^= bit
            case _:
                pair = (self.expected[op], value)
                self.open_cas[pair] ^= bit
                self.all_cas ^= bit
                if self.open_cas[pair]:
                    self.open_pairs.add(pair)
                else:
                    self.open_pairs.discard(pair)
