"""What clients can see, by Jepsen's definitions; the checks of order are in ``checks.order``.

``checks.version_order`` says which values are at which offsets, ``checks.promises`` which of them were promised to
stay, and ``checks.client_topics`` distinguishes topics of one name. If an anomaly depends on a promise that is not
known, the check is ``unknown``, which is neither a fail nor a pass.

* ``inconsistent-offsets``: an offset has two or more values.
* ``duplicate``: a value has two or more offsets, and was allowed fewer (``checks.duplicate``).
* ``lost-write``: let ``bound`` be the highest first offset among values read ok; a value whose last offset is not above
  ``bound`` and whose writer must have committed was never read ok.
* ``aborted-read``: a value was read ok although (every) writer of it failed.
* ``precommitted-read``: an operation that completed ok read a value that it sent itself.
* ``unseen``: an acknowledged value was never read ok by the end, final reads included.

No check needs a whole history in memory. Each reads it in ranges of one column (``View.by_range``): by value, by offset
or by row. State that the next range needs is carried over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
from msgspec import structs

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.client_topics import ClientTopic, client_topics
from highwater_pipeline.checks.columns import SHOWN, WHO, Numbering, finding, listing, rows_of
from highwater_pipeline.checks.duplicate import Duplicates
from highwater_pipeline.checks.order import PollOrder, SendOrder
from highwater_pipeline.checks.promises import Promised, recorded
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Answers, Seen, VersionOrder
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding, together

_KEYS: Final = {"row": None, "invoke_row": 0, "offset": 0, "value": None}
"""The columns by whose ranges a history is gone through, in this order, and the least number that counts."""


_OF_SENDS_AND_READS: Final = (
    *("value", "offset", "row", "outcome", "is_send", "is_poll", "must_commit", "invoke_time", "end_time"),
    *WHO,
)
"""The columns that are needed to say of a few values who sent and who read them, and what was promised."""


_OF_SENDS_ALONE: Final = ("aborted-read", "precommitted-read")
"""Checks that no election excuses."""
_UNKNOWN_ELECTIONS: Final = "an unclean election was allowed, and only node events show whether there was one"


class Judge(Protocol):
    """Judges a history that comes in ranges of the column ``key``."""

    key: str

    def add(self, at: Ints, seen: Seen) -> None:
        """Take the next range; ``at``: positions in the history."""

    def findings(self) -> dict[str, Finding]:
        """What was found, by check, when all judges have had all ranges."""


def client_anomalies(unit: PartitionTables, wanted: Collection[str]) -> dict[str, Finding]:
    """The checks ``wanted``, and others that come with them, on one partition's history, topic by topic."""
    if unit.history.num_rows == 0:
        return {}
    if _elections_are_unknown(unit):
        known = replace(unit, facts=replace(unit.facts, settings=structs.replace(unit.facts.settings, unclean=())))
        return {
            name: one if name in _OF_SENDS_ALONE else Finding(0, [], one.count + one.unknown, _UNKNOWN_ELECTIONS)
            for name, one in client_anomalies(known, wanted).items()
        }
    topics = client_topics(unit)
    everything: list[Judge] = [_AbortedRead(unit.partition), _PrecommittedRead()]
    if len(topics.topics) == 1 and topics.topics[0].unit.history is unit.history:
        judges = [*everything, *_of_topic(topics.topics[0], None, wanted)]
        return _judged(unit.partition, unit.history, judges, wanted)
    found = {name: [one] for name, one in _judged(unit.partition, unit.history, everything, wanted).items()}
    read = Seen(unit.partition, unit.history).read
    for topic in topics.topics:
        judges = _of_topic(topic, read, wanted)
        for name, one in _judged(unit.partition, topic.unit.history, judges, wanted).items():
            found.setdefault(name, []).append(one)
    found.setdefault("unseen", []).append(_unplaced(unit, Seen(unit.partition, topics.unplaced), read))
    return {name: together(findings) for name, findings in found.items()}


def _elections_are_unknown(unit: PartitionTables) -> bool:
    """Whether an unclean election was allowed, and nothing shows whether there was one."""
    allowed = unit.facts.settings.elects_uncleanly(unit.partition) is True
    return allowed and not recorded(unit.facts, "partition-changed", "log-appended")


