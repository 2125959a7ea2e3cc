"""What this machine lets the backend do to a cluster: found by trying (:mod:`highwater_chaos.machine.capabilities`)."""

from __future__ import annotations

import os
from typing import Final

from highwater_chaos.backends.local.reasons import why_not
from highwater_chaos.backends.protocol import Capability
from highwater_chaos.machine.capabilities import Ability, available
from highwater_chaos.machine.volumes import FileSystem

_NEED_ISOLATION: Final = frozenset({Capability.POWER_LOSS, Capability.DISK_FULL, Capability.DISK_ERROR, Capability.CUT})
"""What cannot be done to processes that share one network and one disk with everybody else."""


def can_isolate() -> bool:
    """Whether nodes can be given network namespaces and file systems of their own."""
    if os.geteuid() != 0:
        return False
    machine = available()
    return machine[Ability.NAMESPACES] is None and machine[Ability.EXT4] is None


def abilities(isolated: bool, file_system: FileSystem = "ext4") -> frozenset[Capability]:
    """What can be done to a cluster here; ``isolated``: whether its nodes have networks and disks of their own."""
    if not isolated:
        return frozenset(Capability) - _NEED_ISOLATION
    return frozenset(capability for capability, reason in why_not(file_system).items() if reason is None)


def reason_against(capability: Capability, isolated: bool, file_system: FileSystem) -> str | None:
    """Why a capability is missing."""
    reason = why_not(file_system)[capability]
    if reason is None and not isolated and capability in _NEED_ISOLATION:
        return "nodes share one network and one disk here"
    return reason


def file_system_problem(file_system: FileSystem, isolated: bool) -> str | None:
    """Why the disks that a cluster asks for cannot be made. Without isolation there are none to make."""
    if not isolated:
        return None
    reason = available()[Ability.EXT4 if file_system == "ext4" else Ability.XFS]
    return None if reason is None else f"cluster.fileSystem {file_system}: {reason}"
