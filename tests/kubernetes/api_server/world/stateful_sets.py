"""The StatefulSet controller: what should be done about a set, decided from the set and its pods.

As ``pkg/controller/statefulset`` of Kubernetes 1.34: pods by ordinal, claims from templates, ``OrderedReady`` and
``Parallel``, ``OnDelete`` and ``RollingUpdate``. With ``OnDelete`` new pods always come from the newest template, and
``status.currentRevision`` stays what it was: that is how the real one behaves, and operators must not wait for it.
One simplification: old templates are not kept, so pods below a ``partition`` come back from the newest one too.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from ..schema import Json

_DIGITS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass
class Plan:
    """What to do now; the rest follows from what comes of it."""

    claims: list[Json] = field(default_factory=list)
    create: list[Json] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    delete_claims: list[str] = field(default_factory=list)
    status: Json = field(default_factory=dict)


def revision_of(stateful_set: Json) -> str:
    """The name of the template: ``<set>-<hash>``."""
    text = json.dumps(stateful_set["spec"]["template"], sort_keys=True, separators=(",", ":"))
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    letters = ""
    for _ in range(10):
        number, digit = divmod(number, len(_DIGITS))
        letters += _DIGITS[digit]
    return f"{stateful_set['metadata']['name']}-{letters}"


def is_ready(pod: Json) -> bool:
    """Running with condition Ready."""
    status = pod.get("status") or {}
    return status.get("phase") == "Running" and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in status.get("conditions") or ()
    )


def _revision(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get("controller-revision-hash", ""))


def _ending(pod: Json) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _ended(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def plan(stateful_set: Json, pods: dict[int, Json], has_claim: Callable[[str], bool]) -> Plan:
    """``pods`` by ordinal; ``has_claim`` says whether a PersistentVolumeClaim is there."""
    spec, made = stateful_set["spec"], Plan()
    update = revision_of(stateful_set)
    current = (stateful_set.get("status") or {}).get("currentRevision") or update
    first = (spec.get("ordinals") or {}).get("start", 0)
    wanted = range(first, first + spec["replicas"])
    one_by_one = spec["podManagementPolicy"] == "OrderedReady"
    made.status = _status(stateful_set, pods, wanted, current, update)
    if stateful_set["metadata"].get("deletionTimestamp"):
        return made
    waiting = False
    for ordinal in wanted:
        pod = pods.get(ordinal)
        if pod is None:
            made.claims += [
                claim for claim in _claims(stateful_set, ordinal) if not has_claim(claim["metadata"]["name"])
            ]
            made.create.append(_pod(stateful_set, ordinal, update))
        elif _ended(pod) and not _ending(pod):
            made.delete.append(pod["metadata"]["name"])
        if one_by_one and (pod is None or not is_ready(pod) or _ending(pod)):
            waiting = True
            break
    if waiting:
        return made
    condemned = sorted((ordinal for ordinal in pods if ordinal not in wanted), reverse=True)
    for ordinal in condemned:
        if not _ending(pods[ordinal]):
            made.delete.append(pods[ordinal]["metadata"]["name"])
            if spec["persistentVolumeClaimRetentionPolicy"]["whenScaled"] == "Delete":
                made.delete_claims += [claim["metadata"]["name"] for claim in _claims(stateful_set, ordinal)]
        if one_by_one:
            return made
    made.delete += _outdated(stateful_set, pods, wanted, update)
    return made


def _outdated(stateful_set: Json, pods: dict[int, Json], wanted: range, update: str) -> list[str]:
    """With ``RollingUpdate``: the highest pod that is behind, once all above it are ready."""
    strategy = stateful_set["spec"]["updateStrategy"]
    if strategy["type"] != "RollingUpdate":
        return []
    partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    for ordinal in sorted(wanted, reverse=True):
        pod = pods.get(ordinal)
        if ordinal < wanted.start + partition or pod is None:
            return []
        if _revision(pod) != update and not _ending(pod):
            return [pod["metadata"]["name"]]
        if not is_ready(pod) or _ending(pod):
            return []
    return []


def _status(stateful_set: Json, pods: dict[int, Json], wanted: range, current: str, update: str) -> Json:
    there = list(pods.values())
    living = [pod for pod in there if not _ending(pod)]
    ready = sum(is_ready(pod) for pod in there)
    updated = sum(_revision(pod) == update for pod in living)
    strategy = stateful_set["spec"]["updateStrategy"]["type"]
    if strategy == "RollingUpdate" and updated == len(wanted) and ready == len(wanted):
        current = update
    return {
        "observedGeneration": stateful_set["metadata"]["generation"],
        "replicas": len(there),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "currentReplicas": sum(_revision(pod) == current for pod in living),
        "updatedReplicas": updated,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": 0,
    }


def _claims(stateful_set: Json, ordinal: int) -> list[Json]:
    metadata = stateful_set["metadata"]
    found = []
    for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
        name = f"{template['metadata']['name']}-{metadata['name']}-{ordinal}"
        labels = {
            **(template["metadata"].get("labels") or {}),
            **(stateful_set["spec"]["selector"].get("matchLabels") or {}),
        }
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": metadata["namespace"], "labels": labels},
            "spec": copy.deepcopy(template["spec"]),
        }
        if stateful_set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete":
            claim["metadata"]["ownerReferences"] = [_reference(stateful_set)]
        found.append(claim)
    return found


def _reference(stateful_set: Json) -> Json:
    metadata = stateful_set["metadata"]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod(stateful_set: Json, ordinal: int, revision: str) -> Json:
    metadata, spec = stateful_set["metadata"], stateful_set["spec"]
    template = copy.deepcopy(spec["template"])
    name = f"{metadata['name']}-{ordinal}"
    labels = {
        **(template["metadata"].get("labels") or {}),
        "apps.kubernetes.io/pod-index": str(ordinal),
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": name,
    }
    pod_spec = template["spec"] | {"hostname": name, "subdomain": spec.get("serviceName", "")}
    claimed = {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates") or ()}
    pod_spec["volumes"] = [
        *(
            {"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{metadata['name']}-{ordinal}"}}
            for claim in sorted(claimed)
        ),
        *(volume for volume in pod_spec.get("volumes") or () if volume["name"] not in claimed),
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": labels,
            **({"annotations": template["metadata"]["annotations"]} if template["metadata"].get("annotations") else {}),
            "ownerReferences": [_reference(stateful_set)],
        },
        "spec": pod_spec,
    }
