"""What a runner does before its cluster is up: nothing of anybody else's is touched, and it stops when it has to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from experiments.agents import TOKEN, TRUST
from experiments.conftest import KIND, SYSTEM, experiment, until

from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.kube.client import Kube
from highwater_chaos.kube.conditions import Condition, with_conditions
from highwater_chaos.kubernetes_jobs.runner import Runner

CLUSTER = (KIND[0], "LogCluster", "demo", "default")
Json = dict[str, Any]


@pytest.fixture
def started(kube_api: Any, tmp_path: Path) -> Any:
    """An experiment whose runner's Job was made, and its runner."""
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    uid = kube_api.create(experiment())["metadata"]["uid"]
    kube_api.patch(*KIND, "demo", "default", {"status": {"phase": "SettingUp"}}, "status")
    agents = AgentSettings(SYSTEM, token_file=token_file, trust=TRUST)
    return Runner(Kube(kube_api.configuration(), patience=2.0), agents, "default", "demo", uid)


def found(kube_api: Any) -> Json:
    status: Json = kube_api.get(*KIND, "demo", "default")["status"]
    return status


def test_a_log_cluster_of_its_name_that_is_anothers_stays(kube_api: Any, started: Any) -> None:
    """Somebody made it after the experiment had been accepted."""
    metadata = {"name": "demo", "namespace": "default"}
    theirs = kube_api.create({"apiVersion": KIND[0], "kind": "LogCluster", "metadata": metadata, "spec": {}})
    assert started.run() == 0
    status = found(kube_api)
    assert (status["phase"], status["verdict"]) == ("Completed", "inconclusive")
    assert "that is not this experiment's" in status["reason"]
    after = kube_api.get(*CLUSTER)
    assert after is not None, "it was deleted"
    assert (after["metadata"]["uid"], after["metadata"].get("deletionTimestamp")) == (theirs["metadata"]["uid"], None)


def test_it_stops_and_leaves_nothing_when_its_experiment_gives_way(kube_api: Any, started: Any) -> None:
    """It would go on otherwise for as long as its pod may, and be told of its end in the middle of a run."""
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(started.run()), daemon=True)
    thread.start()
    try:
        until(lambda: kube_api.get(*CLUSTER), "its LogCluster")
        experiment = kube_api.get(*KIND, "demo", "default")
        gives_way = with_conditions(experiment, Condition("SteadyState", "False", "GivesWay", "waits for another one"))
        kube_api.patch(*KIND, "demo", "default", {"status": {"conditions": gives_way}}, "status")
        until(lambda: ended, "the runner to stop", 20.0)
        assert kube_api.get(*CLUSTER) is None
    finally:
        kube_api.delete(*KIND, "demo", "default")
        thread.join(20.0)
    assert ended == [1], "it has no verdict"
