"""What the API server refuses by the CRD alone: at once, with the field and what is allowed, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest

INJECT = "spec.schedule[0].inject"
FAULTS = "powerLoss, kill, stop, restart, diskWipe, diskFull, diskError, diskStall, pause, sessionExpiry, partition"
KILL = {"kill": {"target": {"broker": 0}}}
EITHER = "spec: expected either cluster (to bring up) or clusterRef (one that runs)"
DURATION = "expected a duration such as 500ms, 20s or 1m30s (or 0)"
ASSERTION = {"name": "a", "promql": "sum(a) == 1", "during": "fault"}


def of(**spec: Any) -> dict[str, Any]:
    return {"timeout": "1m", "cluster": {"topics": [{"name": "orders"}]}, **spec}


def step(**made: Any) -> dict[str, Any]:
    return of(schedule=[made])


EXPERIMENTS = [
    ({"timeout": "1m"}, EITHER),
    ({"timeout": "1m", "cluster": {}, "clusterRef": {"name": "theirs"}}, EITHER),
    ({"cluster": {}}, "spec.timeout: Required value"),
    (of(timeout=5), f"spec.timeout: {DURATION}"),
    (of(timeout="5x"), 'spec.timeout: Invalid value: "5x"'),
    (of(timeout="0s"), "spec: timeout: expected more than 0"),
    (of(timeout=0), "spec: timeout: expected more than 0"),
    (of(timeout="1m", schedule=[{"wait": "20s"}, {"wait": "0.5m"}, {"wait": "10s"}]), "sum of the waits in schedule"),
    (of(timeout=True), 'spec.timeout in body must be of type integer,string: "boolean"'),
    (of(seed=-1), "spec.seed in body should be greater than or equal to 0"),
    (of(seed="7"), 'spec.seed in body must be of type integer: "string"'),
    (of(cluster={"mode": "raft"}), 'Unsupported value: "raft": supported values: "kraft", "zookeeper"'),
    (of(cluster={"brokers": 0}), "spec.cluster.brokers in body should be greater than or equal to 1"),
    (of(cluster={"brokers": 101}), "spec.cluster.brokers in body should be less than or equal to 100"),
    (of(cluster={"brokers": "3"}), 'spec.cluster.brokers in body must be of type integer: "string"'),
    (of(cluster={"topics": [{"name": "a b"}]}), 'spec.cluster.topics[0].name: Invalid value: "a b"'),
    (of(cluster={"topics": [{"partitions": 3}]}), "spec.cluster.topics[0].name: Required value"),
    (
        of(cluster={"switches": ["pre-vote"]}),
        'spec.cluster.switches in body must be of type object: "array"',
    ),
    (of(sched=[]), 'unknown field "spec.sched"'),
    (of(workload={"acks": 2}), "spec.workload.acks: expected all, 1 or 0"),
    (of(workload={"acks": "most"}), "spec.workload.acks: expected all, 1 or 0"),
    (of(workload={"rate": 200}), 'spec.workload.rate in body must be of type string: "integer"'),
    (of(workload={"rate": "200"}), 'spec.workload.rate: Invalid value: "200"'),
    (of(workload={"producers": -1}), "spec.workload.producers in body should be greater than or equal to 0"),
    (of(assertions=[{"name": "a", "during": "fault"}]), "assertions: expected use, or name, promql and during"),
    (
        of(assertions=[{**ASSERTION, "always": True, "never": True}]),
        "spec.assertions[0]: expected at most one of always, never, eventually",
    ),
    (of(assertions=[{**ASSERTION, "during": "now"}]), 'supported values: "steady", "fault", "recovered"'),
    (of(assertions=[{**ASSERTION, "name": "Not A Name"}]), 'spec.assertions[0].name: Invalid value: "Not A Name"'),
    (of(prometheus={"url": "prometheus:9090"}), 'spec.prometheus.url: Invalid value: "prometheus:9090"'),
    (of(checks=[]), "spec.checks in body should have at least 1 items"),
    (of(expect=[{"verdict": "ok"}]), 'Unsupported value: "ok": supported values: "pass", "fail", "inconclusive"'),
    (of(expect=[{"when": {}}]), "spec.expect[0].verdict: Required value"),
    (step(inject={"kil": {"target": {"broker": 0}}}), f'unknown field "{INJECT}.kil"'),
    (step(inject={}), f"{INJECT}: expected exactly one of {FAULTS}"),
    (step(inject={"name": "x"}), f"{INJECT}: expected exactly one of {FAULTS}"),
    (step(inject={**KILL, "stop": {"target": {"broker": 0}}}), f"{INJECT}: expected exactly one of {FAULTS}"),
    (step(inject={"kill": {}}), f"{INJECT}.kill.target: Required value"),
    (
        step(inject={"kill": {"target": {}}}),
        f"{INJECT}.kill.target: expected exactly one of broker, controller",
    ),
    (step(inject={"kill": {"target": {"one": "nodes"}}}), 'supported values: "brokers", "controllers"'),
    (step(inject={"kill": {"target": {"broker": -1}}}), "broker in body should be greater than or equal to 0"),
    (step(inject={**KILL, "name": "Not A Name"}), f'{INJECT}.name: Invalid value: "Not A Name"'),
    (step(inject={**KILL, "for": 30}), f"{INJECT}.for: {DURATION}"),
    (step(inject={"partition": {"between": [{"broker": 0}]}}), "between in body should have at least 2 items"),
    (
        step(inject={"partition": {"isolate": {"broker": 0}, "shape": "halves"}}),
        f"{INJECT}.partition: expected exactly one of between, isolate, shape",
    ),
    (step(wait="1s", inject=KILL), "spec.schedule[0]: expected exactly one of inject, heal, wait, await, holds"),
    (step(wait=5), f"spec.schedule[0].wait: {DURATION}"),
    (step(**{"await": {"acked": {"atLeast": 1}}}), "spec.schedule[0].await.within: Required value"),
    (step(**{"await": {"within": "1s"}}), "spec.schedule[0].await: expected exactly one of isr, leader, broker"),
    (
        step(**{"await": {"isr": {"partition": "orders", "size": 1}, "within": "1s"}}),
        'spec.schedule[0].await.isr.partition: Invalid value: "orders"',
    ),
    (
        step(**{"await": {"isr": {"partition": "orders-0"}, "within": "1s"}}),
        "spec.schedule[0].await.isr: expected exactly one of equals, includes, excludes, size",
    ),
    (of(schedule=[{"wait": "1s"}] * 65), "spec.schedule: Too many: 65: must have at most 64 items"),
]
CLUSTERS = [
    ({"controllers": 2}, "spec: controllers must be odd"),
    ({"controllers": 7}, "spec.controllers in body should be less than or equal to 5"),
    ({"brokers": 0}, "spec.brokers in body should be greater than or equal to 1"),
    ({"mode": "zk"}, 'Unsupported value: "zk": supported values: "kraft", "zookeeper"'),
    ({"zookeepers": 3}, "spec: zookeepers: mode kraft has no ZooKeeper servers"),
    ({"zookeeperImage": "a:1"}, "spec: zookeeperImage: mode kraft has no ZooKeeper servers"),
    ({"mode": "zookeeper", "controllers": 3}, "spec: controllers: mode zookeeper has none"),
    ({"mode": "zookeeper", "zookeepers": 6}, "spec.zookeepers in body should be less than or equal to 5"),
    ({"mode": "zookeeper", "metadataVersion": "3.5"}, "spec: metadataVersion: mode zookeeper has none"),
    ({"mode": "zookeeper", "security": {}}, "spec: security: mode zookeeper has no TLS between brokers and ZooKeeper"),
    ({"security": {"mechanism": "GSSAPI"}}, 'supported values: "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"'),
    ({"fileSystem": "zfs"}, 'Unsupported value: "zfs": supported values: "ext4", "xfs"'),
    ({"replicas": 3}, 'unknown field "spec.replicas"'),
    ({"image": "x" * 501}, "spec.image: Too long: may not be more than 500"),
    ({"imagePullPolicy": "Sometimes"}, 'supported values: "Always", "IfNotPresent", "Never"'),
    ({"storage": {"size": "big"}}, 'spec.storage.size: Invalid value: "big"'),
    ({"storage": {"whenDeleted": "Keep"}}, 'supported values: "Delete", "Retain"'),
    ({"resources": {"cpu": -1}}, "spec.resources.cpu in body should be greater than or equal to 0"),
    ({"resources": {"cpu": 0.5}}, 'spec.resources.cpu in body must be of type integer,string: "number"'),
    ({"topics": [{"name": "t", "partitions": 0}]}, "spec.topics[0].partitions in body should be greater than or equal"),
    ({"config": "min.insync.replicas=2"}, 'spec.config in body must be of type object: "string"'),
]
CASES = [("ChaosExperiment", *one) for one in EXPERIMENTS] + [("LogCluster", *one) for one in CLUSTERS]


@pytest.mark.parametrize(("kind", "spec", "words"), CASES, ids=[f"{one[0]}: {one[2][:60]}" for one in CASES])
def test_it_is_refused_in_words_and_not_stored(
    kind: str, spec: dict[str, Any], words: str, submit: Any, kube_api: Any
) -> None:
    made = {"apiVersion": "highwater.dev/v1alpha1", "kind": kind, "metadata": {"name": "bad"}, "spec": spec}
    code, answer = submit(made)
    assert code in (400, 422)
    # kubectl prints each cause: field, kind of mistake, words.
    said = answer["message"].replace('Invalid value: "object": ', "").replace('Invalid value: "": ', "")
    assert words in said
    assert kube_api.get("highwater.dev/v1alpha1", kind, "bad", "default") is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"controllers": 5}, "spec: controllers cannot be changed: the voters of a quorum are fixed when it is made"),
        ({"storage": {"size": "2Gi"}}, "spec: storage cannot be changed: make a new LogCluster and move topics there"),
        ({"storage": {"crashable": True}}, "spec: storage cannot be changed"),
    ],
)
def test_what_of_a_cluster_cannot_be_changed(change: dict[str, Any], words: str, submit: Any, change_spec: Any) -> None:
    made = {"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": {"name": "demo"}, "spec": {}}
    assert submit(made)[0] == 201
    code, answer = change_spec("LogCluster", "demo", change)
    assert code == 422
    assert words in answer["message"].replace('Invalid value: "object": ', "")


@pytest.mark.parametrize(
    ("spec", "change", "words"),
    [
        ({}, {"mode": "zookeeper"}, "mode cannot be changed"),
        ({"mode": "zookeeper"}, {"zookeepers": 5}, "zookeepers cannot be changed"),
        ({"mode": "zookeeper", "zookeepers": 1}, {"zookeepers": None}, "zookeepers cannot be changed"),
        ({"controllers": 1}, {"controllers": None}, "controllers cannot be changed"),
        ({"controllers": 3}, {"controllers": None}, ""),  # an absent count means three
        ({"mode": "zookeeper"}, {"zookeepers": 3}, ""),
        ({}, {"runtime": "apache-kafka", "version": "3.4.1"}, "runtime and version cannot be changed"),
        (
            {"runtime": "apache-kafka", "version": "3.4.1"},
            {"version": "3.5.2"},
            "runtime and version cannot be changed",
        ),
        ({"runtime": "apache-kafka", "version": "3.4.1"}, {"version": None}, "version: expected a release"),
        ({}, {"security": {}}, "security cannot be turned on or off, and its mechanism cannot be changed"),
        ({"security": {}}, {"security": None}, "security cannot be turned on or off"),
        ({"security": {}}, {"security": {"mechanism": "PLAIN"}}, "its mechanism cannot be changed"),
        ({"security": {}}, {"security": {"networkPolicyPeers": []}}, ""),
    ],
)
def test_what_keeps_the_metadata_is_fixed(
    spec: dict[str, Any], change: dict[str, Any], words: str, submit: Any, change_spec: Any
) -> None:
    made = {"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": {"name": "demo"}, "spec": spec}
    assert submit(made)[0] == 201
    code, answer = change_spec("LogCluster", "demo", change)
    assert code == (422 if words else 200)
    assert words in answer.get("message", "")


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"cluster": {"switches": {"replica-epoch-check": True}}},  # without a type, and compared all the same
        {"cluster": {"config": {"min.insync.replicas": 2}}},
        {"schedule": [{"wait": "1s"}]},
        {"schedule": [{"parallel": [[{"wait": "2s"}]]}]},
    ],
)
def test_nothing_of_an_experiment_can_be_changed(change: dict[str, Any], submit: Any, change_spec: Any) -> None:
    spec = of(schedule=[{"parallel": [[{"wait": "1s"}]]}])
    spec["cluster"] |= {"switches": {"replica-epoch-check": False}, "config": {"min.insync.replicas": 1}}
    made = {"apiVersion": "highwater.dev/v1alpha1", "kind": "ChaosExperiment", "metadata": {"name": "x"}, "spec": spec}
    assert submit(made)[0] == 201
    code, answer = change_spec("ChaosExperiment", "x", change)
    assert code == 422
    assert "an experiment cannot be changed: delete it and apply it again" in answer["message"]
    assert change_spec("ChaosExperiment", "x", {"seed": 0})[0] == 200  # what it is already
