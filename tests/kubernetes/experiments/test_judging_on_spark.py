"""The program of a judging pod, and judging by hand what was recorded: on Spark, as they do.

One runs as a process of its own, as in a pod; the others in this one, where several tests share a session of Spark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server.rbac import Grant
from experiments.conftest import KIND, SYSTEM, handed_over
from experiments.recorded import ROOT, Recorded

from highwater_chaos.backends.kubernetes.archive import fetch
from highwater_chaos.cli import execute
from highwater_chaos.kube.client import Kube
from highwater_chaos.kubernetes_jobs import judge

RBAC = ROOT / "manifests" / "components" / "judging" / "rbac.yaml"


def judged_as_in_process(kube_api: Any, run: Recorded, folder: Path, program: Any) -> Any:
    """``program(arguments, kubeconfig)`` judges with the rights that are shipped, no others, and none in vain."""
    rules = [one for one in yaml.safe_load_all(RBAC.read_text()) if one is not None]
    (role,) = (one for one in rules if one["kind"] == "ClusterRole")
    grant = Grant(role["rules"], "default")  # as bound by the operator
    user = kube_api.authorizer.add_user("judge", f"system:serviceaccount:{SYSTEM}:judge", [grant])
    uid = handed_over(kube_api, run)["metadata"]["uid"]
    program(["--experiment", "default/demo", "--uid", uid], str(kube_api.kubeconfig(folder / "kubeconfig", "judge")))
    assert user.refused == []
    asked = {(one.verb, one.resource) for one in user.asked if one.plural}
    granted = {
        (verb, resource)
        for one in rules
        for rule in one.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == asked
    status = kube_api.get(*KIND, "demo", "default")["status"]
    assert (status["phase"], status["verdict"], status["expected"]) == ("Completed", run.verdict["verdict"], True)
    assert status["faults"]["planned"] == len(run.verdict["faults"])
    directory = fetch(Kube(kube_api.configuration()), "default", "demo", folder)
    assert json.loads((directory / "verdict.json").read_text()) == run.verdict
    assert (directory / "report.html").stat().st_size > 1000
    assert "<testcase" in (directory / "junit.xml").read_text()
    return status["verdict"]


@pytest.mark.thorough
@pytest.mark.spark
def test_a_judging_pod_says_what_judging_in_process_says(kube_api: Any, failing: Recorded, tmp_path: Path) -> None:
    def pod(arguments: list[str], kubeconfig: str) -> None:
        command = [sys.executable, "-m", "highwater_chaos.kubernetes_jobs.judge", *arguments]
        environment = {**os.environ, "KUBECONFIG": kubeconfig}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    assert judged_as_in_process(kube_api, failing, tmp_path, pod) == "fail"


@pytest.mark.thorough
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_and_of_a_run_that_passes(
    kube_api: Any, passing: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def program(arguments: list[str], kubeconfig: str) -> None:
        monkeypatch.setenv("KUBECONFIG", kubeconfig)
        assert judge.main(arguments) == 0, capsys.readouterr()

    assert judged_as_in_process(kube_api, passing, tmp_path, program) == "pass"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.thorough
def test_judged_by_hand_as_the_reason_says(
    kube_api: Any, failing: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    handed_over(kube_api, failing)
    monkeypatch.setenv("KUBECONFIG", str(kube_api.kubeconfig(tmp_path / "kubeconfig")))
    assert execute(("report", "cx/demo", "--namespace", "default", "--out", str(tmp_path))) == 2
    said = capsys.readouterr()
    directory = Path(said.out.strip())
    assert f"recorded, but not judged: highwater check {directory}" in said.err
    assert execute(("check", str(directory))) == 1
    assert json.loads((directory / "verdict.json").read_text()) == failing.verdict
    assert execute(("report", str(directory))) == 0
