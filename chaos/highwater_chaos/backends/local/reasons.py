"""Why this machine does not allow the local backend a primitive: for ``highwater doctor``, which tries each.

Most need something of the machine (root, a kernel with loop devices, nftables); interference by RPC, stalled flushes
and clock skew happen inside our nodes and need nothing.
"""

from __future__ import annotations

from typing import Final

from highwater_chaos.backends.primitives import (
    IN_VIRTUAL_TIME,
    PRIMITIVES,
    BlocksWrites,
    CutsLinks,
    FailsDisks,
    FillsDisks,
    KillsNodes,
    LosesPower,
    LosesPowerAtWrites,
    PausesNodes,
    Primitive,
    StopsNodes,
)
from highwater_chaos.machine.capabilities import Ability, available
from highwater_chaos.machine.volumes import FileSystem

_NEEDS: Final[dict[Primitive, Ability]] = {
    LosesPower: Ability.POWER_LOSS,
    KillsNodes: Ability.PROCESSES,
    StopsNodes: Ability.PROCESSES,
    PausesNodes: Ability.PROCESSES,
    FillsDisks: Ability.DISK_FULL,
    FailsDisks: Ability.DISK_ERROR,
    BlocksWrites: Ability.DISK_FREEZE,
    CutsLinks: Ability.CUTS,
}
_VOLUMES: Final[dict[FileSystem, Ability]] = {"ext4": Ability.EXT4, "xfs": Ability.XFS}
_ON_VOLUMES: Final = (LosesPower, FillsDisks, FailsDisks, BlocksWrites)


def why_not(file_system: FileSystem = "ext4") -> dict[Primitive, str | None]:
    """Each primitive, and the reason why this machine does not have it on that file system; None: it does."""
    machine = available()
    reasons = {primitive: machine[_NEEDS[primitive]] if primitive in _NEEDS else None for primitive in PRIMITIVES}
    for primitive in _ON_VOLUMES:
        reasons[primitive] = machine[_VOLUMES[file_system]] or reasons[primitive]
    reasons[LosesPowerAtWrites] = IN_VIRTUAL_TIME
    return reasons
