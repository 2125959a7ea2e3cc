"""Events about a pod whose volume cannot be made: the pod waits for it, and only the agent knows why.

The operator shows the latest one on the LogCluster. One that a volume was made follows only where it could not be made
before. An Event that still holds is posted again, because the API server forgets each after an hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import AGENT_COMPONENT
from highwater_operator.agent.pods import Pod

REFUSED: Final = "VolumeRefused"
MADE: Final = "VolumeMade"
_AGAIN: Final = 60.0
_LONGEST: Final = 1000


class PodEvents:
    """For one thread, the one that makes volumes. ``note`` hears of what could not be posted."""

    def __init__(self, kube: Kube, node: str, note: Callable[[str, str | None], None]) -> None:
        self._kube = kube
        self._node = node
        self._note = note
        self._refused: dict[str, tuple[str, float]] = {}

    def refused(self, pod: Pod, why: str) -> None:
        """Its volume cannot be made now."""
        said, at = self._refused.get(pod.uid, ("", 0.0))
        if said != why or time.monotonic() - at > _AGAIN:
            self._refused[pod.uid] = why, time.monotonic()
            self._post(pod, "Warning", REFUSED, why)

    def made(self, pod: Pod) -> None:
        """Report that the pod has got its volume."""
        if self._refused.pop(pod.uid, None) is not None:
            self._post(pod, "Normal", MADE, f"volume {pod.volume} is there")

    def keep(self, uids: set[str]) -> None:
        """Forget pods that are gone."""
        self._refused = {uid: said for uid, said in self._refused.items() if uid in uids}

    def _post(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # Named by the pod and the reason: the same again replaces the one before.
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{pod.name[:200]}.{reason.lower()}.{pod.uid[:8]}", "namespace": pod.namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
            },
            "type": kind,
            "reason": reason,
            "message": message[:_LONGEST],
            "source": {"component": AGENT_COMPONENT, "host": self._node},
            "reportingComponent": AGENT_COMPONENT,
            "reportingInstance": self._node,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
        about = f"events about {pod.namespace}/{pod.name}"
        try:
            self._kube.apply(event)
            self._note(about, None)
        except KubeError as error:
            self._note(about, f"{about} cannot be posted: {error}")
