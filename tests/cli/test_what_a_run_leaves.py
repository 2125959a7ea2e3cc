"""The contracts that programs read: ``--json``, ``verdict.json``, JUnit XML, and what a run directory holds."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.directory import new_run_directory, new_spool_directory
from highwater_chaos.verdict.junit import junit_xml
from highwater_pipeline.anomalies import CHECKS
from highwater_runtime.switches import SWITCHES

DIRECTORY = [
    "dumps/replica_log.jsonl",
    "events/nodes.jsonl",
    "events/recorded.json",
    "experiment.yaml",
    "faults.jsonl",
    "history/operations.jsonl",
    "junit.xml",
    "logs/harness.log",
    "manifest.json",
    "metrics/samples.parquet",
    "phases.jsonl",
    "report.html",
    "run.json",
    "verdict.json",
]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_json_is_one_document_with_the_keys_of_the_contract(highwater: Any, tiny_file: Path) -> None:
    done = highwater("run", tiny_file, "--json", "--out", "somewhere")
    assert list(done.json) == ["runs"]
    (run,) = done.json["runs"]
    keys = ["name", "seed", "backend", "switches", "verdict", "asExpected", "anomalies", "reasons", "assertions"]
    keys += ["acknowledged", "load", "lost", "explanation", "exercised", "dir"]
    assert list(run) == keys
    assert (run["lost"], run["explanation"]) == (0, "")
    assert (run["name"], run["seed"], run["backend"]) == ("tiny", 3, "sim")
    assert run["switches"] == {name: switch.default for name, switch in SWITCHES.items()}
    assert (run["verdict"], run["asExpected"], run["anomalies"]) == ("pass", True, {})
    assert Path(run["dir"]).parent == Path("somewhere")
    assert (Path(run["dir"]) / "verdict.json").is_file()
    assert "tiny: fault (" in done.err, "progress goes to stderr"


def test_json_counts_anomalies_and_keeps_the_status(highwater: Any, kafka_14139: str) -> None:
    file = highwater.write("lost.yaml", kafka_14139)
    done = highwater("run", file, "--switch", "replica-epoch-check=off,on", "--json")
    assert done.status == 0
    off, on = done.json["runs"]
    assert (off["switches"]["replica-epoch-check"], off["verdict"]) == ("off", "fail")
    assert (on["switches"]["replica-epoch-check"], on["verdict"]) == ("on", "pass")
    anomalies = json.loads((Path(off["dir"]) / "verdict.json").read_text(encoding="utf-8"))["anomalies"]
    assert off["anomalies"] == {name: found["count"] for name, found in anomalies.items()}
    assert {"lost-write", "committed-loss"} <= anomalies.keys()
    assert on["anomalies"] == {}
    assert "replica-epoch-check=off" in Path(off["dir"]).name
    assert Path(off["dir"]).parent == Path("runs"), "the default"


def test_a_switch_with_several_values_runs_every_file_once_per_value(highwater: Any, tiny: str) -> None:
    files = [highwater.write(f"{name}.yaml", tiny.replace("tiny", name)) for name in ("one", "two")]
    done = highwater("run", *files, "--switch", "replica-epoch-check=off,on", "--json")
    assert [(run["name"], run["switches"]["replica-epoch-check"]) for run in done.json["runs"]] == [
        ("one", "off"),
        ("one", "on"),
        ("two", "off"),
        ("two", "on"),
    ]


def test_expect_is_matched_against_the_switches_of_the_command_line(highwater: Any, tiny: str) -> None:
    expect = (
        "    - {when: {replica-epoch-check: off}, verdict: inconclusive}\n"
        "    - {when: {replica-epoch-check: on}, verdict: pass}\n"
    )
    file = highwater.write("tiny.yaml", tiny.replace("    - {verdict: pass}\n", expect))
    done = highwater("run", file, "--switch", "replica-epoch-check=on,off", "--json")
    assert done.status == 1
    assert [run["asExpected"] for run in done.json["runs"]] == [True, False]
    assert highwater("run", file).status == 0, "without the option the default is in force"


def test_a_run_directory_is_whole(tiny_run: Path) -> None:
    found = sorted(str(path.relative_to(tiny_run)) for path in tiny_run.rglob("*") if path.is_file())
    assert found == DIRECTORY
    assert stat.S_IMODE(tiny_run.stat().st_mode) == 0o755, "others may read it"


def test_the_verdict_has_the_keys_of_the_contract(failed_run: Path) -> None:
    verdict = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))
    contract = ["verdict", "reasons", "anomalies", "assertions", "faults", "seed", "backend", "switches", "timing"]
    assert set(contract) <= set(verdict)
    assert verdict["seed"] == 7
    assert verdict["switches"]["replica-epoch-check"] == "off"
    for name, found in verdict["anomalies"].items():
        assert set(found) == {"count", "examples"}, name
        assert 0 < len(found["examples"]) <= min(10, found["count"]), name
        assert all(example["story"] for example in found["examples"]), name
        assert any(reason.startswith(f"{name}: ") for reason in verdict["reasons"]), name
    assert set(CHECKS) <= set(verdict["checks"])
    assert verdict["faults"] == lines(failed_run / "faults.jsonl")
    assert [phase["name"] for phase in verdict["timing"]["phases"]] == [
        "setup",
        "steady",
        "fault",
        "recovered",
        "final",
    ]


def test_examples_name_rows_that_prove_them(failed_run: Path) -> None:
    """A lost write: acknowledged at the offset that the story tells, and a reader that went past it."""
    verdict = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))
    operations = lines(failed_run / "history" / "operations.jsonl")
    for example in verdict["anomalies"]["lost-write"]["examples"]:
        sent, read = (operations[row["index"]] for row in example["rows"])
        assert {row["table"] for row in example["rows"]} == {"operations"}
        assert (sent["f"], sent["type"], read["f"], read["type"]) == ("send", "ok", "poll", "ok")
        acknowledged = {(one["key"], one["offset"], one["value"]) for one in sent["value"]}
        assert (example["partition"], example["offset"], example["value"]) in acknowledged
        assert max(one["offset"] for one in read["value"]) >= example["read_past"] > example["offset"]


def test_the_experiment_is_written_as_it_ran(highwater: Any, tiny_file: Path) -> None:
    done = highwater("run", tiny_file, "--seed", "11", "--switch", "replica-epoch-check=off", "--json")
    (run,) = done.json["runs"]
    resolved = load_experiment(Path(run["dir"]) / "experiment.yaml")
    assert resolved.spec.seed == run["seed"] == 11
    assert resolved.cluster.switches == {"replica-epoch-check": "off"}
    again = highwater("run", Path(run["dir"]) / "experiment.yaml", "--json").json["runs"][0]
    first, second = (json.loads((Path(one["dir"]) / "verdict.json").read_text()) for one in (run, again))
    assert first["traceDigest"] == second["traceDigest"], "the file in the directory is the same run"


def test_faults_are_written_with_targets_times_and_evidence(tiny_run: Path) -> None:
    (fault,) = lines(tiny_run / "faults.jsonl")
    assert (fault["name"], fault["kind"], fault["confirmed"], fault["healed"]) == ("death", "kill", True, True)
    assert fault["targets"] == ["broker-1"]
    assert [item["what"] for item in fault["evidence"]["inject"]] == ["broker-1 is down"]
    assert fault["injected_ns"] + 500_000_000 <= fault["healed_ns"]
    events = lines(tiny_run / "events" / "nodes.jsonl")
    (death,) = [event for event in events if event["kind"] == "node-stopped"]
    assert (death["node"], death["reason"], death["time_ns"]) == ("broker-1", "kill", fault["injected_ns"])


def test_the_log_tells_steps_and_phases_in_order(tiny_run: Path) -> None:
    text = (tiny_run / "logs" / "harness.log").read_text(encoding="utf-8").splitlines()
    times = [float(line.split()[0]) for line in text]
    assert times == sorted(times)
    told = [line.split(maxsplit=1)[1] for line in text]
    assert [line for line in told if line in ("inject", "wait")] == ["inject", "wait"]
    assert sum(line.startswith("phase ") for line in told) == 5


def test_metrics_are_sampled_over_time_for_every_node(tiny_run: Path) -> None:
    table = pq.read_table(tiny_run / "metrics" / "samples.parquet").to_pydict()
    assert {"broker-0", "broker-1", "controller-0"} <= set(table["node"])
    assert len(set(table["time_ns"])) > 3
    assert len(set(table["name"])) > 3


def test_two_runs_in_one_second_do_not_share_a_directory(highwater: Any, tiny_file: Path) -> None:
    first = highwater("run", tiny_file, tiny_file, tiny_file, "--json").json["runs"]
    assert len({run["dir"] for run in first}) == 3
    assert len(list((highwater.folder / "runs").iterdir())) == 3


@pytest.mark.parametrize(
    ("change", "counts", "child"),
    [
        ({}, ("0", "0"), None),
        ({"{verdict: pass}": "{verdict: fail}"}, ("1", "0"), "failure"),
        ({"producers: 1": "producers: 0"}, ("0", "1"), "error"),
    ],
    ids=["pass", "not as expected", "inconclusive"],
)
def test_junit(highwater: Any, tiny: str, change: dict[str, str], counts: tuple[str, str], child: str | None) -> None:
    text = tiny
    for found, instead in change.items():
        text = text.replace(found, instead)
    highwater("run", highwater.write("tiny.yaml", text), "--junit", "reports/ci/junit.xml")
    suite = ElementTree.fromstring((highwater.folder / "reports" / "ci" / "junit.xml").read_bytes())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", *counts)
    (case,) = suite
    assert case.get("name") == "tiny", "the same test in the next build, with another seed and another default"
    assert {one.get("name"): one.get("value") for one in case.iter("property")}["seed"] == "3"
    assert float(case.get("time") or "nan") >= 0
    assert [one.tag for one in case] == [*([child] if child else []), "properties"]
    if child:
        assert (case[0].get("message") or "").startswith("expected ")


def test_junit_has_a_case_for_each_run_and_each_directory_its_own(highwater: Any, tiny_file: Path) -> None:
    highwater("run", tiny_file, "--switch", "replica-epoch-check=off,on", "--junit", "junit.xml")
    suite = ElementTree.fromstring((highwater.folder / "junit.xml").read_bytes())
    names = [case.get("name") or "" for case in suite]
    assert names == ["tiny replica-epoch-check=off", "tiny replica-epoch-check=on"]
    highwater("run", tiny_file, tiny_file, "--junit", "twice.xml", "--out", "twice")
    again = ElementTree.fromstring((highwater.folder / "twice.xml").read_bytes())
    assert [case.get("name") for case in again] == ["tiny", "tiny (2)"]
    for run in (highwater.folder / "runs").iterdir():
        (case,) = ElementTree.fromstring((run / "junit.xml").read_bytes())
        assert case.get("name") == ("tiny replica-epoch-check=off" if "=off" in run.name else "tiny")


def test_a_loss_that_was_expected_is_explained_in_junit_too(failed_run: Path) -> None:
    verdict = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))
    (case,) = ElementTree.fromstring(junit_xml([{**verdict, "asExpected": True}]))
    said = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert (said["verdict"], said["explanation"], said["lost"]) == (
        "fail",
        verdict["explanation"],
        str(verdict["lost"]),
    )


def test_junit_is_xml_whatever_a_node_wrote(tiny_run: Path) -> None:
    verdict = json.loads((tiny_run / "verdict.json").read_text(encoding="utf-8"))
    strange = 'log ends:\x1b[31m\x00 \ud800 \ufffe <&" é 😀'
    crash = {"count": 1, "examples": [{"story": strange, "stack": strange}]}
    assertions = [{"name": strange, "holds": None}]
    expected = {**verdict["expected"], "whyNot": strange}
    verdict |= {"asExpected": False, "reasons": [strange], "assertions": assertions, "expected": expected}
    verdict |= {"anomalies": {"node-crash": crash}}
    (case,) = ElementTree.fromstring(junit_xml([verdict]))
    shown = strange.translate(dict.fromkeys(map(ord, "\x1b\x00\ud800\ufffe"), "\ufffd"))
    assert case[0].get("message") == shown
    assert (case[0].text or "").startswith(shown)


def test_simulated_messages_may_go_through_the_codec(highwater: Any, tiny_file: Path) -> None:
    (run,) = highwater("run", tiny_file, "--wire", "--json").json["runs"]
    assert json.loads((Path(run["dir"]) / "verdict.json").read_text(encoding="utf-8"))["wire"] is True
    replayed = highwater("replay", run["dir"])
    assert replayed.status == 0, replayed.err + replayed.out


def test_two_that_write_at_the_same_time_get_a_directory_each(tmp_path: Path) -> None:
    """Two harnesses may end in the same second, in the same folder."""
    with new_run_directory(tmp_path, "tiny") as (one, first), new_run_directory(tmp_path, "tiny") as (other, second):
        (one / "whose").write_text("first")
        (other / "whose").write_text("second")
    assert (first.name, second.name) == ("tiny", "tiny-2")
    assert [(path / "whose").read_text() for path in (first, second)] == ["first", "second"]
    with pytest.raises(KeyboardInterrupt), new_run_directory(tmp_path, "tiny"):
        raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny", "tiny-2"]


def test_spool_directories_go_with_their_harness(tmp_path: Path) -> None:
    with new_spool_directory(tmp_path, "tiny") as living:
        killed = shutil.copytree(living, tmp_path / ".tiny-of-a-killed-harness")
        foreign = tmp_path / ".config"
        foreign.mkdir()
        with new_spool_directory(tmp_path, "tiny") as other:
            assert sorted(tmp_path.iterdir()) == sorted([living, other, foreign]), f"{killed.name} is gone"
    assert list(tmp_path.iterdir()) == [foreign]


KILLED = """
import sys, time
from pathlib import Path
from highwater_chaos.run.directory import new_run_directory
with new_run_directory(Path(sys.argv[1]), "tiny") as (partial, final):
    (partial / "half").write_text("half of a recording")
    print(flush=True)
    time.sleep(600)
