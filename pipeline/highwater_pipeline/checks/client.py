"""What clients can see, by Jepsen's definitions; the checks of order are in ``checks.order``.

``checks.version_order`` says which values stand at which offsets, ``checks.promises`` which of them were promised to
stay, and ``checks.client_topics`` distinguishes topics of one name. If an anomaly depends on a promise that is not
known, it is counted as ``unknown``: it makes no fail, and no pass either.

* ``inconsistent-offsets``: an offset has two or more values.
* ``duplicate``: a value has two or more offsets, and was allowed fewer (``checks.duplicate``).
* ``lost-write``: let ``bound`` be the highest first offset among values read ok; a value whose last offset is not above
  ``bound`` and whose writer must have committed was never read ok.
* ``aborted-read``: a value was read ok although (every) writer of it failed.
* ``precommitted-read``: an operation that completed ok read a value that it sent itself.
* ``unseen``: an acknowledged value was never read ok by the end, final reads included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from highwater_pipeline.checks.client_topics import client_topics
from highwater_pipeline.checks.columns import SHOWN, distinct, finding, listing, rows_of
from highwater_pipeline.checks.duplicate import duplicates
from highwater_pipeline.checks.order import poll_order, send_order
from highwater_pipeline.checks.promises import Promises, recorded
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Seen, VersionOrder
from highwater_pipeline.judgement import Example, Finding, together
from highwater_pipeline.micro_operations import OK
from highwater_pipeline.units import Unit
from highwater_pipeline.view import Bools, Ints


def client_anomalies(unit: Unit) -> dict[str, Finding]:
    """All checks on one partition's history, topic by topic. They share the version order: most of the work."""
    if unit.history.num_rows == 0:
        return {}
    everything = Seen.of(unit.partition, unit.history)
    read = distinct(everything.value[everything.read_ok])
    found = {
        "aborted-read": [_aborted_read(everything, read)],
        "precommitted-read": [_precommitted_read(everything)],
    }
    topics = client_topics(unit)
    for topic in topics.topics:
        for name, one in _of_topic(topic.unit, read, exists=topic.exists).items():
            found.setdefault(name, []).append(one)
    found["unseen"].append(_unplaced(unit, Seen.of(unit.partition, topics.unplaced), read))
    return {name: together(findings) for name, findings in found.items()}


def _of_topic(unit: Unit, read: Ints, *, exists: bool) -> dict[str, Finding]:
    seen = Seen.of(unit.partition, unit.history)
    promises = Promises.of(unit, seen, exists=exists)
    placed = [seen.must_commit & (promises.placed == YES)]
    if (promises.placed == UNKNOWN).any():
        placed.append(seen.must_commit & (promises.placed != NO))
    orders = [VersionOrder.of(seen, sends) for sends in placed]
    kept = [promises.kept == YES]
    if (promises.kept == UNKNOWN).any():
        kept.append(promises.kept != NO)
    why = promises.why

    def lost(order: VersionOrder, which: Bools) -> Finding:
        return _lost_write(seen, order, read, seen.must_commit & which)

    def unseen(which: Bools) -> Finding:
        return _unseen(seen, read, which) if unit.facts.drained else finding(0, ())

    return {
        "lost-write": _perhaps(
            lost(orders[0], kept[0]), lambda: lost(orders[-1], kept[-1]), len(orders + kept) > 2, why
        ),
        "unseen": _perhaps(unseen(kept[0]), lambda: unseen(kept[-1]), len(kept) > 1, why),
        "inconsistent-offsets": _perhaps(
            _inconsistent_offsets(seen, placed[0], orders[0]),
            lambda: _inconsistent_offsets(seen, placed[-1], orders[-1]),
            len(orders) > 1,
            why,
        ),
        "duplicate": duplicates(unit, seen, placed, orders, why),
        **poll_order(seen, orders, promises),
        **send_order(unit, seen, orders, promises),
    }


def _perhaps(certain: Finding, possible: Callable[[], Finding], differ: bool, why: str) -> Finding:
    """What is an anomaly for certain, and how many more would be with every promise that may have been made."""
    more = possible().count - certain.count if differ else 0
    return Finding(certain.count, certain.examples, max(more, 0), why)


def _unplaced(unit: Unit, seen: Seen, read: Ints) -> Finding:
    """Acknowledged values that were never read and that may have been deleted with their topic."""
    if not unit.facts.drained or recorded(unit.facts, "log-appended"):
        return finding(0, ())
    missing = distinct(seen.value[seen.acknowledged])
    count = int((~_is_in(missing, read)).sum())
    return Finding(0, [], count, "only node events show whether the records belonged to a topic that was deleted")


def _lost_write(seen: Seen, order: VersionOrder, read: Ints, missed: Bools) -> Finding:
    """``missed``: the sends that were promised to be there."""
    at, known = order.has(read)
    if not known.any():
        return finding(0, ())
    firsts = order.first[at[known]]
    bound = int(firsts.max())
    written = distinct(seen.value[missed])
    at, has_place = order.has(written)
    lost = written[has_place & (order.last[at] <= bound) & ~_is_in(written, read)]
    return finding(len(lost), _lost_examples(seen, order, lost, int(read[known][firsts.argmax()])))


def _lost_examples(seen: Seen, order: VersionOrder, lost: Ints, read_last: int) -> Iterator[Example]:
    reader = seen.first(seen.read_ok & (seen.value == read_last))
    read_to = int(seen.offset[reader])
    for value in lost:
        writer = seen.first(seen.must_commit & (seen.value == value))
        offset = int(order.offset[order.value == value][-1])
        acknowledged = "acknowledged to" if seen.acknowledged[writer] else "committed (in part seen) by"
        yield {
            "partition": seen.partition,
            "value": int(value),
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
    offsets, starts, counts = np.unique(order.offset, return_index=True, return_counts=True)
    several = np.flatnonzero(counts > 1)

    def examples() -> Iterator[Example]:
        for group in several:
            offset = int(offsets[group])
            values = order.value[starts[group] : starts[group] + counts[group]]
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
    suspect = failed[_is_in(failed, read)]
    aborted = suspect[~np.isin(suspect, seen.value[seen.is_send & ~seen.failed])] if len(suspect) else suspect

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
                    f" although {seen.who(writer)} was told that it had not been written."
                ),
            }

    return finding(len(aborted), examples())


def _precommitted_read(seen: Seen) -> Finding:
    sent = np.flatnonzero(seen.is_send & (seen.outcome == OK))
    polled = np.flatnonzero(seen.read_ok)
    polled = polled[np.isin(seen.row[polled], seen.row[sent])]
    if not len(polled):
        return finding(0, ())
    own = np.isin(_pairs(seen, polled), _pairs(seen, sent))

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
    """Row and value as one structured column."""
    pairs = np.empty(len(at), [("row", np.int64), ("value", np.int64)])
    pairs["row"], pairs["value"] = seen.row[at], seen.value[at]
    return pairs


def _unseen(seen: Seen, read: Ints, missed: Bools) -> Finding:
    """``missed``: what was promised to be there."""
    acknowledged = distinct(seen.value[seen.acknowledged & missed])
    unseen = acknowledged[~_is_in(acknowledged, read)]

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


def _is_in(values: Ints, among: Ints) -> Bools:
    """Which of ``values`` are in ``among``; ``among`` ascends."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    found: Bools = among[np.minimum(np.searchsorted(among, values), len(among) - 1)] == values
    return found
