"""Series over run time: what the lanes are drawn from."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.report import timeline
from highwater_chaos.report.lanes import draw
from highwater_chaos.report.timeline import BUCKETS, fault_label, timeline_of

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
    assert timeline.bucket_ns == 1 * MS
    assert (sum(timeline.acked), timeline.acked[10]) == (2, 2), "records, at the time of their acknowledgement"
    assert (sum(timeline.failed), timeline.failed[BUCKETS]) == (1, 1)
    assert timeline.latency_p50[10] == timeline.latency_p99[10] == 10.0
    assert timeline.latency_p50[11] is None


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


def test_a_fault_on_many_nodes_names_some() -> None:
    row = {"kind": "partition", "parameters": {}, "targets": [f"broker-{n}" for n in range(5)]}
    assert fault_label(row) == "partition broker-0, broker-1, 3 more"


def test_a_run_without_anything_is_drawn_too(recording: Any) -> None:
    drawn = draw(timeline_of(recording.files()))
    assert drawn.bands == ""
    assert drawn.lanes.count("<div") == drawn.lanes.count("</div>") > 3


def test_every_lane_is_drawn(loss: Any) -> None:
    loss.event(0, "broker-0", "node-started")
    drawn = draw(timeline_of(loss.files()))
    for text in (
        ">orders-0<",
        ">ISR<",
        ">HW, log ends<",
        ">acknowledged/s<",
        ">quorum<",
        ">broker-0<",
        "kill broker-0",
    ):
        assert text in drawn.lanes
    assert drawn.bands.count('class="band"') == drawn.lanes.count('class="fault"') == 3


def many_partitions(recording: Any, partitions: int, changes: int) -> Any:
    """A topic whose logs grow all the time, and one of whose partitions has no leader for a while."""
    for number in range(partitions):
        changed = {"replicas": [0, 1], "isr": [0, 1], "leader": 0, "leader_epoch": 0, "reason": "created"}
        recording.event(
            1, "controller-0", "partition-changed", partition=f"t-{number}", metadata_offset=number, **changed
        )
    changed |= {"leader": -1, "isr": [0], "leader_epoch": 1}
    recording.event(500, "controller-0", "partition-changed", partition="t-7", metadata_offset=900, **changed)
    changed |= {"leader": 0, "isr": [0, 1], "leader_epoch": 2}
    recording.event(800, "controller-0", "partition-changed", partition="t-7", metadata_offset=901, **changed)
    for ms in range(changes):
        at = {"offset": ms, "end_offset": ms + 1, "leader_epoch": 0, "reason": "leader"}
        for number in range(partitions):
            recording.event(2 + ms, "broker-0", "log-appended", partition=f"t-{number}", **at)
    return recording


def test_many_partitions_are_folded_by_topic_and_those_with_anomalies_come_first(recording: Any) -> None:
    files = many_partitions(recording, 40, 1).files()
    lanes = draw(timeline_of(files), found=frozenset({"t-7"})).lanes
    assert lanes.index(">t-7<") < lanes.index(">t, 39 partitions<") < lanes.index(">t-0<")
    assert lanes.count('<details class="partition" open>') == 1
    assert '<details class="group">' in lanes
    together = draw(timeline_of(files)).lanes
    assert "1 without a leader, 39 with all replicas" in together, "the folded topic tells of its worst partition"


def test_offsets_are_as_fine_as_a_page_can_hold(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "_POINTS", 200)
    files = many_partitions(recording, 10, 300).files()
    lanes = timeline_of(files, frozenset({"t-3"})).partitions
    points = {lane.name: lane.log_end["broker-0"] for lane in lanes}
    assert len(points["t-3"]) == 300, "nothing is left out where something was found"
    assert 2 < len(points["t-0"]) <= 40
    assert all(steps[-1] == points["t-3"][-1] for steps in points.values()), "the last one is always there"


def test_a_fall_is_drawn_from_where_it_began(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "_POINTS", 20)
    many_partitions(recording, 2, 200)
    recording.event(
        300, "broker-0", "log-truncated", partition="t-0", leader_epoch=1, offset=4, end_offset=200, reason="x"
    )
    recording.event(400, "broker-0", "node-started")
    steps = timeline_of(recording.files()).partitions[0].log_end["broker-0"]
    assert steps[-2:] == [(201 * MS, 200), (300 * MS, 4)]
