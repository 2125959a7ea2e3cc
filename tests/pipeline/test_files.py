"""Tables read back as they were written; anything else is refused: where, what was expected, what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import parse_jsonl, read_jsonl, read_parquet, write_jsonl

from highwater_pipeline.tables import files, schemas
from highwater_pipeline.tables.files import BadTableError, write_parquet
from highwater_pipeline.tables.rows import (
    EVENT_FIELDS,
    FAULT_ROWS,
    NODE_EVENT_ROWS,
    OPERATION_ROWS,
    REPLICA_LOG_ROWS,
    MicroOp,
    NodeEventRow,
    Operation,
)
from highwater_pipeline.tables.run_tables import load_run
from highwater_runtime.ports import trace

GOOD = (
    '{"index":0,"time":5,"process":1,"type":"ok","f":"send","value":[{"op":"send","key":"t-0","offset":3,"value":9}]}\n'
)
EVENT = {"seq": 1, "time_ns": 2, "node_time_ns": 3, "node": "broker-0", "incarnation": 1}


def _operations(*lines: str) -> pa.Table:
    return parse_jsonl("".join(lines).encode(), OPERATION_ROWS, "run", "operations.jsonl")


@settings(max_examples=50)
@given(
    st.lists(
        st.builds(
            Operation,
            index=st.just(0),
            time=st.integers(0, 2**62),
            process=st.integers(0, 9),
            type=st.sampled_from(["invoke", "ok", "fail", "info"]),
            f=st.sampled_from(["send", "poll", "txn"]),
            value=st.none()
            | st.lists(
                st.builds(
                    MicroOp, op=st.just("send"), key=st.text(max_size=5), offset=st.none() | st.integers(0, 9),
                    value=st.integers(-(2**63), 2**63 - 1),
                )
            ),
            client=st.none() | st.text(max_size=5),
            error=st.none() | st.text(max_size=5),
        )
    )
)  # fmt: skip
def test_operations_survive_json_lines_and_parquet(tmp_path_factory: Any, operations: list[Operation]) -> None:
    for index, operation in enumerate(operations):
        operation.index = index
    directory = tmp_path_factory.mktemp("operations")
    write_jsonl(directory / "operations.jsonl", operations)
    table = read_jsonl(directory / "operations.jsonl", OPERATION_ROWS, "run")
    assert table.schema == schemas.OPERATIONS
    back = [msgspec.convert({**row, "value": row["value"]}, Operation) for row in table.to_pylist()]
    for was, now in zip(operations, back, strict=True):
        assert now.run_id == "run"
        assert (now.value or []) == (was.value or [])
        assert (now.index, now.time, now.process, now.type, now.f, now.client, now.error) == (
            was.index, was.time, was.process, was.type, was.f, was.client, was.error,
        )  # fmt: skip
    write_parquet(directory / "operations.parquet", table)
    assert read_parquet(directory / "operations.parquet", OPERATION_ROWS).equals(table)


def test_events_survive(tmp_path: Path) -> None:
    written = NodeEventRow(
        **EVENT, kind="became-leader", partition="t-0", topic_id="0", leader_epoch=1, partition_epoch=2, offset=3,
        end_offset=4, isr=[0, 1], replicas=[1, 0],
    )  # fmt: skip
    write_jsonl(tmp_path / "nodes.jsonl", [written])
    (row,) = read_jsonl(tmp_path / "nodes.jsonl", NODE_EVENT_ROWS, "run").to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        **{name: value for name, value in msgspec.structs.asdict(written).items() if value is not None},
        "run_id": "run",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"index": "three"}', "Expected `int`, got `str` - at `$.index`"),
        (GOOD.replace('"ok"', '"maybe"').strip(), "Invalid enum value 'maybe' - at `$.type`"),
        (GOOD.replace('"time":5,', "").strip(), "Object missing required field `time`"),
        (GOOD.replace('"time"', '"tme"').strip(), "Object contains unknown field `tme`"),
        (
            GOOD.replace('"offset":3', '"offset":3.5').strip(),
            "Expected `int | null`, got `float` - at `$.value[0].offset`",
        ),
        (GOOD.replace('"value":9', '"value":null').strip(), "expected a `value` in `value[0]` of a send, found null"),
        (GOOD.replace('"offset":3', '"offset":-3').strip(), "to be null or at least 0, found -3"),
        (GOOD.replace('"op":"send"', '"op":"poll"').replace('"offset":3,', "").strip(), "expected an `offset`"),
        (GOOD.replace('"value":9', f'"value":{2**63}').strip(), "expected integers of 64 bits"),
        (GOOD.replace('"process":1', f'"process":{10**30}').strip(), "expected integers of 64 bits"),
        ("{not json}", "expected a JSON object"),
        ("", "expected a JSON object"),
        (GOOD.strip(), "expected `index` above 0, found 0"),
    ],
)
def test_a_bad_line_is_named(line: str, expected: str) -> None:
    if expected != "expected `index` above 0, found 0":
        line = line.replace('"index":0', '"index":1')
    with pytest.raises(BadTableError) as refused:
        _operations(GOOD, line + "\n")
    assert str(refused.value).startswith("operations.jsonl:2: ")
    assert expected in str(refused.value)


def test_a_torn_last_line_is_refused() -> None:
    """The writer died in the middle of it: who knows what else is missing."""
    with pytest.raises(BadTableError, match=r"operations\.jsonl:2: expected a line feed at the end, found a torn line"):
        _operations(GOOD, GOOD[:30])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": "high-watermark", "partition": "t-0", "leader_epoch": 1}, "high-watermark event to have `offset`"),
        ({"kind": "gossip"}, "found 'gossip'"),
        ({"kind": "node-stopped"}, "node-stopped event to have `reason`"),
        (
            {
                **{"kind": "alter-partition-handled", "partition": "t-0", "broker": 0, "leader_epoch": 0},
                **{"partition_epoch": 0, "isr": [0, 1], "isr_epochs": [5], "registered_epochs": [5, 6]},
                **{"metadata_offset": 9, "reason": "NONE"},
            },
            "expected `isr_epochs` to have one epoch for each of the 2 in `isr`, found 1",
        ),
        (
            {
                **{"kind": "log-appended", "partition": "t-0", "leader_epoch": 0, "reason": "leader"},
                **{"offset": 0, "end_offset": 2**40},
            },
            "expected a log-appended event of 0 to 16777216 records",
        ),
    ],
)
def test_an_event_without_what_its_kind_needs_is_refused(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadTableError) as refused:
        parse_jsonl(json.dumps({**EVENT, **fields}).encode() + b"\n", NODE_EVENT_ROWS, "run", "nodes.jsonl")
    assert expected in str(refused.value)


def test_the_wide_table_has_a_column_for_every_field_of_every_event() -> None:
    columns = set(schemas.NODE_EVENT.names)
    assert "became-leader" in EVENT_FIELDS
    classes = _event_classes(trace.NodeEvent)
    assert len(EVENT_FIELDS) == len(classes)
    for event in classes:
        assert {field.name for field in msgspec.structs.fields(event)} <= columns, event


def _event_classes(base: type) -> list[type]:
    return [found for child in base.__subclasses__() for found in (child, *_event_classes(child))]


def test_every_column_is_documented() -> None:
    for schema in (schemas.OPERATIONS, schemas.NODE_EVENT, schemas.REPLICA_LOG, schemas.FAULTS):
        assert schema.metadata[b"doc"]
        for column in schema:
            assert column.metadata[b"doc"], column.name


def test_faults_keep_the_whole_line() -> None:
    line = b'{"id":"1","kind":"hold","targets":["broker-0"],"confirmed":true,"evidence":{"inject":[]}}\n'
    (row,) = parse_jsonl(line, FAULT_ROWS, "run", "faults.jsonl").to_pylist()
    assert (row["kind"], row["confirmed"], json.loads(row["detail"])) == ("hold", True, json.loads(line))


def test_parquet_with_other_columns_is_refused(tmp_path: Path) -> None:
    write_parquet(tmp_path / "x.parquet", pa.table({"run_id": ["run"]}))
    with pytest.raises(BadTableError, match="expected a column `broker`, found run_id"):
        read_parquet(tmp_path / "x.parquet", REPLICA_LOG_ROWS)
    (tmp_path / "y.parquet").write_bytes(b"no parquet")
    with pytest.raises(BadTableError, match="expected a Parquet file"):
        read_parquet(tmp_path / "y.parquet", REPLICA_LOG_ROWS)


OPERATION = {"run_id": "run", "time": 5, "process": 1, "type": "ok", "f": "send", "value": []}
SEND = {"op": "send", "key": "t-0", "offset": 3, "value": 9}
OF_LEADER = {"kind": "log-appended", "partition": "t-0", "offset": 5, "end_offset": 6, "reason": "leader"}
RECORD = {
    **{"run_id": "run", "broker": 0, "partition": "t-0", "topic_id": "0", "offset": 1, "leader_epoch": 0},
    **{"producer_id": -1, "sequence": -1, "value": 5, "crc": 1},
}


def _operation(f: str = "send", type: str = "ok", **fields: Any) -> dict[str, Any]:  # noqa: A002 - as it is written
    return OPERATION | {"f": f, "type": type, "value": [SEND | fields]}


def _event(**fields: Any) -> dict[str, Any]:
    needed = {name: 1 for name in EVENT_FIELDS[fields.get("kind", "log-appended")] if name not in OF_LEADER}
    lists = {"isr", "replicas", "isr_epochs", "registered_epochs"}
    made = {name: [1, 2] if name in lists else 1 for name in needed}
    return {"run_id": "run", **EVENT, **OF_LEADER, **made, **fields}


WRONG_ROWS: list[tuple[Any, dict[str, Any]]] = [
    (OPERATION_ROWS, OPERATION | {"type": "OK"}),
    (OPERATION_ROWS, OPERATION | {"f": "pol"}),
    (OPERATION_ROWS, _operation(op="Send")),
    (OPERATION_ROWS, _operation(op="read", offset=None)),
    (OPERATION_ROWS, _operation(value=None)),
    (OPERATION_ROWS, _operation("poll", op="poll", offset=None)),
    (OPERATION_ROWS, _operation("poll", op="poll", offset=-1)),
    (OPERATION_ROWS, _operation("assign", op="assign", offset=-1, value=None)),
    (OPERATION_ROWS, _operation("read", op="write", offset=None)),
    (OPERATION_ROWS, _operation("read", op="read", offset=3)),
    (OPERATION_ROWS, _operation("write", op="write", offset=None, value=None)),
    (OPERATION_ROWS, _operation("cas", op="read", offset=None)),
    (OPERATION_ROWS, OPERATION | {"f": "read", "value": []}),
    (OPERATION_ROWS, OPERATION | {"index": 0}),
    (NODE_EVENT_ROWS, _event(seq=0)),
    (NODE_EVENT_ROWS, _event(kind="log-appended") | {"kind": "gossip"}),
    (NODE_EVENT_ROWS, _event(node="broker-zero")),
    (NODE_EVENT_ROWS, _event(partition=None)),
    (NODE_EVENT_ROWS, _event(end_offset=4)),
    (NODE_EVENT_ROWS, _event(end_offset=5 + (1 << 24) + 1)),
    (NODE_EVENT_ROWS, _event(kind="alter-partition-handled", isr=[1, 2], isr_epochs=[1])),
    (NODE_EVENT_ROWS, _event(kind="alter-partition-handled", isr=[1, 2], registered_epochs=[1])),
    (REPLICA_LOG_ROWS, RECORD | {"offset": -1}),
    (REPLICA_LOG_ROWS, RECORD | {"offset": -1, "ended": "gap"}),
    (REPLICA_LOG_ROWS, RECORD | {"ended": "End", "start_offset": 0}),
    (REPLICA_LOG_ROWS, RECORD | {"ended": "end"}),
]


def _loose(kind: pa.DataType) -> pa.DataType:
    """A type without what must not be null."""
    if pa.types.is_list(kind):
        return pa.list_(_loose(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _loose(field.type)) for field in kind])
    return kind


def _as_parquet(path: Path, kind: Any, rows: list[dict[str, Any]]) -> Path:
    schema = pa.schema([pa.field(field.name, _loose(field.type)) for field in kind.schema])
    write_parquet(path, pa.Table.from_pylist(rows, schema))
    return path


@pytest.mark.parametrize("parts", [1 << 16, 2], ids=["in one part", "in several parts"])
@pytest.mark.parametrize(("kind", "wrong"), WRONG_ROWS, ids=range(len(WRONG_ROWS)))
def test_parquet_is_held_to_what_lines_are_held_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, wrong: dict[str, Any], parts: int
) -> None:
    monkeypatch.setattr(files, "_PART_ROWS", parts)
    number = {"operations": "index", "node_event": "seq"}.get(kind.name)
    good = {"operations": _operation(), "node_event": _event(), "replica_log": RECORD}[kind.name]
    rows = [good if number is None else good | {number: at} for at in range(5)]
    number_of_wrong = {} if number is None or (number in wrong and wrong[number] == 0) else {number: 5}
    rows += [wrong | number_of_wrong, good if number is None else good | {number: 6}]
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    with pytest.raises(BadTableError) as of_lines:
        parse_jsonl(lines, kind, "run", "x")
    with pytest.raises(BadTableError) as of_parquet:
        read_parquet(_as_parquet(tmp_path / "x.parquet", kind, rows), kind)
    said = str(of_lines.value).removeprefix("x:6: ").partition("; the line: ")[0]
    assert str(of_parquet.value).startswith(f"{tmp_path / 'x.parquet'}: row 5: {said}; the row: ")
    assert read_parquet(_as_parquet(tmp_path / "good.parquet", kind, [*rows[:5], rows[6]]), kind).num_rows == 6


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("time", pa.array([7], pa.timestamp("us")), "expected `time` to be int64, found timestamp"),
        ("process", pa.array([1.0]), "expected `process` to be int64, found double"),
        ("client", pa.array([b"\xff"]).view(pa.string()), "Invalid UTF8"),
        ("process", pa.array([None], pa.int64()), "with null values to non-nullable"),
        ("value", pa.array([[None]], _loose(schemas.OPERATIONS.field("value").type)), "Can't cast to non-nullable"),
        ("value", pa.array([[{"op": "send", "where": 1}]]), "expected `value` to be list"),
    ],
)
def test_columns_of_other_types_are_refused(tmp_path: Path, column: str, values: pa.Array, expected: str) -> None:
    table = _operations(GOOD)
    at = table.schema.get_field_index(column)
    other = table.set_column(at, pa.field(column, values.type), values)
    write_parquet(tmp_path / "x.parquet", other)
    with pytest.raises(BadTableError, match=expected):
        read_parquet(tmp_path / "x.parquet", OPERATION_ROWS)
    twice = pa.Table.from_arrays([*table.columns, table.column(at)], names=[*table.schema.names, column])
    write_parquet(tmp_path / "y.parquet", twice)
    with pytest.raises(BadTableError, match=f"expected a column `{column}`, found 2"):
        read_parquet(tmp_path / "y.parquet", OPERATION_ROWS)


def test_a_null_among_replicas_is_refused(tmp_path: Path) -> None:
    file = _as_parquet(tmp_path / "x.parquet", NODE_EVENT_ROWS, [_event(isr=[1, None])])
    with pytest.raises(BadTableError, match="expected lists without nulls in `isr`"):
        read_parquet(file, NODE_EVENT_ROWS)


def test_a_line_that_is_no_text_or_has_no_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadTableError, match=r"operations\.jsonl:2: expected UTF-8, found: .*; the line: "):
        parse_jsonl(GOOD.encode() + GOOD.encode().replace(b"t-0", b"t-\xff"), OPERATION_ROWS, "run", "operations.jsonl")
    monkeypatch.setattr(files, "_PART", 1 << 12)
    monkeypatch.setattr(files, "MOST_LINE", 1 << 20)
    assert len(_operations(GOOD.replace("t-0", "t" * (1 << 19)))) == 1
    with pytest.raises(
        BadTableError, match=r"operations\.jsonl:2: expected lines of at most 1 MiB, found a longer one: x"
    ):
        _operations(GOOD, "x" * (1 << 21))


# --- run directories ------------------------------------------------------------------------------------------------


def test_a_run_directory_reads_alike_from_json_lines_and_parquet(story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).moves_hw(0, 1).dump(0, (0, 0, 1)).write(tmp_path / "run")
    tables = load_run(run)
    assert tables.run_id == "run"
    assert tables.faults is None
    assert tables.node_events is not None
    other = tmp_path / "other"
    write_parquet(other / "history" / "operations.parquet", tables.operations)
    write_parquet(other / "events" / "nodes.parquet", tables.node_events)
    again = load_run(other)
    assert (again.run_id, again.operations, again.node_events) == ("run", tables.operations, tables.node_events)


def test_a_history_alone_is_read_from_its_file(story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).write(tmp_path / "run")
    tables = load_run(run / "history" / "operations.jsonl")
    assert (tables.run_id, tables.operations.num_rows, tables.node_events) == ("operations", 2, None)


def test_two_runs_in_one_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    lines = GOOD.replace("{", '{"run_id":"a",', 1) + GOOD.replace("{", '{"run_id":"b",', 1).replace(
        '"index":0', '"index":1'
    )
    (tmp_path / "history" / "operations.jsonl").write_text(lines)
    with pytest.raises(BadTableError, match="expected one run, a, found a, b"):
        load_run(tmp_path)


def test_a_table_in_two_formats_is_refused(story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).write(tmp_path / "run")
    write_parquet(run / "history" / "operations.parquet", load_run(run).operations)
    with pytest.raises(BadTableError, match=r"expected history/operations once"):
        load_run(run)


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected a run directory with history/operations\.jsonl"):
        load_run(tmp_path)
