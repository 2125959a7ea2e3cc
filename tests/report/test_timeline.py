"""Series over run time: what the lanes are drawn from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table_files import parse_jsonl

from highwater_chaos.report.files import TableRows
from highwater_chaos.report.timeline import BUCKETS, fault_label, timeline_of
from highwater_chaos.report.tracks import Drawn, Folder, Track, draw
from highwater_pipeline.tables import files
from highwater_pipeline.tables.rows import NODE_EVENT_ROWS

MS = 1_000_000


def test_a_partition_over_time(loss: Any) -> None:
    (lane,) = timeline_of(loss.files()).partitions
    assert (lane.name, lane.replicas) == ("orders-0", [0, 1])
    assert lane.leader == [(1 * MS, 0), (31 * MS, 0), (50 * MS, 1)]
    assert lane.leader_epoch == [(1 * MS, 0), (31 * MS, 0), (50 * MS, 1)]
    assert lane.isr == [(1 * MS, [0]), (31 * MS, [0, 1]), (50 * MS, [1])]
    assert lane.high_watermark == [(12 * MS, 1)]
    assert lane.log_end == {"broker-0": [(11 * MS, 1)], "broker-1": [(60 * MS, 1)]}


def test_every_controller_reports_a_change_and_one_counts(loss: Any) -> None:
    before = timeline_of(loss.files()).partitions[0].isr
    for row in [row for row in loss.events if row["kind"] == "partition-changed"]:
        loss.events.append({**row, "node": "controller-1", "time_ns": row["time_ns"] + 55 * MS})
    assert timeline_of(loss.files()).partitions[0].isr == before


def test_a_truncation_lowers_the_log_end(recording: Any) -> None:
    changed = {"metadata_offset": 1, "replicas": [0], "isr": [0], "leader": 0, "leader_epoch": 0, "reason": "created"}
    recording.on_partition(1, "controller-0", "partition-changed", **changed)
    recording.on_partition(2, "broker-0", "log-appended", leader_epoch=0, offset=0, end_offset=9, reason="leader")
    recording.on_partition(3, "broker-0", "log-truncated", leader_epoch=1, offset=4, end_offset=9, reason="x")
    assert timeline_of(recording.files()).partitions[0].log_end["broker-0"] == [(2 * MS, 9), (3 * MS, 4)]


LONG_MS = 20_000
"""A run in which several events lie in one slot of the drawing."""
SERIES = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from(["orders-0", "orders-0", "orders-1"]),
        st.sampled_from(["broker-0", "broker-0", "broker-1"]),
        st.sampled_from(["log-appended", "log-appended", "high-watermark", "log-truncated", "log-loaded"]),
        st.integers(0, 4),
    ),
    min_size=12,
    max_size=40,
)


@pytest.mark.thorough
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=SERIES, rows=st.sampled_from([2, 5, 1000]))
def test_what_is_left_out_of_parquet_does_not_show(recording: Any, drawn: list[Any], rows: int) -> None:
    recording.events.clear()
    changed = {"metadata_offset": 1, "replicas": [0], "isr": [0], "leader": 0, "leader_epoch": 0, "reason": "created"}
    for partition in ("orders-0", "orders-1"):
        recording.event(0, "controller-0", "partition-changed", partition=partition, **changed)
    for ms, partition, node, kind, offset in sorted(drawn, key=lambda one: one[0]):
        fields = {"leader_epoch": 0, "offset": offset, "end_offset": offset + 1, "reason": "", "partition": partition}
        recording.event(ms, node, kind, **fields)
    recording.event(LONG_MS, "broker-0", "node-stopped", reason="kill")
    run = recording.files()
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in run.events)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "nodes.parquet"
        files.write_parquet(path, parse_jsonl(lines, NODE_EVENT_ROWS, "run", "nodes"))
        before, files._PART_ROWS = files._PART_ROWS, rows
        try:
            assert timeline_of(replace(run, events=TableRows(path, NODE_EVENT_ROWS))) == timeline_of(run)
        finally:
            files._PART_ROWS = before


def test_nodes_are_fenced_up_and_down(recording: Any) -> None:
    recording.event(0, "broker-0", "node-started").event(0, "controller-0", "node-started")
    recording.event(
        5, "controller-0", "broker-registration-changed", broker=0, broker_epoch=1, metadata_offset=2, reason="unfenced"
    )
    recording.event(20, "broker-0", "node-stopped", reason="kill", offset=0)
    recording.event(
        25, "controller-0", "broker-registration-changed", broker=0, broker_epoch=1, metadata_offset=3, reason="fenced"
    )
    recording.event(30, "broker-0", "node-started").event(40, "producer-0", "node-started")
    nodes = timeline_of(recording.files()).nodes
    assert list(nodes) == ["broker-0", "controller-0"], "clients are no part of the cluster"
    assert [(span.start_ns // MS, span.end_ns // MS, span.kind) for span in nodes["broker-0"]] == [
        (0, 5, "fenced"),
        (5, 20, "up"),
        (20, 30, "down"),
        (30, 40, "fenced"),
    ]
    assert [(span.kind, span.end_ns // MS) for span in nodes["controller-0"]] == [("up", 40)]


def test_throughput_and_latency_by_bucket(recording: Any) -> None:
    recording.op(0, 1, "invoke", "send", (None, 1), (None, 2)).op(10, 1, "ok", "send", (0, 1), (1, 2))
    recording.op(100, 1, "invoke", "send", (None, 3)).op(150, 1, "info", "send", (None, 3))
    recording.op(150, 2, "ok", "poll", (0, 1))
    timeline = timeline_of(recording.files())
    assert timeline.bucket_ns == MS // 2
    assert (sum(timeline.acked), timeline.acked[20]) == (2, 2), "records, at the time of their acknowledgement"
    assert (sum(timeline.failed), timeline.failed[BUCKETS]) == (1, 1)
    assert timeline.latency_p50[20] == timeline.latency_p99[20] == 10.0
    assert timeline.latency_p50[21] is None


def test_the_quorum_by_epoch(recording: Any) -> None:
    for ms, node, epoch, reason in (
        (1, "controller-0", 1, "candidate"),
        (2, "controller-0", 1, "leader"),
        (3, "controller-1", 1, "follower"),
        (9, "controller-1", 2, "leader"),
    ):
        recording.event(ms, node, "raft-state", epoch=epoch, leader=-1, broker=-1, reason=reason)
    timeline = timeline_of(recording.files())
    assert timeline.quorum_epoch == [(1 * MS, 1), (9 * MS, 2)]
    assert timeline.quorum_leader == [(2 * MS, "controller-0"), (9 * MS, "controller-1")]


def test_a_fault_in_force_to_the_end_is_a_band_to_the_end(loss: Any) -> None:
    spans = [(span.label, span.start_ns // MS, span.end_ns // MS) for span in timeline_of(loss.files()).faults]
    assert spans == [("partition broker-0, broker-1", 2, 4), ("kill broker-0", 40, 91), ("pause broker-1", 70, 80)]


def test_a_fault_on_messages_names_them() -> None:
    row = {"kind": "hold", "parameters": {"rpc": "AlterPartition"}, "targets": ["broker-0"]}
    assert fault_label(row) == "hold AlterPartition broker-0"


def rows(drawn: Drawn) -> list[Track]:
    """Every row, those of folders too."""

    def below(node: Track | Folder) -> list[Track]:
        return [node] if isinstance(node, Track) else [node.head, *(row for one in node.tracks for row in below(one))]

    return [row for node in drawn.tracks for row in below(node)]


def test_a_run_without_anything_is_drawn_too(recording: Any) -> None:
    assert [row.label for row in rows(draw(timeline_of(recording.files())))] == [
        "faults",
        "acknowledged/s",
        "latency p50, p99",
        "quorum",
    ]


def test_every_track_is_drawn(loss: Any) -> None:
    loss.event(0, "broker-0", "node-started")
    loss.fault("hold", 5, 9, "broker-0", parameters={"rpc": "Fetch"})
    drawn = draw(timeline_of(loss.files()))
    labels = [row.label for row in rows(drawn)]
    assert labels == [
        *("faults", "message faults", "acknowledged/s", "latency p50, p99", "broker-0"),
        *("orders-0", "ISR", "HW, log ends", "quorum"),
    ]
    assert drawn.bands.count("<rect") == 3, "one for two faults at a time"
    bodies = {row.label: row.body for row in rows(drawn)}
    assert bodies["faults"].count('class="s fault"') == 3
    assert "hold Fetch broker-0" in bodies["message faults"]
    assert "broker 1, epoch 1" in bodies["orders-0"]
    # 91 ms are 100,000 units: the log end of broker-0 rises to 1 at 11 ms, and that is the value.
    assert 'data-name="log end of broker-0" d="M12088 -1h87912"' in bodies["HW, log ends"]


def test_partitions_without_findings_fold_into_one(recording: Any) -> None:
    for index in range(30):
        changed = {"metadata_offset": index, "replicas": [0, 1], "isr": [0], "leader": 0, "leader_epoch": 0}
        changed |= {"partition": f"orders-{index}", "reason": "created"}
        recording.event(1, "controller-0", "partition-changed", **changed)
    recording.event(9, "broker-0", "node-started")
    recording.verdict["anomalies"]["unseen"] = {"count": 1, "examples": [{"partition": "orders-7", "story": "gone"}]}
    folders = [node for node in draw(timeline_of(recording.files())).tracks if isinstance(node, Folder)]
    assert [(node.head.label, node.is_open, len(node.tracks)) for node in folders] == [
        ("orders-7", True, 2),
        ("29 partitions", False, 29),
    ]
    assert folders[1].head.note == "up to 29 with a short ISR"


def test_of_thousands_of_partitions_those_with_most_changes_are_drawn(recording: Any) -> None:
    for index in range(2000):
        for change in range(3 if index == 1234 else 1):
            changed = {"metadata_offset": 3 * index + change, "replicas": [0, 1], "isr": [0], "leader": change}
            changed |= {"leader_epoch": change, "partition": f"orders-{index}", "reason": "created"}
            recording.event(1 + change, "controller-0", "partition-changed", **changed)
    recording.event(90, "broker-0", "node-started")
    (folder,) = [node for node in draw(timeline_of(recording.files())).tracks if isinstance(node, Folder)]
    assert folder.head.label == "2000 partitions, the 300 with most changes"
    assert folder.head.note == "up to 2000 with a short ISR", "all are counted"
    drawn = [one.head.label for one in folder.tracks if isinstance(one, Folder)]
    assert len(drawn) == 300
    assert "orders-1234" in drawn
