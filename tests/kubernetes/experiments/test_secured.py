"""Experiments on a LogCluster with ``spec.security``: run as on any other, but for what TLS hides."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from experiments.conftest import KIND, SYSTEM, real_stage, until
from experiments.real_world import RestartingNodes
from experiments.test_borrowed import CLUSTER, Lent, borrowing, lend, lent, live, refused
from log_cluster.secured_nodes import SecuredNodes

from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import fetch as fetch_release
from highwater_chaos.apache_kafka.installation import install
from highwater_chaos.backends.kubernetes.archive import fetch
from highwater_chaos.backends.kubernetes.foreign.examination import examine
from highwater_chaos.kube.client import Kube

__all__ = ["live"]
LONG = 150.0
CONFIG = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1500,
    "replica.fetch.wait.max.ms": 200,
}
RIGHTS = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"namespace": "default", "name": "highwater-secrets"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "patch"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"namespace": "default", "name": "highwater-secrets"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "highwater-secrets"},
        "subjects": [{"kind": "ServiceAccount", "name": "highwater-operator", "namespace": SYSTEM}],
    },
]
MESSAGES = {"drop": {"rpc": "Fetch", "from": {"broker": 1}, "to": {"broker": 0}}}


class SecuredRestartingNodes(SecuredNodes, RestartingNodes):
    """Both."""


@pytest.fixture
def real(kube_api: Any, tmp_path: Path) -> Iterator[Any]:
    with real_stage(kube_api, tmp_path, SecuredRestartingNodes, RIGHTS) as made, made.nodes.names_known():
        yield made


def runner_secrets(stage: Any) -> list[Any]:
    found = stage.api.objects("v1", "Secret", SYSTEM)
    return [one for one in found if "highwater.dev/experiment-uid" in one["metadata"].get("labels", {})]


def test_a_run_with_faults_on_messages_of_our_own_nodes(real: Any, tmp_path: Path) -> None:
    real.start()
    meta = {"name": "demo", "namespace": "default"}
    spec = {"brokers": 2, "controllers": 1, "config": CONFIG, "security": {}}
    real.api.create({"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "metadata": meta, "spec": spec})
    topics = [{"name": "orders", "assignment": [[0, 1]]}]
    schedule = [
        {"wait": "1s"},
        {"inject": {**MESSAGES, "name": "lost"}},
        {"await": {"caught": {"name": "lost", "atLeast": 1}, "within": "20s"}},  # messages are read under TLS
        {"heal": "lost"},
        {"inject": {"kill": {"target": {"broker": 1}, "restartAfter": "1s"}}},
        {"wait": "5s"},
    ]
    workload = {"producers": 1, "rate": "50/s", "consumers": 1, "metadata": {}}
    spec = {"timeout": "1m", "clusterRef": {"name": "demo", "topics": topics}, "schedule": schedule}
    spec |= {"workload": workload, "expect": [{"verdict": "pass"}]}
    real.api.create({"apiVersion": KIND[0], "kind": KIND[1], "metadata": {**meta, "name": "run"}, "spec": spec})
    until(lambda: real.phase("run") in ("Completed", "Refused"), "the verdict", LONG)
    status = real.status("run")
    assert (status["verdict"], status["expected"]) == ("pass", True), json.dumps(status, indent=1)
    assert status["faults"] == {"planned": 2, "injected": 2, "confirmed": 2, "healed": 2}
    directory = fetch(Kube(real.api.configuration()), "default", "run", tmp_path / "fetched")
    verdict = json.loads((directory / "verdict.json").read_text())
    assert verdict["acknowledged"] > 0
    until(lambda: not runner_secrets(real), "the runner's copy of the Secret to go", LONG)
    password = b64decode(real.api.get("v1", "Secret", "demo-client", "default")["data"]["password"])
    for path in directory.rglob("*"):
        assert not path.is_file() or password not in path.read_bytes(), path
    public = json.dumps([real.api.objects("v1", kind, "default") for kind in ("ConfigMap", "Event")])
    assert password.decode() not in public
    assert password.decode() not in json.dumps([status, real.jobs()])


@pytest.mark.parametrize(
    ("cluster", "accepted"),
    [
        ({}, True),
        ({"runtime": "apache-kafka", "version": "3.5.2"}, False),
        ({"runtime": "apache-kafka", "version": "3.5.2", "security": None}, True),
    ],
    ids=["ours", "Apache Kafka", "Apache Kafka in the clear"],
)
def test_what_tls_hides_from_a_proxy_is_refused(stage: Any, live: Lent, cluster: Any, accepted: bool) -> None:
    lend(stage, **{"security": {}, **cluster, "switches": {}})
    stage.api.create(borrowing(schedule=[{"inject": {**MESSAGES, "for": "1s"}}]))
    if accepted:
        until(stage.runner_pods, "the runner")
        return
    said = refused(stage)
    assert said["reason"] == "NotPossible"
    assert "drop needs interference by RPC" in said["message"]
    assert "TLS hides messages from the proxy in a pod of Apache Kafka" in said["message"]
    assert runner_secrets(stage) == []


def test_the_runner_gets_a_copy_that_ends_with_it(stage: Any, live: Lent) -> None:
    lend(stage, security={})
    stage.api.create(borrowing())
    until(stage.runner_pods, "the runner")
    (copy,) = runner_secrets(stage)
    assert copy["data"] == stage.api.get("v1", "Secret", "theirs-harness", "default")["data"]
    (pod,) = (stage.api.get("v1", "Pod", name, SYSTEM) for name in stage.runner_pods())
    assert {"name": "HIGHWATER_CLUSTER_ACCESS", "value": "/etc/highwater/cluster"} in pod["spec"]["containers"][0][
        "env"
    ]
    stage.end_runner()
    until(lambda: stage.phase() == "Completed", "the end")
    until(lambda: not runner_secrets(stage), "the copy to go")
    assert lent(stage)["status"]["clientSecret"] == "theirs-client"


@pytest.mark.parametrize("runtime", ["highwater", "apache-kafka"])
def test_the_doctor_says_whose_messages_are_hidden(stage: Any, live: Lent, runtime: str) -> None:
    kafka = {"runtime": runtime, "version": "3.5.2", "switches": {}} if runtime == "apache-kafka" else {}
    lend(stage, security={}, **kafka)
    found = examine(Kube(stage.api.configuration()), "default", "", "kafka", {}, "")
    (works, why) = next(
        (one.works, one.detail) for one in found if one.what == "LogCluster theirs: hold, drop, delay, duplicate"
    )
    assert works == (runtime == "highwater")
    assert works or "TLS hides messages from the proxy" in why


@pytest.mark.thorough
@pytest.mark.parametrize(("release", "mechanism"), [("3.5.2", "SCRAM-SHA-512"), ("3.4.1", "PLAIN")])
def test_a_run_on_apache_kafka(real: Any, tmp_path: Path, release: str, mechanism: str) -> None:
    try:
        install(release)
        fetch_release(release, exporter=True)
    except ApacheKafkaUnavailableError as error:
        pytest.skip(str(error))
    real.start()
    meta = {"name": "demo", "namespace": "default"}
    kafka = {"runtime": "apache-kafka", "version": release, "security": {"mechanism": mechanism}}
    spec = {"brokers": 2, "controllers": 1, **kafka}
    real.api.create({"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "metadata": meta, "spec": spec})
    topics = [{"name": "orders", "assignment": [[0, 1]]}]
    schedule = [
        {"wait": "2s"},
        {"inject": {"kill": {"target": {"broker": 1}, "restartAfter": "1s"}}},
        {"await": {"isr": {"partition": "orders-0", "size": 2}, "within": "60s"}},
    ]
    spec = {"timeout": "2m", "recovery": "60s", "clusterRef": {"name": "demo", "topics": topics}, "schedule": schedule}
    spec |= {"workload": {"producers": 1, "rate": "50/s", "consumers": 1}, "expect": [{"verdict": "pass"}]}
    real.api.create({"apiVersion": KIND[0], "kind": KIND[1], "metadata": {**meta, "name": "run"}, "spec": spec})
    until(lambda: real.phase("run") in ("Completed", "Refused"), "the verdict", 2 * LONG)
    status = real.status("run")
    assert (status["verdict"], status["expected"]) == ("pass", True), json.dumps(status, indent=1)
    directory = fetch(Kube(real.api.configuration()), "default", "run", tmp_path / "fetched")
    assert json.loads((directory / "verdict.json").read_text())["acknowledged"] > 0
    events = (directory / "events" / "nodes.jsonl").read_text()
    assert "broker-registered" in events, "the metadata log is read from the controllers"
    password = b64decode(real.api.get("v1", "Secret", "demo-client", "default")["data"]["password"])
    for path in directory.rglob("*"):
        assert not path.is_file() or password not in path.read_bytes(), path
