"""Backend ``local`` as root: each node in a network namespace and on a file system of its own.

So a link can be cut, a machine can lose its power, and a disk can be full or fail, without harm to other nodes.
"""

from __future__ import annotations

from pathlib import Path

from highwater_chaos.backends.local.acting import asked
from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.backends.local.capability import can_isolate, file_system_problem, possible_here, possible_to
from highwater_chaos.backends.local.disks import NodeDisk, VolumeDisk
from highwater_chaos.backends.local.network import NamespaceNetwork, NodeNetwork
from highwater_chaos.backends.local.programs import program_of
from highwater_chaos.backends.on_machines import with_machine_methods
from highwater_chaos.backends.primitives import KeepMode, PowerLossReport, Primitive, implemented_by
from highwater_chaos.experiment import Cluster
from highwater_chaos.machine.runs.run import MachineRun


@with_machine_methods("processes", "volume", "network")
class IsolatedBackend(LocalBackend):
    """A :class:`LocalBackend` whose nodes share nothing but the kernel."""

    def __init__(self, *, root: Path | None = None) -> None:
        super().__init__(root=root)
        self._links: NamespaceNetwork
        self._volumes: dict[str, VolumeDisk] = {}

    # --- before the run ---

    @property
    def primitives(self) -> frozenset[Primitive]:
        """All that this class implements and the machine allows."""
        return possible_here(implemented_by(type(self)))

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """What the machine allows on the cluster's file system, less what needs nodes of our own runtime."""
        return possible_to(program_of(cluster), cluster, possible_here(implemented_by(type(self)), cluster.file_system))

    def problems(self, cluster: Cluster) -> list[str]:
        """A file system that cannot be made here, or what the software says."""
        problem = file_system_problem(cluster.file_system)
        return [*([] if problem is None else [problem]), *super().problems(cluster)]

    # --- what the machine is asked to do ---

    def _make_network(self, run: MachineRun, cluster: Cluster) -> NodeNetwork:
        self._links = NamespaceNetwork(run, cluster)
        return self._links

    def _make_disk(self, run: MachineRun, cluster: Cluster, node: str) -> NodeDisk:
        self._volumes[node] = disk = VolumeDisk(run, node, cluster.file_system)
        return disk

    @asked("power loss")
    def power_loss(self, node: str, keep: KeepMode, *, wipe: bool = False) -> PowerLossReport:
        local = self._nodes[node]
        report = local.lose_power(self._volumes[node], keep)
        if wipe:
            local.wipe()
        # Also of a node that does not run: its machine has a page cache all the same.
        self._stopped(local, "power-loss", report.lost_bytes)
        return report

    @asked("cut")
    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        """Drop packets by a rule of nftables."""
        self._links.cut(cut, source, destination, self._monotonic(until_ns))

    @asked("uncut")
    def uncut(self, cut: str) -> None:
        self._links.uncut(cut)

    @asked("reachable")
    def reachable(self, source: str, destination: str) -> bool:
        """By datagram, from namespace to namespace."""
        return self._links.reachable(source, destination)


def local_backend(*, root: Path | None = None) -> LocalBackend:
    """The backend that isolates its nodes if this machine allows it."""
    return IsolatedBackend(root=root) if can_isolate() else LocalBackend(root=root)
