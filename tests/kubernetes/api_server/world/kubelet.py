"""The nodes: pods are bound to them, started, watched by their probes, and ended in their grace period."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from typing import Any

from ..errors import ApiError, Json
from ..kinds import PODS
from ..operations import Operations, now_text
from .runner import PodRunner, key_of


class Handle:
    """``PodHandle`` of one pod, by its uid: a pod of the same name that comes later is another."""

    def __init__(self, kubelet: Kubelet, pod: Json) -> None:
        self.pod = pod
        self._kubelet = kubelet
        self._restarts = 0
        self._last: Json = {}
        self._container = f"containerd://{uuid.uuid4().hex}"

    def running(self, *, ready: bool) -> None:
        self._report("Running", {"running": {"startedAt": now_text()}}, ready=ready)

    def restarted(self, *, exit_code: int) -> None:
        self._last = {"terminated": {"exitCode": exit_code, "reason": "Error", "containerID": self._container}}
        self._restarts += 1
        self._container = f"containerd://{uuid.uuid4().hex}"
        self.running(ready=False)

    def finished(self, exit_code: int) -> None:
        reason = "Completed" if exit_code == 0 else "Error"
        ended = {"terminated": {"exitCode": exit_code, "reason": reason, "finishedAt": now_text()}}
        self._report("Succeeded" if exit_code == 0 else "Failed", ended, ready=False)

    def stopped(self) -> None:
        self._kubelet.forget(self.pod)

    def _report(self, phase: str, state: Json, *, ready: bool) -> None:
        def change(status: Json) -> Json:
            wanted = {"Initialized": True, "Ready": ready, "ContainersReady": ready, "PodScheduled": True}
            before = {(item["type"], item["status"]): item for item in status.get("conditions", ())}
            fresh = {"lastProbeTime": None, "lastTransitionTime": now_text()}
            places = [(name, str(holds)) for name, holds in wanted.items()]
            conditions = [before.get(place, {"type": place[0], "status": place[1], **fresh}) for place in places]
            containers = [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": f"sha256:{container['image']}",
                    "containerID": self._container,
                    "ready": ready,
                    "started": phase == "Running",
                    "restartCount": self._restarts,
                    "state": state,
                    "lastState": self._last,
                }
                for container in self.pod["spec"]["containers"]
            ]
            return status | {"phase": phase, "conditions": conditions, "containerStatuses": containers}

        self._kubelet.change(self.pod, lambda pod: {"status": change(pod.get("status", {}))})


class Kubelet:
    """All nodes in one; ``react`` is called with every state of a pod."""

    def __init__(self, operations: Operations, runner: PodRunner, nodes: int) -> None:
        self._operations = operations
        self._runner = runner
        self._nodes = [f"node-{index}" for index in range(nodes)]
        self._turn = itertools.cycle(self._nodes)
        self._addresses = itertools.count(2)
        self._started: dict[str, Handle] = {}
        self._stopping: set[str] = set()
        self._lock = threading.Lock()
        self.cordoned: set[str] = set()

    def react(self, pod: Json) -> None:
        """Bind, start or end it."""
        uid, ending = pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]
        if "nodeName" not in pod["spec"] and ending:
            self.forget(pod)
        elif "nodeName" not in pod["spec"]:
            self._schedule(pod)
        elif ending:
            self._end(pod)
        elif pod["spec"]["nodeName"] in self._nodes:
            with self._lock:
                if uid in self._started:
                    return
                handle = self._started[uid] = Handle(self, pod)
            number = next(self._addresses)
            address = f"10.244.{number >> 8}.{number & 255}"
            placed = {"startTime": now_text(), "podIP": address, "podIPs": [{"ip": address}], "hostIP": "172.18.0.2"}
            self.change(pod, lambda current: {"status": current.get("status", {}) | placed})
            self._runner.start(handle)

    def _schedule(self, pod: Json) -> None:
        """As far as gates, and an affinity to nodes by name, say; nodes in turn."""
        if pod["spec"].get("schedulingGates"):
            return
        affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        allowed = set(self._nodes) - self.cordoned
        if affinity is not None:
            (term,) = affinity["nodeSelectorTerms"]
            (field,) = term["matchFields"]
            allowed &= set(field["values"])
        if allowed:
            node = next(one for one in self._turn if one in allowed)
            self.change(pod, lambda current: {"spec": current["spec"] | {"nodeName": node}})
            return
        message = "0 nodes are available: they were unschedulable, or didn't match the pod's node affinity"
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        if (pod.get("status") or {}).get("conditions") != [waits]:
            self.change(pod, lambda current: {"status": current.get("status", {}) | {"conditions": [waits]}})

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
            self._runner.stop(handle, pod["metadata"]["deletionGracePeriodSeconds"])

    def forget(self, pod: Json) -> None:
        """The pod has ended: the API server may drop it."""
        uid = pod["metadata"]["uid"]
        with self._lock:
            self._started.pop(uid, None)
        try:
            self._operations.delete(self._operations.registry.of_table(PODS), *key_of(pod), grace=0, uid=uid)
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

    def change(self, pod: Json, change: Callable[[Json], dict[str, Any]]) -> None:
        """Replace parts of a pod; do nothing if it is gone."""
        store = self._operations.store
        with store.lock:
            found = store.get(PODS, key_of(pod))
            if found is not None and found.obj["metadata"]["uid"] == pod["metadata"]["uid"]:
                store.put(PODS, key_of(pod), found.obj | change(found.obj))
