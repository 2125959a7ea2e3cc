"""Samples of metrics for the run directory: in memory while they are few, then in a file.

PyArrow is imported when the first samples are written, so runs start sooner.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from highwater_chaos.backends.protocol import MetricRow

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_AT_ONCE: Final = 10_000
"""Rows in memory, where there is a file for the others."""


class MetricSamples:
    """The samples of one run. ``spool``: a file for those that are too many for memory; None: there is none."""

    def __init__(self, spool: Path | None = None) -> None:
        self._rows: list[MetricRow] = []
        self._spool = spool
        self._writer: pq.ParquetWriter | None = None
        self._closed = False

    def extend(self, rows: Iterable[MetricRow]) -> None:
        self._rows.extend(rows)
        if self._spool is not None and len(self._rows) >= _AT_ONCE:
            self._flush(self._spool)

    def __iter__(self) -> Iterator[MetricRow]:
        """Those that are in memory: of a short run, all of them."""
        return iter(self._rows)

    def write(self, path: Path) -> None:
        """Write ``metrics/samples.parquet``; nothing can be added then."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._spool is None or self._writer is None:
            import pyarrow.parquet as pq  # noqa: PLC0415 - see above

            pq.write_table(_table(self._rows), path)
            return
        if not self._closed:
            self._flush(self._spool)
            self._writer.close()
            self._closed = True
        shutil.copyfile(self._spool, path)

    def _flush(self, spool: Path) -> None:
        if self._writer is None:
            import pyarrow.parquet as pq  # noqa: PLC0415 - see above

            self._writer = pq.ParquetWriter(spool, _schema())
        self._writer.write_table(_table(self._rows))
        self._rows.clear()


@lru_cache(maxsize=1)
def _schema() -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - see above

    return pa.schema(
        [
            ("time_ns", pa.int64()),
            ("node", pa.dictionary(pa.int32(), pa.string())),
            ("incarnation", pa.int32()),
            ("name", pa.dictionary(pa.int32(), pa.string())),
            ("labels", pa.map_(pa.string(), pa.string())),
            ("value", pa.float64()),
        ]
    )


def _table(rows: Sequence[MetricRow]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - see above

    from highwater_pipeline.arrow import without_pandas  # noqa: F401, PLC0415 - before the first array

    no_labels: list[tuple[str, str]] = []
    columns: dict[str, list[Any]] = {
        "time_ns": [row.time_ns for row in rows],
        "node": [row.node for row in rows],
        "incarnation": [row.incarnation for row in rows],
        "name": [row.name for row in rows],
        "labels": [sorted(row.labels.items()) if row.labels else no_labels for row in rows],
        "value": [row.value for row in rows],
    }
    schema = _schema()
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
