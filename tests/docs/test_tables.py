"""The tables of a run, column by column, and the history that shows how outcomes are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from highwater_chaos.cli import execute
from highwater_pipeline.tables.schemas import (
    FAULTS,
    FINDINGS,
    HISTORY,
    METRIC_SAMPLES,
    MICRO_OPERATION,
    NODE_EVENT,
    OPERATIONS,
    PHASES,
    REPLICA_LOG,
    ROW,
    RUNS,
    VERDICTS,
    VERSION,
)

WORDS = {pa.int64(): "integer", pa.string(): "string", pa.bool_(): "boolean", pa.list_(pa.int64()): "list of integers"}
WORDS |= {pa.int8(): "integer", pa.int32(): "integer", pa.float64(): "number"}
WORDS |= {pa.map_(pa.string(), pa.string()): "map of strings"}
WORDS |= {pa.list_(pa.string()): "list of strings", OPERATIONS.field("value").type: "list of micro-operations"}


def columns(fields: Any) -> list[list[str]]:
    return [
        [f"`{one.name}`", WORDS[one.type], "yes" if one.nullable else "no", one.metadata[b"doc"].decode()]
        for one in fields
    ]


@pytest.mark.parametrize(
    ("heading", "number", "fields"),
    [
        ("Operations", 0, OPERATIONS),
        ("Operations", 1, MICRO_OPERATION),
        ("Node events", 0, NODE_EVENT),
        ("Replica log", 0, REPLICA_LOG),
        ("Faults", 0, FAULTS),
        ("Tables of a store", 0, [ROW]),
        ("History", 0, HISTORY),
        ("Runs", 0, RUNS),
        ("Verdicts", 0, VERDICTS),
        ("Findings", 0, FINDINGS),
        ("Phases", 0, PHASES),
        ("Metric samples", 0, METRIC_SAMPLES),
    ],
)
def test_every_column_is_there_with_its_type_and_meaning(tables: Any, heading: str, number: int, fields: Any) -> None:
    assert tables.tables(heading)[number][1:] == columns(fields)


def test_the_version_of_the_tables_of_a_store_is_said(tables: Any) -> None:
    assert f"**version {VERSION}**" in tables.text


def test_the_history_can_be_judged(tables: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (history,) = tables.blocks("json")
    (tmp_path / "history.jsonl").write_text(history, "utf-8")
    assert execute(["check", str(tmp_path / "history.jsonl"), "--acks", "all", "--json"]) in (0, 2)
    found = json.loads(capsys.readouterr().out)
    assert found["anomalies"] == {}
    (tmp_path / "history.jsonl").write_text(history.replace('"type": "info"', '"type": "maybe"'), "utf-8")
    assert execute(["check", str(tmp_path / "history.jsonl")]) == 254
    (tmp_path / "history.jsonl").write_text(history.replace('"index": 0,', '"index": 0, "idx": 1,'), "utf-8")
    assert execute(["check", str(tmp_path / "history.jsonl")]) == 254, "a column that is not there is refused"
