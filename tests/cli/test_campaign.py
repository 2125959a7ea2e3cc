"""``highwater campaign``: the same seeds give the same results, whatever becomes of the driver on the way."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from processes import children, command_lines

from highwater_chaos.campaign import seed
from highwater_chaos.campaign.seed import Outcome, SeedJob
from highwater_chaos.cli import campaign_run

HIGHWATER = Path(sys.executable).with_name("highwater")

LOSES = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: loses}
spec:
  timeout: 1m
  cluster:
    brokers: 2
    controllers: 1
    config: {broker.session.timeout.ms: 1000, broker.heartbeat.interval.ms: 200, replica.lag.time.max.ms: 1000}
    topics: [{name: orders, partitions: 1, replicationFactor: 2}]
  workload: {producers: 1, rate: 20/s, consumers: 0}
  schedule:
    - random: {for: 3s, every: 500ms, lasting: 1s, faults: {powerLoss: 1}, targets: [brokers], spare: none}
"""
"""Power losses without mercy: some seeds lose records, others do not."""


def test_it_counts_and_keeps_what_failed(highwater: Any) -> None:
    file = highwater.write("loses.yaml", LOSES)
    done = highwater("campaign", file, "--seeds", "1..3", "--out", "c", "--jobs", "2", "--shrink", "4", "--json")
    assert done.status == 1, done.err
    (row,) = done.json["rows"]
    failing = row["failingSeeds"]
    assert (row["seeds"], row["expected"], row["asExpected"]) == (3, "pass", False)
    assert 0 < len(failing) == row["verdicts"]["fail"]
    assert row["seedsUntilFound"] == failing[0]
    (example,) = done.json["examples"]
    assert (example["seed"], example["sameAgain"]) == (failing[0], True)
    assert (Path(example["run"]) / "report.html").is_file()
    assert highwater("run", example["shrunk"]).status == 0, "it fails as the file says"
    table = pq.read_table("c/results.parquet").to_pylist()
    assert [one["seed"] for one in table if one["verdict"] == "fail"] == failing
    page = Path("c/campaign.html").read_text(encoding="utf-8")
    run = quote(Path(example["run"]).relative_to("c").as_posix())
    assert f'href="{run}/report.html"' in page
    assert "transitions of the protocol were reached" in page
    page = page.replace('"http://www.w3.org/2000/svg"', "").replace("http-equiv", "")
    assert "http" not in page, "the page needs nothing from elsewhere"


@pytest.mark.thorough
def test_until_failure_and_resume(highwater: Any) -> None:
    file = highwater.write("loses.yaml", LOSES)
    first = highwater(
        "campaign", file, "--seeds", "1..9", "--until-failure", "--out", "a", "--jobs", "1", "--json"
    ).json
    (row,) = first["rows"]
    assert row["seeds"] == row["seedsUntilFound"]
    highwater("campaign", file, "--seeds", "1..9", "--until-failure", "--out", "b", "--jobs", "3")
    assert Path("a/results.parquet").read_bytes() == Path("b/results.parquet").read_bytes()
    left = sorted(Path("a/runs").iterdir())
    again = highwater("campaign", file, "--seeds", "1..9", "--until-failure", "--out", "a", "--resume", "--json")
    assert again.json["rows"] == first["rows"], "nothing was run, nothing has changed"
    assert (again.json["examples"], sorted(Path("a/runs").iterdir())) == (first["examples"], left)


