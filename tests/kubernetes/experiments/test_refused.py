"""What the schema lets pass and nobody could run: refused with reason and path, over at once, and nothing is made.

All of a kind are applied together, so that one operator's word on each costs no more than on one.
"""

from __future__ import annotations

from typing import Any

from experiments.conftest import KIND, SYSTEM, experiment, until

NOT_MADE = [
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
]
ORDERS = {"topics": [{"name": "orders"}]}


def cluster(**made: Any) -> dict[str, Any]:
    return {"cluster": {**ORDERS, **made}}


def steps(*made: dict[str, Any]) -> dict[str, Any]:
    return {"schedule": list(made)}


def nested(levels: int) -> dict[str, Any]:
    step: dict[str, Any] = {"wait": "1s"}
    for _ in range(levels):
        step = {"parallel": [[step]]}
    return steps(step)


EXPERIMENTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "switch-name": (cluster(switches={"replica-epoch": False}), "Invalid", "switches.replica-epoch: unknown"),
    "switch-value": (
        cluster(switches={"replica-epoch-check": "maybe"}),
        "Invalid",
        "spec.cluster.switches.replica-epoch-check:",
    ),
    "switch-object": (
        cluster(switches={"replica-epoch-check": {"on": True}}),
        "Invalid",
        "spec.cluster.switches.replica-epoch-check: expected text",
    ),
    "switch-of-the-other-mode": (
        cluster(switches={"controller-epoch-fencing": False}),
        "Invalid",
        "spec.cluster.switches.controller-epoch-fencing:",
    ),
    "clock-of-a-zookeeper": (
        {
            **cluster(mode="zookeeper"),
            **steps({"inject": {"clockSkew": {"target": {"zookeeper": 0}, "offset": "1s"}}}),
        },
        "NotPossible",
        "spec.schedule: clockSkew happens inside a node of ours",
    ),
    "messages-to-a-zookeeper": (
        {
            **cluster(mode="zookeeper"),
            **steps({"inject": {"hold": {"rpc": "Fetch", "to": {"zookeeper": 0}}}}),
        },
        "NotPossible",
        "spec.schedule: hold happens inside a node of ours",
    ),
    "votes-of-zookeepers": (
        {**cluster(mode="zookeeper"), **steps({"inject": {"drop": {"rpc": "Vote"}}})},
        "NotPossible",
        "spec.schedule: drop happens inside a node of ours",
    ),
    "disk-of-any-zookeeper": (
        {**cluster(mode="zookeeper"), **steps({"random": {"for": "1s", "every": "1s", "faults": {"diskStall": 1}}})},
        "NotPossible",
        "spec.schedule: diskStall happens inside a node of ours",
    ),
    "commands": (
        steps({"parallel": [[{"inject": {"external": {"inject": ["a"], "heal": ["b"], "probe": ["c"]}}}]]}),
        "NotPossible",
        "external needs commands of the user's, which kubernetes does not have: they run on the user's own machine",
    ),
    "controllers-of-zookeeper-mode": (
        cluster(mode="zookeeper", controllers=3),
        "Invalid",
        "spec.cluster.controllers: mode zookeeper has none",
    ),
    "anomaly": (
        {"expect": [{"verdict": "fail", "anomalies": ["lost-wrote"]}]},
        "Invalid",
        "spec.expect[0].anomalies[0]:",
    ),
    "property": (cluster(config={"min.insync.replica": 1}), "Invalid", "did you mean 'min.insync.replicas'"),
    "property-reserved": (cluster(config={"node.id": 7}), "Invalid", "spec.cluster.config.node.id: unknown property"),
    "even": (cluster(controllers=2), "Invalid", "spec.cluster.controllers: expected an odd number, found 2"),
    "version": (cluster(metadataVersion="9.9"), "Invalid", "spec.cluster.metadataVersion:"),
    "runtime": (
        cluster(
            runtime="apache-kafka",
            mode="zookeeper",
            version="2.0.1",
            topics=[{"name": "orders", "replicationFactor": 3}],
        ),
        "NotSupported",
        "apache-kafka from 2.0.0 to 2.3.x needs Java 11.0.9, which no image has; found version 2.0.1",
    ),
    "no-cluster": (
        {"clusterRef": {"name": "nowhere"}, "cluster": None},
        "ClusterNotFound",
        "spec.clusterRef: LogCluster nowhere",
    ),
    "n" * 253: (
        {"clusterRef": {"name": "theirs"}, "cluster": None},
        "Invalid",
        "metadata.name: expected at most 200 characters",
    ),
    "no-topic": ({"cluster": {}}, "Invalid", "spec.cluster.topics: the workload writes"),
    "idempotence": ({"workload": {"acks": 1}}, "Invalid", "spec.workload.acks: idempotence needs acks: all"),
    "broker": (
        steps({"inject": {"kill": {"target": {"broker": 3}}}}),
        "Invalid",
        "spec.schedule[0].inject.kill.target.broker: there is no broker 3",
    ),
    "rpc": (steps({"inject": {"hold": {"rpc": "AlterPartitio"}}}), "Invalid", "spec.schedule[0].inject.hold.rpc:"),
    "prometheus": (
        {"prometheus": {"url": "http://prometheus.monitoring.svc:9090"}},
        "Invalid",
        "spec.prometheus: is asked for assertions only",
    ),
    "no-step": (steps({}), "Invalid", "spec.schedule[0]: expected exactly one of inject, heal, wait"),
    "inner-field": (
        steps({"repeat": {"times": 2, "steps": [{"injekt": {}}]}}),
        "Invalid",
        "spec.schedule[0].repeat.steps[0].injekt: unknown field; did you mean 'inject'?",
    ),
    "deep": (nested(34), "Invalid", "spec.schedule: is nested too deeply: expected at most 100"),
    "promql": (
        {"assertions": [{"name": "one", "promql": "sum(", "during": "steady"}]},
        "Invalid",
        "spec.assertions[0].promql:",
    ),
    "check": ({"checks": ["al"]}, "Invalid", "spec.checks[0]:"),
    "with.dot": ({}, "Invalid", "metadata.name: expected at most 41"),
    "x" * 42: ({}, "Invalid", "metadata.name: expected at most 41"),
    "taken": ({}, "ClusterNameTaken", "LogCluster taken is there"),
}  # fmt: skip


