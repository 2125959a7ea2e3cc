"""What nodes did about an anomaly: closest lines of logs, or events, bounded and by run time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.report.excerpts import Excerpt, excerpts, log_lines
from highwater_chaos.report.files import RunFiles
from highwater_chaos.report.page import write_report
from highwater_chaos.report.timeline import timeline_of

BEGAN = 1_795_392_000 * 1_000_000_000  # 2026-11-23T00:00:00Z
MS = 1_000_000


def of(directory: Path) -> list[Excerpt]:
    run = RunFiles.read(directory)
    return excerpts(run, timeline_of(run), [])


def violated(directory: Path, *, began: int | None) -> Path:
    """A run directory whose backend saw an invariant broken at 10 s."""
    violation = {"name": "lost-write", "time_ns": 10_000 * MS, "subject": "orders-0", "what": "gone"}
    summary = {"violations": [violation], "beganUnixNs": began, "environment": {"python": "CPython 3.11.2"}}
    (directory / "run.json").write_text(json.dumps(summary))
    return directory


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-23T00:00:10.250Z WARNING broker-0 it slows",
        '{"time":"2026-11-23T00:00:10.250Z","level":"warning","event":"it slows"}',
        "[2026-11-23 00:00:10,250] WARN it slows (kafka.server.KafkaServer)",
        "2026-11-23 00:00:10,250 [myid:1] - WARN  [main:X] - it slows",
    ],
)
def test_every_kind_of_log_is_read_by_run_time(line: str, tmp_path: Path) -> None:
    path = tmp_path / "broker-0.log"
    path.write_bytes(b"no time yet\n" + line.encode() + b"\n  a stack\xff\n2026-99-99T00:00:10.250Z no such day\n")
    lines = list(log_lines(path, BEGAN))
    assert [one.time_ns for one in lines] == [10_250 * MS, 10_250 * MS]
    assert "it slows" in lines[0].text
    assert "2026" not in lines[0].text
    assert lines[1].text == "  a stack\ufffd"
    if "WARN" in line:
        assert lines[0].is_bad


def test_logs_about_a_violation_are_shown_and_bounded(loss: Any, tmp_path: Path) -> None:
    directory = violated(loss.lost(0, 5).write(tmp_path), began=BEGAN)
    (directory / "logs").mkdir()
    times = [(ms, f"2026-11-23T00:00:{ms // 1000:02}.{ms % 1000:03}Z") for ms in range(0, 20_000, 5)]
    text = "".join(f"{time} INFO at {ms} {'x' * 900}\n" for ms, time in times)
    (directory / "logs" / "broker-1.log").write_text(text)
    (directory / "logs" / "harness.log").write_text("2026-11-23T00:00:10.000Z INFO not a node\n")
    (excerpt,) = of(directory)
    assert (excerpt.time_ns, len(excerpt.lines)) == (10_000 * MS, 80)
    assert {abs(line.time_ns - excerpt.time_ns) <= 205 * MS for line in excerpt.lines} == {True}, "the closest"
    assert [line.time_ns for line in excerpt.lines] == sorted(line.time_ns for line in excerpt.lines)
    assert {line.node for line in excerpt.lines} == {"broker-1"}
    assert max(len(line.text) for line in excerpt.lines) <= 401
    assert excerpt.left_out > 400
    page = write_report(directory).read_text(encoding="utf-8")
    assert "INFO at 10000 x" in page
    assert "CPython 3.11.2" in page


def test_the_nodes_events_are_shown_without_those_of_every_record(loss: Any, tmp_path: Path) -> None:
    loss.event(9_990, "broker-1", "node-stopped", reason="kill", offset=0)
    loss.on_partition(9_995, "broker-0", "high-watermark", leader_epoch=0, offset=2)
    (excerpt,) = of(violated(loss.lost(0, 5).write(tmp_path), began=None))
    assert [(line.node, line.text) for line in excerpt.lines] == [("broker-1", "node-stopped reason=kill offset=0")]


def test_a_pass_has_none(loss: Any, tmp_path: Path) -> None:
    assert of(loss.write(tmp_path)) == []
