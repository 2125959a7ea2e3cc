"""Order, per consumer and per producer: ``poll-skip``, ``nonmonotonic-poll``, ``nonmonotonic-send`` and the same inside
one operation (``int-``), by Jepsen's definitions.

Example: a consumer read offset 4 and then 7. If a record is known at 5 or 6, it was skipped; if not, nothing is wrong,
because logs have gaps. A consumer that read 4 and then 3 went back.

The trap is a consumer that was moved in between. An assignment with an offset sets the position. One without an offset
keeps the position of the partitions that it lists, and drops all others. After a subscription the group may move the
consumer between two operations, and the history does not show that: from then on only the order inside one operation is
judged. An operation during which the group moved a partition has an ``assign`` of that partition among its
micro-operations, and its order there is not judged either.

The rule for sends: they are in the order in which they began. For an idempotent producer this holds for all sends
(pipelined sends of one client are operations of several processes). For another producer it holds only for the sends
of one process: each begins after the last one was acknowledged. Nor are the sends of an idempotent producer in order if
its leader may have forgotten it in between, or has none of its records yet (``checks.producer_expiry``): as in Apache
Kafka (``ProducerAppendInfo.checkSequence``) it then takes any sequence. A producer that has several batches in flight
when the leader changes may so write a later one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import (
    WHO,
    bools,
    finding,
    ints,
    joined,
    last_known,
    order_by,
    pick,
    rows_of,
)
from highwater_pipeline.checks.producer_expiry import begins_within, may_be_forgotten
from highwater_pipeline.checks.promises import Promised
from highwater_pipeline.checks.version_order import NO, YES, Answers, Seen, VersionOrder
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding


@dataclass(frozen=True, slots=True)
class _Acts:
    """Micro-operations of consumers or of producers. ``who`` is the process, or the idempotent producer; ``at`` the
    position in the history; ``number`` and ``subscribed`` are those of a consumer's assignments. ``moved``: the group
    moved the partition during the operation."""

    who: Ints
    at: Ints
    row: Ints
    offset: Ints
    number: Ints
    is_record: Bools
    subscribed: Bools
    moved: Bools


@dataclass(frozen=True, slots=True)
class _Steps:
    """Successive micro-operations of one process on one partition: positions ``before`` and ``after`` in the history;
    ``to``: the offset of ``after``; ``past``: offsets up to and with which everything lies behind ``before``;
    ``inside``: both are of one operation; ``pipelined``: sends of two, and the first was open when the second began.
    ``who`` and ``when`` give their order."""

    before: Ints
    after: Ints
    past: Ints
    to: Ints
    inside: Bools
    pipelined: Bools
    who: Ints
    when: Ints


class _Gaps:
    """Steps over more than one offset; :meth:`look` says between which of them a record stands."""

    def __init__(self) -> None:
        self._parts: list[_Steps] = []
        self._found: list[Bools] = []

    def add(self, steps: _Steps, past: Ints) -> None:
        """Take in the steps of a part. ``past`` as in the steps, if nothing below counts for another reason too."""
        self._parts.append(pick(replace(steps, past=past), steps.to - past > 1))

    def steps(self) -> _Steps:
        if len(self._parts) > 1:
            self._parts = [joined(self._parts)]
        return self._parts[0]

    def reach_into(self, offsets: Ints) -> bool:
        """Whether some step goes over one of these offsets, as far as their least and their greatest say."""
        if not self._parts or not len(offsets):
            return False
        steps = self.steps()
        return bool(((steps.past < offsets.max()) & (steps.to > offsets.min())).any())

    def look(self, orders: list[VersionOrder]) -> None:
        """Look into a part that has all rows of some offsets. ``orders``: as they are certain, and as they may be."""
        if not self._parts:
            return
        steps = self.steps()
        if not self._found:
            self._found = [np.zeros(len(steps.to), np.bool_) for _ in range(2)]
        if not len(steps.to):
            return
        self._found = [
            found | order.between(steps.past, steps.to)
            for found, order in zip(self._found, (orders[0], orders[-1]), strict=True)
        ]

    def over_records(self) -> tuple[_Steps, _Steps] | None:
        """The steps over a record, certain and possible; None: there are none."""
        if not self._found:
            return None
        steps = self.steps()
        return pick(steps, self._found[0]), pick(steps, self._found[1])


class PollOrder:
    """The order of what consumers read in one topic. First comes the history by rows (:meth:`add`), then by offsets."""

    key = "row"

    def __init__(self, partition: str, history: View, promised: Promised) -> None:
        self._partition: Final = partition
        self._history: Final = history
        self._promised: Final = promised
        self._last: _Acts | None = None
        self._back: list[_Steps] = []
        self.gaps: Final = _Gaps()

    def add(self, at: Ints, seen: Seen) -> None:
        """Take the operations that come next; ``at``: their positions in the history."""
        which = np.flatnonzero(~seen.is_send & (seen.outcome == OK))
        which = which[order_by(seen.process[which])]
        who, offset, is_record = seen.process[which], seen.offset[which], seen.is_poll[which]
        moved = is_in(seen.row[which], seen.row[which[~is_record]])
        goes_on = np.zeros(len(which), np.bool_)
        goes_on[1:] = (who[1:] == who[:-1]) & (offset[1:] == offset[:-1] + 1) & is_record[1:] & is_record[:-1]
        kept = _without_inner(goes_on)
        which = which[kept]
        acts = _Acts(
            who[kept],
            at[which],
            seen.row[which],
            offset[kept],
            ints(seen.table, "assignment")[which],
            is_record[kept],
            bools(seen.table, "subscribed")[which],
            moved[kept],
        )
        steps = self._steps(acts, ~goes_on[kept])
        back = steps.to <= steps.past
        self._back.append(pick(steps, back))
        if self._promised.whole != NO:
            ahead = pick(steps, ~back)
            self.gaps.add(ahead, np.maximum(ahead.past, self._promised.log_start - 1))

    def _steps(self, new: _Acts, is_wanted: Bools) -> _Steps:
        """The steps to polls of a record whose consumer's position before is known; ``is_wanted``: which of ``new``
        they may lead to."""
        acts = new if self._last is None else joined([self._last, new])
        is_wanted = np.concatenate([np.zeros(len(acts.at) - len(new.at), np.bool_), is_wanted])
        order = order_by(acts.who)
        acts, is_wanted = pick(acts, order), is_wanted[order]
        same = np.zeros(len(acts.at), np.bool_)
        same[1:] = acts.who[1:] == acts.who[:-1]
        # An assignment that does not list the partition leaves no row here, only a gap in the numbers.
        lost = ~same
        lost[1:] |= acts.number[1:] - acts.number[:-1] > np.where(acts.is_record[1:], 0, 1)
        latest = last_known(acts.is_record | (acts.offset >= 0))
        before = np.concatenate([[-1], latest[:-1]]) if len(latest) else latest
        losses: Ints = np.cumsum(lost)
        self._last = self._carried(acts, latest, losses)
        inside = acts.is_record & acts.is_record[before] & (acts.row == acts.row[before]) & ~acts.moved
        known = is_wanted & acts.is_record & (before >= 0) & (losses == losses[before]) & (~acts.subscribed | inside)
        before, after = before[known], np.flatnonzero(known)
        return _Steps(
            acts.at[before],
            acts.at[after],
            np.where(acts.is_record[before], acts.offset[before], acts.offset[before] - 1),
            acts.offset[after],
            acts.is_record[before] & (acts.row[before] == acts.row[after]),
            np.zeros(len(after), np.bool_),
            acts.who[after],
            acts.at[after],
        )

    @staticmethod
    def _carried(acts: _Acts, latest: Ints, losses: Ints) -> _Acts:
        """Of each process what is needed of it later: from the last position that is known on, if it still is."""
        ends = np.ones(len(acts.who), np.bool_)
        ends[:-1] = acts.who[1:] != acts.who[:-1]
        last = np.flatnonzero(ends)
        still_known = (latest[last] >= 0) & (losses[latest[last]] == losses[last])
        first = np.where(still_known, latest[last], last)
        kept = np.zeros(len(ends) + 1, np.int64)
        np.add.at(kept, first, 1)
        np.add.at(kept, last + 1, -1)
        return pick(acts, np.cumsum(kept[:-1]) > 0)

    def findings(self) -> dict[str, Finding]:
        """What was found, when the offsets have been looked at."""
        back = joined(self._back)
        over = self.gaps.over_records() or (pick(back, back.inside[:0]), pick(back, back.inside[:0]))
        certain, possible = over if self._promised.whole == YES else (pick(over[0], over[0].to[:0]), over[1])
        found = {}
        for prefix, inside in (("", False), ("int-", True)):
            went_back = pick(back, back.inside == inside)
            found[f"{prefix}nonmonotonic-poll"] = self._finding(went_back, "went back")
            skipped = self._finding(pick(certain, certain.inside == inside), "skipped the record between")
            unknown = int((possible.inside == inside).sum()) - skipped.count
            found[f"{prefix}poll-skip"] = Finding(skipped.count, skipped.examples, max(unknown, 0), self._promised.why)
        return found

    def _finding(self, steps: _Steps, how: str) -> Finding:
        return _finding(self._partition, self._history, steps, how)


class SendOrder:
    """The order of what producers sent to one topic. First come the sends by when they began (:meth:`add`), then the
    history by offsets. Only acknowledged sends count, and of these the ones that were promised to stay."""

    key = "invoke_row"

    def __init__(self, unit: PartitionTables, promised: Promised) -> None:
        self._unit: Final = unit
        self._partition: Final = unit.partition
        self._history: Final = unit.history
        self._promised: Final = promised
        # An idempotent producer's sends may be operations of several processes.
        names = unit.history.words("client") if unit.facts.settings.idempotence else []
        self._clients: Final = {name: number for number, name in enumerate(names)}
        self._by_client: Final = bool(unit.facts.settings.idempotence)
        self._lowest: Final[dict[int, int]] = {}
        """By who sent: the lowest offset of an acknowledged record."""
        self._last: list[_Acts | None] = [None, None]
        self._back: list[list[_Steps]] = [[], []]
        self.gaps: Final = _Gaps()

    def add(self, at: Ints, seen: Seen) -> None:
        """Take the operations that began next; ``at``: their positions in the history."""
        which = np.flatnonzero(seen.acknowledged & (seen.offset >= 0))
        who = seen.process[which]
        if self._by_client:
            number = seen.table.numbers("client", self._clients)[which]
            who = np.where(number >= 0, number, who + len(self._clients))
        when = ints(seen.table, "invoke_row")[which]
        order = order_by(when)
        order = order[order_by(who[order])]
        which, who, when = which[order], who[order], when[order]
        for one in distinct(who).tolist():
            lowest = int(seen.offset[which[who == one]].min())
            self._lowest[one] = min(lowest, self._lowest.get(one, lowest))
        placed = self._promised.of(seen).placed[which]
        certain = possible = self._acts(at, seen, which, who, when)
        if (placed != YES).any():
            certain, possible = (
                self._acts(at, seen, which[may_be], who[may_be], when[may_be])
                for may_be in (placed == YES, placed != NO)
            )
        for place, (acts, is_wanted) in enumerate((certain, possible)):
            steps = self._steps(place, acts, is_wanted)
            back = steps.to <= steps.past
            self._back[place].append(pick(steps, back))
            if place == 0:
                ahead = pick(steps, ~back & steps.inside)
                self.gaps.add(ahead, ahead.past)

    @staticmethod
    def _acts(at: Ints, seen: Seen, which: Ints, who: Ints, when: Ints) -> tuple[_Acts, Bools]:
        """Sends by who sent them and when, and to which of them there may be a step that is wrong or too long: back, or
        ahead in one operation."""
        offset = seen.offset[which]
        goes_on = np.zeros(len(which), np.bool_)
        ahead = offset[1:] - offset[:-1]
        goes_on[1:] = (who[1:] == who[:-1]) & ((ahead == 1) | (ahead > 1) & (when[1:] != when[:-1]))
        kept = _without_inner(goes_on)
        which, nothing = which[kept], np.zeros(len(kept), np.bool_)
        acts = _Acts(who[kept], at[which], seen.row[which], offset[kept], when[kept], ~nothing, nothing, nothing)
        return acts, ~goes_on[kept]

    def _steps(self, place: int, new: _Acts, is_wanted: Bools) -> _Steps:
        """The steps to those of ``new`` that are wanted."""
        last = self._last[place]
        acts = new if last is None else joined([last, new])
        is_wanted = np.concatenate([np.zeros(len(acts.at) - len(new.at), np.bool_), is_wanted])
        order = order_by(acts.who)
        acts, is_wanted = pick(acts, order), is_wanted[order]
        ends = np.ones(len(acts.who), np.bool_)
        ends[:-1] = acts.who[1:] != acts.who[:-1]
        self._last[place] = pick(acts, ends)
        after = np.flatnonzero(~ends[:-1] & is_wanted[1:]) + 1
        before = after - 1
        return _Steps(
            acts.at[before],
            acts.at[after],
            acts.offset[before],
            acts.offset[after],
            acts.row[before] == acts.row[after],
            (acts.row[before] != acts.row[after]) & (acts.row[before] > acts.number[after]),
            acts.who[after],
            acts.number[after],
        )

    def _forgotten(self, back: _Steps) -> Answers:
        """Whether the leader may have forgotten the producer when it wrote the record that was sent first."""
        return may_be_forgotten(self._unit, back.to, back.past)

    def _begin_within(self, back: _Steps) -> Bools:
        """Whether the leader had none of the producer's records when it wrote the one that was sent later."""
        lowest = np.array([self._lowest[who] for who in back.who.tolist()], np.int64)
        return back.pipelined & begins_within(self._unit, back.to, back.to == lowest)

    def findings(self) -> dict[str, Finding]:
        """What was found, when the offsets have been looked at."""
        certain, possible = (joined(parts) if parts else None for parts in self._back)
        if certain is None or possible is None:
            return {}
        found = {}
        if self._by_client:
            certain = pick(certain, (self._forgotten(certain) == NO) & ~self._begin_within(certain))
            possible = pick(possible, (self._forgotten(possible) != YES) & ~self._begin_within(possible))
        for name, inside in (("nonmonotonic-send", False), ("int-nonmonotonic-send", True)):
            wrong = pick(certain, certain.inside == inside)
            proven = _finding(self._partition, self._history, wrong, "was written before it")
            perhaps = int((possible.inside == inside).sum()) - proven.count
            found[name] = Finding(proven.count, proven.examples, max(perhaps, 0), self._promised.why)
        over = self.gaps.over_records()
        if over is not None:
            how = "stands behind a record of another operation"
            found["int-send-skip"] = _finding(self._partition, self._history, over[0], how)
        return found