def made(stage: Any) -> list[str]:
    kept = {("v1", "ConfigMap", "kube-root-ca.crt"), ("v1", "Service", "kubernetes")}
    found = [
        (version, kind, one["metadata"]["name"])
        for version, kind in NOT_MADE
        for namespace in ("default", SYSTEM)
        for one in stage.api.objects(version, kind, namespace)
    ]
    pods = [one["metadata"]["name"] for one in stage.api.objects("v1", "Pod", "default")]
    return [f"{kind} {name}" for version, kind, name in found if (version, kind, name) not in kept] + pods


def warned(stage: Any) -> set[str]:
    events = [one for one in stage.api.objects("v1", "Event", "default") if one["type"] == "Warning"]
    about = [one["involvedObject"] for one in events]
    return {one["name"] for one in about if one["kind"] == "ChaosExperiment"}


def test_experiments(stage: Any) -> None:
    theirs = {"apiVersion": KIND[0], "kind": "LogCluster", "metadata": {"name": "taken", "namespace": "default"}}
    stage.api.create({**theirs, "spec": {"runtime": "apache-kafka", "version": "2.8.2"}})
    for name, (spec, _, _) in EXPERIMENTS.items():
        body = experiment(name, **{**cluster(), **spec})
        body["spec"] = {key: value for key, value in body["spec"].items() if value is not None}
        stage.api.create(body)
    stage.start()
    until(lambda: all(stage.phase(name) for name in EXPERIMENTS), "a word on each", 60.0)
    said = {name: stage.condition("Accepted", name) for name in EXPERIMENTS}
    told = {name: (one["status"], one["reason"]) for name, one in said.items()}
    assert told == {name: ("False", reason) for name, (_, reason, _) in EXPERIMENTS.items()}
    assert {name: one["message"] for name, one in said.items() if EXPERIMENTS[name][2] not in one["message"]} == {}
    for name in EXPERIMENTS:
        status = stage.status(name)
        assert (status["phase"], status["verdict"], status["observedGeneration"]) == ("Refused", "inconclusive", 1)
        assert stage.condition("Completed", name)["status"] == "True"
        assert status["reason"] == f"not accepted: {said[name]['message']}"[:2000]
        assert "chaosexperiment/" not in status["reason"], "a path in the object, not a line of a file that nobody has"
        assert "finalizers" not in stage.get(name)["metadata"]
    assert made(stage) == []
    until(lambda: set(EXPERIMENTS) <= warned(stage), "an Event on each")