@pytest.mark.thorough
def test_a_driver_that_is_killed_goes_on_where_it_was(highwater: Any, tmp_path: Path) -> None:
    campaign = ["campaign", highwater.write("loses.yaml", LOSES), "--seeds", "1..8", "--keep", "0"]
    assert highwater(*campaign, "--jobs", "1", "--out", "whole").status == 1
    command = [HIGHWATER, *campaign, "--jobs", "2"]
    journal = tmp_path / "parts" / "journal.jsonl"
    for number, how in enumerate((signal.SIGKILL, signal.SIGINT), start=1):
        resume = [] if number == 1 else ["--resume"]
        driver = subprocess.Popen(
            [*command, "--out", "parts", *resume], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        while driver.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 2 * number):
            time.sleep(0.01)
        driver.send_signal(how)
        _, err = driver.communicate()
        assert driver.returncode == (-signal.SIGKILL if how is signal.SIGKILL else 2), err
    assert "to go on: add --resume --out parts" in err
    known = journal.read_bytes().count(b"\n")
    assert 4 <= known < 8
    with journal.open("ab") as file:
        file.write(b'{"experiment":"loses","seed":8,"mut')  # as it looks when the driver was killed in a write
    done = highwater(*campaign, "--jobs", "1", "--out", "parts", "--resume")
    assert done.status == 1, done.err
    assert (tmp_path / "parts/results.parquet").read_bytes() == (tmp_path / "whole/results.parquet").read_bytes()
    for line in journal.read_bytes().splitlines():
        json.loads(line)  # nothing was written behind the torn line
    assert journal.read_bytes().count(b"\n") == 8


def test_a_switch_is_found(highwater: Any, tiny_file: Path) -> None:
    done = highwater("campaign", tiny_file, "--seeds", "1..2", "--out", "c", "--switch", "replica-epoch-check=off")
    assert done.status == 0, "the file expects a pass, whatever the switch"


@pytest.mark.parametrize(
    ("verdicts", "switches", "status"),
    [
        (["pass", "pass"], [], 0),
        (["pass", "fail"], [], 1),
        (["pass", "inconclusive"], [], 2),
        (["pass", "error"], [], 255),
        (["fail", "error"], [], 1),
        (["fail", "pass"], ["--switch", "pre-vote=off"], 0),
        (["pass", "pass"], ["--switch", "pre-vote=off"], 1),
        (["fail", "error"], ["--switch", "pre-vote=off"], 255),
    ],
)
def test_exit_statuses(
    highwater: Any, monkeypatch: pytest.MonkeyPatch, verdicts: list[str], switches: list[str], status: int
) -> None:
    def judged(unit: SeedJob) -> Outcome:
        if verdicts[unit.seed] == "error":
            raise ValueError("the harness is at fault")
        return Outcome(unit.experiment, unit.seed, unit.variant, verdicts[unit.seed])

    monkeypatch.setattr(seed, "_judged", judged)
    done = highwater("campaign", "random", *switches, "--seeds", "0..1", "--out", "c", "--keep", "0")
    assert done.status == status, done.out
    assert ("ValueError: the harness is at fault" in done.out) == ("error" in verdicts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "--seeds", "9..3"], "--seeds '9..3': expected A..B"),
        (["random", "--for", "0s"], "--for '0s': expected a time in which a seed can begin, such as 20m"),
        (["random", "--for", "soon"], "--for 'soon': expected a duration such as"),
        (["random", "--junit", "/proc"], "--junit /proc: is a directory"),
        (["random", "--seeds", "all"], "--seeds 'all': expected A..B"),
        ([], "expected an experiment, or 'random'"),
        (["random", "--master", "local[2]"], "--master needs --engine spark"),
        (["random", "--conf", "spark.x=1"], "--conf needs --engine spark"),
        (["random", "--resume"], "--resume needs --out"),
        (["random", "--out", "c", "--junit", "c/journal.jsonl"], "the campaign itself writes that file"),
        (["random", "--patience", "99999999999"], "'--patience': expected"),
        (["random", "--out", "/proc/c"], "/proc/c: cannot be written: No such file or directory; choose another place"),
        (["random", "--resume", "--out", "."], "expected the plan of a campaign"),
        (["random", "--out", "."], "expected a new or empty directory"),
        (["random", "--switch", "pre-vote=off,on"], "expected one value"),
        (["random", "--switch", "pre-vote=off", "--switch", "init-leaderless-isr=on"], "no mode has both"),
        (["tiny.yaml", "tiny.yaml"], "'tiny' is taken"),
        (["tiny.yaml", "--switch", "init-leaderless-isr=on"], "means nothing in mode kraft"),
    ],
)
def test_what_cannot_be_done_is_refused(highwater: Any, tiny_file: Path, arguments: list[str], message: str) -> None:
    done = highwater("campaign", *arguments)
    assert (done.status, message in done.err) == (254, True), done.err
    assert highwater.files() == ["tiny.yaml"]


