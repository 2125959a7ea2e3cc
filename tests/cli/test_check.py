"""``highwater check``: the answer of ``run`` again, from what was written, in the process and on Spark."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from highwater_chaos.backends.protocol import InvariantViolation
from highwater_chaos.cli.check import of_one_model
from highwater_chaos.run.manifest import BadSummaryError
from highwater_chaos.run.summary import read_summary
from highwater_pipeline.in_process import check_run
from highwater_pipeline.tables.run_tables import load_run


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["process", "spark"])
def test_check_says_what_run_said(highwater: Any, failed_run: Path, engine: str) -> None:
    done = highwater("check", failed_run, "--engine", engine, "--json")
    verdict = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))
    assert done.status == 1, "a fail, whatever was expected"
    assert done.json["verdict"] == verdict["verdict"] == "fail"
    assert done.json["anomalies"] == verdict["anomalies"]
    assert done.json["checks"] == verdict["checks"]
    assert (done.json["valid"], done.json["unseen"]) == (False, verdict["anomalies"]["unseen"]["count"])
    assert done.json["stats"]["acknowledged"] == verdict["acknowledged"]
    assert (" on Spark" in done.err) == (engine == "spark")


def test_many_runs_at_once(highwater: Any, failed_run: Path, tiny_run: Path) -> None:
    runs = highwater.folder / "runs"
    (runs / "campaign").mkdir(parents=True)
    shutil.copytree(failed_run, runs / "bad")
    shutil.copytree(tiny_run, runs / "campaign" / "good")
    every = highwater("check", runs, "--json")
    assert every.status == 1
    assert every.json["valid"] is False
    assert [(row["path"], row["valid"]) for row in every.json["runs"]] == [
        (str(runs / "bad"), False),
        (str(runs / "campaign" / "good"), True),
    ]
    good = highwater("check", f"file://{runs}/campaign/good", f"{runs}/*/go*d", "--json")
    assert (good.status, good.json["valid"]) == (0, True), "one run, though named twice"
    history = runs / "campaign" / "good" / "history" / "operations.jsonl"
    empty = highwater.write("empty.jsonl", "")
    assert highwater("check", history, empty).status == 2, "one of which nothing is known"
    for path, said in (("nowhere", "no such file"), ("gs://bucket/runs", "expected a path, or an address")):
        wrong = highwater("check", path)
        assert (wrong.status, wrong.out, said in wrong.err) == (254, "", True)
        row = highwater("check", path, "--json").json
        assert (row["path"], row["valid"], said in row["error"]) == (path, "unknown", True), "one document always"
    assert highwater("check", history, "--master", "local[1]", "--engine", "process").status == 254
    assert highwater("check", history, "--master", "local[1]", "--jobs", "2").status == 254
    assert highwater("check", history, "--conf", "spark.x=1", "--engine", "process").status == 254
    for wrong in ("spark.x", "memory=4g", "spark. x=1"):
        refused = highwater("check", history, "--conf", wrong)
        assert refused.status == 254
        assert f"--conf {wrong}: expected KEY=VALUE" in refused.err


def test_what_cannot_be_judged_does_not_stop_the_rest(highwater: Any, failed_run: Path, tiny_run: Path) -> None:
    """Each is named with its reason, all others are judged, and the worst status is the command's."""
    runs = highwater.folder / "runs"
    for name in ("a-torn", "c-wrong-schema"):
        shutil.copytree(failed_run / "history", runs / name)
    torn = runs / "a-torn" / "operations.jsonl"
    torn.write_bytes(torn.read_bytes()[:-20])
    (runs / "c-wrong-schema" / "operations.jsonl").write_text('{"offset": 1}\n', encoding="utf-8")
    shutil.copytree(tiny_run, runs / "b-good")
    shutil.copytree(tiny_run, runs / "e-without-events")
    (runs / "e-without-events" / "events" / "nodes.jsonl").unlink()
    asked = ["nowhere", torn, runs / "b-good", runs / "c-wrong-schema" / "operations.jsonl", runs / "e-without-events"]
    done = highwater("check", *asked, "--json")
    assert done.status == 254
    assert done.json["valid"] == "unknown"
    rows = {row["path"]: row for row in done.json["runs"]}
    assert list(rows) == [str(path) for path in asked]
    assert rows[str(runs / "b-good")]["valid"] is True
    for path, said in (
        ("nowhere", "no such file"),
        (str(torn), "torn line"),
        (str(asked[3]), "operations.jsonl:1:"),
        (str(asked[4]), "nodes.jsonl"),
    ):
        assert said in rows[path]["error"]
        assert rows[path]["valid"] == "unknown"
        assert rows[path]["error"] in done.err
    assert highwater("check", "nowhere", runs / "b-good").out.startswith("PASS")
    assert highwater("check", "nowhere", failed_run, "--json").json["valid"] is False


def test_check_of_a_pass(highwater: Any, tiny_run: Path) -> None:
    done = highwater("check", tiny_run)
    assert done.status == 0
    assert re.fullmatch(
        r"PASS: tiny seed=3 \([0-9a-f-]{36}\)\n  \d+ records acknowledged, none lost, none removed\n", done.out
    )


