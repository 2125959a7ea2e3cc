"""``highwater check``: the same answer on Spark, from what was written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    """One session for these tests, or the one that is there already."""
    from highwater_pipeline.spark.session import open_session

    with open_session(master="local[2]"):
        yield


def test_check_says_what_run_said(highwater: Any, failed_run: Path) -> None:
    done = highwater("check", failed_run, "--json")
    verdict = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))
    assert done.status == 1, "a fail, whatever was expected"
    assert done.json["verdict"] == verdict["verdict"] == "fail"
    assert done.json["anomalies"] == verdict["anomalies"]
    assert done.json["checks"] == verdict["checks"]


def test_check_of_a_pass(highwater: Any, tiny_run: Path) -> None:
    done = highwater("check", tiny_run)
    assert done.status == 0
    assert done.out == "PASS: tiny seed=3\n"


def test_check_of_a_run_with_an_unconfirmed_fault_is_inconclusive(highwater: Any, tiny: str) -> None:
    text = tiny.replace("kill: {target: {followerOf: orders-0}, restartAfter: 500ms}", "drop: {rpc: ElectLeaders}")
    (run,) = highwater("run", highwater.write("tiny.yaml", text), "--json").json["runs"]
    done = highwater("check", run["dir"])
    assert (run["verdict"], done.status) == ("inconclusive", 2)
    assert "fault fault-1 (death) is not confirmed to have taken hold" in done.out


def test_check_of_a_history_alone(highwater: Any, failed_run: Path) -> None:
    done = highwater("check", failed_run / "history" / "operations.jsonl", "--json")
    assert done.status == 1
    assert {"lost-write", "unseen"} <= set(done.json["anomalies"])
    assert done.json["checks"]["committed-loss"] == "not-available"


@pytest.mark.parametrize("torn", ["history/operations.jsonl", "events/nodes.jsonl"])
def test_a_torn_file_is_named_with_its_line(highwater: Any, tiny_run: Path, torn: str) -> None:
    copy = highwater.folder / "copy"
    shutil.copytree(tiny_run, copy)
    content = (copy / torn).read_bytes()
    lines = content.count(b"\n")
    (copy / torn).write_bytes(content[:-20])
    done = highwater("check", "copy")
    assert done.status == 254
    assert f"copy/{torn}:{lines}: " in done.err
    assert done.out == ""


def test_a_directory_that_is_no_run(highwater: Any) -> None:
    done = highwater("check", ".")
    assert done.status == 254
    assert "expected a run directory" in done.err


def test_a_history_of_registers(highwater: Any) -> None:
    steps = [("invoke", "write", 1), ("ok", "write", 1), ("invoke", "read", None), ("ok", "read", None)]
    lines = [
        {"index": i, "time": i, "process": 0, "type": kind, "f": f, "value": [{"op": f, "key": "x", "value": value}]}
        for i, (kind, f, value) in enumerate(steps)
    ]
    highwater.write("stale.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    done = highwater("check", "stale.jsonl", "--model", "register")
    assert done.status == 1
    assert "stale-read: 1" in done.out
    highwater.write("fresh.jsonl", "".join(json.dumps(line) + "\n" for line in lines[:2]))
    assert highwater("check", "fresh.jsonl", "--model", "register").out == "PASS: fresh\n"
    highwater.write("torn.jsonl", "".join(json.dumps(line) + "\n" for line in lines[1:]))
    done = highwater("check", "torn.jsonl", "--model", "register")
    assert (done.status, done.out) == (254, "")
    assert "torn.jsonl:1: expected process 0 to have an open operation, found a completion of none" in done.err