CI = ["--out", "c", "--jobs", "1", "--junit", "ci/junit.xml", "--summary", "ci/summary.md"]


def _cases(name: str) -> Any:
    return ElementTree.fromstring(Path(name).read_bytes())


def test_a_budget_begins_no_seed_after_it_and_ci_is_told(highwater: Any, monkeypatch: Any) -> None:
    """Two experiments: each has a seed before either has its second. The clock moves with each look at it."""
    ticks = count()
    monkeypatch.setattr(campaign_run, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 5))
    files = [highwater.write(f"{name}.yaml", LOSES.replace("name: loses", f"name: {name}")) for name in ("a", "b")]
    done = highwater("campaign", *files, "--for", "1300ms", "--keep", "0", "--switch", "pre-vote=off", *CI, "--json")
    rows = done.json["rows"]
    assert [row["seeds"] for row in rows] == [2, 1]
    suite = _cases("ci/junit.xml")
    assert [case.get("name") for case in suite] == ["a pre-vote=off", "b pre-vote=off"]
    failing = sum(bool(row["failingSeeds"]) for row in rows)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", str(failing), "0")
    assert (done.status, len([*suite.iter("failure")])) == (1 if failing else 0, failing)
    text = Path("ci/summary.md").read_text(encoding="utf-8")
    assert all(f"| {row['experiment']} | pass | {row['seeds']} | {len(row['failingSeeds'])} |" in text for row in rows)


@pytest.mark.parametrize("after", [0, 3])
def test_an_interrupted_campaign_leaves_its_results(highwater: Any, monkeypatch: Any, after: int) -> None:
    def interrupted(units: Iterator[SeedJob], _jobs: int, _run: Any) -> Iterator[Outcome]:
        for unit in islice(units, after):
            yield Outcome(unit.experiment, unit.seed, "", "fail" if unit.seed == 2 else "pass", ("lost-write",))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(campaign_run, "on_processes", interrupted)
        done = highwater("campaign", highwater.write("loses.yaml", LOSES), "--seeds", "1..6", *CI)
    assert done.status == 2
    assert "add --resume --out c" in done.err
    assert "The campaign was interrupted." in done.err
    assert "The campaign was interrupted." in Path("c/campaign.html").read_text(encoding="utf-8")
    assert "The campaign was interrupted." in Path("ci/summary.md").read_text(encoding="utf-8")
    assert len(pq.read_table("c/results.parquet")) == after
    (case,) = _cases("ci/junit.xml")
    (problem, properties) = case
    assert problem.tag == ("failure" if after else "error")
    assert ("seed 2: fail: lost-write" in (problem.text or "")) is bool(after)
    assert {one.get("name"): one.get("value") for one in properties}["seeds"] == str(after)
    assert highwater("campaign", "loses.yaml", "--seeds", "1..6", "--resume", *CI).status == 1, "it goes on"
    assert len(pq.read_table("c/results.parquet")) == 6


def test_an_interruption_while_a_failing_seed_is_written_leaves_the_results(highwater: Any, monkeypatch: Any) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    def fails(units: Iterator[SeedJob], _jobs: int, _run: Any) -> Iterator[Outcome]:
        yield from (Outcome(unit.experiment, unit.seed, "", "fail", ("lost-write",)) for unit in units)

    monkeypatch.setattr(campaign_run, "on_processes", fails)
    monkeypatch.setattr(campaign_run, "write_example", interrupted)
    done = highwater("campaign", highwater.write("loses.yaml", LOSES), "--seeds", "1..2", *CI)
    assert done.status == 2
    assert "2 seeds of 2 failed. The campaign was interrupted." in done.err
    assert [case.get("name") for case in _cases("ci/junit.xml").iter("testcase")] == ["loses"]
    assert Path("c/campaign.html").is_file()