def _of_topic(topic: ClientTopic, read: Ints | None, wanted: Collection[str]) -> list[Judge]:
    """``read``: the distinct values that were read of any topic of this name; None: there is one topic."""
    unit = topic.unit
    promised = Promised(unit, exists=topic.exists)
    polls, sends = PollOrder(unit.partition, unit.history, promised), SendOrder(unit, promised)
    offsets = _Offsets(promised, polls, sends, are_judged="inconsistent-offsets" in wanted)
    return [polls, sends, offsets, _Values(topic, promised, read, judges_unseen="unseen" in wanted)]


_CHECKS: Final[dict[str, tuple[str, ...]]] = {
    "_AbortedRead": ("aborted-read",),
    "_PrecommittedRead": ("precommitted-read",),
    "PollOrder": ("poll-skip", "nonmonotonic-poll", "int-poll-skip", "int-nonmonotonic-poll"),
    "SendOrder": ("nonmonotonic-send", "int-nonmonotonic-send", "int-send-skip"),
    "_Offsets": ("inconsistent-offsets", "poll-skip", "int-poll-skip", "int-send-skip"),
    "_Values": ("lost-write", "unseen", "duplicate"),
}
"""What each judge is needed for."""


def _judged(partition: str, history: View, judges: Sequence[Judge], wanted: Collection[str]) -> dict[str, Finding]:
    needed = [judge for judge in judges if any(name in wanted for name in _CHECKS[type(judge).__name__])]
    whole = Seen(partition, history)
    for key, least in _KEYS.items():
        mine = [judge for judge in needed if judge.key == key]
        if mine:
            for at, part in history.by_range(key, least):
                seen = whole if part is history else Seen(partition, part)
                for judge in mine:
                    judge.add(at, seen)
    return {name: found for judge in needed for name, found in judge.findings().items()}


class _Values:
    """lost-write, unseen and duplicate."""

    key = "value"

    def __init__(self, topic: ClientTopic, promised: Promised, read: Ints | None, *, judges_unseen: bool) -> None:
        self._judges_unseen: Final = judges_unseen and topic.unit.facts.drained
        self._unit: Final = topic.unit
        self._promised: Final = promised
        self._read: Final = read
        self._duplicates: Final = Duplicates(topic.unit, topic.elsewhere)
        self._unseen: Final[list[Finding]] = []
        self._perhaps_unseen = 0
        self._lost: Final = (_Lost(), _Lost())

    def add(self, at: Ints, seen: Seen) -> None:  # noqa: ARG002 - of all judges
        promises = self._promised.of(seen)
        values = seen.values
        is_read = values.has(seen.read_ok)
        if self._read is not None:
            is_read = is_in(values.keys(np.ones(values.size, np.bool_)), self._read)
        orders = [VersionOrder(seen, sends) for sends in _placed(seen, promises.placed)]
        kept = [promises.kept == YES]
        if (promises.kept == UNKNOWN).any():
            kept.append(promises.kept != NO)
        for lost, order, missed in zip(self._lost, (orders[0], orders[-1]), (kept[0], kept[-1]), strict=True):
            lost.add(values, order, is_read, values.has(seen.must_commit & missed))
        if self._judges_unseen:
            self._unseen.append(_unseen(seen, is_read, kept[0]))
            perhaps = self._unseen[-1] if len(kept) == 1 else _unseen(seen, is_read, kept[-1])
            self._perhaps_unseen += perhaps.count
        self._duplicates.add(seen, _placed(seen, promises.placed), orders)

    def findings(self) -> dict[str, Finding]:
        why = self._promised.why
        unseen, lost = together(self._unseen), self._lost_write()
        perhaps = len(self._lost[-1].values()) - lost.count
        return {
            "lost-write": Finding(lost.count, lost.examples, max(perhaps, 0), why),
            "unseen": Finding(unseen.count, unseen.examples, max(self._perhaps_unseen - unseen.count, 0), why),
            "duplicate": self._duplicates.finding(why),
        }

    def _lost_write(self) -> Finding:
        lost = self._lost[0].values()

        def examples() -> Iterator[Example]:
            shown = np.append(lost[:SHOWN], self._lost[0].read_last)
            history = self._unit.history.find("value", lambda value: is_in(value, shown), *_OF_SENDS_AND_READS)
            few = Seen(self._unit.partition, history)
            order = VersionOrder(few, _placed(few, self._promised.of(few).placed)[0])
            return _lost_examples(few, order, lost[:SHOWN], self._lost[0].read_last)

        return finding(len(lost), examples() if len(lost) else ())


