"""The rights that are shipped suffice for a LogCluster's whole life, and nothing is asked for in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from highwater_operator.main import Options

RBAC = Path(__file__).parents[3] / "manifests" / "base" / "rbac" / "operator.yaml"
ACCOUNT = "highwater-system/highwater-operator"
OF_LOG_CLUSTERS = (
    "logclusters",
    "serviceaccounts",
    "services",
    "configmaps",
    "statefulsets",
    "poddisruptionbudgets",
    "networkpolicies",
    "pods",
    "events",
    "customresourcedefinitions",
)
ELSEWHERE = frozenset({"delete logclusters", "update logclusters/finalizers"})
"""For experiments; for API servers with OwnerReferencesPermissionEnforcement, which the stand-in has not."""


def manifests() -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(RBAC.read_text()) if one is not None]


def life(stage: Any, until: Any) -> None:
    """Everything that the operator does for LogClusters."""
    stage.create(brokers=4, topics=[{"name": "orders"}], storage={"crashable": True, "size": "128Mi"})
    stage.until_settled()
    stage.patch("demo", config={"log.retention.ms": 1000})
    stage.until_settled()
    stage.patch("demo", brokers=3)
    stage.until_settled()
    stage.world.refuse_pod = lambda pod: "is forbidden: exceeded quota"
    stage.patch("demo", brokers=4)
    until(lambda: stage.condition("Degraded")["reason"] == "PodsNotCreated", "the refusal to be told")
    stage.world.refuse_pod = lambda pod: None
    stage.until_settled()
    stage.api.patch("v1", "Service", "demo-bootstrap", "default", {"spec": {"selector": {"a": "b"}}})
    stage.until_settled()


def test_the_rights_suffice(stage: Any, wait_for: Any) -> None:
    user = stage.api.authorizer.add_manifests("secret", ACCOUNT, manifests())
    stage.start(token="secret")
    assert stage.ended is None
    life(stage, wait_for)
    wait_for(lambda: stage.events("DriftRepaired"), "drift to be repaired")
    assert [str(one) for one in user.refused] == []
    asked = {f"{one.verb} {one.resource}" for one in user.asked if one.plural}
    granted = {
        f"{verb} {resource}"
        for one in manifests()
        if one["kind"] == "ClusterRole"
        for rule in one["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if resource.partition("/")[0] in OF_LOG_CLUSTERS
    }
    assert sorted(granted - asked - ELSEWHERE) == []


def test_one_namespace_is_enough(stage: Any) -> None:
    """With ``--namespace``, a Role in that namespace does, but for the definitions, which are in none."""
    definitions = [one for one in manifests() if one["metadata"]["name"] == "highwater-operator-definitions"]
    role = [one for one in manifests() if one["kind"] == "ClusterRole" and one not in definitions]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "highwater-operator", "namespace": "default"},
        "roleRef": {"kind": "ClusterRole", "name": role[0]["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "highwater-operator", "namespace": "highwater-system"}],
    }
    user = stage.api.authorizer.add_manifests("secret", ACCOUNT, [*role, binding, *definitions])
    stage.start(token="secret", options=Options(("default",), liveness=None, metrics_port=None))
    stage.create(topics=[{"name": "orders"}])
    stage.until_settled()
    assert [str(one) for one in user.refused] == []


def test_an_operator_without_definitions_says_what_to_do(bare_kube_api: Any, make_stage: Any) -> None:
    made = make_stage(bare_kube_api, None)
    made.start()
    made.stop()
    assert "the API server does not know logclusters.highwater.dev: apply manifests/base/crds first" in str(made.ended)
