"""Decides any register: Wing and Gong's search with Lowe's memoisation, linearizing just in time.

The search goes through the events of a register in order ("Testing for linearizability", Lowe 2017: just-in-time
linearization). An operation is linearized at the latest when it completes, and then only with those before it that it
needs; so a *configuration* is the register's state and what has become of the open operations, and one that was seen
before at the same event is not looked at again. Going backtracks, best choices first, so that a history that is
linearizable is walked through nearly straight.

What makes registers easier than objects in general, none of which changes an answer:

* A read is linearized as soon as it is open while the state is its value: it changes nothing.
* When a write takes effect, every other open write may have taken effect right before it, unseen; an open write of the
  present state may have taken effect without a difference. Such a write is *free*: it may still be used until it
  completes, but it need not. This takes the place of choosing which writes to hide, 2^n ways with n open.
* Of two writes of one value only the one that completes first is tried; an unknown one only where none is open. Unknown
  operations that do the same are only counted. Of two configurations that differ in this count alone, the one that has
  used more of them is not searched.
* Open reads of a value that no operation observes later are linearized behind an open write of it on the way, as
  soon as another write takes effect: that write has no other use.
* A configuration is given up as soon as a value that must still be observed is neither there nor can be written again.
  Where values are unique this leaves nearly no choice at all.

Deciding registers is NP-complete in general, so steps are counted and may be limited: the answer then is None.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from highwater_pipeline.linearizability.registers import CAS, NEVER, READ, UNSET, WRITE, Ints, Register
from highwater_pipeline.linearizability.timeline import BEGIN, BEGIN_UNKNOWN, END, FIELD, Pair, Timeline

_CLOCK_EVERY = 4096


class Config(NamedTuple):
    """The state; slots of open operations that have taken effect, and of open writes that are free; groups' fields."""

    state: int
    done: int
    free: int
    used: int


class Path(NamedTuple):
    """How a configuration came about: at which event which operations were made to take effect, and what was before."""

    before: Path | None
    event: int
    operations: tuple[int, ...]


