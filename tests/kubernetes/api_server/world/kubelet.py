"""The node: pods are bound to it, started, watched by their probes, and ended in their grace period."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..deletion import DeleteOptions
from ..errors import ApiError
from ..operations import Operations, Write
from ..resource_types import PODS
from ..schema import Json
from .runner import Key, PodRunner, key_of

_KUBELET: Final = Write(manager="kubelet", validation="Ignore", trusted=True)
_SCHEDULER: Final = Write(manager="kube-scheduler", validation="Ignore", trusted=True)


class Handle:
    """``PodHandle`` of one pod (by its uid: a pod of the same name that comes later is another)."""

    def __init__(self, kubelet: Kubelet, pod: Json) -> None:
        self.pod = pod
        self._kubelet = kubelet
        self._restarts = 0
        self._container_id = uuid.uuid4().hex

    def running(self, *, ready: bool) -> None:
        self._report("Running", ready=ready, state={"running": {"startedAt": self._kubelet.now()}})

    def restarted(self, *, exit_code: int) -> None:
        self._restarts += 1
        ended = {"terminated": {"exitCode": exit_code, "reason": "Error", "containerID": self._id()}}
        self._container_id = uuid.uuid4().hex
        self._report("Running", ready=False, state={"running": {"startedAt": self._kubelet.now()}}, last=ended)

    def finished(self, exit_code: int) -> None:
        reason = "Completed" if exit_code == 0 else "Error"
        ended = {"terminated": {"exitCode": exit_code, "reason": reason, "finishedAt": self._kubelet.now()}}
        self._report("Succeeded" if exit_code == 0 else "Failed", ready=False, state=ended)

    def stopped(self) -> None:
        self._kubelet.forget(self.pod)

    def _id(self) -> str:
        return f"containerd://{self._container_id}"

    def _report(self, phase: str, *, ready: bool, state: Json, last: Json | None = None) -> None:
        def change(status: Json) -> Json:
            now = self._kubelet.now()
            reason = {} if phase != "Succeeded" else {"reason": "PodCompleted"}
            wanted = {
                "PodReadyToStartContainers": "True" if phase == "Running" else "False",
                "Initialized": "True",
                "Ready": "True" if ready else "False",
                "ContainersReady": "True" if ready else "False",
                "PodScheduled": "True",
            }
            before = {item["type"]: item for item in status.get("conditions") or ()}
            conditions = [
                before[name]
                if name in before and before[name]["status"] == value
                else {"type": name, "status": value, "lastProbeTime": None, "lastTransitionTime": now, **reason}
                for name, value in wanted.items()
            ]
            containers = [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": f"sha256:{container['image']}",
                    "containerID": self._id(),
                    "ready": ready,
                    "started": phase == "Running",
                    "restartCount": self._restarts,
                    "state": state,
                    "lastState": last or (self._last(status, container["name"])),
                }
                for container in self.pod["spec"]["containers"]
            ]
            return {**status, "phase": phase, "conditions": conditions, "containerStatuses": containers}

        self._kubelet.change_status(self.pod, change)

    @staticmethod
    def _last(status: Json, name: str) -> Json:
        found: Json = next(
            (item.get("lastState", {}) for item in status.get("containerStatuses") or () if item["name"] == name), {}
        )
        return found


@dataclass(frozen=True)
class Node:
    """A machine of the cluster."""

    name: str
    address: str

    def manifest(self) -> Json:
        """As it registers itself."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"},
            },
            "spec": {},
        }


class Kubelet:
    """All nodes in one; ``react`` is called with every state of a pod."""

    def __init__(self, operations: Operations, runner: PodRunner, nodes: list[Node]) -> None:
        self._operations = operations
        self._runner = runner
        self._nodes = nodes
        self._turn = itertools.cycle(nodes)
        self._addresses = itertools.count(2)
        self._started: dict[str, Handle] = {}
        self._stopping: set[str] = set()
        self._lock = threading.Lock()
        kind = operations.registry.find("", "v1", "pods")
        assert kind is not None
        self._pods = kind
        self.now: Callable[[], str] = operations.now

    def react(self, pod: Json) -> None:
        """Binds, starts or ends it."""
        uid = pod["metadata"]["uid"]
        if not pod["spec"].get("nodeName"):
            if not pod["metadata"].get("deletionTimestamp"):
                self._bind(pod)
            return
        if pod["spec"]["nodeName"] not in {node.name for node in self._nodes}:
            return
        if pod["metadata"].get("deletionTimestamp"):
            self._end(pod)
            return
        with self._lock:
            if uid in self._started:
                return
            handle = self._started[uid] = Handle(self, pod)
        self.change_status(pod, lambda status: self._placed(pod, status))
        self._runner.start(handle)

    def _bind(self, pod: Json) -> None:
        node = next(self._turn)
        with self._operations.store.lock:
            current = self._current(pod)
            if current is not None:
                bound = {**current, "spec": {**current["spec"], "nodeName": node.name}}
                self._operations.replace(self._pods, *key_of(pod), bound, _SCHEDULER)

    def _placed(self, pod: Json, status: Json) -> Json:
        number = next(self._addresses)
        address = f"10.244.{number >> 8}.{number & 255}"
        node = next(node for node in self._nodes if node.name == pod["spec"]["nodeName"])
        return {
            **status,
            "startTime": self.now(),
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": node.address,
            "hostIPs": [{"ip": node.address}],
        }

    def _end(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        with self._lock:
            handle = self._started.get(uid)
            if uid in self._stopping:
                return
            self._stopping.add(uid)
        if handle is None:
            self.forget(pod)
        else:
            self._runner.stop(handle, pod["metadata"].get("deletionGracePeriodSeconds", 30))

    def forget(self, pod: Json) -> None:
        """The pod has ended: the API server may drop it."""
        uid = pod["metadata"]["uid"]
        with self._lock:
            self._started.pop(uid, None)
        try:
            self._operations.delete(self._pods, *key_of(pod), DeleteOptions(grace=0, uid=uid))
        except ApiError as error:
            if error.code not in (404, 409):  # gone already, or another of the same name by now
                raise

    def gone(self, pod: Json) -> None:
        """It was dropped, perhaps by force: nothing of it may keep running."""
        uid = pod["metadata"]["uid"]
        with self._lock:
            handle = self._started.pop(uid, None)
            ending = uid in self._stopping
            self._stopping.discard(uid)
        if handle is not None and not ending:
            self._runner.stop(handle, 0)

    def _current(self, pod: Json) -> Json | None:
        found = self._operations.store.get(PODS, key_of(pod))
        if found is None or found.obj["metadata"]["uid"] != pod["metadata"]["uid"]:
            return None
        return found.obj

    def change_status(self, pod: Json, change: Callable[[Json], Json]) -> None:
        """Nothing happens where the pod is gone."""
        with self._operations.store.lock:
            current = self._current(pod)
            if current is None:
                return
            changed: dict[str, Any] = {**current, "status": change(current.get("status") or {})}
            self._operations.replace(self._pods, *key_of(pod), changed, _KUBELET, "status")


__all__ = ["Handle", "Key", "Kubelet", "Node"]
