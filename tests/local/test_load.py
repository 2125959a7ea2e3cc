"""Clients in processes of their own: one that is killed, and a load that is not reached."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from processes import children, command_lines

from highwater_chaos.backends.local.isolated import local_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.verdict.check import check_recordings, export_run
from highwater_chaos.verdict.checked_run import run_and_check, write_checked
from highwater_pipeline.tables.run_tables import load_run


def client_processes(parent: int) -> list[int]:
    """Processes of clients that a process has started."""
    found = children(parent)
    return [pid for pid, words in command_lines() if pid in found and b"workload.drivers" in b" ".join(words)]


@pytest.mark.thorough
def test_a_killed_process_of_clients_makes_the_run_inconclusive_and_nothing_worse(
    state: Path, tmp_path: Path, experiment: Callable[..., ChaosExperiment]
) -> None:
    killed: list[int] = []

    def progress(phase: str) -> None:
        if phase == "fault":
            killed.extend(client_processes(os.getpid()))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    short = experiment("- wait: 1s", workload="{producers: 2, rate: 1000/s, consumers: 1}", recovery="10s")
    done = run_and_check(short, "local", tmp_path, progress, varied={}, wire=False)
    assert len(killed) == 1, "three small clients live in one process"
    assert (done.verdict["verdict"], done.verdict["anomalies"]) == ("inconclusive", {})
    died = "clients-0 (producer-0, producer-1, consumer-0): its process ended with status -9, before it was asked to"
    assert any(reason.startswith(died) for reason in done.verdict["reasons"]), "and its last words, if there were any"
    assert done.verdict["acknowledged"] > 0, "what it had written counts"
    history = load_run(done.directory)
    known = {one["value"] for row in history.operations["value"].to_pylist() for one in row if one["op"] == "send"}
    assert history.replica_log is not None
    assert known.issuperset(history.replica_log["value"].drop_null().to_pylist()), "it had sent nothing it had not told"
    assert client_processes(os.getpid()) == []


@pytest.mark.thorough
def test_a_load_that_is_not_reached_is_told_and_decides_nothing_where_it_was_demanded(
    state: Path, tmp_path: Path, experiment: Callable[..., ChaosExperiment]
) -> None:
    """While the only broker stands still, a producer has soon as many records open as it may."""
    frozen = "- {inject: {pause: {target: {broker: 0}}, for: 8s}}\n- {wait: 9s}"
    workload = "{producers: 1, rate: 100/s, minimumRate: 95/s, consumers: 1}"
    chosen = experiment(frozen, brokers=1, workload=workload)
    result = run_experiment(chosen, local_backend())
    assert result.load is not None
    assert result.load.asked_per_second == 100
    assert 10 < result.load.offered_per_second < 95
    assert result.load.held_back > 0
    done = write_checked(chosen, result, tmp_path, "run", wire=False)
    (reason,) = [one for one in done.verdict["reasons"] if "minimumRate" in one]
    assert reason.startswith(result.load.sentence())
    assert "expected at least 95/s offered (workload.minimumRate)" in reason
    assert done.verdict["verdict"] == "inconclusive"
    written: dict[str, Any] = json.loads((done.directory / "verdict.json").read_text())["load"]
    assert (written["askedPerSecond"], written["offered"]) == (100, result.load.offered)
    assert result.load.sentence() in (done.directory / "report.html").read_text()


@pytest.mark.thorough
def test_a_run_is_converted_while_it_goes_on(
    state: Path, tmp_path: Path, experiment: Callable[..., ChaosExperiment]
) -> None:
    """It has Parquet alone, and is judged by it as by JSON Lines of the same rows."""
    chosen = experiment("- wait: 1s", workload="{producers: 2, rate: 200/s, consumers: 1}")
    done = run_and_check(chosen, "local", tmp_path / "runs", lambda _: None, varied={}, wire=False, tables="parquet")
    assert done.verdict["verdict"] == "pass", done.verdict["reasons"]
    assert not list(done.directory.rglob("*operations.jsonl"))
    assert list(done.directory.glob("units/stored.json"))
    exported = export_run(done.directory, tmp_path / "exports")
    assert check_recordings(chosen, exported).to_json() == check_recordings(chosen, done.directory).to_json()
    history = load_run(exported)
    acknowledged = history.operations.filter(
        pc.and_(pc.equal(history.operations["type"], "ok"), pc.equal(history.operations["f"], "send"))
    )
    assert acknowledged.num_rows == done.verdict["acknowledged"] > 0


LOGGING = """
import logging, pathlib, sys
from highwater_chaos.run.log import logged_to
from highwater_runtime.host.logs import NodeLog
with logged_to(pathlib.Path(sys.argv[1])):
    NodeLog("admin-0").warning("peer unreachable", server="10.77.1.2:9092")
    logging.getLogger("asyncio").error("something else")
"""


def test_what_the_harness_logs_goes_to_a_file(tmp_path: Path) -> None:
    """In a process of its own: in this one, what other tests left behind may change the handlers."""
    argv = [sys.executable, "-c", LOGGING, str(tmp_path / "log")]
    assert subprocess.run(argv, check=True, capture_output=True).stderr == b""
    logged = (tmp_path / "log").read_text()
    assert "admin-0" in logged
    assert "peer unreachable server='10.77.1.2:9092'" in logged
    assert "something else" in logged
