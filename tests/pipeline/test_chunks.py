"""A partition that is judged range by range, with what is carried on, is judged as one that is judged at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.arrow import columns, view
from highwater_pipeline.arrow.arrays import Ints
from highwater_pipeline.arrow.view import View
from highwater_pipeline.in_process import check_run, check_stored
from highwater_pipeline.partitions import spool, store, stored_table
from highwater_pipeline.partitions.store import stored_runs, write_units
from highwater_pipeline.tables.rows import MicroOp, NodeEventRow, Operation, ReplicaRecord
from highwater_pipeline.tables.run_tables import RunTables

P0 = "orders-0"
small = st.integers(0, 6)
EVERY_CHECK = ["all", "int-send-skip"]


@contextmanager
def in_chunks_of(rows: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(view, "CHUNK", rows)
        yield


@contextmanager
def every_table_on_disk() -> Iterator[None]:
    """Tables of a store are read group by group, of two rows each, and no column stays."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "LARGE", -1)
        patched.setattr(store, "GROUP", 2)
        patched.setattr(columns, "KEPT", 0)
        patched.setattr(store, "KEPT", 0)
        patched.setattr(spool, "LIMIT", -1)
        yield


@st.composite
def operations(draw: Any) -> list[Operation]:
    """What producers, consumers and transactions did on one partition: operations overlap, fail, stay open; consumers
    are assigned and subscribe; every value may be sent twice and be read at any offset."""
    rows: list[Operation] = []
    open_now: dict[int, Operation] = {}
    for index in range(draw(st.integers(0, 40))):
        process = draw(st.integers(0, 3))
        begun = open_now.pop(process, None)
        if begun is not None:
            kind = draw(st.sampled_from(["ok", "ok", "ok", "fail", "info"]))
            value = begun.value if kind == "ok" or draw(st.booleans()) else None
            rows.append(Operation(index, index, process, kind, begun.f, value, begun.client))
            continue
        f = draw(st.sampled_from(["send", "send", "poll", "poll", "txn", "assign", "subscribe"]))
        value = []
        for _ in range(draw(st.integers(0, 3))):
            op = draw(st.sampled_from(["send", "poll"])) if f == "txn" else {"subscribe": "assign"}.get(f, f)
            offset = draw(small if op == "poll" else st.none() | small)
            topic_id = draw(st.sampled_from([None, None, "0"])) if op == "poll" else None
            value.append(MicroOp(op, P0, offset, None if op == "assign" else draw(st.integers(1, 8)), topic_id))
        client = draw(st.sampled_from(["a", "b", None]))
        open_now[process] = Operation(index, index, process, "invoke", f, value, client)
        rows.append(open_now[process])
    return rows


@st.composite
def events(draw: Any) -> list[NodeEventRow]:
    """A leader or two append and commit; a log is loaded, cut, begins elsewhere; the HW goes where it likes."""
    found: list[NodeEventRow] = []
    kinds = ["log-appended", "log-appended", "batch-committed", "high-watermark", "log-loaded", "log-truncated"]
    kinds += ["log-start-moved", "became-leader", "partition-changed"]
    for seq in range(draw(st.integers(0, 25))):
        broker, start, length = draw(st.integers(0, 2)), draw(small), draw(st.integers(1, 3))
        fields: dict[str, Any] = {
            "kind": draw(st.sampled_from(kinds)),
            "leader_epoch": draw(st.integers(0, 1)),
            "offset": start,
            "end_offset": start + length,
            "epoch": draw(st.integers(0, 1)),
            "crc": draw(st.integers(0, 2)),
            "reason": draw(st.sampled_from(["leader", "follower", "restart-at", "recovered", "clean"])),
            "topic_id": "0",
            "isr": [0, 1],
            "replicas": [0, 1, 2],
            "leader": broker,
            "partition_epoch": seq,
            "metadata_offset": seq,
        }
        time = draw(st.integers(0, 2)) + seq
        node = f"broker-{broker}"
        found.append(NodeEventRow(seq, time, time, node, 1, partition=P0, **fields))
    return found