Move = tuple[Config, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """``linearizable`` None: the limit came first. ``reached``: the last event that some configuration survived (its
    place in the order of events), −1 if none. ``path`` leads to the end, where there is one. ``suspect`` is the event
    likely to be the first that none survives: where those that came farthest were seen to be heading; −1: no idea.
    """

    linearizable: bool | None
    steps: int
    reached: int
    suspect: int
    path: Path | None


def search(register: Register, max_steps: int, deadline: float | None = None) -> Found:
    """Look for a linearization within ``max_steps`` events and configurations, and until ``deadline`` (of
    ``time.monotonic``)."""
    return _Search(register).run(max_steps, deadline)


class _Search:
    def __init__(self, register: Register) -> None:
        self.line = Timeline(register)
        self.seen: dict[tuple[int, int], list[Config]] = {}
        self.doom = (-1, -1)  # of the last positions at which a configuration was given up: where it would have ended

    def run(self, max_steps: int, deadline: float | None) -> Found:
        line = self.line
        events, kinds, values, slots = line.events, line.kind, line.value, line.slot
        stack: list[tuple[int, Config, Path | None]] = [(0, Config(UNSET, 0, 0, 0), None)]
        steps, reached, check_at = 0, 0, _CLOCK_EVERY
        while stack:
            position, config, path = stack.pop()
            line.back_to(position)
            state, done, free, used = config
            while True:
                if position == len(events):
                    return Found(True, steps, position - 1, -1, path)
                steps += 1
                if steps >= check_at:
                    check_at = steps + _CLOCK_EVERY
                    if deadline is not None and time.monotonic() > deadline:
                        return Found(None, steps, reached - 1, -1, None)
                if steps > max_steps:
                    return Found(None, steps, reached - 1, -1, None)
                kind, op = events[position]
                value = values[op]
                if kind == BEGIN:
                    line.forward()
                    if value == state and kinds[op] == READ:
                        done |= 1 << slots[op]
                    elif value == state and kinds[op] == WRITE:
                        free |= 1 << slots[op]
                    elif kinds[op] == READ and not self.alive(value, Config(state, done, free, used)):
                        break
                elif kind == BEGIN_UNKNOWN:
                    line.forward()
                else:
                    bit = 1 << slots[op]
                    if not done & bit:
                        config = Config(state, done, free, used)
                        if self.is_known(position, config):
                            break
                        if not free & bit:
                            moves = self.moves(op, config)
                            steps += len(moves)
                            stack.extend((position, after, Path(path, position, ops)) for after, ops in reversed(moves))
                            break
                        used_now = Config(state, done, free & ~bit, used)
                        if self.wanted(op, config):
                            if line.open_reads[value] & ~done and value != state:
                                stack.append((position, Config(state, done | bit, free & ~bit, used), path))
                                stack.append((position, used_now, path))
                                break
                            stack.append((position, used_now, path))
                    done &= ~bit
                    free &= ~bit
                    line.forward()
                    used &= ~line.forgotten.get(position, 0)
                    if kinds[op] != READ and value != state and not self.alive(value, Config(state, done, free, used)):
                        reached = max(reached, position)
                        break
                position += 1
                reached = max(reached, position)
        return Found(False, steps, reached - 1, self.doom[1], None)

    def is_known(self, position: int, config: Config) -> bool:
        """Whether this configuration, or one that can do all it can, was here before; remembers it if not."""
        line = self.line
        seen = self.seen.setdefault((position, config.state), [])
        guard, writes = line.guard, line.all_writes
        # What completes now is either free to vanish or not: one way to go on from the first is the second.
        fixed = line.all_cas | 1 << line.slot[line.events[position][1]]
        _, done, free, used = config
        reads = ~(writes | line.all_cas)
        used |= guard
        for _, done_there, free_there, used_there in seen:
            differs = (done ^ done_there) | (free ^ free_there)
            if (
                not differs & (fixed | (writes & ~free_there))
                and not done & reads & ~done_there
                and (used - used_there) & guard == guard  # every field there is at most what it is here
            ):
                return True
        seen.append(config)
        return False

    # --- choices ---

    def moves(self, op: int, config: Config) -> list[Move]:
        """What may be done next so that ``op``, which is about to complete, takes effect; best last resort last."""
        line = self.line
        value, last = line.value[op], 0 if line.kind[op] == READ else 1 << line.slot[op]
        found: list[Move] = []
        target = -1
        match line.kind[op]:
            case 0:  # READ
                target = value
                found.extend(self.ways_to(value, config, last))
            case 1:  # WRITE
                found.append(self.write(config, value, op, None, 0))
            case _:
                if config.state == line.expected[op]:
                    found.append(self.cas(config, value, op, None, 0))
                else:
                    target = line.expected[op]
                    found.extend(self.ways_to(target, config, last))
        for between in self.worth_visiting(config, last):
            if between != target:
                found.extend(self.ways_to(between, config, last))
        return [move for move in found if move[0].state == config.state or self.alive(config.state, move[0])]

    def worth_visiting(self, config: Config, last: int) -> list[int]:
        """States that an operation could use before the operation that completes: a read that is open, a cas; and what
        a cas makes of the present state, if this is when it happened (unlike a write it cannot hide)."""
        line, state = self.line, config.state
        found = {value for value in line.unread if line.open_reads[value] & ~config.done}
        for pair in line.open_pairs:
            if line.open_cas[pair] & ~config.done:
                found.add(pair[0])
                if pair[0] == state:
                    found.add(pair[1])
        for expected, pairs in line.unknown_from.items():
            if any(self.unused(pair, config) for pair in pairs):
                found.add(expected)
        if not line.all_writes & ~config.done & ~config.free & ~last:
            found.discard(state)  # writing the same again would free no operation
        return sorted(found)

    def ways_to(self, value: int, config: Config, last: int) -> Iterator[Move]:
        """How one operation makes ``value`` the state; ``last`` is a slot to be kept for the end, as a bit."""
        line = self.line
        if candidates := line.open_writes[value] & ~config.done & ~last:
            yield self.write(config, value, line.earliest(candidates), None, last)
        elif self.unused((-1, value), config):
            yield self.write(config, value, self.unknown((-1, value), config), (-1, value), last)
        pair = (config.state, value)
        if candidates := line.open_cas.get(pair, 0) & ~config.done & ~last:
            yield self.cas(config, value, line.earliest(candidates), None, last)
        elif self.unused(pair, config):
            yield self.cas(config, value, self.unknown(pair, config), pair, last)

    def wanted(self, op: int, config: Config) -> bool:
        """Whether a free write could be of use as the state that it leaves, now that it completes."""
        line, value = self.line, self.line.value[op]
        if value == config.state:  # to go somewhere else and come back, or to free others
            return bool(
                line.all_writes & ~config.done & ~config.free or self.worth_visiting(config, 1 << line.slot[op])
            )
        return (
            bool(line.open_reads[value] & ~config.done)
            or line.last_observed[value] > line.position
            or value in line.expected_by_unknown
            or self.expected_by_open(value, config)
        )

    # --- effects ---

    def write(self, config: Config, value: int, op: int, group: Pair | None, last: int) -> Move:
        """A write takes effect: every other open write has become free, and reads that no other write can serve are."""
        line = self.line
        done, used, visited = config.done, config.used, []
        if group is None:
            done |= 1 << line.slot[op]
        else:
            used += 1 << line.field[group]
        for other in sorted(line.unread):
            if other not in (value, config.state) and line.open_reads[other] & ~done and self.is_closed(other, config):
                now = Config(config.state, done, 0, used)
                if candidates := line.open_writes[other] & ~done & ~last:
                    visit = line.earliest(candidates)
                    done |= 1 << line.slot[visit]
                elif self.unused((-1, other), now):
                    visit = self.unknown((-1, other), now)
                    used += 1 << line.field[-1, other]
                else:
                    continue
                visited.append(visit)
                done |= line.open_reads[other]
        done |= line.open_reads[value]
        return Config(value, done, line.all_writes & ~done & ~last, used), (*visited, op)

    def cas(self, config: Config, value: int, op: int, group: Pair | None, last: int) -> Move:
        """A cas takes effect: nothing may come between it and the state that it expects."""
        line = self.line
        done, used = config.done | line.open_reads[value], config.used
        if group is None:
            done |= 1 << line.slot[op]
        else:
            used += 1 << line.field[group]
        free = (config.free | line.open_writes[value]) & ~done & ~last
        return Config(value, done, free, used), (op,)

    # --- what can still be ---

    def unused(self, group: Pair, config: Config) -> bool:
        """Whether an unknown operation of a group has begun and is not used yet."""
        line = self.line
        begun = line.begun.get(group, 0)
        return begun > 0 and line.until[group] >= line.position and begun > self.used(group, config)

    def used(self, group: Pair, config: Config) -> int:
        return (config.used >> self.line.field[group]) & ((1 << FIELD) - 1)

    def unknown(self, group: Pair, config: Config) -> int:
        """The next unused operation of a group."""
        return self.line.members[group][self.used(group, config)]

    def expected_by_open(self, value: int, config: Config) -> bool:
        line = self.line
        return any(pair[0] == value and line.open_cas[pair] & ~config.done for pair in line.open_pairs)

    def is_closed(self, value: int, config: Config) -> bool:
        """Whether only reads that are open now can observe a value."""
        line = self.line
        return (
            line.last_observed[value] < line.position
            and value not in line.expected_by_unknown
            and not self.expected_by_open(value, config)
        )

    def alive(self, value: int, config: Config) -> bool:
        """Whether those who must observe ``value``, which is not the state, can still do so (or there are none)."""
        line = self.line
        reads = line.open_reads[value] & ~config.done
        if not reads and line.last_observed[value] < line.position and not self.expected_by_open(value, config):
            return True
        if line.open_writes[value] & ~config.done or self.unused((-1, value), config):
            return True
        for pair in line.open_pairs:
            if pair[1] == value and line.open_cas[pair] & ~config.done:
                return True
        for pairs in line.unknown_from.values():
            for pair in pairs:
                if pair[1] == value and self.unused(pair, config):
                    return True
        in_time = line.observed_by(value, line.position)
        if reads:
            in_time = min(in_time, line.end_at[line.earliest(reads)])
        if line.written_next(value, line.position) < in_time:
            return True
        if in_time < NEVER:
            self.doom = max(self.doom, (line.position, in_time))
        return False


def with_distinct_values(register: Register, path: Path | None) -> Register:
    """The register with every value replaced by the operation that wrote it, as the path has it: an operation that
    observed it names that operation. So ``zones`` can say whether the path is right, and how its operations stand in
    order.

    What took no effect is left out. A write that the path does not name took effect unseen, or while the state was what
    it writes: then it changed nothing, and stands here as a read.
    """
    moves: dict[int, list[int]] = {}
    named: set[int] = set()
    while path is not None:
        moves[path.event] = [*path.operations, *moves.get(path.event, ())]
        named.update(path.operations)
        path = path.before
    line = Timeline(register)
    kind, value, expected = register.kind.copy(), register.value.copy(), register.expected.copy()
    writes = np.flatnonzero(kind != READ)
    value[writes] = writes + 1
    keep = register.known.copy()
    state, block = UNSET, UNSET
    waiting: dict[int, set[int]] = {}

    def observes(op: int) -> None:
        kind[op], value[op] = READ, block

    for event, (what, op) in enumerate(line.events):
        for move in moves.get(event, ()):
            if line.kind[move] == CAS:
                expected[move] = block
            state, block, keep[move] = line.value[move], move + 1, True
            for waited in sorted(waiting.pop(state, ())):
                observes(waited)
        changes_nothing = line.kind[op] == READ or (line.kind[op] == WRITE and op not in named)
        if what == BEGIN and changes_nothing:
            if line.value[op] == state:
                observes(op)
            else:
                waiting.setdefault(line.value[op], set()).add(op)
        elif what == END and line.value[op] in waiting:
            waiting[line.value[op]].discard(op)
    return Register(kind, value, expected, register.invoked, register.completed, register.row).take(keep)


def position_in_time(register: Register, event: int) -> int:
    """The time of an event by its place in the order of events."""
    times: Ints = np.sort(np.concatenate([register.invoked, register.completed]))
    return int(times[event]) if event >= 0 else -1
