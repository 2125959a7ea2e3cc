"""The StatefulSet controller: what to do about a set, decided from the set and its pods.

As ``pkg/controller/statefulset`` of Kubernetes 1.34, for what the operator makes: ``Parallel`` and ``OnDelete``. New
pods always come from the newest template, and ``status.currentRevision`` stays what it was: that is how the real
controller behaves, and operators must not wait for it.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass, field

from ..errors import Json


@dataclass
class Plan:
    """What to do now; the rest follows from what comes of it."""

    claims: list[Json] = field(default_factory=list)
    create: list[Json] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    status: Json = field(default_factory=dict)


def plan(stateful_set: Json, pods: dict[int, Json]) -> Plan:
    """``pods`` by ordinal. Claims are planned with their pod, whether they are there or not."""
    spec, made = stateful_set["spec"], Plan()
    policies = (spec["podManagementPolicy"], spec["updateStrategy"]["type"])
    if policies != ("Parallel", "OnDelete"):
        raise NotImplementedError(f"the miniature cluster does not know a StatefulSet with {policies}")
    update, wanted = _revision_of(stateful_set), range(spec["replicas"])
    made.status = _status(stateful_set, list(pods.values()), update)
    if "deletionTimestamp" in stateful_set["metadata"]:
        return made
    for ordinal in wanted:
        if ordinal not in pods:
            made.claims += _claims(stateful_set, ordinal)
            made.create.append(_pod(stateful_set, ordinal, update))
    for ordinal, pod in sorted(pods.items(), reverse=True):
        ended = pod.get("status", {}).get("phase") in ("Failed", "Succeeded")
        if (ended or ordinal not in wanted) and "deletionTimestamp" not in pod["metadata"]:
            made.delete.append(pod["metadata"]["name"])
    return made


def _revision_of(stateful_set: Json) -> str:
    """The name of the template: ``<set>-<hash>``."""
    text = json.dumps(stateful_set["spec"]["template"], sort_keys=True)
    return f"{stateful_set['metadata']['name']}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _status(stateful_set: Json, pods: list[Json], update: str) -> Json:
    current = stateful_set.get("status", {}).get("currentRevision", update)
    ready = sum(_is_ready(pod) for pod in pods)
    living = [pod["metadata"]["labels"] for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    revisions = [labels.get("controller-revision-hash") for labels in living]
    return {
        "observedGeneration": stateful_set["metadata"]["generation"],
        "replicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "currentReplicas": revisions.count(current),
        "updatedReplicas": revisions.count(update),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": 0,
    }


def _owners(stateful_set: Json) -> list[Json]:
    metadata = stateful_set["metadata"]
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": metadata["name"], "uid": metadata["uid"]}
    return [owner | {"controller": True, "blockOwnerDeletion": True}]


def _claims(stateful_set: Json, ordinal: int) -> list[Json]:
    metadata, spec, found = stateful_set["metadata"], stateful_set["spec"], []
    for template in spec.get("volumeClaimTemplates", ()):
        own = {"name": f"{template['metadata']['name']}-{metadata['name']}-{ordinal}"}
        labels = template["metadata"].get("labels", {}) | spec["selector"]["matchLabels"]
        own |= {"namespace": metadata["namespace"], "labels": labels}
        if spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete":
            own |= {"ownerReferences": _owners(stateful_set)}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": own}
        found.append(claim | {"spec": copy.deepcopy(template["spec"])})
    return found


def _pod(stateful_set: Json, ordinal: int, revision: str) -> Json:
    metadata, spec = stateful_set["metadata"], stateful_set["spec"]
    template, name = copy.deepcopy(spec["template"]), f"{metadata['name']}-{ordinal}"
    labels = template["metadata"].get("labels", {}) | {
        "apps.kubernetes.io/pod-index": str(ordinal),
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": name,
    }
    own = {"name": name, "namespace": metadata["namespace"], "labels": labels}
    own |= {"annotations": template["metadata"].get("annotations", {}), "ownerReferences": _owners(stateful_set)}
    claimed = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", ())]
    volumes = [
        {"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{metadata['name']}-{ordinal}"}}
        for claim in claimed
    ]
    volumes += [volume for volume in template["spec"].get("volumes", ()) if volume["name"] not in claimed]
    pod_spec = template["spec"] | {"hostname": name, "subdomain": spec["serviceName"], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": pod_spec}
