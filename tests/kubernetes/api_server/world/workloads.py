"""Deployments, ReplicaSets and DaemonSets: enough for what an operator is installed with to come up and be waited for.

A Deployment changes over from one ReplicaSet to the next in one step (``Recreate``: once the old pods are gone); surges
and partitions are left out. A DaemonSet has one pod a node.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from ..schema import Json
from . import stateful_sets
from .stateful_sets import is_ready


@dataclass
class WorkloadPlan:
    """What to do now."""

    create: list[Json] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    scale: dict[str, int] = field(default_factory=dict)
    """ReplicaSets by name."""
    status: Json = field(default_factory=dict)


def _reference(owner: Json) -> Json:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod(owner: Json, labels: Json) -> Json:
    metadata = owner["metadata"]
    template = copy.deepcopy(owner["spec"]["template"])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{key: value for key, value in template["metadata"].items() if key == "annotations"},
            "labels": {**(template["metadata"].get("labels") or {}), **labels},
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "ownerReferences": [_reference(owner)],
        },
        "spec": template["spec"],
    }


def _there(pod: Json) -> bool:
    ended = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    return not ended and not pod["metadata"].get("deletionTimestamp")


def plan_replica_set(replica_set: Json, pods: list[Json]) -> WorkloadPlan:
    """As many pods as it says."""
    made, wanted = WorkloadPlan(), replica_set["spec"].get("replicas", 1)
    living = [pod for pod in pods if _there(pod)]
    ready = sum(is_ready(pod) for pod in living)
    made.status = {
        "observedGeneration": replica_set["metadata"]["generation"],
        "replicas": len(living),
        "fullyLabeledReplicas": len(living),
        "readyReplicas": ready,
        "availableReplicas": ready,
    }
    if not replica_set["metadata"].get("deletionTimestamp"):
        made.create = [_pod(replica_set, {}) for _ in range(wanted - len(living))]
        made.delete = [pod["metadata"]["name"] for pod in living[wanted:]]
    return made


def plan_deployment(deployment: Json, replica_sets: list[Json], now: str) -> WorkloadPlan:
    """The ReplicaSet of the newest template has all pods, the others none."""
    made, spec = WorkloadPlan(), deployment["spec"]
    revision = stateful_sets.revision_of(deployment)
    current = next((item for item in replica_sets if item["metadata"]["name"] == revision), None)
    old = [item for item in replica_sets if item["metadata"]["name"] != revision]
    figures = [(item.get("status") or {}) for item in replica_sets]
    newest = (current or {}).get("status") or {}
    ready = sum(item.get("readyReplicas", 0) for item in figures)
    made.status = {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": sum(item.get("replicas", 0) for item in figures),
        "updatedReplicas": newest.get("replicas", 0),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": max(0, spec["replicas"] - ready),
        "conditions": _conditions(deployment, ready, newest.get("replicas", 0), now),
    }
    if deployment["metadata"].get("deletionTimestamp"):
        return made
    made.scale = {item["metadata"]["name"]: 0 for item in old if item["spec"]["replicas"]}
    emptied = all(not (item.get("status") or {}).get("replicas") and not item["spec"]["replicas"] for item in old)
    if current is not None:
        if current["spec"]["replicas"] != spec["replicas"]:
            made.scale[revision] = spec["replicas"]
    elif emptied or spec["strategy"]["type"] != "Recreate":
        made.create = [_replica_set(deployment, revision)]
    return made


def _conditions(deployment: Json, ready: int, updated: int, now: str) -> list[Json]:
    before = {item["type"]: item for item in (deployment.get("status") or {}).get("conditions") or ()}
    wanted = deployment["spec"]["replicas"]
    done = ready >= wanted and updated >= wanted
    found = []
    for kind, holds, reason in (
        ("Available", ready >= wanted, "MinimumReplicasAvailable" if ready >= wanted else "MinimumReplicasUnavailable"),
        ("Progressing", True, "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"),
    ):
        status = "True" if holds else "False"
        was = before.get(kind)
        if was is not None and (was["status"], was["reason"]) == (status, reason):
            found.append(was)
        else:
            times = {"lastTransitionTime": now, "lastUpdateTime": now}
            found.append({"type": kind, "status": status, "reason": reason, "message": reason, **times})
    return found


def _replica_set(deployment: Json, revision: str) -> Json:
    spec = copy.deepcopy(deployment["spec"])
    mark = {"pod-template-hash": revision.rpartition("-")[2]}
    template, selector = spec["template"], spec["selector"]
    template["metadata"]["labels"] = {**(template["metadata"].get("labels") or {}), **mark}
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **mark}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": revision,
            "namespace": deployment["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "ownerReferences": [_reference(deployment)],
        },
        "spec": {"replicas": spec["replicas"], "selector": selector, "template": template},
    }


def plan_daemon_set(daemon_set: Json, pods: list[Json], nodes: list[str]) -> WorkloadPlan:
    """One pod a node, from the newest template unless it is ``OnDelete``."""
    made = WorkloadPlan()
    revision = stateful_sets.revision_of(daemon_set).rpartition("-")[2]
    living = {pod["spec"].get("nodeName"): pod for pod in pods if _there(pod)}
    updated = [pod for pod in living.values() if _mark(pod) == revision]
    ready = sum(is_ready(pod) for pod in living.values())
    made.status = {
        "observedGeneration": daemon_set["metadata"]["generation"],
        "currentNumberScheduled": len(living),
        "desiredNumberScheduled": len(nodes),
        "updatedNumberScheduled": len(updated),
        "numberMisscheduled": 0,
        "numberReady": ready,
        "numberAvailable": ready,
        "numberUnavailable": len(nodes) - ready,
    }
    if daemon_set["metadata"].get("deletionTimestamp"):
        return made
    taken = {pod["spec"].get("nodeName") for pod in pods}
    for node in nodes:
        if node not in taken:
            pod = _pod(daemon_set, {"controller-revision-hash": revision})
            # The real controller leaves binding to the scheduler, by an affinity that fits one node only.
            pod["spec"]["nodeName"] = node
            made.create.append(pod)
    if daemon_set["spec"]["updateStrategy"]["type"] == "RollingUpdate" and ready == len(nodes):
        behind = [pod for pod in living.values() if _mark(pod) != revision]
        made.delete = [pod["metadata"]["name"] for pod in behind[:1]]
    return made


def _mark(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get("controller-revision-hash", ""))
