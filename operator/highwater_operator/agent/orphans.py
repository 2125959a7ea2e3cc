"""Volumes that no pod can use any more: those of LogClusters that were deleted.

A volume outlives its pods, so their going says nothing; which LogClusters are left is asked of the API server. Removing
takes data with it, so a volume goes only when all of it is known and none of it is guessed: :func:`why_kept` decides,
:class:`Grace` sees to it that it was so for a while, and :class:`Collector` looks again, holding the volume, before it
acts. An API server that does not answer says nothing, and nothing is removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from highwater_chaos.machine.disk.volumes import users_of
from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent import metrics
from highwater_operator.agent.pods import Pods
from highwater_operator.agent.records import FaultRecord
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes

GRACE: Final = 30.0
LOOK_EVERY: Final = 10.0
RETRY_AFTER: Final = 30.0


class Clusters(Protocol):
    """Where LogClusters are looked up."""

    def uids(self, namespace: str) -> frozenset[str]:
        """Of all that exist in a namespace. Raises ``RefusalError`` (503) where the API server does not say."""

    def stateful_sets(self, namespace: str) -> Mapping[str, Collection[str]]:
        """``name/uid`` of the StatefulSets that the operator has made for each, by their uids. Raises the same."""


def why_kept(
    record: VolumeRecord, clusters: Mapping[str, Collection[str]], in_use: Collection[str], faulty: Collection[str]
) -> str | None:
    """Why a volume must not be removed; None: its cluster is gone, and nothing on this node needs it.

    ``clusters``: uids of LogClusters by namespace, for namespaces that the API server listed; ``in_use``: volumes of
    pods on this node; ``faulty``: volumes on which a fault is in force.
    """
    namespace = namespace_of(record.name)
    if not record.cluster:
        return "the request for it named no LogCluster"
    if record.retain:
        return "it is to be retained"
    if record.name in in_use:
        return "a pod on this node has it by its name"
    if record.name in faulty:
        return "a fault is in force on it"
    if namespace not in clusters:
        return f"it is not known which LogClusters there are in {namespace}"
    if record.cluster in clusters[namespace]:
        return f"LogCluster {record.cluster} exists"
    return None


def namespace_of(volume: str) -> str:
    """In ``<namespace>_<pod>``."""
    return volume.partition("_")[0]


@dataclass
class Grace:
    """Since when each volume has been seen to be an orphan. In memory: a new agent waits again."""

    seconds: float = GRACE
    _since: dict[tuple[str, str], float] = field(default_factory=dict)

    def over(self, orphans: Iterable[VolumeRecord], now: float) -> list[VolumeRecord]:
        """Those of ``orphans``, which are all there are, that were so at a look ``seconds`` ago and ever since."""
        found = {(one.name, one.cluster): one for one in orphans}
        self._since = {key: self._since.get(key, now) for key in found}
        return [one for key, one in found.items() if now - self._since[key] >= self.seconds]

    def restart(self) -> None:
        """It could not be seen: whatever was an orphan must be seen to be one for as long again."""
        self._since.clear()


class Collector:
    """Removes volumes of deleted LogClusters. For one thread, the one that makes volumes for pods."""

    def __init__(
        self,
        node: str,
        volumes: Volumes,
        pods: Pods,
        clusters: Clusters,
        faults: Callable[[], Iterable[FaultRecord]],
        removed: Callable[[str, str], None],
        stays: Callable[[str, str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._volumes = volumes
        self._pods = pods
        self._clusters = clusters
        self._faults = faults
        self._removed = removed
        self._stays = stays
        self._clock = clock
        self._grace = Grace()
        self._looked = -LOOK_EVERY
        self._again: dict[str, float] = {}

    def look(self) -> None:
        """Remove what has been an orphan for long enough; nothing where the last look was just now.

        ``removed`` and ``stays`` are called with the volume and what has become of it.

        Raises:
            RefusalError: the API server does not answer; no more is removed.
        """
        now = self._clock()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        try:
            orphans = self._orphans()
        except RefusalError:
            self._grace.restart()
            raise
        self._again = {name: at for name, at in self._again.items() if any(one.name == name for one in orphans)}
        for record in self._grace.over(orphans, now):
            if self._again.get(record.name, now) <= now:
                self._remove(record)

    def _orphans(self) -> list[VolumeRecord]:
        candidates = [one for one in self._volumes.all() if one.cluster and not one.retain]
        in_use = {pod.volume for pod in self._pods.known()}
        candidates = [one for one in candidates if one.name not in in_use]
        if not candidates:
            return []
        clusters = {
            namespace: self._clusters.uids(namespace) for namespace in {namespace_of(one.name) for one in candidates}
        }
        faulty = self._faulty()
        return [one for one in candidates if why_kept(one, clusters, in_use, faulty) is None]

    def _faulty(self) -> set[str]:
        return {volume for one in self._faults() if (volume := one.volume_in_force) is not None}

    def _remove(self, record: VolumeRecord) -> None:
        # What is known of pods may be behind; a pod that has no node yet may come here.
        namespace, _, name = record.name.partition("_")
        pod = self._pods.read(namespace, name)
        if pod is not None and pod.node in ("", self._node):
            return
        try:
            with self._volumes.busy(record.name):
                if self._volumes.get(record.name) != record or record.name in self._faulty():
                    return
                point = Path(self._volumes.machine_volume(record).mount_point)
                if users := users_of(point):
                    raise MachineError(f"in use by {', '.join(f'pid {user.pid}' for user in users)}")
                self._volumes.remove(record.name)
                self._volumes.leave_folder(record)
        except (MachineError, OSError) as error:
            metrics.VOLUME_REMOVALS.labels("failed").inc()
            self._again[record.name] = self._clock() + RETRY_AFTER
            self._stays(
                record.name, f"volume {record.name} of a deleted LogCluster stays for now: {error}; tried again"
            )
            return
        metrics.VOLUME_REMOVALS.labels("removed").inc()
        size = f"{record.file_system} of {record.size_bytes} bytes"
        self._removed(record.name, f"volume {record.name} ({size}) removed: LogCluster {record.cluster} was deleted")
