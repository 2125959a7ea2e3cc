"""What somebody changes by hand goes back to what it should be; what others own stays theirs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from highwater_operator.objects.all import objects_of
from highwater_operator.objects.images import Images
from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.drift import difference, is_current, stamped
from highwater_operator.resources import LogClusterSpec

OBJECTS = {
    f"{one['kind']} {one['metadata']['name']}": stamped(one)
    for one in objects_of(Owner("demo", "default", "uid", LogClusterSpec()), Images())
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_itself(name: str) -> None:
    wanted = OBJECTS[name]
    assert difference(wanted, copy.deepcopy(wanted)) is None
    assert is_current(wanted, wanted)


def test_what_others_add_is_no_difference() -> None:
    wanted = OBJECTS["StatefulSet demo-broker"]
    live = copy.deepcopy(wanted)
    live["status"] = {"replicas": 3}
    live["metadata"]["labels"]["team"] = "logs"
    container = live["spec"]["template"]["spec"]["containers"][0]
    container["env"].insert(0, {"name": "INJECTED", "value": "1"})
    container["terminationMessagePath"] = "/dev/termination-log"
    live["spec"]["template"]["spec"]["containers"].insert(0, {"name": "sidecar", "image": "x"})
    assert difference(wanted, live) is None


def test_a_changed_field_is_named() -> None:
    wanted = OBJECTS["StatefulSet demo-broker"]
    live = copy.deepcopy(wanted)
    live["spec"]["replicas"] = 1
    assert difference(wanted, live) == "spec.replicas"
    live = copy.deepcopy(wanted)
    del live["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    assert difference(wanted, live) == "spec.template.spec.containers[0]"


def test_one_key_more_in_a_selector_is_a_difference() -> None:
    wanted = OBJECTS["Service demo-bootstrap"]
    live = copy.deepcopy(wanted)
    live["spec"]["selector"]["other"] = "x"
    assert difference(wanted, live) == "spec.selector"


def test_rules_of_a_network_policy_are_one_value() -> None:
    wanted = OBJECTS["NetworkPolicy demo-broker"]
    live = copy.deepcopy(wanted)
    live["spec"]["ingress"].append({"from": [{"podSelector": {}}]})
    assert difference(wanted, live) == "spec.ingress"


CHANGES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("v1", "Service", "demo-bootstrap", {"spec": {"selector": {"highwater.dev/cluster": "other"}}}),
    ("apps/v1", "StatefulSet", "demo-broker", {"spec": {"replicas": 1}}),
    ("v1", "ConfigMap", "demo-broker", {"data": {"demo-broker-0.properties": "node.id=7\n"}}),
    ("policy/v1", "PodDisruptionBudget", "demo-broker", {"spec": {"maxUnavailable": 3}}),
    ("networking.k8s.io/v1", "NetworkPolicy", "demo-controller", {"spec": {"ingress": [{}]}}),
    ("v1", "Service", "demo-brokers", {"metadata": {"labels": {"highwater.dev/cluster": None}}}),
]


def test_drift_is_repaired_and_what_is_deleted_comes_back(stage: Any, wait_for: Any) -> None:
    stage.serve()

    def kept(version: str, kind: str, name: str) -> Any:
        live = stage.api.get(version, kind, name, "default")
        return live and (live["metadata"]["labels"], live.get("spec"), live.get("data"))

    for *place, patch in CHANGES:
        before = kept(*place)
        stage.api.patch(*place, "default", patch)
        wait_for(lambda place=place, before=before: kept(*place) == before, f"the change of {place} to be undone")
    wait_for(lambda: stage.events("DriftRepaired"), "the repair to be told")
    stage.api.delete("v1", "Service", "demo-bootstrap", "default")
    wait_for(lambda: stage.api.get("v1", "Service", "demo-bootstrap", "default"), "the Service")
    until_told = lambda: "Service demo-bootstrap was missing" in [one["message"] for one in stage.events("Recreated")]  # noqa: E731
    wait_for(until_told, "the Event")
    stage.until_settled()


def test_fields_of_others_are_left_to_them(stage: Any, wait_for: Any) -> None:
    stage.serve()
    extra = {"metadata": {"annotations": {"mesh/inject": "no"}, "labels": {"team": "logs"}}}
    stage.api.patch("v1", "Service", "demo-bootstrap", "default", extra)
    stage.api.patch("v1", "Service", "demo-bootstrap", "default", {"spec": {"type": "NodePort"}})
    wait_for(
        lambda: stage.api.get("v1", "Service", "demo-bootstrap", "default")["spec"]["type"] == "ClusterIP", "repair"
    )
    live = stage.api.get("v1", "Service", "demo-bootstrap", "default")
    assert live["metadata"]["annotations"]["mesh/inject"] == "no"
    assert live["metadata"]["labels"]["team"] == "logs"
