"""The order in which a deleted LogCluster ends: brokers first, then controllers or ZooKeeper servers.

A broker's controlled shutdown asks the controller to move its leaderships away. If no controller is left, the broker
waits for the whole of ``controlled.shutdown.timeout.ms``. So does Apache Kafka's (3.9, 4.0): ``BrokerLifecycleManager``
repeats its heartbeat until ``BrokerServer.shutdown`` gives up, by default after five minutes.

Kubernetes deletes an object when none of its owners is left. So the StatefulSet and the headless Service of the
controllers (or ZooKeeper servers) name three kinds of owners: the LogCluster, as everything does, and the brokers'
StatefulSet and pods besides. When the LogCluster is deleted, the brokers' StatefulSet goes at once; each broker's pod
exists until its process has ended; and only when the last one is gone does Kubernetes delete the controllers.

No finalizer does this, so nothing waits for the operator: the order holds while it is not running, too. At worst the
references are out of date (pods were replaced while no operator ran); then all pods end at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from highwater_chaos.kube.kinds import CLUSTER_LABEL, LOG_CLUSTER, POD, SERVICE, STATEFUL_SET, Json, Kind
from highwater_operator.objects.naming import ROLE_LABEL, Owner
from highwater_operator.reconcile.observation import PodView, SetView

_LAST_ROLES: Final = ("controller", "zookeeper")
_LAST_KINDS: Final = (STATEFUL_SET.kind, SERVICE.kind)


def after_brokers(manifest: Json, brokers: SetView | None, pods: Sequence[PodView]) -> Json:
    """Return the manifest with the brokers as further owners, if it must outlive them; otherwise as it is.

    ``brokers``: their StatefulSet (None: not created yet). ``pods``: all pods of the cluster.
    """
    metadata = manifest["metadata"]
    if manifest["kind"] not in _LAST_KINDS or metadata["labels"].get(ROLE_LABEL) not in _LAST_ROLES:
        return manifest
    references = [] if brokers is None else [_reference(STATEFUL_SET, brokers.name, brokers.uid)]
    references += [_reference(POD, pod.name, pod.uid) for pod in pods if pod.role == "broker"]
    return {**manifest, "metadata": {**metadata, "ownerReferences": [*metadata["ownerReferences"], *references]}}


def is_ending(found: Json, owner: Owner) -> bool:
    """Return whether an object outlives an earlier LogCluster of the same name: Kubernetes deletes it soon."""
    metadata = found["metadata"]
    others = [one for one in metadata.get("ownerReferences") or [] if not _was_same_name(one, owner)]
    return bool(
        metadata.get("labels", {}).get(CLUSTER_LABEL) == owner.name
        and metadata.get("labels", {}).get(ROLE_LABEL) in _LAST_ROLES
        and others
        and all(one["kind"] in (STATEFUL_SET.kind, POD.kind) and not one.get("controller") for one in others)
    )


def _was_same_name(reference: Json, owner: Owner) -> bool:
    kind, name = reference["kind"], reference["name"]
    return bool(kind == LOG_CLUSTER.kind and name == owner.name and reference["uid"] != owner.uid)


def _reference(kind: Kind, name: str, uid: str) -> Json:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid}
