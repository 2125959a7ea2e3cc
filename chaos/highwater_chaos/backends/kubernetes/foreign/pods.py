"""Which pod is which node: by the addresses that brokers advertise, then by the indexes of pods.

An address names its pod by the pod's IP address, or by its name in a headless Service (``my-0.my-brokers.ns.svc``).
What is not found so (controllers, which advertise nothing that clients see; brokers behind load balancers) is matched
by the index of the pod (the ordinal of a StatefulSet, or the number at the end of its name, which Strimzi makes the
node id), if all that are left agree (id = index + one constant) and no address names another pod. That is a guess: a
fault must show that it is the broker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.kube.kinds import Json
from highwater_runtime.ports import Endpoint

_INDEX = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class PodOf:
    """The pod of a node, and an address in the network of pods at which the node listens. ``guessed``: a broker's by
    its index alone."""

    pod: Json
    listener: Endpoint
    guessed: bool = False


def matched(
    pods: Sequence[Json], brokers: Mapping[int, Endpoint], voters: Sequence[int], container: str
) -> dict[int, PodOf]:
    """The pods of all nodes, by node id; a voter that is a broker too has one.

    Raises:
        ClusterError: a broker's pod is not known. Of controllers that are nowhere among ``pods`` nothing is said.
    """
    found: dict[int, PodOf] = {}
    left = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    for broker, endpoint in brokers.items():
        named = [pod for pod in left if _is_at(pod, endpoint.host)]
        if len(named) == 1:
            left.remove(named[0])
            found[broker] = PodOf(named[0], Endpoint(_ip(named[0]), endpoint.port))
    for ids in ([one for one in brokers if one not in found], [one for one in voters if one not in brokers]):
        by_index = _by_index(ids, left)
        if any(_contradicts(brokers[one].host, pod, pods) for one, pod in by_index.items() if one in brokers):
            continue
        for node, pod in by_index.items():
            left.remove(pod)
            found[node] = PodOf(pod, Endpoint(_ip(pod), _port(pod, container, brokers)), node in brokers)
    if missing := [f"broker {one} at {brokers[one]}" for one in brokers if one not in found]:
        names = ", ".join(f"{pod['metadata']['name']} ({_ip(pod) or 'no address'})" for pod in pods) or "none"
        raise ClusterError(
            f"spec.clusterRef: which pod is {', '.join(missing)}? Expected a pod of the address that it advertises, or"
            f" pods whose indexes follow the ids and that no address contradicts; found pods {names}"
        )
    return found


def index_of(pod: Json) -> int | None:
    """The ordinal of a pod; None: it has none."""
    text = str((pod["metadata"].get("labels") or {}).get(_INDEX) or pod["metadata"]["name"].rpartition("-")[2])
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def container_of(pod: Json, name: str) -> Json | None:
    """The container of this name in a pod's spec."""
    return next((one for one in (pod.get("spec") or {}).get("containers") or [] if one.get("name") == name), None)


def running(pod: Json, container: str) -> str | None:
    """The id of a pod's container, if it runs."""
    for one in (pod.get("status") or {}).get("containerStatuses") or []:
        if one.get("name") == container and "running" in (one.get("state") or {}):
            return str(one.get("containerID") or "") or None
    return None


def _by_index(ids: Sequence[int], pods: Sequence[Json]) -> dict[int, Json]:
    indexed = {index: pod for pod in pods if (index := index_of(pod)) is not None}
    if not ids or len(indexed) != len(pods):
        return {}
    # Other pods may be among them: brokers' and controllers' ordinals begin with 0 each.
    exact = {one: indexed[one] for one in ids if one in indexed}
    if len(exact) == len(ids):
        return exact
    offsets = {wanted - index for wanted, index in zip(sorted(ids), sorted(indexed), strict=False)}
    if len(ids) == len(indexed) and len(offsets) == 1:
        return dict(zip(sorted(ids), (indexed[index] for index in sorted(indexed)), strict=True))
    return {}


def _is_at(pod: Json, host: str) -> bool:
    if host == _ip(pod):
        return True
    first, service, namespace = (*host.rstrip(".").split("."), "", "")[:3]
    subdomain = (pod.get("spec") or {}).get("subdomain", service)
    return bool(service) and (first, service) == (_hostname(pod), subdomain) and namespace in ("", _namespace(pod))


def _contradicts(host: str, pod: Json, pods: Sequence[Json]) -> bool:
    """Whether an address that is not a pod's own says that it is of something else: of another pod of ``pods``, or in
    the name of a headless Service's pod (``pod.service.namespace.svc``) or of a Service (``service.namespace.svc``)."""
    parts = host.rstrip(".").split(".")
    if any(host == _ip(one) or parts[0] in (_hostname(one), one["metadata"]["name"]) for one in pods if one is not pod):
        return True
    if parts[3:4] == ["svc"]:
        return True
    if parts[2:3] == ["svc"]:
        return parts[1] != _namespace(pod)
    subdomain = (pod.get("spec") or {}).get("subdomain")
    return len(parts) == 3 and parts[1] == subdomain and parts[2] != _namespace(pod)


def _hostname(pod: Json) -> str:
    return str((pod.get("spec") or {}).get("hostname") or pod["metadata"]["name"])


def _namespace(pod: Json) -> str:
    return str(pod["metadata"].get("namespace") or "default")


def _ip(pod: Json) -> str:
    return str((pod.get("status") or {}).get("podIP") or "")


def _port(pod: Json, container: str, brokers: Mapping[int, Endpoint]) -> int:
    ports = (container_of(pod, container) or {}).get("ports") or []
    named = [int(one["containerPort"]) for one in ports if one.get("protocol", "TCP") == "TCP"]
    return named[0] if named else next(iter(brokers.values())).port
