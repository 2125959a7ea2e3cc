"""What nodes logged and reported around a moment: put in order, on the run's clock, and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report.test_page import assertion, page_of

from highwater_chaos.report.excerpt import around
from highwater_chaos.report.files import RunFiles

MS = 1_000_000
WALL = 1_795_438_755_632_000_000
"""When broker-0 says that the run began: 2026-11-23T12:59:15.632Z."""


def written(recording: Any, folder: Path) -> RunFiles:
    recording.event(100, "broker-0", "node-started", node_time_ns=WALL + 100 * MS)
    recording.event(5_000, "broker-0", "node-stopped", reason="power-loss", node_time_ns=WALL + 5_000 * MS)
    recording.write(folder)
    logs = folder / "logs"
    logs.mkdir()
    (logs / "harness.log").write_text("    5.001000 inject\n    9.000000 wait\n", "utf-8")
    (logs / "broker-0.log").write_text(
        "2026-11-23T12:59:16.000Z INFO    broker-0 too early\n"
        "2026-11-23T12:59:20.500Z ERROR   broker-0 disk <b>gone</b>\n"
        "Traceback of it\n"
        "2026-99-23T12:59:20.500Z INFO    no such day\n",
        "utf-8",
    )
    (logs / "clients-1.log").write_text("2026-11-23T12:59:20.500Z INFO of nobody whose clock is known\n", "utf-8")
    return RunFiles.read(folder)


def test_logs_and_events_are_told_in_the_order_of_the_run(recording: Any, tmp_path: Path) -> None:
    (moment,) = around(written(recording, tmp_path), [(5_000 * MS, "it broke")])
    assert [(line.time_ns // MS, line.node, line.text, line.here) for line in moment.lines] == [
        (4_868, "broker-0", "ERROR   broker-0 disk <b>gone</b>", False),
        (4_868, "broker-0", "Traceback of it", False),
        (5_000, "broker-0", "event node-stopped: power-loss", True),
        (5_001, "harness", "inject", False),
    ]


def test_the_nearest_lines_are_kept(recording: Any, tmp_path: Path) -> None:
    run = written(recording, tmp_path)
    lines = "".join(f"    4.{number:06} line {number}\n" for number in range(0, 999_999, 1000))
    (tmp_path / "logs" / "harness.log").write_text(lines, "utf-8")
    (moment,) = around(run, [(4_500 * MS, "it broke")])
    assert len(moment.lines) == 120
    assert moment.lines[0].text == "line 440000"


def test_a_page_shows_them_as_text(recording: Any, tmp_path: Path) -> None:
    recording.verdict.update(verdict="fail", assertions=[assertion(False)])
    recording.verdict["assertions"][0]["example"]["time_ns"] = 5_000 * MS
    written(recording, tmp_path)
    page = page_of(tmp_path)
    assert "Around 5.000 s: enough did not hold (4 lines)" in page.text
    assert "disk <b>gone</b>" in page.text