def _without_inner(goes_on: Bools) -> Ints:
    """Positions without those inside of runs: of micro-operations that go on where the one before ended, only the last
    one is needed for the next step. Most micro-operations of a good history are inside of a run."""
    is_needed = ~goes_on
    is_needed[:-1] |= ~goes_on[1:]
    is_needed[-1:] = True
    return np.flatnonzero(is_needed)


def _finding(partition: str, history: View, steps: _Steps, how: str) -> Finding:
    def examples() -> Iterator[Example]:
        first = pick(steps, np.lexsort((steps.after, steps.when, steps.who))[:MAX_EXAMPLES])
        both = np.stack([first.before, first.after], axis=1).ravel()
        seen = Seen(partition, history.pick(both, "is_send", "is_poll", "offset", "value", "row", *WHO))
        for after in range(1, seen.table.num_rows, 2):
            before = after - 1
            start, to = int(seen.offset[before]), int(seen.offset[after])
            is_assignment = not seen.is_poll[before] and not seen.is_send[before]
            what = f"value {seen.value[after]} at offset {to}"
            yield {
                "partition": partition,
                "offset": to,
                "previous": start,
                "rows": rows_of("operations", [seen.row_at(before), seen.row_at(after)]),
                "story": (
                    f"On {partition} {seen.who(before)} {'was put at' if is_assignment else 'was at'} offset {start},"
                    f" and next {what} by {seen.who(after)} {how}."
                ),
            }

    return finding(len(steps.after), examples())
