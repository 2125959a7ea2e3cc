"""``highwater store``, and ``check`` of what it wrote: the same answer, and no pass of what a store cannot hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.run.manifest import make_manifest


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["process", "spark"])
def test_a_store_is_judged_as_its_runs(highwater: Any, failed_run: Path, tiny_run: Path, engine: str) -> None:
    store = highwater.folder / "store"
    assert highwater("store", failed_run, tiny_run, "--out", store).status == 0
    runs = highwater("check", failed_run, tiny_run, "--json").json["runs"]
    done = highwater("check", store, "--engine", engine, "--json")
    assert done.status == 1
    wanted = {row["run_id"]: (row["valid"], row["anomalies"], row["checks"], row["stats"]) for row in runs}
    found = {row["run_id"]: (row["valid"], row["anomalies"], row["checks"], row["stats"]) for row in done.json["runs"]}
    assert found == wanted
    again = highwater("store", tiny_run, "--out", store)
    assert (again.status, "has this run already" in again.err) == (254, True)


def test_equal_runs_go_into_one_store_and_are_told_apart(highwater: Any, tiny: str, tiny_run: Path) -> None:
    """A second night of the same experiment; and a recording that was made before runs had keys."""
    file = highwater.write("tiny.yaml", tiny)
    assert highwater("run", file, "--out", "nights").status == 0
    (second,) = (highwater.folder / "nights").iterdir()
    older = shutil.copytree(tiny_run, highwater.folder / "older")
    summary = json.loads((older / "run.json").read_text(encoding="utf-8"))
    first_key = summary.pop("runId")
    (older / "run.json").write_text(json.dumps(summary), encoding="utf-8")
    make_manifest(older)
    done = highwater("store", tiny_run, second, older, "--out", "store")
    assert done.status == 0, done.err
    rows = highwater("check", "store", "--json").json["runs"]
    called = [(row["name"], row["seed"], row["backend"], row["switches"], row["valid"]) for row in rows]
    assert called == [("tiny", 3, "sim", {}, True)] * 3
    second_key = json.loads((second / "run.json").read_text(encoding="utf-8"))["runId"]
    assert [row["run_id"] for row in rows] == [first_key, second_key, "older"], "in order of time"
    for name in ("history/operations.jsonl", "events/nodes.jsonl", "dumps/replica_log.jsonl"):
        assert (second / name).read_bytes() == (tiny_run / name).read_bytes()


@pytest.mark.parametrize(("invariant", "valid"), [("two-leaders", "unknown"), ("stable-leadership", True)])
def test_what_the_run_knew_is_no_pass_in_a_store(highwater: Any, tiny_run: Path, invariant: str, valid: object) -> None:
    """Unless it is no anomaly: one on request, which the experiment does not name."""
    run = shutil.copytree(tiny_run, highwater.folder / tiny_run.name)
    summary = json.loads((run / "run.json").read_text(encoding="utf-8"))
    violation = {"name": invariant, "time_ns": 1, "subject": "orders-0", "what": "seen by an invariant alone"}
    (run / "run.json").write_text(json.dumps({**summary, "violations": [violation]}), encoding="utf-8")
    make_manifest(run)
    stored = highwater("store", run, "--out", highwater.folder / "store")
    assert stored.status == 0, stored.err
    done = highwater("check", highwater.folder / "store", "--json")
    assert (done.status, done.json["valid"]) == (0 if valid is True else 2, valid)
    assert any("seen by an invariant alone" in reason for reason in done.json["reasons"]) == (valid == "unknown")


def test_promises_of_a_history_alone(highwater: Any, tiny_run: Path, failed_run: Path) -> None:
    """A file does not say what was promised, so check may be told; a run directory does."""
    store, runs = highwater.folder / "files", highwater.folder / "runs"
    assert highwater("store", failed_run / "history" / "operations.jsonl", "--out", store).status == 0
    assert highwater("store", tiny_run, "--out", runs).status == 0
    assert highwater("check", store, "--acks", "1").status == 2
    assert highwater("check", store, "--acks", "all", "--idempotence").status == 1
    assert "leave out --acks" in highwater("check", runs, "--acks", "all").err
    assert "has no registers" in highwater("check", runs, "--model", "register").err
