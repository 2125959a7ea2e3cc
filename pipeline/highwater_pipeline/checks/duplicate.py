"""duplicate: a value is at two or more offsets, and fewer were allowed.

Example: a producer sends value 52, the leader appends it at offset 27, and the response is lost. The producer sends it
again, and a leader appends it at offset 62. An idempotent producer was promised that the second attempt writes nothing.
A producer without idempotence was promised nothing of the kind: it may write a value once for each attempt.

The trap: a leader recognises a batch by its producer state, and it builds that state from its own log. It does so when
it starts its log again (a follower whose log ends before its leader's log start), recovers it, or truncates it. So it
does not recognise a copy below the log start of that moment; retention may have moved the log start to 48 before.
Apache Kafka does the same: ``truncateFullyAndStartAt`` clears the producer state, and a leader without state of a
producer accepts any sequence (releases from 2.5, KIP-360). Such a copy is not a duplicate.

The leader that appended a copy is the one whose leader epoch was committed at its offset. A running log keeps
its producer state when its log start moves, so retention alone excuses nothing. It does where a follower never got the
copy: its log ended with a record of an older epoch at that offset, retention moved its leader's log start beyond both,
and the follower went on from there.

A leader also forgets a producer that sent nothing for ``producer.id.expiration.ms`` (``checks.producer_expiry``).

Another trap: idempotence is promised within one epoch of a producer. librdkafka begins a new epoch when a batch is
refused for good in any partition. Then it sends again, in the new epoch, what it has no response for, in all
partitions. The log cannot know that it has these records already. So copies of different epochs or producer ids are no
duplicate, if the client is one that does so (``Settings.resends_in_new_epochs``). Who wrote a record is in the dumps;
if no replica has it any more, as compaction or retention removed it, ``batch-committed`` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.client_topics import ANY_NUMBER
from highwater_pipeline.checks.columns import SHOWN, codes, finding, ints, is_any, listing, of_kind, order_by, rows_of
from highwater_pipeline.checks.producer_expiry import may_be_forgotten
from highwater_pipeline.checks.promises import LOG_START_MOVED, recorded
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Seen, VersionOrder
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding, together

_LIFE: Final = ("log-loaded", "log-truncated", LOG_START_MOVED)
_APPENDS: Final = ("log-appended", "batch-committed")


class Duplicates:
    """Counts values of one topic. ``elsewhere``: see :class:`~highwater_pipeline.checks.client_topics.ClientTopic`."""

    def __init__(self, unit: PartitionTables, elsewhere: tuple[Ints, Ints]) -> None:
        self._unit: Final = unit
        self._elsewhere: Final = elsewhere
        self._certain: list[Finding] = []
        self._possible = 0
        self._may_know = False

    def add(self, seen: Seen, placed: list[Bools], orders: list[VersionOrder]) -> None:
        """Take all rows of some values. ``placed`` and ``orders``: by promises that are certain, and by all that may
        have been made (if they differ)."""
        idempotence = self._unit.facts.settings.idempotence
        if idempotence is False:
            certain, possible = (self._not_by_retries(seen, order) for order in (orders[0], orders[-1]))
        else:
            surely, perhaps = (self._not_forgotten(order) for order in (orders[0], orders[-1]))
            certain, possible = surely[YES], np.concatenate([perhaps[YES], perhaps[UNKNOWN]])
            self._may_know |= len(perhaps[UNKNOWN]) > 0
        if idempotence is None and len(possible):
            certain = certain[is_in(certain, self._not_by_retries(seen, orders[0]))]
        self._certain.append(_found(seen, placed[0], orders[0], certain))
        self._possible += len(possible)

    def finding(self, why: str) -> Finding:
        """What was found; ``why`` promises are not known, if some are not."""
        if self._may_know:
            why = "it is not known which records a leader could still know of, or who wrote them"
        if self._unit.facts.settings.idempotence is None and self._possible:
            why = "it is not known whether producers were idempotent"
        found = together(self._certain)
        return Finding(found.count, found.examples, max(self._possible - found.count, 0), why)

    def _not_by_retries(self, seen: Seen, order: VersionOrder) -> Ints:
        """Values that stand at more offsets than a producer without idempotence can have written them to: one for each
        attempt of its one send, or any number where the attempts are not known, or where sends were duplicated."""
        doubled, places = order.doubled, order.places
        if not len(doubled):
            return doubled
        sends = np.flatnonzero(seen.is_send)
        attempts = ints(seen.table, "attempts")[sends]
        value = np.concatenate([seen.value[sends], self._elsewhere[0]])
        allowed = np.concatenate([np.where(attempts < 0, ANY_NUMBER, attempts), self._elsewhere[1]])
        by_value = np.argsort(value, kind="stable")
        low, high = (np.searchsorted(value[by_value], doubled, side) for side in ("left", "right"))
        allowed = np.append(allowed[by_value], 0)[low]
        may_be = (high - low == 1) & ((places <= allowed) | self._unit.facts.duplicates_sends)
        too_many: Ints = doubled[~may_be]
        return too_many

    @cached_property
    def _logs(self) -> _Logs:
        return _Logs.of(self._unit)

    def _not_forgotten(self, order: VersionOrder) -> dict[int, Ints]:
        """Values of which some copy's leader knew the copy before, of the same epoch of its producer: for certain
        (YES), or perhaps (UNKNOWN)."""
        doubled = order.doubled
        answers = np.full(len(doubled), YES, np.int64)
        if len(doubled):
            copies = [order.offsets_of(value) for value in doubled.tolist()]
            writers = _Writers.of(self._unit, np.concatenate(copies))
            pairs = [pair for offsets in copies for pair in pairwise(offsets.tolist())]
            first, second = np.array(pairs, np.int64).T
            forgotten = may_be_forgotten(self._unit, first, second)
            remembered = dict(zip(pairs, (YES - forgotten).tolist(), strict=True))
            answers[:] = [_known(offsets, self._logs, writers, remembered) for offsets in copies]
        return {answer: doubled[answers == answer] for answer in (YES, UNKNOWN)}


def _known(copies: Ints, logs: _Logs, writers: _Writers, remembered: dict[tuple[int, int], int]) -> int:
    """Whether the leader of some copy knew the copy before it, of the same epoch of its producer. ``remembered``: the
    same, as far as only the time matters."""
    return max(min(writers.are_one(*pair), logs.knew(*pair), remembered[pair]) for pair in pairwise(copies.tolist()))


@dataclass(frozen=True, slots=True)
class _Writers:
    """Which producers wrote the records at some offsets: producer ids with their epochs.

    ``resend``: whether they send again in a new epoch what may have been written in an earlier one; None: not known.
    """

    by_offset: dict[int, set[tuple[int, int]]]
    resend: bool | None

    @classmethod
    def of(cls, unit: PartitionTables, offsets: Ints) -> _Writers:
        """By the dumps of all replicas, and by what their leaders committed."""
        by_offset: dict[int, set[tuple[int, int]]] = {}
        resend = unit.facts.settings.resends_in_new_epochs
        if resend is False:
            return cls(by_offset, resend)  # whoever it was
        dump = unit.replica_log.where(is_in(ints(unit.replica_log, "offset"), offsets))
        columns = (ints(dump, name).tolist() for name in ("offset", "producer_id", "producer_epoch"))
        for offset, producer, epoch in zip(*columns, strict=True):
            by_offset.setdefault(offset, set()).add((producer, epoch))
        committed = of_kind(unit.events, "batch-committed")
        producers, epochs = (ints(committed, name) for name in ("producer_id", "producer_epoch"))
        batches = _Intervals.of(committed)
        for offset in distinct(offsets).tolist():
            at = batches.at(offset)
            by_offset.setdefault(offset, set()).update(zip(producers[at].tolist(), epochs[at].tolist(), strict=True))
        known = {offset: {one for one in writers if min(one) >= 0} for offset, writers in by_offset.items()}
        return cls(known, resend)

    def are_one(self, first: int, second: int) -> int:
        """Whether two records count as written in one epoch of one producer. A client of which nothing is known sends
        again in a new epoch only if two writers are seen."""
        if self.resend is False:
            return YES
        writers, others = (self.by_offset.get(offset) for offset in (first, second))
        if not writers or not others:
            return UNKNOWN if self.resend else YES
        return NO if writers.isdisjoint(others) else YES


@dataclass(frozen=True, slots=True)
class _Logs:
    """From where on the leaders of a partition knew their producers, each time they appended.

    ``known_from``: one entry for each append of a leader; ``otherwise``: the answer where that was not recorded.
    ``held``: what every log got, with the leader epoch in which it did.
    """

    appends: _Intervals
    leader_epoch: Ints
    leader: list[str]
    held: _Intervals
    held_by: list[str]
    held_epoch: Ints
    known_from: Ints
    committed: _Intervals
    committed_epoch: Ints
    otherwise: int

    @classmethod
    def of(cls, unit: PartitionTables) -> _Logs:
        """Those of one partition of one topic."""
        is_recorded = recorded(unit.facts, *_LIFE, *_APPENDS)
        otherwise = YES if unit.facts.settings.deletes(unit.partition) is False else UNKNOWN
        events = of_kind(unit.events, *_LIFE, "log-appended") if is_recorded else unit.events.slice(0, 0)
        by_leader = events.where(~is_any(events, "kind", "log-appended") | is_any(events, "reason", "leader"))
        appends, every = of_kind(by_leader, "log-appended"), of_kind(events, "log-appended")
        committed = of_kind(unit.events, "batch-committed")
        return cls(
            _Intervals.of(appends),
            ints(appends, "leader_epoch"),
            appends.values("node"),
            _Intervals.of(every),
            every.values("node"),
            ints(every, "leader_epoch"),
            _known_from(by_leader),
            _Intervals.of(committed),
            ints(committed, "epoch"),
            otherwise,
        )

    def knew(self, first: int, second: int) -> int:
        """Whether the leader that appended the committed copy at ``second`` knew one at ``first``."""
        epochs = self.committed_epoch[self.committed.at(second)]
        theirs = self.appends.at(second)
        theirs = theirs[is_in(self.leader_epoch[theirs], epochs)]
        if not len(theirs):
            return self.otherwise
        knew = self.known_from[theirs] <= first
        return YES if any(self._got(self.leader[one], first) for one in theirs[knew].tolist()) else NO

    def _got(self, node: str, offset: int) -> bool:
        """Whether a node's log may have had the committed copy at ``offset``, and not only one of an older epoch."""
        epochs = self.committed_epoch[self.committed.at(offset)]
        own = [one for one in self.held.at(offset).tolist() if self.held_by[one] == node]
        return not len(epochs) or not own or bool((self.held_epoch[own] >= epochs.min()).any())


