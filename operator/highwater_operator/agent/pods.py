"""Pods of the agent's node, by the API server.

A watch keeps what is known of those with the label of a LogCluster, for reading and for making volumes; others are read
when they are asked for. Before anything is broken the API server is asked again (:mod:`~.admission`): a watch may be
behind, and a pod of the same name may be another one by now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import kubernetes
from kubernetes.client.exceptions import ApiException

from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import CLUSTER_LABEL, POD, STATEFUL_SET
from highwater_operator.agent.metrics import WATCH_FAILURES
from highwater_operator.agent.refusals import RefusalError

NODE_CONTAINER: Final = "node"
_WATCH_SECONDS: Final = 240
_TIMEOUT: Final = (3.0, 10.0)
_PAUSES: Final = (0.5, 1.0, 2.0, 5.0)
_EXPIRED: Final = 410


@dataclass(frozen=True, slots=True)
class Pod:
    """What matters of one. ``containers``: ids of all its containers by name, by the API server, which may be behind
    (empty: not started yet); ``chosen``: name of the one that is the node; ``claims``: its PersistentVolumeClaims by
    its own names of the volumes; ``chosen_volume``: which of these has the data (empty: nobody has said); ``user`` and
    ``group``: as what it runs; ``stateful_set``: name and uid of the StatefulSet that is its controller, by its own
    word; ``of_cluster``: it was found to be a LogCluster's; ``deleting``: it is to be deleted."""

    namespace: str
    name: str
    uid: str
    node: str
    address: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    containers: dict[str, str] = field(default_factory=dict)
    chosen: str = NODE_CONTAINER
    claims: dict[str, str] = field(default_factory=dict)
    chosen_volume: str = ""
    user: int = 0
    group: int = 0
    host_network: bool = False
    stateful_set: tuple[str, str] | None = None
    of_cluster: bool = False
    deleting: bool = False

    @property
    def container(self) -> str:
        """Return the id of its node's container; empty: not known."""
        return self.containers.get(self.chosen, "")

    @property
    def volume(self) -> str:
        """Name of its crashable volume."""
        return f"{self.namespace}_{self.name}"

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> Pod:
        """From the API server's JSON."""
        meta, spec, status = manifest["metadata"], manifest.get("spec") or {}, manifest.get("status") or {}
        security = spec.get("securityContext") or {}
        user = int(security.get("runAsUser") or 0)
        return cls(
            namespace=meta["namespace"],
            name=meta["name"],
            uid=meta["uid"],
            node=spec.get("nodeName") or "",
            address=status.get("podIP") or "",
            labels=dict(meta.get("labels") or {}),
            annotations=dict(meta.get("annotations") or {}),
            containers=_containers(spec, status),
            claims=_claims(meta["name"], spec),
            user=user,
            host_network=bool(spec.get("hostNetwork")),
            group=int(security.get("fsGroup") or security.get("runAsGroup") or user),
            stateful_set=controller_of(manifest, STATEFUL_SET.api_version, STATEFUL_SET.kind),
            deleting="deletionTimestamp" in meta,
        )


def controller_of(manifest: dict[str, Any], api_version: str, kind: str) -> tuple[str, str] | None:
    """Name and uid of an object's controller, if it is of this kind."""
    for owner in manifest["metadata"].get("ownerReferences") or []:
        if owner.get("controller") is True and (owner.get("apiVersion"), owner.get("kind")) == (api_version, kind):
            return str(owner.get("name")), str(owner.get("uid"))
    return None


def _containers(spec: dict[str, Any], status: dict[str, Any]) -> dict[str, str]:
    found = {str(one.get("name")): "" for one in spec.get("containers") or []}
    for part in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for one in status.get(part) or []:
            # Of containers that begin before the others, only those that go on beside them.
            if part == "containerStatuses" or "running" in (one.get("state") or {}):
                found[str(one.get("name"))] = str(one.get("containerID") or "").rpartition("//")[2]
    return found


