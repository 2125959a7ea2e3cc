"""A pod's crashable volume in its container: its own, and nothing else of the node's disk.

Every pod of a StatefulSet has the same template, so no ``hostPath`` of it can be one pod's alone. With ``subPathExpr``
the kubelet misses mounts that were there before the pod, and cannot take a pod down while there is a mount below. So a
pod has an empty directory of its own, mounted at :data:`~.places.VOLUME_PATH`, and the agent mounts the volume on it
inside the container's mount namespace. The node waits until its data directory is there (``--wait-for``). A container
that starts again has a new namespace, and gets its volume anew; no other container ever sees it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from pathlib import Path

from highwater_chaos.machine.disk.mount_copies import attach, device_at, device_of
from highwater_chaos.machine.kernel.identity import Identity
from highwater_operator.agent.containers import containers_by_pod, node_among
from highwater_operator.agent.places import VOLUME_PATH
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.volumes import Volumes
from highwater_operator.agent.wanted_volumes import wanted_by


class Attachments:
    """Of all pods of this node. ``pods`` lists them; ``note`` hears what went wrong with a pod's, None: nothing."""

    def __init__(
        self, volumes: Volumes, pods: Callable[[], Iterable[Pod]], note: Callable[[str, str | None], None]
    ) -> None:
        self._volumes = volumes
        self._pods = pods
        self._note = note
        self._attached: dict[str, tuple[Identity, Path]] = {}
        """By uids of pods: who has its volume, and where that is mounted."""

    def look(self) -> None:
        """Attach every volume that a container waits for."""
        wanting = [pod for pod in self._pods() if _wants(pod)]
        self._attached = {pod.uid: self._attached[pod.uid] for pod in wanting if self._has(pod)}
        wanting = [pod for pod in wanting if pod.uid not in self._attached]
        if not wanting:
            return
        living = containers_by_pod(wanting)
        for pod in wanting:
            about = f"attachment of {pod.volume}"
            try:
                container = node_among(pod, living.get(pod.uid.lower(), []))
                if container is not None:
                    self._attach(pod, container.processes[0])
                self._note(about, None)
            except Exception as error:  # of this pod alone: the others' volumes must not wait for it
                self._note(about, f"volume {pod.volume} cannot be attached: {type(error).__name__}: {error}")

    def _has(self, pod: Pod) -> bool:
        # Without a look at all processes of the machine, as long as the one that has it lives.
        if pod.uid not in self._attached:
            return False
        process, point = self._attached[pod.uid]
        try:
            return Identity.of(process.pid) == process and device_at(process, VOLUME_PATH) == device_of(point)
        except OSError:  # the volume is taken down at the moment
            return False

    def _attach(self, pod: Pod, process: Identity) -> None:
        there = device_at(process, VOLUME_PATH)
        # Not while a fault takes it down or up: a container that started in the middle waits.
        busy = self._volumes.busy(pod.volume)
        if there is None or not busy.acquire(blocking=False):
            return
        try:
            record = self._volumes.own(pod.volume)
            if record is None or not record.made or not self._volumes.machine_volume(record).mounted():
                return
            point = Path(self._volumes.machine_volume(record).mount_point)
            if there != device_of(point):
                attach(point, process, VOLUME_PATH)
            self._attached[pod.uid] = process, point
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ESRCH):  # the container has ended
                raise
        finally:
            busy.release()


def _wants(pod: Pod) -> bool:
    try:
        return wanted_by(pod) is not None
    except ValueError:
        return False  # told where volumes are made
