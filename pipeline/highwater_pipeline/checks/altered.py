"""altered: a record was read, or stands in a replica's log, with another value, key, header or time than was sent.

Example: a broker gives a record the key of another one. Its value was sent, at that offset, once: every other check is
content.

Whoever reads a record compares it with its own header, which says what was sent, and writes down what differs
(``highwater_chaos.records.values``). So there is nothing to compare here. If nobody compared, nothing is judged: the
settings of a run say whether its producers wrote that header (``headers``).

Traps:

* In a topic with ``message.timestamp.type=LogAppendTime`` the leader dates the record. Its time stamp is not known
  then, but it must be of that type.
* Records of clients whose sends the history does not have (``unrecorded_sends``) have no such header.
* The records of a compressed batch are not looked at in a dump. Brokers themselves write to internal topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import NOTHING, SHOWN, WHO, bools, finding, ints, listing, rows_of, who
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.partitions.small_partitions import Partitions
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.tables.settings import INTERNAL_TOPICS
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding

_OF_READS: Final = ("offset", "value", "altered", "is_poll", "outcome", "row", *WHO)
_OF_DUMPS: Final = ("offset", "value", "altered", "row", "broker")


def altered(unit: PartitionTables) -> Finding:
    """Counts records, by offset and value, that were read or dumped other than they were sent."""
    if unit.facts.settings.unrecorded_sends or unit.partition.rpartition("-")[0] in INTERNAL_TOPICS:
        return NOTHING
    parts = [np.empty((2, 0), np.int64)]
    parts += [_records(_altered_reads(part)) for _, part in unit.history.by_range("row")]
    parts += [_records(_altered_dumps(part)) for _, part in unit.replica_log.by_range("offset")]
    records = np.unique(np.concatenate(parts, axis=1), axis=1)  # noqa: TID251 - of columns of a matrix
    return finding(records.shape[1], _examples(unit, records[:, :MAX_EXAMPLES]))


def _records(rows: View) -> Ints:
    """Return offsets and values of the records."""
    return np.stack([ints(rows, "offset"), ints(rows, "value", 0)])


def _altered_reads(history: View) -> View:
    is_altered = history.is_known("altered")
    return history.where(is_altered & bools(history, "is_poll") & (ints(history, "outcome") == OK))


def _altered_dumps(replica_log: View) -> View:
    return replica_log.where(replica_log.is_known("altered"))


def _examples(unit: PartitionTables, records: Ints) -> Iterator[Example]:
    there = partial(is_in, among=records[0])
    reads = _altered_reads(unit.history.find("offset", there, *_OF_READS)).to_pylist()
    dumps = _altered_dumps(unit.replica_log.find("offset", there, *_OF_DUMPS)).to_pylist()
    for offset, value in records.T.tolist():
        readers, held = (
            [row for row in rows if (row["offset"], row["value"]) == (offset, value)] for rows in (reads, dumps)
        )
        brokers = sorted({row["broker"] for row in held})
        differs = (readers or held)[0]["altered"]
        parts = []
        if readers:
            parts.append(f"{who(readers[0])} read value {value} at offset {offset} of {unit.partition}")
        if brokers:
            logs = f"the log of {unit.partition} on {'brokers' if len(brokers) > 1 else 'broker'} {listing(brokers)}"
            parts.append(f"{logs} has it" if readers else f"{logs} has value {value} at offset {offset}")
        story = f"{', and '.join(parts)}, not as it was sent: {differs}."
        yield {
            "partition": unit.partition,
            "value": value,
            "offset": offset,
            "brokers": brokers,
            "altered": differs,
            "rows": [
                *rows_of("operations", [row["row"] for row in readers[:SHOWN]]),
                *rows_of("replica_log", [row["row"] for row in held[:SHOWN]]),
            ],
            "story": story[0].upper() + story[1:],
        }


def altered_prefilter(partitions: Partitions) -> Bools:
    """Some record was read or dumped with something altered."""
    tables = (partitions.history, partitions.replica_log)
    return partitions.those(np.concatenate([table.number[table.view.is_known("altered")] for table in tables]))
