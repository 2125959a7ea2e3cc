"""Clusters on Kubernetes whose nodes have volumes of their agents' making: machines that can lose power, disks that can
be harmed. A LogCluster with claims of a StorageClass has none of that, since only its provisioner owns them."""

from __future__ import annotations

from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.kubernetes.pod_nodes import PodDisks
from highwater_chaos.backends.on_machines import with_machine_methods


@with_machine_methods("volume")
class CrashableBackend(PodDisks, KubernetesBackend):
    """A :class:`KubernetesBackend` of nodes with crashable storage."""


def backend_for(*, crashable: bool) -> type[KubernetesBackend]:
    """The backend of a cluster with this kind of storage."""
    return CrashableBackend if crashable else KubernetesBackend
