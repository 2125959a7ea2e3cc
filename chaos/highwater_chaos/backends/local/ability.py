"""What this machine lets the backend do, and what it lacks for a cluster."""

from __future__ import annotations

import shutil
from typing import Final

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.experiment import Cluster
from highwater_chaos.machine.volumes import PACKAGES

_ANYWHERE: Final = frozenset(
    {
        Capability.KILL,
        Capability.STOP,
        Capability.DISK_WIPE,
        Capability.DISK_STALL,
        Capability.PAUSE,
        Capability.RPC_RULES,
        Capability.CLOCK_SKEW,
        Capability.CLIENT_PROCESSES,
    }
)
_ON_A_VOLUME: Final = frozenset({Capability.POWER_LOSS, Capability.DISK_FULL, Capability.DISK_ERROR})
_PATH: Final = "/usr/sbin:/sbin:/usr/bin:/bin"


def abilities(as_root: bool) -> frozenset[Capability]:
    """What can be done to a cluster here (``highwater doctor`` tries each)."""
    if not as_root:
        return _ANYWHERE
    can = _ANYWHERE | _ON_A_VOLUME
    return can | {Capability.CUT} if shutil.which("nft", path=_PATH) else can


def tool_problems(cluster: Cluster, as_root: bool) -> list[str]:
    """What is not installed that the cluster's disks need."""
    if not as_root:
        return []
    tool = f"mkfs.{cluster.file_system}"
    if shutil.which(tool, path=_PATH):
        return []
    package = PACKAGES[cluster.file_system]
    return [f"cluster.fileSystem {cluster.file_system} needs {tool}: install the Debian package {package}"]