class _Lost:
    """Values that were written and never read, as far as a reader came past them. ``read_last``: the value that is
    read at the highest offset."""

    def __init__(self) -> None:
        self._bound = -1
        self.read_last = 0
        self._missing: Final[list[tuple[Ints, Ints]]] = []

    def add(self, values: Numbering, order: VersionOrder, is_read: Bools, is_written: Bools) -> None:
        """Take all rows of some values. ``is_read`` and ``is_written``: by their numbers."""
        read_to = np.where(is_read, order.first, -1)
        if read_to.max(initial=-1) > self._bound:
            self._bound = int(read_to.max())
            self.read_last = int(values.keys(read_to == self._bound)[0])
        missing = is_written & ~is_read & (order.first >= 0)
        self._missing.append((values.keys(missing), order.last[missing]))

    def values(self) -> Ints:
        """The values that are lost, ascending."""
        parts = [values[last <= self._bound] for values, last in self._missing]
        return np.concatenate([np.empty(0, np.int64), *parts])


class _Offsets:
    """inconsistent-offsets, and what the judges of order ask of offsets."""

    key = "offset"

    def __init__(self, promised: Promised, polls: PollOrder, sends: SendOrder, *, are_judged: bool) -> None:
        self._are_judged: Final = are_judged
        self._promised: Final = promised
        self._gaps: Final = (polls.gaps, sends.gaps)
        self._certain: Final[list[Finding]] = []
        self._possible = 0

    def add(self, at: Ints, seen: Seen) -> None:  # noqa: ARG002 - of all judges
        if not self._are_judged and not any(gaps.reach_into(seen.offset) for gaps in self._gaps):
            return
        sends = _placed(seen, self._promised.of(seen).placed)
        orders = [VersionOrder(seen, which) for which in sends]
        if self._are_judged:
            self._certain.append(_inconsistent_offsets(seen, sends[0], orders[0]))
            self._possible += len(orders[-1].inconsistent)
        for gaps in self._gaps:
            gaps.look(orders)

    def findings(self) -> dict[str, Finding]:
        found = together(self._certain)
        unknown = max(self._possible - found.count, 0)
        return {"inconsistent-offsets": Finding(found.count, found.examples, unknown, self._promised.why)}


class _AbortedRead:
    key = "value"

    def __init__(self, partition: str) -> None:
        self._partition: Final = partition
        self._found: Final[list[Finding]] = []

    def add(self, at: Ints, seen: Seen) -> None:  # noqa: ARG002 - of all judges
        if seen.failed.any():
            self._found.append(_aborted_read(seen, seen.read))

    def findings(self) -> dict[str, Finding]:
        return {"aborted-read": together(self._found)}


class _PrecommittedRead:
    key = "row"

    def __init__(self) -> None:
        self._found: Final[list[Finding]] = []

    def add(self, at: Ints, seen: Seen) -> None:  # noqa: ARG002 - of all judges
        self._found.append(_precommitted_read(seen))

    def findings(self) -> dict[str, Finding]:
        return {"precommitted-read": together(self._found)}


def _placed(seen: Seen, placed: Answers) -> list[Bools]:
    """The sends that must have committed where they say: for certain, and (if that differs) perhaps."""
    sends = [seen.must_commit & (placed == YES)]
    if (placed == UNKNOWN).any():
        sends.append(seen.must_commit & (placed != NO))
    return sends


def _unplaced(unit: PartitionTables, seen: Seen, read: Ints) -> Finding:
    """Acknowledged values that were never read and that may have been deleted with their topic."""
    if not unit.facts.drained or recorded(unit.facts, "log-appended"):
        return finding(0, ())
    missing = distinct(seen.value[seen.acknowledged])
    count = int((~is_in(missing, read)).sum())
    return Finding(0, [], count, "only node events show whether the records belonged to a topic that was deleted")


