"""never-sent: a record was read, or stands in a replica's log, that no client had sent to that partition.

Example: value 7 is sent to ``orders-1``, and a consumer reads it from ``orders-0``. Every other check is content: the
value is at one offset, and the offset has one value.

Traps:

* A send counts whatever became of it. If it failed, reading its value is an ``aborted-read``.
* A history may have some of the sends alone. Its settings say so (``unrecorded_sends``), and nothing is judged then, as
  in a history without any send.
* A value may be read by a poll that ends after its send began, and by no poll that ended before. Both are rows of one
  history, in the order of its one recorder, so no clocks are compared.
* Brokers themselves write records to internal topics. The value of a record in a compressed batch is not known.

A topic that was created again is not distinguished here: clients send to a name (``deleted-topic-records`` judges the
rest).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import (
    NOTHING,
    SHOWN,
    WHO,
    Numbering,
    dumped_records,
    finding,
    ints,
    listing,
    rows_of,
)
from highwater_pipeline.checks.version_order import Seen
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.partitions.small_partitions import Grouped, Partitions, occur, ranked
from highwater_pipeline.tables.micro_operations import start_rows
from highwater_pipeline.tables.settings import INTERNAL_TOPICS
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding, has_sends

_LATEST: Final = np.iinfo(np.int64).max
_OF_READS: Final = ("value", "offset", "row", "outcome", "is_poll", *WHO)


def never_sent(unit: PartitionTables) -> Finding:
    """Counts values that were read or dumped before, or without, a send to the partition."""
    if not has_sends(unit.facts) or unit.partition.rpartition("-")[0] in INTERNAL_TOPICS:
        return NOTHING
    sent, unsent, early = _of_clients(unit)
    dumped = _dumped(unit.replica_log, sent)
    values = distinct(np.concatenate([unsent, early, dumped]))
    return finding(len(values), _examples(unit, values[:MAX_EXAMPLES], unsent, early) if len(values) else ())


def _of_clients(unit: PartitionTables) -> tuple[Ints, Ints, Ints]:
    """The values that were sent, those that were read and not sent, and those read before that; each ascends."""
    parts: list[tuple[Ints, Ints, Ints]] = [(np.empty(0, np.int64),) * 3]
    for _, part in unit.history.by_range("value"):
        seen = Seen(unit.partition, part)
        values = seen.values
        began, first_read = (np.full(values.size, _LATEST) for _ in range(2))
        np.minimum.at(began, values.at[seen.is_send], start_rows(ints(part, "invoke_row"), seen.row)[seen.is_send])
        np.minimum.at(first_read, values.at[seen.read_ok], seen.row[seen.read_ok])
        is_sent, is_read = began < _LATEST, first_read < _LATEST
        early = is_read & is_sent & (first_read < began)
        parts.append((values.keys(is_sent), values.keys(is_read & ~is_sent), values.keys(early)))
    sent, unsent, too_early = (np.concatenate(column) for column in zip(*parts, strict=True))
    return sent, unsent, too_early


def _dumped(replica_log: View, sent: Ints) -> Ints:
    """The values of records in dumps that were not sent; ``sent`` ascends."""
    found = [np.empty(0, np.int64)]
    for _, part in replica_log.by_range("offset"):
        records = dumped_records(part)
        value = ints(records, "value", 0)[records.is_known("value")]
        numbers = Numbering.of(value)
        there = numbers.keys(numbers.has(np.ones(len(value), np.bool_)))
        found.append(there[~_are_in(there, sent)])
    return distinct(np.concatenate(found))


def _are_in(values: Ints, among: Ints) -> Bools:
    """Which of ``values`` are in ``among``, which ascends."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    found: Bools = among[np.minimum(np.searchsorted(among, values), len(among) - 1)] == values
    return found


def _examples(unit: PartitionTables, values: Ints, unsent: Ints, early: Ints) -> Iterator[Example]:
    seen = Seen(unit.partition, unit.history.find("value", lambda value: is_in(value, values), *_OF_READS))
    for value in values.tolist():
        reader = seen.first(seen.read_ok & (seen.value == value))
        is_early = value in early
        if is_early or value in unsent:
            offset = int(seen.offset[reader])
            why = "before its send began" if is_early else "which no client had sent there"
            yield {
                "partition": unit.partition,
                "value": value,
                "offset": offset,
                "rows": rows_of("operations", [seen.row_at(reader)]),
                "story": f"{seen.who(reader)} read value {value} at offset {offset} of {unit.partition}, {why}.",
            }
            continue
        held = _held(unit.replica_log, value)
        offset = held[0]["offset"]
        brokers = sorted({row["broker"] for row in held})
        yield {
            "partition": unit.partition,
            "value": value,
            "offset": offset,
            "brokers": brokers,
            "rows": rows_of("replica_log", [row["row"] for row in held[:SHOWN]]),
            "story": (
                f"The log of {unit.partition} on {'brokers' if len(brokers) > 1 else 'broker'} {listing(brokers)}"
                f" has value {value} at offset {offset}, which no client had sent there."
            ),
        }


def _held(replica_log: View, value: int) -> list[Example]:
    """The records of a value in dumps, by offset and broker."""
    names = ("offset", "broker", "value", "ended", "row")
    held: list[Example] = []
    for _, part in replica_log.by_range("offset"):
        records = dumped_records(part)
        which = records.is_known("value") & (ints(records, "value", 0) == value)
        held += records.where(which).to_pylist(*names)
    return sorted(held, key=lambda row: (row["offset"], row["broker"]))


def never_sent_prefilter(partitions: Partitions) -> Bools:
    """Some value was read or dumped and not sent, or read before. Every topic counts."""
    history = partitions.history
    is_send, is_poll = (history.view.bools(name) for name in ("is_send", "is_poll"))
    sends, polls = history.where(is_send), history.where(is_poll & ~is_send)
    dumped = partitions.replica_log.where(
        ~partitions.replica_log.view.is_known("ended") & partitions.replica_log.view.is_known("value")
    )
    sent, read, held = ((rows.number, *rows.ints("value")) for rows in (sends, polls, dumped))
    wrong = [polls.number[~occur(read, sent)], dumped.number[~occur(held, sent)], _read_early(sends, polls)]
    return partitions.those(np.concatenate(wrong))


def _read_early(sends: Grouped, polls: Grouped) -> Ints:
    """Partitions in which some value was read before its send began."""
    value, invoke_row, row = (
        np.concatenate(pair)
        for pair in zip(sends.ints("value", "invoke_row", "row"), polls.ints("value", "invoke_row", "row"), strict=True)
    )
    number = np.concatenate([sends.number, polls.number])
    is_read = np.repeat([0, 1], [len(sends.number), len(polls.number)])
    when = np.where(is_read == 1, row, start_rows(invoke_row, row))
    order, _ = ranked(number, value, when)
    fresh = np.ones(len(order), np.bool_)
    for key in (number, value):
        fresh[1:] &= key[order][1:] == key[order][:-1]
    fresh[1:] = ~fresh[1:]
    early: Ints = number[order[fresh & (is_read[order] == 1)]]
    return early
