"""What can be done to a cluster on Kubernetes: the runner asks before it begins, and the operator before that."""

from __future__ import annotations

from typing import Final

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.experiment import Cluster

CAPABILITIES: Final = frozenset(Capability)
_OF_DISKS: Final = frozenset({Capability.POWER_LOSS, Capability.DISK_WIPE, Capability.DISK_FULL, Capability.DISK_ERROR})


class KubernetesAbilities:
    """See :class:`highwater_chaos.backends.protocol.Abilities`.

    Args:
        crashable: whether nodes have volumes of their agents' making; claims of a StorageClass nobody can harm.
    """

    name = "kubernetes"

    def __init__(self, *, crashable: bool = True) -> None:
        self._crashable = crashable

    def can(self, cluster: Cluster) -> frozenset[Capability]:
        """Everything, for our own runtime on crashable volumes."""
        del cluster
        return CAPABILITIES if self._crashable else CAPABILITIES - _OF_DISKS

    def why_not(self, cluster: Cluster, capability: Capability) -> str | None:
        """The storage of a LogCluster that is borrowed."""
        del cluster
        return "the LogCluster has no storage.crashable" if capability in _OF_DISKS and not self._crashable else None

    def problems(self, cluster: Cluster) -> list[str]:
        """Other software does not run on Kubernetes."""
        return (
            []
            if cluster.runtime == "highwater"
            else [f"runtime {cluster.runtime} does not run on Kubernetes; expected highwater"]
        )
