"""Tables as whole files, written and read: the product reads and writes them in parts."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from highwater_pipeline.tables.files import _parse, jsonl_parts, parquet_parts
from highwater_pipeline.tables.rows import RowKind


def read_jsonl(path: Path, kind: RowKind[Any], run_id: str) -> pa.Table:
    return _together(jsonl_parts(path, kind, run_id), kind)


def parse_jsonl(data: bytes, kind: RowKind[Any], run_id: str, path: str) -> pa.Table:
    return _together(_parse(io.BytesIO(data), kind, run_id, path), kind)


def read_parquet(path: Path, kind: RowKind[Any]) -> pa.Table:
    return _together(parquet_parts(path, kind), kind)


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def _together(parts: Iterable[pa.Table], kind: RowKind[Any]) -> pa.Table:
    return pa.concat_tables([kind.schema.empty_table(), *parts]).combine_chunks()
