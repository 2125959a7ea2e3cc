"""Series over run time: what the lanes are drawn from."""

from __future__ import annotations

from typing import Any

from highwater_chaos.report.svg import page_svg
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


def test_a_run_without_anything_is_drawn_too(recording: Any) -> None:
    drawn = page_svg(timeline_of(recording.files()))
    assert drawn.startswith("<svg ")
    assert drawn.endswith("</svg>")


def test_every_lane_is_drawn(loss: Any) -> None:
    loss.event(0, "broker-0", "node-started")
    drawn = page_svg(timeline_of(loss.files()))
    for text in ("orders-0 leader", "HW, log ends", "acknowledged/s", "quorum", ">broker-0<", "kill broker-0"):
        assert text in drawn
    assert drawn.count('class="band"') == drawn.count('class="fault"') == 3
