"""From a run directory's rows to series: who a sample is of, and when a series ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from highwater_chaos.assertions import PhaseRow, read_phases, write_phases
from highwater_chaos.assertions.phases import Span
from highwater_chaos.assertions.recorded import RecordedSamples, read_samples
from highwater_chaos.assertions.unknown import NOT_KNOWN
from highwater_chaos.promql.parse import parse

MS = 1_000_000
Row = tuple[int, str, int, str, dict[str, str], float]
"""Milliseconds, node, incarnation, name, labels, value."""


def recorded(folder: Path, rows: list[Row], *ends: str) -> RecordedSamples:
    (folder / "metrics").mkdir()
    (folder / "events").mkdir()
    (folder / "events" / "nodes.jsonl").write_text("".join(f"{line}\n" for line in ends))
    columns: dict[str, Any] = {
        "time_ns": [row[0] * MS for row in rows],
        "node": [row[1] for row in rows],
        "incarnation": [row[2] for row in rows],
        "name": [row[3] for row in rows],
        "labels": pa.array([list(row[4].items()) for row in rows], pa.map_(pa.string(), pa.string())),
        "value": [float(row[5]) for row in rows],
    }
    pq.write_table(pa.table(columns), folder / "metrics" / "samples.parquet")
    return read_samples(folder)


def values(source: RecordedSamples, promql: str, *times_ms: int) -> list[Any]:
    found = [source.at(parse(promql), Span(0, 100_000), at) for at in times_ms]
    return [[one.value for one in result] if isinstance(result, list) else result for result in found]


def ended(ms: int, node: str, incarnation: int) -> str:
    return f'{{"seq":1,"time_ns":{ms * MS},"node":"{node}","incarnation":{incarnation},"kind":"node-stopped"}}'


def test_a_sample_is_of_its_node(tmp_path: Path) -> None:
    source = recorded(tmp_path, [(1000, "broker-1", 1, "size", {"topic": "orders"}, 5)])
    (series,) = source.store.select(())
    assert series.labels == (("__name__", "size"), ("node", "broker-1"), ("topic", "orders"))
    assert source.metric_names() == ["size"]


def test_a_series_ends_when_its_node_no_longer_tells_of_it(tmp_path: Path) -> None:
    rows: list[Row] = [(second * 1000, "b", 1, "other", {}, 1) for second in range(1, 6)]
    rows += [(second * 1000, "b", 1, "size", {}, second) for second in (1, 2, 5)]
    source = recorded(tmp_path, rows)
    assert values(source, "size", 999, 1000, 2999, 3000, 4500, 5000, 9999, 10_001) == [
        [],
        [1],
        [2],
        [],
        [],
        [5],
        [5],
        [],
    ]


def test_a_series_ends_with_its_process_and_goes_on_with_the_next(tmp_path: Path) -> None:
    rows: list[Row] = [(1000, "b", 1, "size", {}, 1), (2000, "b", 1, "size", {}, 2), (5000, "b", 2, "size", {}, 3)]
    source = recorded(tmp_path, rows, ended(2500, "b", 1), ended(2500, "c", 2))
    assert values(source, "size", 2000, 2499, 2500, 4999, 5000, 9000) == [[2], [2], [], [], [3], [3]]


def test_what_comes_in_when_a_process_has_ended_is_left_out(tmp_path: Path) -> None:
    rows: list[Row] = [(1000, "b", 1, "size", {}, 1), (2600, "b", 1, "size", {}, 2)]
    assert values(recorded(tmp_path, rows, ended(2500, "b", 1)), "size", 1000, 2600) == [[1], []]


def test_a_node_that_does_not_answer_is_believed_for_five_seconds(tmp_path: Path) -> None:
    source = recorded(tmp_path, [(1000, "b", 1, "size", {}, 1), (9000, "c", 1, "size", {}, 2)])
    assert values(source, "sum(size)", 6000, 6001) == [[1], []]


def test_one_looks_when_all_nodes_have_been_asked(tmp_path: Path) -> None:
    rows: list[Row] = [(at, f"b{at}", 1, "size", {}, 1) for at in (1000, 1003, 1090, 2001, 2002, 3000)]
    source = recorded(tmp_path, rows)
    assert source.rounds_ms == [1090, 2002, 3000]
    assert source.instants(parse("size"), Span(1091, 2999)) == [2002]


def test_a_time_at_which_a_node_is_not_known_does_not_count(tmp_path: Path) -> None:
    rows: list[Row] = [(second * 1000, "b", 1, "size", {}, second) for second in range(1, 6)]
    rows += [(second * 1000, "c", 0, NOT_KNOWN, {}, 1) for second in (2, 3)]
    source = recorded(tmp_path, rows)
    assert source.instants(parse("size"), Span(0, 10_000)) == [1000, 4000, 5000]
    assert source.metric_names() == ["size"]
    assert values(source, "size", 3000) == [[3]]


def test_phases_are_read_back_as_whole_milliseconds_within_them(tmp_path: Path) -> None:
    write_phases(tmp_path, [PhaseRow("steady", 1, 2 * MS), PhaseRow("fault", 2 * MS, 7 * MS + 1)])
    assert read_phases(tmp_path) == {"steady": Span(1, 1), "fault": Span(2, 7)}
    (tmp_path / "phases.jsonl").write_text('{"name":"steady"')
    with pytest.raises(ValueError, match="truncated"):
        read_phases(tmp_path)
