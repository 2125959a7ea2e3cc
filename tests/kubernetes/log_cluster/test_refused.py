"""Resources that cannot be served: said clearly, and nothing is made."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.problems import Problem, problem_of, read_spec
from highwater_operator.resources import LogClusterSpec


def problem(name: str = "demo", **spec: Any) -> Problem | None:
    found = read_spec(spec)
    assert isinstance(found, LogClusterSpec), found
    return problem_of(Owner(name, "default", "uid", found))


def test_the_default_is_fine() -> None:
    assert problem() is None
    assert problem(switches={"replica-epoch-check": "off"}, config={"min.insync.replicas": 2}) is None
    assert problem(config={"socket.request.max.bytes": 1_000_000}) is None


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        *(
            ({"runtime": "apache-kafka", "version": version, "mode": mode}, "RuntimeNotSupported", words)
            for version, mode, words in (
                ("3.2.3", "kraft", "in mode kraft from 3.3.0 on; found version 3.2.3"),
                ("4.0.2", "zookeeper", "in mode zookeeper from 1.1.0 to 3.9.x; found version 4.0.2"),
                ("1.0.2", "zookeeper", "in mode zookeeper from 1.1.0 to 3.9.x; found version 1.0.2"),
                ("2.0.1", "zookeeper", "needs Java 11.0.9, which no image has; found version 2.0.1"),
            )
        ),
        (
            {"runtime": "apache-kafka", "version": "3.4.1", "config": {"log.dirs": "/"}},
            "InvalidSpec",
            "spec.config.log.dirs is set by the place where the node runs",
        ),
        ({"config": {"min.insync.replica": 2}}, "InvalidSpec", "did you mean 'min.insync.replicas'"),
        ({"config": {"min.insync.replicas": 0}}, "InvalidSpec", "must be at least 1, not 0"),
        ({"storage": {"crashable": True, "size": "1Ki"}}, "InvalidSpec", "spec.storage.size: expected at least 32Mi"),
        (
            {"fileSystem": "xfs", "storage": {"crashable": True, "size": "299Mi"}},
            "InvalidSpec",
            "expected at least 300Mi, which a crashable volume with xfs needs, found 299Mi",
        ),
        ({"config": {"node.id": 3}}, "InvalidSpec", "node.id are the operator's to set"),
        ({"switches": {"nonsense": "on"}}, "InvalidSpec", "unknown switch 'nonsense'"),
        ({"metadataVersion": "9.9"}, "InvalidSpec", "unknown metadata.version '9.9'"),
        ({"mode": "zookeeper", "controllers": 3}, "InvalidSpec", "spec.controllers: mode zookeeper has none"),
        (
            {"mode": "zookeeper", "metadataVersion": "3.5"},
            "InvalidSpec",
            "spec.metadataVersion: mode zookeeper has none",
        ),
        ({"zookeepers": 3}, "InvalidSpec", "spec.zookeepers: mode kraft has no ZooKeeper servers"),
        ({"zookeeperImage": "a:1"}, "InvalidSpec", "spec.zookeeperImage: mode kraft has no ZooKeeper servers"),
        ({"mode": "zookeeper", "switches": {"pre-vote": "off"}}, "InvalidSpec", "means nothing in mode zookeeper"),
        ({"switches": {"isr-expansion-rule": "x"}}, "InvalidSpec", "spec.switches.isr-expansion-rule"),
        ({"mode": "zookeeper", "config": {"zookeeper.connect": "a:1"}}, "InvalidSpec", "are the operator's to set"),
        ({"topics": [{"name": "a"}, {"name": "a"}]}, "InvalidSpec", "a is there more than once"),
        ({"topics": [{"name": "a", "replicationFactor": 4}]}, "InvalidSpec", "asks for 4 replicas"),
        ({"topics": [{"name": "a", "assignment": [[0, 3]]}]}, "InvalidSpec", "brokers [3], but ids end at 2"),
    ],
)
def test_what_is_wrong_is_said(spec: dict[str, Any], reason: str, words: str) -> None:
    found = problem(**spec)
    assert found is not None
    assert found.reason == reason
    assert words in found.message


@pytest.mark.parametrize("name", ["0demo", "a.b", "x" * 42])
def test_names_that_pods_cannot_have(name: str) -> None:
    found = problem(name)
    assert found is not None
    assert found.message.startswith("metadata.name: expected at most 41")


def test_the_model_knows_more_than_the_schema() -> None:
    found = read_spec({"topics": [{"name": "a", "assignment": [["x"]]}]})
    assert isinstance(found, Problem)
    assert "spec.topics.0.assignment.0.0" in found.message


def made(stage: Any) -> list[str]:
    kinds = [("v1", "ServiceAccount"), ("v1", "Service"), ("v1", "ConfigMap"), ("apps/v1", "StatefulSet")]
    return [one["metadata"]["name"] for version, kind in kinds for one in stage.api.objects(version, kind, "default")]


def test_other_software_is_refused_and_nothing_is_made(stage: Any, wait_for: Any) -> None:
    stage.start()
    stage.create(runtime="apache-kafka", version="2.8.2")
    wait_for(lambda: stage.condition("Ready")["reason"] == "RuntimeNotSupported", "the refusal")
    assert {one: stage.condition(one)["status"] for one in ("Ready", "Degraded", "Progressing")} == {
        "Ready": "False",
        "Degraded": "True",
        "Progressing": "False",
    }
    assert stage.status()["phase"] == "Refused"
    assert made(stage) == []
    assert "repaired" not in stage.condition("Degraded")["message"]
    (event,) = wait_for(lambda: stage.events("RuntimeNotSupported"), "the Event")
    assert event["type"] == "Warning"
    before = stage.get()["metadata"]["resourceVersion"]
    stage.reconciles(3)
    assert "repaired" not in stage.condition("Degraded")["message"], "also when it is looked at again"
    assert stage.get()["metadata"]["resourceVersion"] == before


def test_a_name_that_is_taken(stage: Any, wait_for: Any) -> None:
    theirs = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "demo", "namespace": "default"}}
    stage.api.create(theirs)
    stage.start()
    stage.create()
    wait_for(lambda: stage.condition("Ready")["reason"] == "NameTaken", "the refusal")
    assert made(stage) == ["demo"]
    stage.api.delete("v1", "ServiceAccount", "demo", "default")
    stage.until_settled()


def test_a_mistake_in_a_cluster_that_runs_changes_nothing_of_it(stage: Any, wait_for: Any) -> None:
    stage.serve()
    before = made(stage)
    stage.patch("demo", config={"no.such.property": 1})
    wait_for(lambda: stage.condition("Degraded")["reason"] == "InvalidSpec", "the refusal")
    assert made(stage) == before
    assert len(stage.pods()) == 6
    assert "what others change or delete of it is not repaired" in stage.condition("Degraded")["message"]
    # Nobody looks at the pods any more, so figures would stay what they were.
    status = stage.status()
    assert (status["brokersReady"], status["controllersReady"]) == ("", "")
    assert not {"activeController", "underReplicatedPartitions"} & status.keys()
    stage.api.delete("v1", "Service", "demo-bootstrap", "default")
    stage.patch("demo", config={"no.such.property": None})
    stage.until_settled()
    assert made(stage) == before
    assert (stage.status()["brokersReady"], stage.status()["activeController"]) == ("3/3", 1000)