def test_check_of_a_run_with_an_unconfirmed_fault_is_inconclusive(highwater: Any, tiny: str) -> None:
    text = tiny.replace("kill: {target: {followerOf: orders-0}, restartAfter: 500ms}", "drop: {rpc: ElectLeaders}")
    (run,) = highwater("run", highwater.write("tiny.yaml", text), "--json").json["runs"]
    done = highwater("check", run["dir"])
    assert (run["verdict"], done.status) == ("inconclusive", 2)
    assert "fault fault-1 (death) is not confirmed to have taken hold" in done.out


def test_check_of_a_history_alone(highwater: Any, failed_run: Path) -> None:
    history = failed_run / "history" / "operations.jsonl"
    done = highwater("check", history, "--acks", "all", "--idempotence", "--json")
    assert done.status == 1
    assert {"lost-write", "unseen"} <= set(done.json["anomalies"])
    assert done.json["checks"]["committed-loss"] == "not-available"


def test_a_history_alone_does_not_say_what_was_promised(highwater: Any, tiny_run: Path, failed_run: Path) -> None:
    """A pass keeps every promise; what would break one that may have been made is no fail, and no pass either."""
    assert highwater("check", tiny_run / "history" / "operations.jsonl").status == 0
    done = highwater("check", failed_run / "history" / "operations.jsonl", "--acks", "1", "--no-idempotence", "--json")
    assert (done.status, done.json["checks"]["unseen"]) == (2, "unknown")
    assert any("with acks=1 only node events show" in reason for reason in done.json["reasons"])
    for said in (["--acks", "most"], ["--acks", "1", "--idempotence"]):
        assert highwater("check", failed_run / "history" / "operations.jsonl", *said).status == 254
    assert highwater("check", failed_run, "--acks", "1").status == 254, "run.json says what it was"


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


FILES = [
    "dumps/replica_log.jsonl",
    "events/nodes.jsonl",
    "events/recorded.json",
    "experiment.yaml",
    "faults.jsonl",
    "history/operations.jsonl",
    "metrics/samples.parquet",
    "phases.jsonl",
    "run.json",
]
"""What a verdict stands on."""


def _without(path: Path, damage: str) -> None:
    """Delete a file, or cut it short; at the end of a line, where nothing looks torn."""
    content = path.read_bytes()
    match damage:
        case "deleted":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case _:
            half = content[: len(content) // 2]
            path.write_bytes(half[: half.rfind(b"\n") + 1] if b"\n" in half else half)


@pytest.mark.parametrize("damage", ["deleted", "empty", "cut"])
@pytest.mark.parametrize("name", FILES)
def test_a_run_directory_that_is_not_whole_is_never_a_pass(
    highwater: Any, tiny_run: Path, failed_run: Path, name: str, damage: str
) -> None:
    """What is missing cannot fail a check, so nothing is judged, neither a good run nor a bad one."""
    for number, run in enumerate([tiny_run, failed_run]):
        copy = highwater.folder / f"copy-{number}"
        shutil.copytree(run, copy)
        _without(copy / name, damage)
        done = highwater("check", copy)
        assert (done.status, done.out) == (254, ""), done
        assert str(copy) in done.err


def test_a_run_of_another_version_is_refused_before_it_is_judged(
    highwater: Any, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = highwater.folder / "copy"
    shutil.copytree(tiny_run, copy)
    summary = (copy / "run.json").read_text()
    (copy / "run.json").write_text(summary.replace('"inconclusiveReasons"', '"doubts"'))
    monkeypatch.setattr("highwater_chaos.cli.check._judge", lambda *_: pytest.fail("it was judged"))
    done = highwater("check", copy)
    assert (done.status, done.out) == (254, "")
    assert "run.json: cannot be read: Object missing required field `inconclusiveReasons`" in done.err


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("events/recorded.json", r"expected what the run wrote \(SHA-256"),
        ("faults.parquet", "expected the files that manifest.json lists, no more"),
    ],
)
def test_a_file_that_the_run_did_not_record_is_refused(highwater: Any, failed_run: Path, name: str, why: str) -> None:
    """What checks read must be what was recorded: ``recorded.json`` could say that no events were."""
    copy = highwater.folder / "copy"
    shutil.copytree(failed_run, copy)
    read_summary(copy)
    (copy / "notes.txt").write_text("seen\n")
    read_summary(copy)
    (copy / name).write_text('{"kinds":[],"why":"nothing was"}')
    with pytest.raises(BadSummaryError, match=f"{name}: {why}"):
        read_summary(copy)


def test_that_list_is_all_that_a_run_records(tiny_run: Path) -> None:
    """What is written after the verdict, and what people read, is not evidence."""
    others = {"manifest.json", "junit.xml", "report.html", "verdict.json", "logs/harness.log"}
    there = {str(path.relative_to(tiny_run)) for path in tiny_run.rglob("*") if path.is_file()}
    assert there == {*FILES, *others}


