"""Clusters on Kubernetes whose nodes have volumes of their agents' making: machines that can lose power, disks that can
be harmed. A LogCluster with claims of a StorageClass has none of that, since only its provisioner owns them."""

from __future__ import annotations

from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.on_machines import with_machine_methods
from highwater_chaos.backends.primitives import KeepMode, PowerLossReport


@with_machine_methods("volume", in_pods=True)
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


def backend_for(*, crashable: bool) -> type[KubernetesBackend]:
    """The backend of a cluster with this kind of storage."""
    return CrashableBackend if crashable else KubernetesBackend
