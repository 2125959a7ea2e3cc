"""Experiments on clusters of others: pods found by labels, broken by agents, observed by clients, one at a time."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka.admin import AdminClient, NewTopic
from experiments.agents import TOKEN, TRUST
from experiments.conftest import KIND, RBAC, SYSTEM, experiment, until

from highwater_chaos.backends.attach.discovery import Found, discover
from highwater_chaos.backends.attach.session import Access, Session
from highwater_chaos.backends.kubernetes.agents import AgentClient
from highwater_chaos.backends.kubernetes.archive import fetch
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.foreign.examination import examine
from highwater_chaos.backends.kubernetes.foreign.pods import matched
from highwater_chaos.backends.kubernetes.foreign.reference import access_to, foreign_reference_of, resolved
from highwater_chaos.kube.client import Kube
from highwater_operator.experiments.context import ExperimentPace
from highwater_runtime.ports import Endpoint

LONG = 150.0
CONFIG = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1500,
    "replica.fetch.wait.max.ms": 200,
}
TOPICS = [{"name": "orders", "replicationFactor": 2}]


# --- which pod is which broker ---


def pod(name: str, ip: str, *, index: str = "", subdomain: str = "", ports: tuple[int, ...] = (9092,)) -> Any:
    labels = {"apps.kubernetes.io/pod-index": index} if index else {}
    container = {"name": "kafka", "ports": [{"containerPort": one} for one in ports]}
    spec = {"containers": [container], **({"hostname": name, "subdomain": subdomain} if subdomain else {})}
    return {
        "metadata": {"name": name, "namespace": "kafka", "uid": name, "labels": labels},
        "spec": spec,
        "status": {"podIP": ip},
    }


STRIMZI = [
    pod("my-dual-1", "10.0.0.1", subdomain="my-kafka-brokers", ports=(9090, 9091)),
    pod("my-broker-7", "10.0.0.7", subdomain="my-kafka-brokers", ports=(9091, 9092)),
    pod("my-controller-3", "10.0.0.3", subdomain="my-kafka-brokers", ports=(9090,)),
]
"""In the shape of Strimzi's pools: the number at the end of a pod's name is the node id."""


def names(found: Any) -> dict[int, tuple[str, str]]:
    return {node: (one.pod["metadata"]["name"], str(one.listener)) for node, one in found.items()}


def test_pods_are_matched_by_what_brokers_advertise() -> None:
    brokers = {
        1: Endpoint("my-dual-1.my-kafka-brokers.kafka.svc", 9092),
        7: Endpoint("my-broker-7.my-kafka-brokers.kafka.svc", 9092),
    }
    assert names(matched(STRIMZI, brokers, (1, 3), "kafka")) == {
        1: ("my-dual-1", "10.0.0.1:9092"),
        7: ("my-broker-7", "10.0.0.7:9092"),
        3: ("my-controller-3", "10.0.0.3:9090"),
    }
    by_load_balancer = {1: Endpoint("a.example.com", 443), 7: Endpoint("b.example.com", 443)}
    assert names(matched(STRIMZI, by_load_balancer, (1, 3), "kafka")) == {
        1: ("my-dual-1", "10.0.0.1:9090"),
        7: ("my-broker-7", "10.0.0.7:9091"),
        3: ("my-controller-3", "10.0.0.3:9090"),
    }
    by_address = {40: Endpoint("10.0.0.9", 9092), 41: Endpoint("10.0.0.8", 9092)}
    others = [pod("b", "10.0.0.8"), pod("a", "10.0.0.9")]
    assert names(matched(others, by_address, (), "kafka")) == {
        40: ("a", "10.0.0.9:9092"),
        41: ("b", "10.0.0.8:9092"),
    }


@pytest.mark.parametrize(
    ("host", "guessed"),
    [
        ("k-0.kafka.prod.svc", None),
        ("k-0.kafka.prod.svc.cluster.local.", None),
        ("k-1.example.com", None),
        ("k-external-0.prod.svc", None),
        ("other-0.kafka.kafka.svc", None),
        ("k-0.kafka.kafka.svc.cluster.local.", False),
        ("k-0.kafka.kafka", False),
        ("k-external-0.kafka.svc", True),
        ("k-0.example.com", True),
        ("192.0.2.1", True),
    ],
)
def test_no_pod_is_guessed_against_the_word_of_an_address(host: str, guessed: bool | None) -> None:
    pods = [pod(f"k-{one}", f"10.0.0.{one + 1}", index=str(one), subdomain="kafka") for one in range(2)]
    brokers = {0: Endpoint(host, 9092)}
    if guessed is None:
        with pytest.raises(ClusterError, match="which pod is broker 0 at"):
            matched(pods, brokers, (), "kafka")
    else:
        one = matched(pods, brokers, (), "kafka")[0]
        assert (one.pod["metadata"]["name"], one.guessed) == ("k-0", guessed)


def test_a_stateful_set_whose_ids_begin_elsewhere() -> None:
    pods = [pod(f"k-{one}", f"10.0.0.{one}", index=str(one)) for one in range(3)]
    brokers = {100 + one: Endpoint("one.example.com", 9092 + one) for one in range(3)}
    assert {node: name for node, (name, _) in names(matched(pods, brokers, (), "kafka")).items()} == {
        100: "k-0",
        101: "k-1",
        102: "k-2",
    }


@pytest.mark.parametrize(
    "brokers",
    [
        {1: Endpoint("gone.my-kafka-brokers.kafka.svc", 9092), 2: Endpoint("x", 9092)},
        {1: Endpoint("my-dual-1.other-service.kafka.svc", 9092), 2: Endpoint("x", 9092), 9: Endpoint("y", 9092)},
    ],
)
def test_a_broker_without_a_pod_is_named(brokers: dict[int, Endpoint]) -> None:
    with pytest.raises(ClusterError, match=r"which pod is broker .* found pods my-dual-1 \(10.0.0.1\)"):
        matched(STRIMZI, brokers, (), "kafka")


@pytest.mark.parametrize(
    ("reference", "bootstrap", "selector"),
    [
        (
            {"strimzi": "my"},
            "my-kafka-bootstrap.kafka.svc:9092",
            "strimzi.io/cluster=my,strimzi.io/kind=Kafka",
        ),
        (
            {"strimzi": "my", "bootstrap": "my-kafka-bootstrap:9093"},
            "my-kafka-bootstrap.kafka.svc:9093",
            "strimzi.io/cluster=my,strimzi.io/kind=Kafka",
        ),
        (
            {"selector": {"b": "2", "a": "1"}, "bootstrap": "k.other.svc:1,10.0.0.1:2"},
            "k.other.svc:1,10.0.0.1:2",
            "a=1,b=2",
        ),
        ({"bootstrap": "k:9092"}, "k.kafka.svc:9092", ""),
    ],
)
def test_a_short_name_is_a_service_of_the_experiments_namespace(
    reference: dict[str, Any], bootstrap: str, selector: str
) -> None:
    found = foreign_reference_of({"metadata": {"namespace": "kafka"}, "spec": {"clusterRef": reference}})
    assert found is not None
    assert (found.bootstrap, found.selector) == (bootstrap, selector)


def test_what_does_not_fit_the_cluster_is_said_with_the_names_of_the_file() -> None:
    made = foreign({"selector": {"app": "kafka"}, "bootstrap": "k:9092"})
    made["metadata"] = {"name": "large", "namespace": "kafka"}
    made["spec"]["clusterRef"]["topics"] = [{"name": "orders", "replicationFactor": 3}]
    two = Found("an-id", {1: Endpoint("k-1", 9092), 2: Endpoint("k-2", 9092)}, (1,), {}, ())
    with pytest.raises(ClusterError, match=r"^spec\.clusterRef\.topics\[0\]\.replicationFactor: .* the cluster has 2$"):
        resolved(made, two)


# --- a run ---


def allow_disruptions(api: Any) -> None:
    for budget in api.objects("policy/v1", "PodDisruptionBudget", "default"):
        status = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
        name = budget["metadata"]["name"]
        api.patch("policy/v1", "PodDisruptionBudget", name, "default", {"status": status}, "status")


def foreign(reference: Any, **spec: Any) -> Any:
    made = experiment(**spec)
    made["spec"].pop("cluster")
    made["spec"]["clusterRef"] = {"topics": TOPICS, **reference}
    return made


def test_a_cluster_is_borrowed_by_labels_alone(real: Any, tmp_path: Path) -> None:
    """Killed and paused brokers come back, nothing is lost, and the topic is gone at the end."""
    meta = {"name": "theirs", "namespace": "default"}
    spec = {"brokers": 3, "controllers": 1, "config": CONFIG}
    real.start()
    real.api.create({"apiVersion": KIND[0], "kind": "LogCluster", "metadata": meta, "spec": spec})
    until(
        lambda: (
            (real.api.get(KIND[0], "LogCluster", "theirs", "default").get("status") or {}).get("readyBrokers") == 3
            or any(
                one["type"] == "Ready" and one["status"] == "True"
                for one in (real.api.get(KIND[0], "LogCluster", "theirs", "default").get("status") or {}).get(
                    "conditions", []
                )
            )
        ),
        "the cluster is up",
        LONG,
    )
    broker = real.nodes.at(Endpoint("theirs-broker-0.theirs-brokers.default.svc", 9092))
    reference = {
        "selector": {"highwater.dev/cluster": "theirs", "highwater.dev/role": "broker"},
        "container": "node",
        "bootstrap": str(broker),
    }
    schedule = [
        {"wait": "2s"},
        {"inject": {"kill": {"target": {"leaderOf": "orders-0"}, "restartAfter": "5s"}}},
        {"wait": "12s"},
        {"inject": {"pause": {"target": {"broker": 2}}, "for": "3s"}},
        {"wait": "5s"},
        {"inject": {"podDelete": {"target": {"broker": 1}}}},
        {"await": {"broker": {"id": 1, "state": "unfenced"}, "within": "40s"}},
        {"inject": {"drain": {"target": {"broker": 2}}, "for": "4s"}},
        {"wait": "8s"},
    ]
    allow_disruptions(real.api)
    real.api.create(foreign(reference, schedule=schedule))
    until(lambda: (real.status().get("ownTopics") or {}).get("ids", {}).get("orders"), "the topic is noted with its id")
    another = real.nodes.at(Endpoint("theirs-broker-1.theirs-brokers.default.svc", 9092))
    refused = apply(real, "at-another-address", {"bootstrap": str(another)}, namespace="kube-public")
    assert (refused["reason"], "has chaosexperiment default/demo on it" in refused["message"]) == ("ClusterHeld", True)
    until(lambda: real.phase() in ("Completed", "Refused"), "the end", LONG)
    status = real.status()
    assert (status["verdict"], status["phase"]) == ("pass", "Completed"), status["reason"]
    assert [one["state"] for one in status["journal"]] == ["undone"] * 3
    assert all(one["node"] for one in status["journal"]), "whose agent was asked"
    assert status.get("ownTopics") is None
    assert discover(Access((broker,)), ["orders"]).taken == ()
    run = fetch(Kube(real.api.configuration()), "default", "demo", tmp_path / "fetched")
    faults = [json.loads(line) for line in (run / "faults.jsonl").read_text().splitlines()]
    assert [(one["kind"], one["confirmed"], one["healed"]) for one in faults] == [
        ("kill", True, True),
        ("pause", True, True),
        ("podDelete", True, True),
        ("drain", True, True),
    ]
    topics_of_a_runner_that_died_are_deleted(real, broker)


def topics_of_a_runner_that_died_are_deleted(real: Any, broker: Endpoint) -> None:
    """By the operator, on the same cluster; those that somebody has created anew since are left."""

    def topics() -> dict[str, str]:
        with Session(Access((broker,))) as session:
            answer = session.metadata(["left", "anew", "not-answered"])
            return {one.name: one.topic_id.hex for one in answer.topics if one.error_code == 0}

    def die(pod: Any) -> int:
        del pod
        admin = AdminClient({"bootstrap.servers": str(broker)})
        for future in admin.create_topics([NewTopic(one, 1, 2) for one in ("left", "anew", "not-answered")]).values():
            future.result(LONG)
        until(lambda: len(topics()) == 3, "the topics")
        own = {"clusterId": real.status("dies")["clusterId"], "names": ["left", "anew", "not-answered"]}
        own["ids"] = {"left": topics()["left"], "anew": "1" * 32}
        real.api.patch(*KIND, "dies", "default", {"status": {"ownTopics": own}}, "status")
        return 137

    real.runner = die
    assert apply(real, "dies", {"bootstrap": str(broker)})["status"] == "True"
    until(lambda: real.phase("dies") == "Completed" and real.status("dies").get("ownTopics") is None, "the end", LONG)
    until(lambda: list(topics()) == ["anew"], "the topics of the run are gone")


def test_a_budget_refuses_an_eviction_in_its_own_words(kube_api: Any) -> None:
    labels = {"app": "kafka"}
    meta = {"name": "k-0", "namespace": "default", "labels": labels}
    spec = {"containers": [{"name": "kafka", "image": "kafka"}]}
    made = kube_api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {**meta, "name": "k"}}
    kube_api.create({**budget, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}})
    api, uid = Kube(kube_api.configuration(), patience=0.0), made["metadata"]["uid"]
    refused = api.evict("default", "k-0", uid)
    assert refused is not None
    assert "The disruption budget k needs more healthy pods" in refused
    allow_disruptions(kube_api)
    assert api.evict("default", "k-0", "00000000-0000-4000-8000-000000000000") is None, "that one is gone"
    assert "deletionTimestamp" not in (kube_api.get("v1", "Pod", "k-0", "default") or {})["metadata"]
    assert api.evict("default", "k-0", uid) is None
    left = kube_api.get("v1", "Pod", "k-0", "default")
    assert left is None or "deletionTimestamp" in left["metadata"]


# --- what the operator refuses ---


@pytest.fixture
def others(stage: Any) -> Any:
    """Pods of a Kafka that nobody reaches: what is refused is refused before."""
    stage.pace = ExperimentPace(0.3, 0.1, 0.2)
    for index in range(2):
        meta = {"name": f"k-{index}", "namespace": "default", "labels": {"app": "kafka"}}
        containers = [{"name": "kafka", "image": "kafka"}]
        stage.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}})
    stage.start()
    return stage


SELECTED = {"selector": {"app": "kafka"}, "bootstrap": "k:9092"}


def accepted(stage: Any, name: str, namespace: str = "default") -> Any:
    def condition() -> Any:
        status = stage.api.get(*KIND, name, namespace).get("status") or {}
        return next((one for one in status.get("conditions") or [] if one["type"] == "Accepted"), None)

    return until(condition, f"{name} is looked at")


def apply(stage: Any, name: str, reference: Any, namespace: str = "default", **spec: Any) -> Any:
    made = foreign(reference, **spec)
    made["metadata"] |= {"name": name, "namespace": namespace}
    stage.api.create(made)
    return accepted(stage, name, namespace)


def test_what_is_refused_before_anything_is_made(others: Any) -> None:
    hold = [{"inject": {"hold": {"rpc": "Fetch"}}}]
    refused = apply(others, "messages", SELECTED, schedule=hold)
    assert (refused["status"], refused["reason"]) == ("False", "NotPossible")
    assert "hold needs" in refused["message"]
    assert "use a LogCluster with runtime apache-kafka" in refused["message"]
    kill = [{"inject": {"kill": {"target": {"broker": 0}}}}]
    refused = apply(others, "no-pods", {"bootstrap": "k:9092"}, schedule=kill)
    assert "without pods nothing can be broken" in refused["message"]
    secret = {"clientConfig": {"secret": "login"}}
    refused = apply(others, "no-secret", {**SELECTED, **secret})
    assert (refused["reason"], "there is no Secret default/login" in refused["message"]) == ("ClientConfig", True)
    made = foreign({**SELECTED, "clientConfig": {"secret": "highwater-agent-ca", "key": "tls.key"}})
    made["metadata"] |= {"name": "curious", "namespace": SYSTEM}
    others.api.create(made)
    refused = accepted(others, "curious", SYSTEM)
    assert (refused["reason"], "operator's own namespace" in refused["message"]) == ("ClientConfig", True)
    assert others.jobs() == []


def test_one_experiment_at_a_time_is_on_the_same_pods(others: Any) -> None:
    assert apply(others, "first", SELECTED)["status"] == "True"
    second = apply(others, "second", {"selector": {"app": "kafka"}, "bootstrap": "elsewhere:9092"})
    assert (second["status"], second["reason"]) == ("False", "ClusterHeld")
    assert "has chaosexperiment default/first on it" in second["message"]
    assert apply(others, "third", {"bootstrap": "elsewhere:9092"})["status"] == "True"


def test_pods_of_a_log_cluster_that_an_experiment_is_on_are_held_too(others: Any) -> None:
    others.api.create(experiment("own"))
    until(lambda: others.phase("own") == "SettingUp", "its runner's Job")
    meta = {"name": "own-broker-0", "namespace": "default", "labels": {"highwater.dev/cluster": "own"}}
    spec = {"containers": [{"name": "node", "image": "node"}]}
    others.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    held = apply(others, "as-if-foreign", {"selector": meta["labels"], "container": "node", "bootstrap": "b:9092"})
    assert (held["status"], held["reason"]) == ("False", "ClusterHeld")
    assert "chaosexperiment default/own on it" in held["message"]


def test_of_many_that_come_at_once_one_is_accepted(others: Any) -> None:
    names = [f"at-once-{number}" for number in range(6)]
    others.stop()
    for name in names:
        made = foreign(SELECTED)
        made["metadata"]["name"] = name
        others.api.create(made)
    others.start()
    found = [accepted(others, name)["status"] for name in names]
    assert sorted(found) == ["False"] * 5 + ["True"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("127.0.0.1:9092", "10.0.0.9:9092,localhost:9092"), ("k:9092", "K.Default.SVC.:9092"), ("[::1]:1", "[0:0::1]:1")],
)
def test_an_address_is_the_same_however_it_is_written_and_wherever(others: Any, first: str, second: str) -> None:
    assert apply(others, "first", {"bootstrap": first})["status"] == "True"
    other = apply(others, "second", {"bootstrap": second}, namespace="kube-public")
    assert (other["status"], other["reason"]) == ("False", "ClusterHeld")
    assert "has chaosexperiment default/first on it" in other["message"]
    assert (
        apply(others, "third", {"bootstrap": second.replace(":9092", ":9").replace("]:1", "]:2")})["status"] == "True"
    )


DRAIN = [{"inject": {"drain": {"target": {"broker": 0}}, "for": "4s"}}]


def test_a_machine_that_may_be_drained_has_one_experiment_on_it_until_its_runner_dies(others: Any) -> None:
    others.api.create(experiment("own"))
    until(lambda: others.phase("own") == "SettingUp", "its runner's Job")

    def place(name: str, namespace: str, machine: str, labels: Any) -> None:
        meta = {"name": name, "namespace": namespace, "labels": labels}
        spec = {"nodeName": machine, "containers": [{"name": "kafka", "image": "kafka"}]}
        others.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def reference(name: str) -> Any:
        return {"selector": {"app": name}, "bootstrap": f"{name}:9092"}

    for name, machine in (("k-0", "node-0"), ("p-0", "node-7")):
        place(name, "kube-public", machine, {"app": name})
    waits = apply(others, "drains", reference("k-0"), namespace="kube-public", schedule=DRAIN)
    assert (waits["status"], waits["reason"]) == ("Unknown", "WaitingForMachines")
    assert waits["message"] == (
        "chaosexperiment default/own has pods on machines that are not known yet too, and this one may drain or"
        " reset machines: waits for its end"
    )
    place("own-broker-0", "default", "node-0", {"highwater.dev/cluster": "own"})
    until(lambda: "on machine node-0 too" in accepted(others, "drains", "kube-public")["message"], "its machine")
    assert apply(others, "elsewhere", reference("p-0"), namespace="kube-public", schedule=DRAIN)["status"] == "True"
    assert apply(others, "drains-nothing", reference("k-0"), namespace="kube-public")["status"] == "True"
    others.api.delete(*KIND, "drains-nothing", "kube-public")
    # Whoever holds it is ended by the operator once its runner is gone.
    others.end_runner()
    until(lambda: others.phase("own") == "Completed", "the end of the first")
    until(lambda: accepted(others, "drains", "kube-public")["status"] == "True", "the second one's turn")


def test_a_secret_is_read_by_name_where_its_namespace_allows_it(kube_api: Any, tmp_path: Path) -> None:
    spec = {"clusterRef": {**SELECTED, "clientConfig": {"secret": "login"}}}
    reference = foreign_reference_of({"metadata": {"namespace": "default"}, "spec": spec})
    assert reference is not None
    rules = [one for one in yaml.safe_load_all((RBAC / "operator.yaml").read_text()) if one is not None]
    kube_api.authorizer.add_manifests("operator", f"{SYSTEM}/highwater-operator", rules)
    with pytest.raises(ClusterError, match="may not read Secret default/login") as refused:
        access_to(Kube(kube_api.configuration("operator"), patience=0.0), reference, tmp_path, "chaos")
    assert "create role highwater-login --verb=get --resource=secrets --resource-name=login" in str(refused.value)
    assert "--group=system:serviceaccounts:chaos" in str(refused.value)

    def write(text: str) -> None:
        data = {"client.properties": base64.b64encode(text.encode()).decode()}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "default"}}
        kube_api.create({**made, "data": data})

    write("security.protocol=NONSENSE")
    with pytest.raises(ClusterError, match=r"Secret login, key client\.properties:1: property") as wrong:
        access_to(Kube(kube_api.configuration()), reference, tmp_path, "chaos")
    assert "NONSENSE" not in str(wrong.value)
    kube_api.delete("v1", "Secret", "login", "default")
    write("MIIBcorrecthorse/abc+\nhunter")
    with pytest.raises(ClusterError, match="is not supported here") as wrong:
        access_to(Kube(kube_api.configuration()), reference, tmp_path, "chaos")
    assert "horse" not in str(wrong.value)
    assert "hunter" not in str(wrong.value)
    kube_api.delete("v1", "Secret", "login", "default")
    write("security.protocol=PLAINTEXT")
    assert (
        access_to(Kube(kube_api.configuration()), reference, tmp_path, "chaos").file == tmp_path / "client.properties"
    )
    assert (tmp_path / "client.properties").stat().st_mode & 0o77 == 0


def test_the_doctor_says_what_can_be_done_to_which_pods_and_why_not_the_rest(stage: Any) -> None:
    labels = {"app": "kafka"}
    for index, machine in enumerate(("node-0", "node-9")):
        meta = {"name": f"k-{index}", "namespace": "default", "labels": labels}
        spec = {"nodeName": machine, "containers": [{"name": "kafka", "image": "kafka"}]}
        stage.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "k", "namespace": "default"},
    }
    stage.api.create({**budget, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}})
    agent = AgentClient(f"https://127.0.0.1:{stage.agents[0].port}", TOKEN, TRUST)
    api = Kube(stage.api.configuration())

    def look(selector: str = "") -> dict[str, tuple[bool, str]]:
        found = examine(api, "default", selector, "kafka", {"node-0": agent}, "")
        return {one.what: (one.works, one.detail) for one in found}

    found = look()
    assert found["namespace default allows faults"] == (
        False,
        "kubectl label namespace default highwater.dev/chaos=allowed",
    )
    assert found["k-0: kill, stop, restart, pause"] == (True, "by the agent of node node-0")
    assert found["k-0: powerLoss, diskWipe, diskFull, diskError"][0] is False
    assert found["k-0: podDelete"][0] is True
    assert found["k-0: evict, drain"] == (False, "PodDisruptionBudget k allows no disruption now")
    assert found["k-1: partition"] == (False, "no agent on node node-9")
    messages = next(one for what, one in found.items() if what.startswith("hold"))
    assert messages[0] is False
    stage.api.patch("v1", "Namespace", "default", "", {"metadata": {"labels": {"highwater.dev/chaos": "allowed"}}})
    allow_disruptions(stage.api)
    found = look("app=kafka")
    assert found["namespace default allows faults"][0] is True
    assert found["k-0: evict, drain"] == (True, "allowed now")
    assert look("app=postgres")["pods in default with app=postgres"][0] is False