def _claims(pod: str, spec: dict[str, Any]) -> dict[str, str]:
    found = {}
    for one in spec.get("volumes") or []:
        if (claim := one.get("persistentVolumeClaim")) is not None:
            found[str(one.get("name"))] = str(claim.get("claimName"))
        elif one.get("ephemeral") is not None:
            found[str(one.get("name"))] = f"{pod}-{one.get('name')}"
    return found


class Pods(Protocol):
    """Where pods are looked up."""

    def read(self, namespace: str, name: str) -> Pod | None:
        """As the API server has it now; None: there is none. Raises ``RefusalError`` (503) where it does not answer."""

    def known(self) -> list[Pod]:
        """This node's pods with the label of a LogCluster, as last heard."""


class ApiPods:
    """Pods by the API server; needs get, list and watch of pods. ``on_change`` is called, from the watch's thread,
    with each pod that appears or changes."""

    def __init__(
        self, configuration: kubernetes.client.Configuration, node: str, on_change: Callable[[Pod], None]
    ) -> None:
        # The client and its watch are not typed where it matters.
        self._kube = Kube(configuration, patience=0.0)
        self._client: Any = kubernetes.client.ApiClient(configuration)
        self._api = kubernetes.client.CoreV1Api(self._client)
        self._node = node
        self._on_change = on_change
        self._known: dict[tuple[str, str], Pod] = {}
        self._busy = threading.Lock()
        self._ended = threading.Event()
        self._watch: Any = None
        self._thread = threading.Thread(target=self._run, name="pod-watch", daemon=True)
        self.synced = threading.Event()
        """Set once the pods have been listed."""

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop watching; waits for nothing that the API server may take its time with."""
        self._ended.set()
        if self._watch is not None:
            self._watch.stop()

    def alive(self) -> bool:
        """Whether pods are still watched."""
        return self._thread.is_alive()

    def read(self, namespace: str, name: str) -> Pod | None:
        try:
            found = self._kube.get(POD, namespace, name)
        except KubeError as error:
            raise RefusalError(503, f"the API server does not show pod {namespace}/{name}: {error}") from error
        return None if found is None else Pod.of(found)

    def known(self) -> list[Pod]:
        with self._busy:
            return list(self._known.values())

    def _run(self) -> None:
        failures = 0
        while not self._ended.is_set():
            try:
                self._list_and_watch()
                failures = 0
            except Exception as error:  # whatever a pod's manifest has in it: the watch goes on
                if isinstance(error, ApiException) and error.status == _EXPIRED:
                    continue  # the versions we knew are too old: list again
                WATCH_FAILURES.inc()
                self._ended.wait(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    def _list_and_watch(self) -> None:
        which: dict[str, Any] = {"field_selector": f"spec.nodeName={self._node}", "label_selector": CLUSTER_LABEL}
        listed = self._plain(self._api.list_pod_for_all_namespaces(**which, _request_timeout=_TIMEOUT))
        pods = [Pod.of(item) for item in listed.get("items") or []]
        with self._busy:
            self._known = {(pod.namespace, pod.name): pod for pod in pods}
        for pod in pods:
            self._on_change(pod)
        self.synced.set()
        version = listed["metadata"]["resourceVersion"]
        while not self._ended.is_set():
            self._watch = kubernetes.watch.Watch()  # type: ignore[no-untyped-call]
            stream = self._watch.stream(
                self._api.list_pod_for_all_namespaces,
                **which,
                resource_version=version,
                timeout_seconds=_WATCH_SECONDS,
                allow_watch_bookmarks=True,
                _request_timeout=(_TIMEOUT[0], _WATCH_SECONDS + 30),
            )
            for event in stream:
                version = event["raw_object"]["metadata"].get("resourceVersion") or version
                self._take(event["type"], event["raw_object"])

    def _take(self, kind: str, manifest: dict[str, Any]) -> None:
        if kind == "BOOKMARK":
            return
        pod = Pod.of(manifest)
        with self._busy:
            if kind == "DELETED":
                self._known.pop((pod.namespace, pod.name), None)
                return
            self._known[pod.namespace, pod.name] = pod
        self._on_change(pod)

    def _plain(self, found: Any) -> dict[str, Any]:
        plain: dict[str, Any] = self._client.sanitize_for_serialization(found)
        return plain
