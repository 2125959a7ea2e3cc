"""``highwater store``, and ``check`` of what it wrote: the same answer, and no pass of what a store cannot hold."""

from __future__ import annotations

import json
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.campaign.seed import SeedJob, check_experiment, experiment_of
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


def test_a_failed_run_does_not_leave_a_store_unseen(highwater: Any, failed_run: Path, tiny_run: Path) -> None:
    """The list of runs is that of ``stored``, wherever else a run is missing, and whatever else lies there."""
    store = highwater.folder / "store"
    assert highwater("store", failed_run, tiny_run, "--out", store).status == 0
    shutil.copytree(failed_run, store / "beside")
    assert highwater("check", store, "--json").json["runs"][2]["valid"] is False, "a run directory in the store's"
    shutil.rmtree(store / "beside")
    key = json.loads((failed_run / "run.json").read_text(encoding="utf-8"))["runId"]
    shutil.move(store / "runs" / f"run_id={key}", highwater.folder)
    for path in (store, store / "runs"):
        done = highwater("check", path)
        assert done.status == 254
        assert f"runs/run_id={key}/whole.parquet: expected a table of a store, found" in done.err
    (store / "stored" / f"run_id={key}.json").unlink()
    assert highwater("check", store).status == 0, "it is no run of the store then"
    (store / "run_id=older").mkdir()
    (store / "run_id=older" / "stored.json").write_text("{}", encoding="utf-8")
    done = highwater("check", store)
    assert (done.status, "a store of an earlier version is neither read" in done.err) == (254, True)


def test_a_store_explains_a_run_as_when_it_was_stored(highwater: Any, failed_run: Path, kafka_14139: str) -> None:
    """If it has the same verdict; else it says nothing of decisions, which it does not look at."""
    wanted = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))["explanation"]
    assert wanted
    assert highwater("store", failed_run, "--out", "store").status == 0
    assert highwater("check", "store", "--json").json["explanation"] == wanted
    run = shutil.copytree(failed_run, highwater.folder / "unjudged")
    for name in ("verdict.json", "junit.xml", "report.html"):
        (run / name).unlink()
    make_manifest(run)
    assert highwater("store", run, "--out", "unjudged-store").status == 0
    found = highwater("check", "unjudged-store", "--json").json["explanation"]
    assert found
    assert "events" not in found
    summary = json.loads((failed_run / "run.json").read_text(encoding="utf-8"))
    switches, place = tuple(summary["switches"].items()), str(highwater.folder / "campaign")
    unit = SeedJob("x", summary["seed"], switches=switches, text=kafka_14139, store=place)
    check_experiment(unit, experiment_of(unit))
    assert highwater("check", "campaign", "--json").json["explanation"] == wanted


@pytest.mark.parametrize("place", ["run", "run/report", "store/runs", "older"])
def test_a_store_is_a_place_of_its_own(highwater: Any, tiny_run: Path, tiny: str, place: str) -> None:
    """In a run directory it would be files that the run did not write."""
    run = shutil.copytree(tiny_run, highwater.folder / "run")
    assert highwater("store", run, "--out", "store").status == 0
    (highwater.folder / "older" / "run_id=older").mkdir(parents=True)
    campaign = ("campaign", highwater.write("tiny.yaml", tiny), "--seeds", "1..1", "--store", place, "--out", "c")
    for asked in (("store", run, "--out", place), campaign):
        done = highwater(*asked)
        assert done.status == 254
        assert f"{place.partition('/')[0]}" in done.err
        assert "give another" in done.err
    assert highwater("check", run).status == 0


def test_a_store_on_a_full_disk_is_named(highwater: Any, tiny_run: Path) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))  # beyond, writing fails as on a full disk (EFBIG)
    try:
        done = highwater("store", tiny_run, "--out", "store")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    assert done.status == 254
    assert "store: expected a directory that takes a run; found: File too large; free some space, or give" in done.err


def test_files_of_one_name_are_told_apart(highwater: Any, tiny_run: Path) -> None:
    """Their names are their keys."""
    files = [highwater.folder / name / "operations.jsonl" for name in "ab"]
    for file in files:
        file.parent.mkdir()
        shutil.copy(tiny_run / "history" / "operations.jsonl", file)
    done = highwater("store", *files, "--out", "store")
    assert (done.status, f"if {files[1]} is another run, rename it" in done.err) == (254, True)


def test_promises_of_a_history_alone(highwater: Any, tiny_run: Path, failed_run: Path) -> None:
    """A file does not say what was promised, so check may be told; a run directory does."""
    store, runs = highwater.folder / "files", highwater.folder / "runs"
    assert highwater("store", failed_run / "history" / "operations.jsonl", "--out", store).status == 0
    assert highwater("store", tiny_run, "--out", runs).status == 0
    assert highwater("check", store, "--acks", "1").status == 2
    assert highwater("check", store, "--acks", "all", "--idempotence").status == 1
    assert "leave out --acks" in highwater("check", runs, "--acks", "all").err
    assert "has no registers" in highwater("check", runs, "--model", "register").err
