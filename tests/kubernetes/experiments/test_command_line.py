"""``highwater run --backend kubernetes`` and its kin, against an API server in which a test plays the operator."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from experiments.conftest import KIND, experiment, until
from experiments.recorded import Recorded

from highwater_chaos.backends.kubernetes import following
from highwater_chaos.backends.kubernetes.archive import store
from highwater_chaos.cli import execute
from highwater_chaos.experiment import load_experiment
from highwater_chaos.kube.client import Kube, UnavailableError
from highwater_chaos.verdict.check import check_recordings, write_verdict
from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.problems import problem_of
from highwater_operator.resources import LogClusterSpec

FILE = Path(__file__).parents[3] / "scenarios" / "kip-903" / "kafka-14139.yaml"


def command(*arguments: str) -> int:
    return execute(arguments)


@pytest.fixture
def cluster(kube_api: Any, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    return kube_api


def play(cluster: Any, status: dict[str, Any], run: Path | None) -> threading.Thread:
    def operator() -> None:
        (found,) = until(lambda: cluster.objects(*KIND, "default"), "the experiment")
        if run is not None:
            store(Kube(cluster.configuration()), found, run)
        cluster.patch(*KIND, found["metadata"]["name"], "default", {"status": status}, "status")

    thread = threading.Thread(target=operator)
    thread.start()
    return thread


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, failing: Recorded) -> Path:
    """A run directory with its verdict, as a runner keeps it."""
    directory = tmp_path_factory.mktemp("run") / "kafka-14139-off"
    shutil.copytree(failing.directory, directory)
    experiment = load_experiment(FILE).with_seed_and_switches(None, {"replica-epoch-check": "off"})
    write_verdict(directory, experiment, check_recordings(experiment, directory))
    return directory


def test_run_follows_and_fetches(cluster: Any, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thread = play(cluster, {"phase": "Completed", "verdict": "fail"}, made)
    arguments = ("--backend", "kubernetes", "--out", str(tmp_path / "out"), "--switch", "replica-epoch-check=off")
    assert command("run", str(FILE), *arguments) == 0
    thread.join()
    (fetched,) = (tmp_path / "out").iterdir()
    assert json.loads((fetched / "verdict.json").read_text())["verdict"] == "fail"
    assert "FAIL as expected" in capsys.readouterr().out
    (found,) = cluster.objects(*KIND, "default")
    assert found["spec"]["cluster"]["switches"] == {"replica-epoch-check": "off"}
    name = found["metadata"]["name"]
    assert name.startswith("kafka-14139-")
    assert command("report", f"cx/{name}", "--out", str(tmp_path / "again")) == 0
    assert command("heal", "--namespace", "default") == 0
    assert "nothing to heal in default" in capsys.readouterr().out


def test_what_is_refused_is_bad_usage(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {
        "type": "Accepted",
        "status": "False",
        "reason": "NotSupported",
        "message": "no moon here",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    thread = play(cluster, {"conditions": [refused]}, None)
    assert command("run", str(FILE), "--backend", "kubernetes", "--out", str(tmp_path)) == 254
    thread.join()
    assert "no moon here" in capsys.readouterr().err
    assert cluster.objects(*KIND, "default") == []


REFERENCE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: there}
spec: {timeout: 1m, clusterRef: {name: demo, topics: [{name: chaos}]}}
"""


def test_a_reference_is_for_kubernetes(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "there.yaml"
    file.write_text(REFERENCE)
    for backend in ("sim", "local"):
        assert command("run", str(file), "--backend", backend, "--out", str(tmp_path)) == 254
        assert "spec.clusterRef: is a cluster that runs on Kubernetes" in capsys.readouterr().err
    there = ("run", str(file), "--backend", "kubernetes", "--out", str(tmp_path))
    assert command(*there, "--switch", "replica-epoch-check=off") == 254
    assert "leave --switch out" in capsys.readouterr().err
    assert cluster.objects(*KIND, "default") == []
    thread = play(cluster, {"phase": "Completed", "verdict": "inconclusive", "reason": "played"}, None)
    assert command(*there) == 2
    thread.join()
    (made,) = cluster.objects(*KIND, "default")
    assert made["spec"]["clusterRef"]["name"] == "demo"
    assert "cluster" not in made["spec"]


def test_the_verdict_is_that_of_the_experiment(
    cluster: Any, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was ended by hand when its run had been judged and kept."""
    ended = {"phase": "Completed", "verdict": "inconclusive", "reason": "ended by hand"}
    thread = play(cluster, ended, made)
    arguments = ("--backend", "kubernetes", "--out", str(tmp_path / "out"), "--switch", "replica-epoch-check=off")
    assert command("run", str(FILE), *arguments) == 2
    thread.join()
    said = "".join(capsys.readouterr())
    assert "inconclusive: ended by hand" in said
    assert "had come to fail" in said


def test_an_api_server_that_is_away_for_a_while_is_waited_for(kube_api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment goes on without it, and without who follows it."""
    monkeypatch.setattr(following, "_POLL", 0.05)
    kube_api.create(experiment())
    kube_api.patch(*KIND, "demo", "default", {"status": {"phase": "Completed", "verdict": "pass"}}, "status")
    away = kube_api.fault(verb="get", resource="chaosexperiments", status=503, times=20)
    api = Kube(kube_api.configuration(), patience=0.1)
    status = following.follow(api, "default", "demo", lambda phase: None)
    assert (status["verdict"], len(away.hits)) == ("pass", 20)
    monkeypatch.setattr(following, "_AWAY_WITHIN", 0.2)
    kube_api.fault(verb="get", resource="chaosexperiments", status=503, times=None)
    with pytest.raises(UnavailableError):
        following.follow(api, "default", "demo", lambda phase: None)


@pytest.mark.parametrize("name", ["demo", "3-brokers", "a.b", "x" * 253, "9" * 253, "a-" * 100])
def test_the_name_of_a_run_is_one_that_its_cluster_can_have(name: str) -> None:
    found = problem_of(Owner(following.unique_name(name), "default", "uid", LogClusterSpec()))
    assert found is None, found
