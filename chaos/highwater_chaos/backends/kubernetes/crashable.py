"""Clusters on Kubernetes whose nodes have volumes of their agents' making: machines that can lose power, disks that can
be harmed. A LogCluster with claims of a StorageClass has none of that, since only its provisioner owns them."""

from __future__ import annotations

from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.primitives import KeepMode, PowerLossReport


class CrashableBackend(KubernetesBackend):
    """A :class:`KubernetesBackend` of nodes with crashable storage."""

    def power_loss(self, node: str, keep: KeepMode) -> PowerLossReport:
        """Processes and page cache of the pod's volume; its successor is held."""
        fault = self._bring_down(self._nodes[node], "powerLoss", "power-loss", keep=keep)
        return PowerLossReport(int(fault.details("lostBytes") or 0))

    def wipe(self, node: str) -> None:
        """A new file system; whatever the kubelet has started on the old one is killed."""
        one = self._nodes[node]
        one.wiped_empty = False
        fault = self._client.inject(one.place, "diskWipe", f"wipe the disk of {node}", None, self._held())
        one.down.append(fault)
        one.wiped_empty = one.wiped = True

    def disk_is_empty(self, node: str) -> bool:
        """Return what the agent saw after it had replaced the disk."""
        return self._nodes[node].wiped_empty

    def fill_disk(self, node: str, until_ns: int | None = None) -> None:
        self._trouble_volume(node, "diskFull", until_ns)

    def fail_disk(self, node: str, until_ns: int | None = None) -> None:
        self._trouble_volume(node, "diskError", until_ns)

    def _trouble_volume(self, node: str, kind: str, until_ns: int | None) -> None:
        self._nodes[node].troubled = True
        self._trouble_disk(node, kind, until_ns)


def backend_for(*, crashable: bool) -> type[KubernetesBackend]:
    """The backend of a cluster with this kind of storage."""
    return CrashableBackend if crashable else KubernetesBackend