"""


def test_so_does_the_run_directory_that_it_was_writing(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(list(tmp_path.iterdir())) == 2
    finally:
        process.kill()
        process.communicate()
    with new_spool_directory(tmp_path, "next"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]
    assert list((tmp_path / "tiny").iterdir()) == [], "it held the name, and is no run"


def test_a_file_system_without_locks_takes_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", without)
    for _ in range(2):
        with new_run_directory(tmp_path, "tiny") as (partial, _final):
            (partial / "whole").touch()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "tiny",
        "tiny-2",
        "tiny-2/whole",
        "tiny/whole",
    ]


def test_a_disk_that_is_full_is_named_and_nothing_stays(tiny_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = Path(sys.executable).with_name("highwater")
    done = subprocess.run(
        ["prlimit", "--fsize=4096", program, "run", tiny_file, "--out", out],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 254, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"{out}: expected a directory that takes a run; found: File too large; free some space, or give another --out"
    )
    assert list(out.iterdir()) == []


def test_a_disk_that_fills_up_while_a_run_records_is_named(
    highwater: Any, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recordings of real processes are files below ``--out`` from the start."""

    def record(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("highwater_chaos.verdict.checked_run.run_experiment", record)
    done = highwater("run", tiny_file, "--out", "out")
    assert (done.status, done.err.splitlines()[-1]) == (
        254,
        "out: expected a directory that takes a run; found: No space left on device; free some space, or give another"
        " --out",
    )
    assert list((highwater.folder / "out").iterdir()) == []


WITHOUT_PANDAS = """
import sys
from highwater_chaos.cli import execute
assert execute(["run", sys.argv[1]]) == 0
assert "pandas" not in sys.modules, "pandas was imported"
"""


@pytest.mark.thorough
def test_a_run_does_not_import_pandas(tiny_file: Path) -> None:
    """What a process converts first differs with what it does; a run begins with samples of metrics."""
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS, str(tiny_file)], check=True)