@st.composite
def dumps(draw: Any) -> list[ReplicaRecord]:
    """Three logs that differ, have gaps, hold a record twice, and in which producers skip sequences."""
    found = []
    for broker in range(3):
        offsets = draw(st.lists(small, max_size=7))
        found += [
            ReplicaRecord(
                broker=broker, partition=P0, topic_id="0", offset=offset, leader_epoch=draw(st.integers(0, 1)),
                producer_id=draw(st.integers(-1, 1)), sequence=draw(small), producer_epoch=draw(st.integers(0, 1)),
                value=draw(st.none() | small), crc=draw(st.integers(0, 2)),
            )
            for offset in (offsets if draw(st.booleans()) else sorted(offsets))
        ]  # fmt: skip
        if draw(st.booleans()):
            found.append(
                ReplicaRecord(
                    broker=broker, partition=P0, topic_id="0", offset=draw(small), leader_epoch=-1, producer_id=-1,
                    sequence=-1, value=None, crc=0, ended=draw(st.sampled_from(["end", "gap"])), start_offset=0,
                )
            )  # fmt: skip
    return found


@st.composite
def runs(draw: Any, new_story: Any) -> RunTables:
    story = new_story()
    story.operations, story.events, story.dumps = draw(operations()), draw(events()), draw(dumps())
    topics = st.sampled_from([(), None, ("orders",)])
    story.under(
        acks=draw(st.sampled_from(["all", "all", "1", None])),
        idempotence=draw(st.sampled_from([True, True, False, None])),
        retention=draw(topics),
        compaction=draw(topics),
        keys=draw(st.sampled_from([None, 0, 2])),
        deletion=draw(topics),
        exact_order=draw(st.booleans()),
    )
    return story.tables()  # type: ignore[no-any-return]


@settings(max_examples=300)
@given(data=st.data(), rows=st.integers(1, 12))
def test_any_size_of_chunks_gives_the_same_findings(new_story: Any, data: st.DataObject, rows: int) -> None:
    tables = data.draw(runs(new_story))
    whole = check_run(tables, EVERY_CHECK).to_json()
    with in_chunks_of(rows):
        assert check_run(tables, EVERY_CHECK).to_json() == whole


def test_every_story_is_judged_alike_number_by_number(sample: Any) -> None:
    tables = sample.build().tables(sample.name)
    whole = check_run(tables).to_json()
    with in_chunks_of(1):
        assert check_run(tables).to_json() == whole


@pytest.mark.quick(
    "nodes_crash-3",
    "two_polls_skip-3",
    "retention_takes_too_much-3",
    "two_nodes_one_epoch-3",
    "stray_log_stays-3",
    "sent_to_another_partition-3",
)
@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.thorough), 3])
def test_every_story_on_disk_is_judged_alike_in_chunks(sample: Any, tmp_path: Path, rows: int) -> None:
    """Three numbers are in more than one group of rows."""
    tables = sample.build().tables(sample.name)
    whole = check_run(tables).to_json()
    with every_table_on_disk(), in_chunks_of(rows):
        write_units(tables, tmp_path)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(stored_table.StoredTable, "whole", None)  # no table is read at once
            assert check_stored(*stored_runs(tmp_path)).to_json() == whole
        assert check_run(tables).to_json() == whole


@given(st.lists(st.integers(-1, 9), max_size=60), st.integers(1, 20), st.sampled_from([None, 0, 3]))
def test_ranges_have_every_row_once_and_keep_a_number_together(
    numbers: list[int], rows: int, least: int | None
) -> None:
    column = np.array(numbers, np.int64)
    with in_chunks_of(rows):
        ranges = list(View.of(pa.table({"key": column})).by_range("key", least))
    assert all(np.array_equal(part.ints("key", -1), column[at]) for at, part in ranges)
    assert all((np.diff(at) > 0).all() for at, _ in ranges)
    if len(numbers) > rows:
        counted = [number for _, part in ranges for number in sorted(part.ints("key", -1).tolist())]
        assert counted == sorted(number for number in numbers if least is None or number >= least)


def test_a_range_reads_no_part_in_which_it_has_no_rows() -> None:
    """As of the values of two producers that send in turn: each part has low and high ones."""
    rows = 10
    low = np.arange(400)
    columns = [np.concatenate([low[at : at + 5], 10**9 + low[at : at + 5]]) for at in range(0, 400, 5)]
    read: list[int] = []

    class OnDisk:
        schema = pa.schema([("value", pa.int64())])
        num_rows = rows * len(columns)
        starts = range(0, rows * (len(columns) + 1), rows)

        def fill(self, array: Ints, name: str, part: int, rows: Any, missing: int) -> None:
            read.append(part)
            array[:] = columns[part][rows]

    with in_chunks_of(4 * rows):
        for _, part in View.of(OnDisk()).by_range("value"):  # type: ignore[arg-type]
            part.ints("value", -1)
    # Two times to find where ranges end, and then by one or two ranges of each producer.
    assert len(read) <= 6 * len(columns)
