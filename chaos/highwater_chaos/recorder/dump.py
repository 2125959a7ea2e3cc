"""A dump of all replicas' logs as an Arrow file, which the recorder takes without a pass over JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from highwater_pipeline.export import rows_of
from highwater_pipeline.rows import REPLICA_LOG_ROWS

_BATCH: Final = 1 << 16


class DumpFile:
    """The file. Its lines can be gone through any number of times."""

    def __init__(self, path: Path, run_id: str) -> None:
        self.path: Final = path
        self._run_id: Final = run_id

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write the file from rows of the ``replica_log`` table without ``run_id``. Raises ``OSError``."""
        schema = REPLICA_LOG_ROWS.schema
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        left = iter(rows)
        with pa.OSFile(str(self.path), "wb") as file, pa.ipc.new_stream(file, schema, options=options) as writer:
            while some := list(islice(left, _BATCH)):
                named = [pa.array([self._run_id] * len(some))]
                columns = [pa.array([row.get(field.name) for row in some], field.type) for field in list(schema)[1:]]
                writer.write_table(pa.Table.from_arrays([*named, *columns], schema=schema))

    def __iter__(self) -> Iterator[bytes]:
        """Lines of ``dumps/replica_log.jsonl``."""
        encode = msgspec.json.Encoder().encode
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield from map(encode, rows_of(pa.Table.from_batches([batch])))