def test_runs_side_by_side_are_those_of_one_after_the_other(highwater: Any, tiny_file: Path) -> None:
    """In the order of the plan, whichever ends first; several runs end with a tally."""
    command = ("run", tiny_file, "--switch", "replica-epoch-check=on,off", "--switch", "truncation-sync=on,off")
    digests = []
    for options in ((), ("--jobs", "2")):
        done = highwater(*command, *options, "--out", f"runs{len(digests)}")
        assert done.status == 0, done.err
        assert done.out.splitlines()[-1] == "4 runs: 4 as expected, 0 not (4 pass)"
        reports = [Path(line.split()[-1]) for line in done.out.splitlines() if line.startswith("  report ")]
        verdicts = [json.loads((report.parent / "verdict.json").read_text(encoding="utf-8")) for report in reports]
        digests.append([(verdict["switches"], verdict["traceDigest"]) for verdict in verdicts])
    assert len(digests[0]) == 4
    assert digests[0] == digests[1]


@pytest.mark.parametrize("options", [("--backend", "local"), ("--metrics", "127.0.0.1:0"), ("--kafka", "3.4.1")])
def test_only_the_simulator_runs_side_by_side(highwater: Any, tiny_file: Path, options: tuple[str, ...]) -> None:
    done = highwater("run", tiny_file, "--jobs", "2", *options)
    assert done.status == 254
    assert done.err.startswith("--jobs is for the simulator, without --kafka, --against and --metrics; leave it out")
