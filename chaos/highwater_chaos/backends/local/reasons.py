"""Why this machine does not allow the local backend a primitive: for ``highwater doctor``, which tries each.

Most need something of the machine (root, a kernel with loop devices, nftables); interference by RPC, stalled disks and
clock skew happen inside our nodes and need nothing.
"""

from __future__ import annotations

from typing import Final

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.machine.capabilities import Ability, available
from highwater_chaos.machine.volumes import FileSystem

_NEEDS: Final[dict[Capability, Ability]] = {
    Capability.POWER_LOSS: Ability.POWER_LOSS,
    Capability.KILL: Ability.PROCESSES,
    Capability.STOP: Ability.PROCESSES,
    Capability.PAUSE: Ability.PROCESSES,
    Capability.DISK_FULL: Ability.DISK_FULL,
    Capability.DISK_ERROR: Ability.DISK_ERROR,
    Capability.CUT: Ability.CUTS,
}
_VOLUMES: Final[dict[FileSystem, Ability]] = {"ext4": Ability.EXT4, "xfs": Ability.XFS}
_ON_VOLUMES: Final = (Capability.POWER_LOSS, Capability.DISK_FULL, Capability.DISK_ERROR)


def why_not(file_system: FileSystem = "ext4") -> dict[Capability, str | None]:
    """Each capability, and the reason why this machine does not have it on that file system; None: it does."""
    machine = available()
    reasons = {capability: machine[_NEEDS[capability]] if capability in _NEEDS else None for capability in Capability}
    for capability in _ON_VOLUMES:
        reasons[capability] = machine[_VOLUMES[file_system]] or reasons[capability]
    return reasons