def _lost_examples(seen: Seen, order: VersionOrder, lost: Ints, read_last: int) -> Iterator[Example]:
    reader = seen.first(seen.read_ok & (seen.value == read_last))
    read_to = int(seen.offset[reader])
    for value in lost.tolist():
        writer = seen.first(seen.must_commit & (seen.value == value))
        offset = int(order.offsets_of(value)[-1])
        acknowledged = "acknowledged to" if seen.acknowledged[writer] else "committed (in part seen) by"
        yield {
            "partition": seen.partition,
            "value": value,
            "offset": offset,
            "read_past": read_to,
            "rows": rows_of("operations", [seen.row_at(writer), seen.row_at(reader)]),
            "story": (
                f"Value {value}, {acknowledged} {seen.who(writer)} at offset {offset} of {seen.partition},"
                f" was never read, though {seen.who(reader)} read on to offset {read_to}."
            ),
        }


def _inconsistent_offsets(seen: Seen, sends: Bools, order: VersionOrder) -> Finding:
    known = seen.is_poll | sends
    several = order.inconsistent

    def examples() -> Iterator[Example]:
        for offset in several.tolist():
            values = order.values_at(offset)
            witnesses = [seen.first(known & (seen.offset == offset) & (seen.value == v)) for v in values[:SHOWN]]
            yield {
                "partition": seen.partition,
                "offset": offset,
                "values": [int(value) for value in values[:SHOWN]],
                "rows": rows_of("operations", map(seen.row_at, witnesses)),
                "story": (
                    f"Offset {offset} of {seen.partition} has {len(values)} values: "
                    + listing([f"{v} by {seen.who(w)}" for v, w in zip(values, witnesses, strict=False)])
                    + "."
                ),
            }

    return finding(len(several), examples())


def _aborted_read(seen: Seen, read: Ints) -> Finding:
    failed = distinct(seen.value[seen.failed])
    suspect = failed[is_in(failed, read)]
    aborted = suspect[~is_in(suspect, seen.value[seen.is_send & ~seen.failed])] if len(suspect) else suspect

    def examples() -> Iterator[Example]:
        for value in aborted:
            writer = seen.first(seen.failed & (seen.value == value))
            reader = seen.first(seen.read_ok & (seen.value == value))
            offset = int(seen.offset[reader])
            yield {
                "partition": seen.partition,
                "value": int(value),
                "offset": offset,
                "rows": rows_of("operations", [seen.row_at(writer), seen.row_at(reader)]),
                "story": (
                    f"Value {value} was read at offset {offset} of {seen.partition} by {seen.who(reader)},"
                    f" although its send by {seen.who(writer)} had failed."
                ),
            }

    return finding(len(aborted), examples())


def _precommitted_read(seen: Seen) -> Finding:
    sent = np.flatnonzero(seen.acknowledged)
    polled = np.flatnonzero(seen.read_ok)
    polled = polled[is_in(seen.row[polled], distinct(seen.row[sent]))]
    if not len(polled):
        return finding(0, ())
    own = is_in(_pairs(seen, polled), _pairs(seen, sent))

    def examples() -> Iterator[Example]:
        for at in polled[own].tolist():
            yield {
                "partition": seen.partition,
                "value": int(seen.value[at]),
                "offset": int(seen.offset[at]),
                "rows": rows_of("operations", [seen.row_at(at)]),
                "story": (
                    f"{seen.who(at)} read value {seen.value[at]} at offset {seen.offset[at]} of {seen.partition},"
                    " which it sent itself and had not committed yet."
                ),
            }

    return finding(int(own.sum()), examples())


def _pairs(seen: Seen, at: Ints) -> Ints:
    """A number for each pair of row and value."""
    return seen.row[at] * seen.values.size + seen.values.at[at]


def _unseen(seen: Seen, is_read: Bools, missed: Bools) -> Finding:
    """``is_read``: by the values' numbers; ``missed``: what was promised to be there."""
    unseen = seen.values.keys(seen.values.has(seen.acknowledged & missed) & ~is_read)

    def examples() -> Iterator[Example]:
        for value in unseen:
            writer = seen.first(seen.acknowledged & (seen.value == value))
            offset = int(seen.offset[writer])
            where = f" at offset {offset}" if offset >= 0 else ""
            yield {
                "partition": seen.partition,
                "value": int(value),
                "offset": offset if offset >= 0 else None,
                "rows": rows_of("operations", [seen.row_at(writer)]),
                "story": (
                    f"Value {value}, acknowledged to {seen.who(writer)}{where} of {seen.partition},"
                    " had not been read when the final reads were complete."
                ),
            }

    return finding(len(unseen), examples())
