"""``replay``, ``report``, ``scenarios``, ``validate``, ``doctor``, ``--version`` and completion."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from highwater_chaos.backends.local.capability import possible_here
from highwater_chaos.backends.local.isolated import IsolatedBackend
from highwater_chaos.backends.primitives import implemented_by
from highwater_chaos.cli import doctor as doctor_module
from highwater_chaos.cli.shipped import files_of, shipped
from highwater_chaos.experiment.faults import drawn_kinds, fault_kinds
from highwater_chaos.faults import kind_named
from highwater_pipeline.java import JavaNotFoundError


def test_a_replay_is_the_same_run(highwater: Any, tiny_run: Path) -> None:
    done = highwater("replay", tiny_run, "--out", "again")
    assert done.status == 0
    digest = json.loads((tiny_run / "verdict.json").read_text(encoding="utf-8"))["traceDigest"]
    assert f"the recordings are the same as in {tiny_run}, byte for byte (trace {digest})" in done.out
    (again,) = (highwater.folder / "again").iterdir()
    for name in ("history/operations.jsonl", "events/nodes.jsonl", "dumps/replica_log.jsonl", "faults.jsonl"):
        assert (again / name).read_bytes() == (tiny_run / name).read_bytes(), name


def test_a_replay_keeps_the_switches_and_exits_as_the_run_did(highwater: Any, failed_run: Path) -> None:
    done = highwater("replay", failed_run)
    assert done.status == 0
    assert done.out.startswith("FAIL as expected: ")
    assert "  it fails again: the recordings are the same as in " in done.out


def test_a_replay_of_what_was_not_expected_exits_1(highwater: Any, tiny: str) -> None:
    file = highwater.write("wrong.yaml", tiny.replace("{verdict: pass}", "{verdict: fail}"))
    (run,) = highwater("run", file, "--json").json["runs"]
    done = highwater("replay", run["dir"])
    assert done.status == 1
    assert "byte for byte" in done.out


def test_a_report_is_drawn_again_from_the_directory_alone(highwater: Any, failed_run: Path) -> None:
    copy = highwater.folder / "elsewhere"
    shutil.copytree(failed_run, copy)
    (copy / "report.html").unlink()
    done = highwater("report", "elsewhere")
    assert done.status == 0
    assert done.out.strip() == "elsewhere/report.html"
    drawn = (copy / "report.html").read_text(encoding="utf-8")
    original = (failed_run / "report.html").read_text(encoding="utf-8")
    assert drawn == original.replace(str(failed_run), "elsewhere"), "but for the directory's name it is the same page"


def test_a_name_is_the_experiment_that_ships_under_it(highwater: Any, scenarios: Path) -> None:
    """By the name that ``scenarios`` lists; a file of that name in the working directory comes first."""
    listed = {row["name"]: Path(row["file"]) for row in highwater("scenarios", "--json").json}
    assert shipped() == listed
    assert files_of(["kafka-14139"]) == [listed["kafka-14139"]]
    highwater.write("kafka-14139", "no experiment")
    assert files_of(["kafka-14139"]) == [Path("kafka-14139")]


def test_validate_says_which_files_are_right_and_what_is_wrong(highwater: Any, tiny_file: Path, tiny: str) -> None:
    done = highwater("validate", "kafka-14139", tiny_file)
    assert (done.status, done.err) == (0, "")
    assert [line.rpartition(": ")[2] for line in done.out.splitlines()] == ["valid", "valid"]
    broken = highwater.write("broken.yaml", tiny.replace("rate: 20/s", "rate: fast"))
    done = highwater("validate", tiny_file, broken)
    assert done.status == 254
    assert "broken.yaml:" in done.err
    assert "spec.workload.rate" in done.err
    assert highwater.files() == ["broken.yaml", "tiny.yaml"], "nothing runs"


def test_the_version_is_the_installed_one(highwater: Any) -> None:
    done = highwater("--version")
    assert (done.status, done.out) == (0, f"highwater {version('highwater-chaos')}\n")


def test_the_shell_completes_shipped_names() -> None:
    program = Path(sys.executable).with_name("highwater")
    words = {"COMP_WORDS": "highwater run kafka-1", "COMP_CWORD": "2", "_HIGHWATER_COMPLETE": "complete_bash"}
    done = subprocess.run([program], env={**os.environ, **words}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["kafka-14139"]


def test_scenarios_lists_what_ships(highwater: Any, scenarios: Path) -> None:
    listed = highwater("scenarios", "--json").json
    assert [Path(row["file"]) for row in listed] == sorted(scenarios.rglob("*.yaml"))
    for row in listed:
        assert list(row) == ["name", "file", "description", "expect"]
        assert row["description"], f"{row['name']} says in a sentence what it shows"
        assert row["expect"], f"{row['name']} says what it must come to"
    (bug,) = [row for row in listed if row["name"] == "kafka-14139"]
    assert [(entry["when"], entry["verdict"]) for entry in bug["expect"]] == [
        ({"replica-epoch-check": "off"}, "fail"),
        ({"replica-epoch-check": "on"}, "pass"),
    ]


def test_scenarios_for_people(highwater: Any) -> None:
    done = highwater("scenarios")
    assert done.status == 0
    assert "kafka-14139" in done.out
    assert "replica-epoch-check=off: fail" in done.out


def test_doctor_says_what_works_and_why_not(highwater: Any) -> None:
    found = {row["what"]: row for row in highwater("doctor", "--json").json}
    assert found["python"]["works"] is True
    assert found["--backend sim"]["works"] is True
    listed = found["--backend sim"]["detail"].removeprefix("faults: ").split(", ")
    assert listed == drawn_kinds()
    assert found["--backend kubernetes"]["works"] is True
    assert "highwater-operator" in found["--backend kubernetes"]["detail"]
    on_local = possible_here(implemented_by(IsolatedBackend))
    for kind in fault_kinds():
        assert found[f"{kind} on local"]["works"] is (kind_named(kind).example().needs <= on_local), kind


def test_doctor_without_java_says_what_to_do(highwater: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise JavaNotFoundError("no Java 17 or newer; install one")

    # The package exports the command under the module's own name.
    monkeypatch.setattr(sys.modules["highwater_chaos.cli.doctor"], "find_java", none)
    done = highwater("doctor", "--json")
    assert done.status == 0, "what does not work is a finding"
    (java,) = [row for row in done.json if row["what"].startswith("highwater check")]
    assert (java["works"], java["detail"]) == (False, "no Java 17 or newer; install one")


def test_doctor_says_no_to_spark_without_pyspark_and_which_extra_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as without:
        without.setattr("importlib.util.find_spec", lambda _name: None)
        finding = doctor_module._spark()
    assert not finding.works, "whether or not there is a Java"
    Console(width=160).print(doctor_module._findings([finding]))
    assert "pip install 'highwater-chaos[pipeline]'" in capsys.readouterr().out, "brackets are no markup"
