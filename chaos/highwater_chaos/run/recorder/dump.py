"""A dump of all replicas' logs as an Arrow file, which the recorder takes without a pass over JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from highwater_chaos.records.dump import Dumped, Mark
from highwater_pipeline.tables.export import rows_of
from highwater_pipeline.tables.files import gathered
from highwater_pipeline.tables.rows import REPLICA_LOG_ROWS

_ROWS: Final = 1 << 16
"""Rows from which on they are written: a group of batches is in memory."""
_SEQUENCES: Final = 1 << 31
"""Sequence numbers wrap from one less to 0."""


class DumpFile:
    """The file. Its lines can be gone through any number of times."""

    def __init__(self, path: Path, run_id: str) -> None:
        self.path: Final = path
        self._run_id: Final = run_id

    def write(self, dumped: Iterable[Dumped]) -> None:
        """Write the file. Raises ``OSError``."""
        schema = REPLICA_LOG_ROWS.schema
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(str(self.path), "wb") as file, pa.ipc.new_stream(file, schema, options=options) as writer:
            for some in gathered(dumped, _count, _ROWS):
                writer.write_table(_rows(some, self._run_id))

    def __iter__(self) -> Iterator[bytes]:
        """Lines of ``dumps/replica_log.jsonl``."""
        encode = msgspec.json.Encoder().encode
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield from map(encode, rows_of(pa.Table.from_batches([batch])))


def _count(one: Dumped) -> int:
    return 1 if isinstance(one, Mark) else len(one.every_offset())


_OF_BATCH: Final = pa.schema(
    [field for field in REPLICA_LOG_ROWS.schema if field.name not in ("offset", "sequence", "value", "altered")]
)
"""Columns that are equal in all rows of a batch."""


def _rows(some: list[Dumped], run_id: str) -> pa.Table:
    """The rows of some batches and marks: what is equal in a batch is repeated, the rest is added."""
    counts = np.array([_count(one) for one in some])
    repeated = np.repeat(np.arange(len(some)), counts)
    heads = zip(*((run_id, *_of_batch(one)) for one in some), strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(heads, _OF_BATCH, strict=True)]
    columns = pa.Table.from_arrays(arrays, schema=_OF_BATCH).take(repeated)

    offsets: list[int] = []
    values: list[int | None] = []
    altered: dict[int, str] = {}
    for one in some:
        if isinstance(one, Mark):
            offsets.append(one.offset)
            values.append(None)
        else:
            altered.update((len(offsets) + position, what) for position, what in one.altered.items())
            offsets += one.every_offset()
            values += one.values if one.values is not None else [None] * _count(one)
    offset = np.array(offsets, np.int64)
    base_offset, base_sequence = np.array([_numbering(one) for one in some], np.int64).T[:, repeated]
    sequence = base_sequence + (offset - base_offset)
    sequence[sequence >= _SEQUENCES] -= _SEQUENCES
    sequence[base_sequence < 0] = -1
    words = (
        pa.nulls(len(offset), pa.string())
        if not altered
        else pa.array(map(altered.get, range(len(offset))), pa.string())
    )
    added = {"offset": offset, "sequence": sequence, "value": pa.array(values, pa.int64()), "altered": words}
    schema = REPLICA_LOG_ROWS.schema
    return pa.table([added[name] if name in added else columns[name] for name in schema.names], schema=schema)


def _of_batch(one: Dumped) -> tuple[Any, ...]:
    """The columns of :data:`_OF_BATCH` behind ``run_id``."""
    if isinstance(one, Mark):
        return (*one.replica, -1, -1, 0, None, one.ended, one.start_offset, one.found)
    return (*one.replica, one.leader_epoch, one.producer_id, one.crc, one.producer_epoch, None, None, None)


def _numbering(one: Dumped) -> tuple[int, int]:
    """Base offset and base sequence."""
    return (one.offset, -1) if isinstance(one, Mark) else (one.base_offset, one.base_sequence)