def test_a_run_in_doubt_is_no_pass_for_one_model_alone(highwater: Any, tiny: str) -> None:
    text = tiny.replace("kill: {target: {followerOf: orders-0}, restartAfter: 500ms}", "drop: {rpc: ElectLeaders}")
    (run,) = highwater("run", highwater.write("tiny.yaml", text), "--json").json["runs"]
    assert highwater("check", run["dir"], "--model", "log").status == 2


def test_an_invariant_that_was_broken_is_no_pass_for_one_model_alone(tiny_run: Path) -> None:
    """The simulator saw it, and no model looks for it."""
    summary = read_summary(tiny_run)
    for name, expected in (("raft-election-safety", "inconclusive"), ("stable-leadership", "pass")):
        broken = replace(summary, violations=[InvariantViolation(name, 5, "the quorum", "two led")])
        run_verdict = check_run(load_run(tiny_run))
        assert of_one_model(run_verdict, broken)["verdict"] == expected


def test_what_no_table_shows_is_said_to_be_as_the_run_recorded_it(highwater: Any, tiny: str) -> None:
    step = "    - holds: {isr: {partition: orders-0, size: 9}, for: 1s}\n"
    text = tiny.replace("  schedule:\n", f"  schedule:\n{step}")
    (run,) = highwater("run", highwater.write("tiny.yaml", text), "--json").json["runs"]
    done = highwater("check", run["dir"], "--json")
    assert (done.status, done.json["asRecorded"], list(done.json["anomalies"])) == (1, ["unavailable"], ["unavailable"])
    assert "unavailable: 1, as the run recorded it: no table shows it" in highwater("check", run["dir"]).out


def test_a_directory_that_is_no_run(highwater: Any) -> None:
    done = highwater("check", ".")
    assert done.status == 254
    assert "expected a run directory" in done.err


def test_what_is_named_and_is_no_file(highwater: Any, tiny_run: Path) -> None:
    """A link to nothing, and a named pipe, which takes for ever to open."""
    history = highwater.folder / "history" / "operations.jsonl"
    history.parent.mkdir()
    os.mkfifo(history)
    done = highwater("check", ".")
    assert (done.status, "operations.jsonl: expected a file" in done.err) == (254, True)
    (highwater.folder / "runs").mkdir()
    (highwater.folder / "runs" / "gone").symlink_to("nowhere")
    for pattern in ("runs/*", "runs/gone"):
        done = highwater("check", pattern, tiny_run)
        assert (done.status, "gone: expected a file or a directory" in done.err) == (254, True)
        assert "PASS" in done.out


@pytest.mark.parametrize("what", [b"\xff", b'{"a":' + b"[" * 100_000], ids=["no UTF-8", "too many levels"])
def test_what_is_no_json_is_named(highwater: Any, tiny_run: Path, what: bytes) -> None:
    """In files of a run directory that no digest protects, in tables of others, and in a store."""
    run = shutil.copytree(tiny_run, highwater.folder / "run")
    tables = shutil.copytree(tiny_run / "history", highwater.folder / "tables" / "history").parent
    (tables / "events").mkdir()
    (tables / "events" / "recorded.json").write_bytes(b'{"kinds":[],"why":"x"}')
    assert highwater("store", tiny_run, "--out", "store").status == 0
    assert all(highwater("check", name).status != 254 for name in ("run", "tables", "store"))
    files = [run / "run.json", *tables.glob("*/*.json*"), *Path("store").glob("*/*.json")]
    assert len(files) == 4
    for file in files:
        good = file.read_bytes()
        file.write_bytes(re.sub(rb'": ?"', rb"\g<0>" + what, good, count=1) if what == b"\xff" else what + b"\n")
        done = highwater("check", file.relative_to(highwater.folder).parts[0] if file.is_absolute() else "store")
        assert (done.status, "Traceback" in done.err) == (254, False), (file, done.err)
        file.write_bytes(good)


def test_what_is_hidden_in_a_directory_is_no_run(highwater: Any, tiny_run: Path) -> None:
    """What a harness has not written to its end yet, or was killed at."""
    shutil.copytree(tiny_run, highwater.folder / "runs" / "a")
    for hidden in (".b", "c/.d"):
        shutil.copytree(tiny_run / "history", highwater.folder / "runs" / hidden / "history")
    assert highwater("check", "runs").out == highwater("check", "runs/a").out
    assert highwater("check", "runs/.b").status == 0


def test_a_node_that_crashed_is_found_by_every_model(highwater: Any) -> None:
    write = {"f": "write", "process": 0, "value": [{"op": "write", "key": "x", "value": 1}]}
    lines = [{"index": i, "time": i, "type": kind, **write} for i, kind in enumerate(("invoke", "ok"))]
    crash = {"kind": "node-crashed", "node": "controller-0", "incarnation": 1, "reason": "KeyError", "stack": "here"}
    for name, rows in (
        ("history/operations", lines),
        ("events/nodes", [{"seq": 1, "time_ns": 1, "node_time_ns": 1, **crash}]),
    ):
        path = highwater.folder / f"crashed/{name}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert highwater("check", "crashed/history/operations.jsonl", "--model", "register").status == 0
    done = highwater("check", "crashed", "--model", "register")
    assert (done.status, "node-crash: 1" in done.out) == (1, True), done


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
