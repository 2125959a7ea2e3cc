"""A run that is written as Parquet while it goes on: the same verdict, rows and bytes, little memory."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from table_files import parse_jsonl

from highwater_pipeline.in_process import check_run, check_stored
from highwater_pipeline.partitions import recording, spool, store
from highwater_pipeline.partitions.recording import LARGE_TABLES, RunWriter, recorded_units
from highwater_pipeline.tables import export, files
from highwater_pipeline.tables.export import lines_of, rows_of
from highwater_pipeline.tables.files import BadTableError, TableFile, parquet_parts, write_parquet
from highwater_pipeline.tables.rows import OPERATION_ROWS
from highwater_pipeline.tables.run_tables import RunTables, load_run


def tables_of(run: RunTables) -> dict[str, pa.Table]:
    found = (run.operations, run.node_events, run.replica_log)
    return {
        name: kind.schema.empty_table() if table is None else table
        for (name, kind), table in zip(LARGE_TABLES.items(), found, strict=True)
    }


def write(run: RunTables, directory: Path, rows: int) -> Path:
    """Write a run in parts of so many rows, those of different tables in turns."""
    writer = RunWriter(directory)
    tables = tables_of(run)
    for start in range(0, max(table.num_rows for table in tables.values()), rows):
        for name, table in tables.items():
            writer.add(name, table.slice(start, rows))
    writer.close(run.parts(), None)
    (directory / "run.json").write_bytes(msgspec.json.encode({"settings": run.settings, "runId": run.run_id}))
    return directory


def digests(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.mark.quick(
    "nodes_crash",
    "two_polls_skip",
    "retention_takes_too_much",
    "two_nodes_one_epoch",
    "stray_log_stays",
    "sent_to_another_partition",
)
def test_every_story_is_judged_alike(sample: Any, tmp_path: Path) -> None:
    """Units and whole tables, written part by part, come to what the tables in memory do; so do lines of them."""
    run = sample.build().tables(sample.name)
    directory = write(run, tmp_path / "run", 3)
    stored = recorded_units(directory, None)
    assert stored is not None
    wanted = check_run(run).to_json()
    assert check_stored(stored).to_json() == wanted
    assert tables_of(load_run(directory)) == tables_of(run)
    for name, kind in LARGE_TABLES.items():
        data = b"".join(line + b"\n" for line in lines_of(directory / f"{name}.parquet", kind))
        assert parse_jsonl(data, kind, run.run_id, name) == tables_of(run)[name]


def test_polls_with_many_records_come_in_smaller_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The final reader's polls have thousands of records. So records are counted too where rows are bounded."""
    monkeypatch.setattr(files, "_PART_ROWS", 100)
    monkeypatch.setattr(export, "_AT_ONCE", 20)
    read = b",".join(b'{"op":"poll","key":"t-0","offset":%d,"value":%d}' % (at, at) for at in range(10))
    lines = [
        b'{"index":%d,"time":%d,"process":1,"type":"ok","f":"poll","value":[%b]}' % (at, at, read) for at in range(50)
    ]
    whole = parse_jsonl(b"".join(line + b"\n" for line in lines), OPERATION_ROWS, "run", "operations")
    write_parquet(tmp_path / "operations.parquet", whole)
    parts = list(parquet_parts(tmp_path / "operations.parquet", OPERATION_ROWS))
    assert {part.num_rows for part in parts} == {10}
    assert pa.concat_tables(parts) == whole
    made: list[int] = []
    rows_at_once = export._rows_at_once

    def counted(part: pa.Table) -> Any:
        made.append(part.num_rows)
        return rows_at_once(part)

    monkeypatch.setattr(export, "_rows_at_once", counted)
    assert [row["time"] for row in rows_of(whole)] == list(range(50))
    assert sum(made) == 50
    assert max(made) == 2


