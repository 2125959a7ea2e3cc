"""Which pods the agent may touch: on its own node, pods of LogClusters, and pods of namespaces that have opted in.

What pods and StatefulSets say about themselves decides nothing, because everybody who may write them may write it. A
pod is a LogCluster's if its controller is a StatefulSet of that name and uid, its name is the StatefulSet's with an
ordinal below the number of its replicas, which only one pod can have, the StatefulSet's controller is a LogCluster
that exists, and this one's status, which is the operator's to write, has that StatefulSet among those that the
operator made. Any other pod may be touched only if its namespace has the label ``highwater.dev/chaos: allowed``. The
API server is asked at each request. Faults in force are undone without it, so a namespace may lose its label
meanwhile.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any, Final, Protocol

import kubernetes

from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import API_VERSION, CHAOS_ALLOWED, CHAOS_LABEL, NAMESPACE, STATEFUL_SET
from highwater_chaos.machine.kernel.proc import groups_of
from highwater_operator.agent.orphans import Clusters
from highwater_operator.agent.pods import NODE_CONTAINER, Pod, Pods, controller_of
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import PodReference

_MOST_REMEMBERED: Final = 1000


class Namespaces(Protocol):
    """What decides beside the pod itself. Both raise ``RefusalError`` (503) if the API server does not answer."""

    def opted_in(self, namespace: str) -> str | None:
        """Return what the label of a namespace says; None: it has none."""

    def owner_of(self, namespace: str, stateful_set: str, uid: str) -> tuple[str, int] | None:
        """Return the uid of the LogCluster whose StatefulSet this is, by its own word, and the number of its replicas;
        None: it names none, or there is no such one."""


class Admission:
    """Decides for one agent. Any thread may call."""

    def __init__(self, node: str, pods: Pods, namespaces: Namespaces, clusters: Clusters) -> None:
        self._node = node
        self._pods = pods
        self._namespaces = namespaces
        self._clusters = clusters
        self._own: dict[str, None] = {}

    def injectable(self, reference: PodReference) -> Pod:
        """The pod that a fault is about, as the API server has it now.

        Raises:
            RefusalError: 404 there is none; 403 it must not be touched; 409 it has been replaced since; 422 it has no
                such container; 503 the API server does not answer.
        """
        pod = self._admitted(reference.namespace, reference.name, reference.uid, reference.container, again=True)
        return replace(pod, chosen_volume=reference.volume or "")

    def readable(self, namespace: str, name: str, uid: str | None, container: str | None, volume: str = "") -> Pod:
        """The pod that is to be looked at; a LogCluster's as last heard. Raises as :meth:`injectable` does."""
        return replace(self._admitted(namespace, name, uid, container, again=False), chosen_volume=volume)

    def _admitted(self, namespace: str, name: str, uid: str | None, container: str | None, *, again: bool) -> Pod:
        known = [] if again else [one for one in self._pods.known() if (one.namespace, one.name) == (namespace, name)]
        pod = known[0] if known else self._pods.read(namespace, name)
        place = f"{namespace}/{name}"
        if pod is None:
            raise RefusalError(404, f"there is no pod {place}", expected=f"pod {place}", found="none")
        pod = replace(pod, of_cluster=self._check(pod, again))
        if uid is not None and pod.uid.lower() != uid.lower():
            what = f"pod {place} has been replaced since"
            raise RefusalError(409, what, expected=f"uid {uid[:60]}", found=f"uid {pod.uid}")
        if container is None:
            container = next(iter(pod.containers)) if len(pod.containers) == 1 else NODE_CONTAINER
        if container not in pod.containers and pod.containers:
            what = f"pod {place} has no container {container[:80]}"
            raise RefusalError(422, what, expected="one of its containers", found=", ".join(sorted(pod.containers)))
        return replace(pod, chosen=container)

    def _check(self, pod: Pod, again: bool) -> bool:
        """Whether it is a LogCluster's. Raises ``RefusalError`` for one that must not be touched."""
        place = f"{pod.namespace}/{pod.name}"
        if pod.node != self._node:
            found = f"node {pod.node}" if pod.node else "no node yet"
            what = f"pod {place} does not live on this agent's node"
            raise RefusalError(403, what, expected=f"node {self._node}", found=found)
        if any(pod.uid.lower() in path.replace("_", "-") for path in groups_of(os.getpid())):
            raise RefusalError(403, f"pod {place} is this agent's own", expected="another pod", found=place)
        if not again and pod.uid in self._own:
            return True
        if self._is_of_a_cluster(pod):
            self._remember(pod.uid)
            return True
        found_label = self._namespaces.opted_in(pod.namespace)
        if found_label != CHAOS_ALLOWED:
            raise RefusalError(
                403,
                f"pod {place} is of no LogCluster, and its namespace does not allow faults",
                expected=f"kubectl label namespace {pod.namespace} {CHAOS_LABEL}={CHAOS_ALLOWED}",
                found="no such label" if found_label is None else f"{CHAOS_LABEL}={found_label[:63]}",
            )
        return False

    def _is_of_a_cluster(self, pod: Pod) -> bool:
        if pod.stateful_set is None:
            return False
        name, uid = pod.stateful_set
        ordinal = re.fullmatch(re.escape(name) + "-(0|[1-9][0-9]{0,8})", pod.name)
        if ordinal is None:
            return False
        owner = self._namespaces.owner_of(pod.namespace, name, uid)
        if owner is None:
            return False
        cluster, replicas = owner
        made = self._clusters.stateful_sets(pod.namespace).get(cluster, frozenset())
        return int(ordinal[1]) < replicas and f"{name}/{uid}" in made

    def _remember(self, uid: str) -> None:
        # A pod stays whose it is: logs and metrics are read twice a second, and the API server is not asked each time.
        while len(self._own) >= _MOST_REMEMBERED:
            del self._own[next(iter(self._own))]
        self._own[uid] = None


class ApiNamespaces:
    """By the API server; needs get of namespaces and statefulsets."""

    def __init__(self, configuration: kubernetes.client.Configuration) -> None:
        self._kube = Kube(configuration, patience=0.0)

    def opted_in(self, namespace: str) -> str | None:
        try:
            found: Any = self._kube.get(NAMESPACE, None, namespace)
        except KubeError as error:
            raise RefusalError(503, f"the API server does not show namespace {namespace}: {error}") from error
        labels = {} if found is None else found["metadata"].get("labels") or {}
        return labels.get(CHAOS_LABEL)

    def owner_of(self, namespace: str, stateful_set: str, uid: str) -> tuple[str, int] | None:
        try:
            found = self._kube.get(STATEFUL_SET, namespace, stateful_set)
        except KubeError as error:
            what = f"the API server does not show StatefulSet {namespace}/{stateful_set}: {error}"
            raise RefusalError(503, what) from error
        if found is None or found["metadata"].get("uid") != uid:
            return None
        owner = controller_of(found, API_VERSION, "LogCluster")
        return None if owner is None else (owner[1], int((found.get("spec") or {}).get("replicas", 1)))
