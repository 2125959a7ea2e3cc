"""An experiment on a LogCluster that runs: lent to one at a time, left as it was, refused where it cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from experiments.conftest import KIND, experiment, until
from log_cluster.conftest import LiveCluster, log_cluster

from highwater_chaos.backends.kubernetes.reference import experiment_of
from highwater_operator.admin import AdminError
from highwater_operator.experiments.context import ExperimentPace
from highwater_runtime.ports import Endpoint

CLUSTER = ("highwater.dev/v1alpha1", "LogCluster")


@dataclass
class Lent(LiveCluster):
    """The live cluster, whose topics can be deleted."""

    deleted: list[str] = field(default_factory=list)
    keeps_topics: bool = False

    async def delete_topic(self, name: str) -> None:
        if self.keeps_topics:
            raise AdminError("no")
        self.topics.pop(name)
        self.deleted.append(name)


@pytest.fixture
def live(stage: Any) -> Lent:
    made = Lent(stage.api, "theirs")

    @asynccontextmanager
    async def admin(brokers: Sequence[Endpoint], zookeepers: Sequence[Endpoint], **_: Any) -> Any:
        del brokers, zookeepers
        yield made

    stage.open_admin = admin
    stage.pace = ExperimentPace(0.3, 0.1, 0.2, cluster_ready_within=1.0, give_back_within=1.0)
    return made


def borrowing(name: str = "demo", topics: Any = ("orders",), **spec: Any) -> Any:
    reference = {"name": "theirs", "topics": [{"name": one} for one in topics]}
    meta = {"name": name, "namespace": "default"}
    return {
        "apiVersion": KIND[0],
        "kind": KIND[1],
        "metadata": meta,
        "spec": {"timeout": "1m", "clusterRef": reference, **spec},
    }


def lend(stage: Any, **spec: Any) -> None:
    stage.start()
    switches = {"replica-epoch-check": "off"}
    made = {"brokers": 2, "controllers": 1, "switches": switches, "topics": [{"name": "old"}], **spec}
    stage.api.create(log_cluster("theirs", **made))
    until(lambda: ready(stage), "the LogCluster to be settled")


def ready(stage: Any) -> bool:
    conditions = (lent(stage).get("status") or {}).get("conditions") or []
    found = {one["type"]: one["status"] for one in conditions}
    return found.items() >= {"Ready": "True", "Progressing": "False", "Degraded": "False"}.items()


def lent(stage: Any) -> Any:
    return stage.api.get(*CLUSTER, "theirs", "default")


def held_by(stage: Any) -> str:
    return str(lent(stage)["status"].get("experiment", "")).partition("/")[0]


def runner_makes(stage: Any, live: Lent, name: str = "demo", topic: str = "orders") -> None:
    """A topic, as a runner makes it and notes it."""
    live.place(topic, [0, 1])
    live.topics[topic] = replace(live.topics[topic], id=f"{topic}-id")
    own = stage.status(name).get("ownTopics") or {"clusterId": "", "names": [], "ids": {}}
    own = {**own, "names": [*own["names"], topic], "ids": {**own["ids"], topic: f"{topic}-id"}}
    stage.api.patch(*KIND, name, "default", {"status": {"ownTopics": own}}, "status")


def refused(stage: Any, name: str = "demo") -> Any:
    until(lambda: stage.condition("Accepted", name).get("status") == "False", "the refusal")
    assert stage.phase(name) == "Refused"
    return stage.condition("Accepted", name)


def test_it_is_lent_to_one_at_a_time_and_comes_back_as_it_was(stage: Any, live: Lent) -> None:
    lend(stage)
    before = lent(stage)
    stage.api.create(borrowing("one"))
    until(stage.runner_pods, "the runner")
    assert held_by(stage) == "one"
    stage.api.create(borrowing("two", topics=["others"]))
    said = refused(stage, "two")
    assert said["reason"] == "ClusterHeld"
    assert "chaosexperiment/one" in said["message"]
    runner_makes(stage, live, "one")
    stage.end_runner()
    until(lambda: stage.phase("one") == "Completed", "the end")
    until(lambda: held_by(stage) == "", "the LogCluster to come back")
    assert live.deleted == ["orders"]
    assert "old" in live.topics
    after = lent(stage)
    assert (after["spec"], after["metadata"]["uid"]) == (before["spec"], before["metadata"]["uid"])
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    stage.api.create(borrowing("three"))
    until(lambda: held_by(stage) == "three", "the next one to have it")


def test_it_comes_back_though_the_operator_was_away(stage: Any, live: Lent) -> None:
    lend(stage)
    stage.api.create(borrowing())
    until(stage.runner_pods, "the runner")
    fault = stage.inject(stage.agents[0], 1)
    runner_makes(stage, live)
    stage.stop()
    stage.end_runner()
    stage.start()
    until(lambda: held_by(stage) == "" and stage.phase() == "Completed", "the LogCluster to come back")
    assert (stage.agents[0].undone, live.deleted) == ([fault], ["orders"])


def test_deleted_in_the_middle_it_lets_go_of_the_cluster_too(stage: Any, live: Lent) -> None:
    lend(stage)
    stage.api.create(borrowing())
    until(stage.runner_pods, "the runner")
    runner_makes(stage, live)
    stage.api.delete(*KIND, "demo", "default")
    until(lambda: stage.get() is None, "the experiment to go")
    assert (held_by(stage), live.deleted) == ("", ["orders"])
    assert lent(stage)["metadata"].get("deletionTimestamp") is None


def test_topics_that_somebody_else_has_made_are_left(stage: Any, live: Lent) -> None:
    """One that the runner found there, and one of its own that was deleted and created anew."""
    lend(stage)
    stage.api.create(borrowing(topics=["orders", "anew", "theirs"]))
    until(stage.runner_pods, "the runner")
    for topic in ("orders", "anew"):
        runner_makes(stage, live, topic=topic)
    live.place("theirs", [0, 1])
    live.topics["anew"] = replace(live.topics["anew"], id="another-id")
    stage.end_runner()
    until(lambda: held_by(stage) == "" and stage.phase() == "Completed", "the LogCluster to come back")
    assert (live.deleted, {"anew", "theirs"} <= live.topics.keys()) == (["orders"], True)


def test_a_holder_that_is_gone_holds_nothing(stage: Any, live: Lent) -> None:
    lend(stage)
    stage.api.patch(*CLUSTER, "theirs", "default", {"status": {"experiment": "gone/0-0-0"}}, "status")
    stage.api.create(borrowing())
    until(lambda: held_by(stage) == "demo", "the LogCluster to be taken over")
    assert live.deleted == []


def test_topics_that_cannot_be_deleted_do_not_keep_it_for_ever(stage: Any, live: Lent) -> None:
    lend(stage)
    stage.api.create(borrowing())
    until(stage.runner_pods, "the runner")
    runner_makes(stage, live)
    live.keeps_topics = True
    stage.end_runner()
    until(lambda: held_by(stage) == "", "the LogCluster to come back")
    events = {one["reason"]: one["message"] for one in stage.api.objects("v1", "Event", "default")}
    assert "orders" in events["TopicsLeft"]


IMPOSSIBLE: list[tuple[Any, str, str]] = [
    ({"schedule": [{"inject": {"kill": {"target": {"broker": 5}}}}]}, "Invalid", "there is no broker 5"),
    ({"schedule": [{"inject": {"powerLoss": {"target": {"broker": 1}}}}]}, "NotPossible", "storage.crashable"),
    ({"schedule": [{"inject": {"diskWipe": {"target": {"broker": 1}}}}]}, "NotPossible", "storage.crashable"),
    ({"topics": ["old"]}, "Invalid", "'old' is the LogCluster's own"),
    ({"topics": ["there"]}, "TopicExists", "there already"),
    ({"topics": []}, "Invalid", "there is no topic to write to"),
    ({"schedule": [{"admin": {"upgradeMetadata": {"version": "3.5-IV1"}}}]}, "Invalid", "cannot be undone"),
]


def test_what_cannot_be_there_is_refused(stage: Any, live: Lent) -> None:
    lend(stage)
    live.place("there", [0])
    for number, (spec, reason, words) in enumerate(IMPOSSIBLE):
        stage.api.create(borrowing(name := f"demo-{number}", **spec))
        said = refused(stage, name)
        assert (said["reason"], words in said["message"]) == (reason, True), said
        assert "spec.cluster." not in said["message"]
    assert (held_by(stage), stage.jobs()) == ("", [])


def test_crashable_volumes_can_lose_power(stage: Any, live: Lent) -> None:
    lend(stage, storage={"crashable": True})
    stage.api.create(borrowing(schedule=[{"inject": {"powerLoss": {"target": {"broker": 1}}}}]))
    until(stage.runner_pods, "the runner")
    assert held_by(stage) == "demo"
    assert live.deleted == []


def test_a_cluster_that_is_not_there_or_does_not_get_ready(stage: Any, live: Lent) -> None:
    stage.start()
    stage.api.create(borrowing("early"))
    assert refused(stage, "early")["reason"] == "ClusterNotFound"
    live.silent = True
    stage.api.create(log_cluster("theirs", brokers=2, controllers=1))
    stage.api.create(borrowing("waits"))
    until(lambda: stage.condition("Accepted", "waits").get("reason") == "WaitingForCluster", "it to wait")
    said = refused(stage, "waits")
    assert said["reason"] == "ClusterNotReady"
    assert "was not Ready within 1 s" in said["message"]


def test_it_waits_for_a_cluster_that_gets_ready(stage: Any, live: Lent) -> None:
    stage.pace = ExperimentPace(0.3, 0.1, 0.2, cluster_ready_within=30.0)
    live.silent = True
    stage.start()
    stage.api.create(log_cluster("theirs", brokers=2, controllers=1))
    stage.api.create(borrowing())
    until(lambda: stage.condition("Accepted").get("reason") == "WaitingForCluster", "it to wait")
    assert stage.phase() == ""
    live.silent = False
    until(stage.runner_pods, "the runner")
    assert held_by(stage) == "demo"


def test_the_next_one_waits_until_the_topics_of_the_last_one_are_gone(stage: Any, live: Lent) -> None:
    """The same file again, as soon as the first run is Completed."""
    stage.pace = ExperimentPace(0.3, 0.1, 0.2, cluster_ready_within=60.0, give_back_within=60.0)
    lend(stage)
    stage.api.create(borrowing("one"))
    until(stage.runner_pods, "the runner")
    runner_makes(stage, live, "one")
    live.keeps_topics = True
    stage.end_runner()
    until(lambda: stage.phase("one") == "Completed", "the end")
    stage.api.create(borrowing("two"))
    until(lambda: stage.condition("Accepted", "two"), "the second one to be looked at")
    said = stage.condition("Accepted", "two")
    assert (said["status"], said["reason"]) == ("Unknown", "WaitingForCluster")
    assert "topics of chaosexperiment/one" in said["message"]
    assert held_by(stage) == "one"
    live.keeps_topics = False
    until(lambda: held_by(stage) == "two", "the second one to have it")
    assert live.deleted == ["orders"]


def test_one_that_comes_second_keeps_no_finalizer(stage: Any, live: Lent) -> None:
    """Another one takes the LogCluster between its look and its write."""
    lend(stage)
    taken: list[str] = []

    def take_first(asked: Any) -> bool:
        if not taken and (stage.get() or {"metadata": {}})["metadata"].get("finalizers"):
            taken.append(stage.api.create(experiment("other"))["metadata"]["uid"])
            stage.api.patch(*CLUSTER, "theirs", "default", {"status": {"experiment": f"other/{taken[0]}"}}, "status")
        return False

    stage.api.fault(verb="patch", resource="logclusters/status", matches=take_first)
    stage.api.create(borrowing())
    assert refused(stage)["reason"] == "ClusterHeld"
    assert taken
    until(lambda: "finalizers" not in stage.get()["metadata"], "the finalizer to go")
    assert held_by(stage) == "other"


def test_the_release_of_a_cluster_that_is_lent_is_that_of_the_run() -> None:
    """By it is known what its nodes log, and what it can be asked for."""
    made = {**experiment(), "apiVersion": KIND[0], "kind": KIND[1]}
    made["spec"].pop("cluster", None)
    made["spec"]["clusterRef"] = {"name": "theirs", "topics": [{"name": "orders", "replicationFactor": 1}]}
    spec = {"runtime": "apache-kafka", "version": "2.8.2", "mode": "zookeeper"}
    found = experiment_of(made, {"metadata": {"name": "theirs"}, "spec": spec})
    assert (found.cluster.kafka, found.cluster.mode) == ("2.8.2", "zookeeper")