@dataclass(frozen=True, slots=True)
class _Intervals:
    """The offsets [start, end) of events, by start; ``which``: their positions; ``longest``: of them all."""

    start: Ints
    end: Ints
    which: Ints
    longest: int

    @classmethod
    def of(cls, events: View) -> _Intervals:
        which = order_by(ints(events, "offset"))
        start, end = ints(events, "offset")[which], ints(events, "end_offset")[which]
        return cls(start, end, which, int((end - start).max(initial=0)))

    def at(self, offset: int) -> Ints:
        """Positions of the events whose interval has ``offset``."""
        low = int(np.searchsorted(self.start, offset - self.longest, "right"))
        high = int(np.searchsorted(self.start, offset, "right"))
        return self.which[low:high][self.end[low:high] > offset]


def _known_from(events: View) -> Ints:
    """For every append: the log start of its log when its leader last learned of producers from the log alone."""
    starts: dict[str, int] = {}
    lives = np.flatnonzero(~is_any(events, "kind", "log-appended"))
    learned: dict[str, tuple[list[int], list[int]]] = {}
    columns = [events.take(lives).values(name) for name in ("kind", "node", "reason", "offset", "end_offset")]
    for at, kind, node, reason, offset, end_offset in zip(lives.tolist(), *columns, strict=True):
        if kind == "log-start-moved":
            starts[node] = end_offset
            continue
        if kind == "log-loaded" or reason == "restart-at":
            starts[node] = offset
        if kind == "log-loaded" and reason == "clean":
            continue  # a clean stop leaves a snapshot of all that was known
        places, known = learned.setdefault(node, ([-1], [0]))
        places.append(at)
        known.append(starts.get(node, 0))
    appends = np.flatnonzero(is_any(events, "kind", "log-appended"))
    node, names = codes(events.take(appends), "node")
    known_from = np.zeros(len(appends), np.int64)
    for number, name in enumerate(names):
        if name in learned:
            places, known = learned[name]
            mine = np.flatnonzero(node == number)
            known_from[mine] = np.array(known)[np.searchsorted(places, appends[mine]) - 1]
    return known_from


def _found(seen: Seen, sends: Bools, order: VersionOrder, doubled: Ints) -> Finding:
    known = seen.is_poll | sends

    def examples() -> Iterator[Example]:
        for value in doubled.tolist():
            offsets = order.offsets_of(value)
            witnesses = [seen.first(known & (seen.value == value) & (seen.offset == at)) for at in offsets[:SHOWN]]
            yield {
                "partition": seen.partition,
                "value": value,
                "offsets": [int(offset) for offset in offsets[:SHOWN]],
                "rows": rows_of("operations", map(seen.row_at, witnesses)),
                "story": (
                    f"Value {value} stands at {len(offsets)} offsets of {seen.partition}: "
                    + listing([f"{o} by {seen.who(w)}" for o, w in zip(offsets, witnesses, strict=False)])
                    + "."
                ),
            }

    return finding(len(doubled), examples())
