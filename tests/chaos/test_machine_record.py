"""What the machine's troubles may explain is no finding about the software; what they cannot explain is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.kubernetes.conclusion import conclusion, reason_of
from highwater_chaos.backends.protocol import InvariantViolation
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.base.machine_record import LEAST_FREE, MACHINES_FILE, machine_troubles, new_disks, troubles_in
from highwater_chaos.cli import main
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.run.directory import new_run_directory
from highwater_chaos.run.settings import settings_of
from highwater_chaos.run.summary import RunSummary
from highwater_chaos.verdict.checked_run import write_checked, write_run
from highwater_chaos.verdict.verdict import verdict_of
from highwater_pipeline.verdict import AnomalyReport, RunVerdict

GOOD = {"node": "node-1", "at": 1.0, "load": 15.9, "processors": 4, "freeBytes": LEAST_FREE, "clockErrorNs": 7}
EXPERIMENT = parse_experiment(
    """\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: busy}
spec: {timeout: 1m, cluster: {brokers: 1, controllers: 1, topics: [{name: orders}]}, workload: {producers: 1}}
""",
    "busy",
)
TROUBLES = {
    "load": {**GOOD, "load": 16.1},
    "disk": {**GOOD, "freeBytes": LEAST_FREE - 1},
    "restart": {"node": "node-1", "started": 2.0},
}


def run_verdict(anomalies: list[str]) -> RunVerdict:
    found = {name: AnomalyReport(1, []) for name in anomalies}
    return RunVerdict("busy", "fail" if anomalies else "pass", [], found, {}, {"acknowledged": 1})


def summary() -> RunSummary:
    return RunSummary(
        name="busy",
        seed=1,
        backend="kubernetes",
        switches={},
        violations=[],
        inconclusive_reasons=[],
        acknowledged=1,
        trace_digest="",
        run_ns=1,
        wall_seconds=1.0,
        wire=False,
        settings=settings_of(EXPERIMENT),
        load=None,
        environment={},
        began_unix_ns=None,
        faults=[],
        phases=[],
    )


def test_a_machine_within_its_limits_has_no_troubles(tmp_path: Path) -> None:
    assert machine_troubles(tmp_path) == []
    (tmp_path / MACHINES_FILE).write_text(json.dumps(GOOD) + "\n" + '{"agent": "https://a", "error": "404"}\n')
    assert machine_troubles(tmp_path) == []


def test_a_node_that_others_leave_no_processor_is_no_finding_about_it() -> None:
    def rows(seconds: float, ran: float, waited: float, *, other: float = 0.1) -> list[dict[str, Any]]:
        nodes = {"broker-0": {"ran": ran, "waited": waited}, "broker-1": {"ran": other, "waited": 0.0}}
        return [{"at": 1.0, "seconds": 10.0, "processors": 2, "nodes": nodes}] * int(seconds / 10)

    (trouble,) = troubles_in(rows(20, 0.5, 8.0))
    assert trouble.startswith(
        "broker-0 waited 16.0 s for a processor of this machine and ran for 1.0 s, in 20 s of the"
    )
    assert not troubles_in(rows(10, 0.5, 8.0)), "for a moment, as when it starts"
    assert not troubles_in(rows(60, 1.0, 8.0)), "it gets on"
    assert not troubles_in(rows(60, 0.1, 4.0)), "it hardly wants to run"
    assert not troubles_in(rows(60, 0.5, 8.0, other=10.0)), "its own cluster keeps them busy"
    odd: list[Any] = [{}, {"ran": "1", "waited": 9.0}, 7, {"waited": 9.0}]
    whole = {"at": 1.0, "seconds": 10.0, "processors": 2}
    assert not troubles_in([{**whole, "nodes": {"broker-0": one}} for one in odd] * 9 + [{**whole, "nodes": [1]}])


@pytest.mark.parametrize("what", TROUBLES)
def test_each_limit(tmp_path: Path, what: str) -> None:
    (tmp_path / MACHINES_FILE).write_text("\n".join(json.dumps(row) for row in (GOOD, TROUBLES[what], GOOD)) + "\n")
    (trouble,) = machine_troubles(tmp_path)
    assert "node-1" in trouble


@pytest.mark.parametrize("troubled", [False, True])
@pytest.mark.parametrize(
    ("anomalies", "excused"),
    [(["unavailable"], True), (["node-crash"], True), (["lost-write"], False), (["unavailable", "lost-write"], False)],
)
def test_only_what_they_may_explain_is_inconclusive(anomalies: list[str], excused: bool, troubled: bool) -> None:
    troubles = troubles_in([TROUBLES["load"]]) if troubled else []
    verdict = verdict_of(EXPERIMENT, summary(), run_verdict(anomalies), (), troubles)
    inconclusive = troubled and excused
    assert verdict["verdict"] == ("inconclusive" if inconclusive else "fail")
    assert verdict["inconclusiveReasons"] == (troubles if inconclusive else [])
    assert set(verdict["anomalies"]) == set(anomalies), "they are shown all the same"


def test_a_pass_on_a_busy_machine_is_a_pass() -> None:
    assert verdict_of(EXPERIMENT, summary(), run_verdict([]), (), ["busy"])["verdict"] == "pass"


@pytest.mark.parametrize("anomalies", [["lost-write"], ["raft-commit-majority", "unavailable"], []])
def test_a_new_disk_that_nobody_ordered_may_explain_everything(tmp_path: Path, anomalies: list[str]) -> None:
    rows = [{"pod": "demo-controller-0", "newDisks": 1}, {"pod": "demo-controller-0", "newDisks": 2}, GOOD]
    rows += [{"pod": "demo-broker-0", "newDisks": 0}, {"pod": 1, "newDisks": 1}]
    (tmp_path / MACHINES_FILE).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    disks = new_disks(tmp_path)
    assert disks == ["demo-controller-0 got a new, empty disk in place of one that was given up (2 times)"]
    assert machine_troubles(tmp_path) == []
    verdict = verdict_of(EXPERIMENT, summary(), run_verdict(anomalies), (), [], disks)
    assert verdict["newDisks"] == disks, "a fact of each verdict"
    assert verdict["verdict"] == ("inconclusive" if anomalies else "pass")
    assert verdict["excuses"] == verdict["inconclusiveReasons"] == (disks if anomalies else [])
    assert set(verdict["anomalies"]) == set(anomalies)
    assert disks[0] in reason_of(verdict)


class OnMachines(SimBackend):
    """As if the run had been on Kubernetes, where it got a new disk, and a machine had too much to do."""

    def files(self) -> dict[str, bytes]:
        rows = [{"pod": "demo-broker-0", "newDisks": 1}, TROUBLES["load"]]
        return {**super().files(), MACHINES_FILE: "".join(f"{json.dumps(row)}\n" for row in rows).encode()}


class Crashing(OnMachines):
    def violations(self) -> list[InvariantViolation]:
        return [InvariantViolation("node-crash", 1, "broker-0", "it ended")]


@pytest.mark.quick("Crashing")
@pytest.mark.parametrize("backend", [OnMachines, Crashing])
def test_every_command_judges_by_what_the_machines_recorded(
    backend: type[OnMachines], tmp_path: Path, make_experiment: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run itself, ``check`` of a run that was judged, and of one that was not."""
    experiment = make_experiment('[{"wait": "100ms"}]')
    result = run_experiment(experiment, backend())
    judged = write_checked(experiment, result, tmp_path, "judged", wire=False)
    with new_run_directory(tmp_path, "recorded") as (directory, recorded):
        write_run(directory, experiment, result, wire=False)
    (disk,) = judged.verdict["newDisks"]
    assert disk == "demo-broker-0 got a new, empty disk in place of one that was given up"
    excuses = [disk, *troubles_in([TROUBLES["load"]])] if backend is Crashing else []
    assert judged.verdict["excuses"] == excuses
    for run in (judged.directory, recorded):
        with pytest.raises(SystemExit) as ended:
            main(["check", str(run), "--json"])
        assert ended.value.code == (2 if excuses else 0)
        assert json.loads(capsys.readouterr().out)["reasons"][: len(excuses)] == excuses
        assert disk in (run / "report.html").read_text()


@pytest.mark.parametrize(
    ("troubles", "disks"), [(["busy"], []), ([], ["new disk"]), (["busy"], ["new disk"]), ([], [])]
)
def test_the_excuse_comes_first_in_what_the_experiment_says(troubles: list[str], disks: list[str]) -> None:
    """In the reason (a column of ``kubectl get``) and in the conditions; the operator's Event has the reason too."""
    verdict = verdict_of(EXPERIMENT, summary(), run_verdict(["unavailable"]), (), troubles, disks)
    status = conclusion(verdict, {"metadata": {"generation": 1}, "status": {}}, kept="here")
    conditions = {one["type"]: one for one in status["conditions"]}
    excuses = [*disks, *troubles]
    assert status["verdict"] == ("inconclusive" if excuses else "fail")
    expected = f"{'; '.join(excuses)}; it would be a fail: found unavailable 1" if excuses else "found unavailable 1"
    assert status["reason"].startswith(expected)
    assert conditions["Passed"]["reason"] == ("MachineTrouble" if excuses else "Fail")
    assert conditions["Passed"]["message"] == conditions["Completed"]["message"] == status["reason"]
