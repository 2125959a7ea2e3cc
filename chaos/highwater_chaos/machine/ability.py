"""What a machine may or may not be able to do; :mod:`~.capabilities` tries it."""

from __future__ import annotations

from enum import Enum


class Ability(Enum):
    """One thing that is tried."""

    PROCESSES = "processes, killed and paused"
    NAMESPACES = "network namespaces on a bridge"
    CUTS = "one-way network cuts"
    EXT4 = "ext4 volumes"
    XFS = "XFS volumes"
    POWER_LOSS = "power loss"
    WIPE = "wiped disks"
    DISK_FULL = "full disks"
    DISK_ERROR = "failing disks"
    DISK_FREEZE = "disks that block writes"