@pytest.mark.quick(
    "nodes_crash",
    "two_polls_skip",
    "retention_takes_too_much",
    "two_nodes_one_epoch",
    "stray_log_stays",
    "sent_to_another_partition",
)
def test_bytes_depend_on_the_rows_alone(sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the parts come, and whether they are kept in memory or written away."""
    monkeypatch.setattr(files, "GROUP", 4)
    monkeypatch.setattr(store, "GROUP", 4)
    run = sample.build().tables(sample.name)
    first = digests(write(run, tmp_path / "whole", 1 << 20))
    assert len(first) > len(LARGE_TABLES)
    assert digests(write(run, tmp_path / "few", 3)) == first
    monkeypatch.setattr(spool, "LIMIT", -1)
    assert digests(write(run, tmp_path / "one", 1)) == first


def test_no_more_than_a_group_of_rows_is_kept(story: Any, tmp_path: Path) -> None:
    """Of a table that is written, and of its file: a group is there before the next part comes."""
    story.send(1, at=0)
    for value in range(2, 60):
        story.send(value, at=value - 1)
    table = story.tables().operations
    file = TableFile(tmp_path / "operations.parquet", OPERATION_ROWS.schema, group=8)
    kept, part = 0, 3
    for start in range(0, table.num_rows, part):
        file.add(table.slice(start, part))
        kept = max(kept, file.waiting_rows)
        assert sum(one.nbytes for one in file._waiting) <= table.slice(0, 8).nbytes * 2
    assert 0 < kept < 8
    file.close()
    with pq.ParquetFile(tmp_path / "operations.parquet") as written:
        groups = [written.metadata.row_group(at).num_rows for at in range(written.metadata.num_row_groups)]
        assert groups == [8] * (table.num_rows // 8) + ([table.num_rows % 8] if table.num_rows % 8 else [])
        assert written.read().cast(table.schema) == table


def test_a_writer_that_was_given_up_leaves_nothing(story: Any, tmp_path: Path) -> None:
    """The recorder begins anew in the same files. The first writer ends its file when it goes: that is another one."""
    for value in range(1, 60):
        story.send(value, at=value - 1)
    table = story.tables().operations
    path = tmp_path / "operations.parquet"
    given_up = TableFile(path, OPERATION_ROWS.schema, group=1)
    given_up.add(table)
    file = TableFile(path, OPERATION_ROWS.schema, group=1)
    del given_up
    file.add(table.slice(0, 1))
    file.close()
    assert pq.read_table(path, partitioning=None).num_rows == 1


def test_the_buffers_of_a_split_are_bounded(story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few bytes, no buffer of a partition ever holds more than that and one part."""
    for value in range(1, 80):
        story.send(value, at=value, key=f"orders-{value % 5}")
    run = story.tables()
    limit, largest = 4000, 0
    monkeypatch.setattr(spool, "LIMIT", limit)
    add = spool.Spool.add

    def watched(self: spool.Spool, part: pa.Table) -> None:
        nonlocal largest
        add(self, part)
        largest = max(largest, sum(one.nbytes for one in self._parts))

    monkeypatch.setattr(spool.Spool, "add", watched)
    directory = write(run, tmp_path / "run", 2)
    assert 0 < largest <= limit
    stored = recorded_units(directory, None)
    assert stored is not None
    assert check_stored(stored).to_json() == check_run(run).to_json()


def test_what_was_cut_off_is_refused(story: Any, tmp_path: Path) -> None:
    """A writer that never came to its end, as that of a harness that was killed."""
    run = story.send(1, at=0).poll((0, 1)).tables()
    writer = RunWriter(tmp_path / "run")
    for name, table in tables_of(run).items():
        writer.add(name, table)
    with pytest.raises(BadTableError, match="expected a Parquet file"):
        load_run(tmp_path / "run")
    for file in writer._files.values():
        file.close()
    (tmp_path / "run" / recording.UNITS / "history").mkdir(parents=True)
    with pytest.raises(BadTableError, match=r"stored\.json: expected the entry of a run that was written to its end"):
        recorded_units(tmp_path / "run", None)


def test_units_of_another_run_are_refused(new_story: Any, tmp_path: Path) -> None:
    run = new_story().send(1, at=0).poll((0, 1)).tables("one seed=0")
    write(run, tmp_path / "run", 9)
    about = {"settings": run.settings, "runId": "a key", "name": "one"}
    (tmp_path / "run" / "run.json").write_bytes(msgspec.json.encode(about))
    stored = recorded_units(tmp_path / "run", None)
    assert stored is not None
    assert check_stored(stored).run_id == "a key"
    (tmp_path / "run" / "run.json").write_bytes(msgspec.json.encode({**about, "name": "other"}))
    with pytest.raises(BadTableError, match=r"expected the run 'other seed=0', .* found 'one seed=0'"):
        recorded_units(tmp_path / "run", None)


def test_units_with_other_promises_are_refused(story: Any, tmp_path: Path) -> None:
    """Settings are in run.json too: checks of units must not go by others."""
    run = write(story.send(1, at=0).poll((0, 1)).tables(), tmp_path / "run", 9)
    (run / "run.json").write_text('{"settings": {"acks": "0"}}', encoding="utf-8")
    with pytest.raises(BadTableError, match=r"expected what was promised by run\.json"):
        recorded_units(run, None)