def test_bugs_that_were_found_hide_no_seed_that_failed_and_a_full_disk_no_result(
    highwater: Any, monkeypatch: Any
) -> None:
    def fails(units: Iterator[SeedJob], _jobs: int, _run: Any) -> Iterator[Outcome]:
        yield from (Outcome(unit.experiment, unit.seed, "", "fail", ("lost-write",)) for unit in units)

    monkeypatch.setattr(campaign_run, "on_processes", fails)
    files = [highwater.write("bad.yaml", LOSES.replace("name: loses", "name: bad"))]
    bug = LOSES.replace("name: loses", "name: bug") + "  expect: [{verdict: fail}]\n"
    files.append(highwater.write("bug.yaml", bug))
    arguments = ["campaign", *files, "--seeds", "1..2", "--keep", "0", "--jobs", "1"]
    done = highwater(*arguments, "--out", "c", "--junit", "/dev/full")
    assert "1 of 1 bugs were found. 2 seeds of 2 failed elsewhere." in done.out
    assert (done.status, "--junit /dev/full: cannot be written" in done.err) == (254, True)
    same = highwater(*arguments, "--out", "d", "--junit", "same", "--summary", "same")
    assert (same.status, "--junit and --summary: expected different files" in same.err) == (254, True)


@pytest.mark.thorough
def test_two_campaigns_are_not_at_work_in_one_directory(highwater: Any, tiny_file: Path) -> None:
    """The lock is of the process, so the other campaign is this one; ``highwater`` runs in it, too."""
    command = ["campaign", "tiny.yaml", "--seeds", "1..2", "--out", "c", "--resume"]
    assert highwater(*command[:-1]).status == 0
    with Path("c/journal.jsonl").open("ab") as journal:
        fcntl.lockf(journal, fcntl.LOCK_EX)
        done = subprocess.run([HIGHWATER, *command], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        254,
        "--out c: another campaign is at work there; wait for it, or end it\n",
    )
    assert highwater(*command).status == 0


def test_another_campaign_is_not_resumed(highwater: Any, tiny_file: Path) -> None:
    assert highwater("campaign", tiny_file, "--seeds", "1..2", "--out", "c").status == 0
    other = highwater("campaign", tiny_file, "--seeds", "1..2", "--out", "c", "--resume", "--wire")
    assert other.status == 254
    assert "is a campaign with other wire" in other.err
    more = highwater("campaign", tiny_file, "--seeds", "1..3", "--out", "c", "--resume", "--json")
    assert more.json["rows"][0]["seeds"] == 3


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_gives_the_same_bytes(highwater: Any) -> None:
    file = highwater.write("loses.yaml", LOSES)
    for engine in ("process", "spark"):
        highwater("campaign", file, "--seeds", "1..4", "--engine", engine, "--out", engine, "--keep", "0")
    assert Path("process/results.parquet").read_bytes() == Path("spark/results.parquet").read_bytes()
    assert os.path.getsize("spark/times.parquet") > 0  # noqa: PTH202


@pytest.mark.thorough
@pytest.mark.spark
def test_when_spark_ends_the_campaign_says_so_and_can_go_on(tmp_path: Path) -> None:
    (tmp_path / "loses.yaml").write_text(LOSES, encoding="utf-8")
    command = [HIGHWATER, "campaign", "loses.yaml", "--seeds", "1..10", "--keep", "0", "--out", "c"]
    driver = subprocess.Popen([*command, "--engine", "spark"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "c" / "journal.jsonl"
    while driver.poll() is None and (not journal.exists() or not journal.read_bytes()):
        time.sleep(0.01)
    (jvm,) = (pid for pid, (program, *_) in command_lines() if pid in children(driver.pid) and b"java" in program)
    os.kill(jvm, signal.SIGKILL)
    _, err = driver.communicate()
    assert driver.returncode == 255, err
    assert "Spark has ended: " in err
    assert "to go on: add --resume --out c" in err
    known = journal.read_bytes().count(b"\n")
    assert 0 < known < 10
    again = subprocess.run([*command, "--resume", "--json"], cwd=tmp_path, check=False, capture_output=True)
    assert json.loads(again.stdout)["rows"][0]["seeds"] == 10
