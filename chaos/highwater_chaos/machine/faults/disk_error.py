"""A failing disk: every write, sync and (but for cached metadata) read fails with EIO.

The file system writes out what it has and shuts down: the fault itself loses nothing, unlike a power loss. A kernel
with device-mapper could fail single blocks; this needs none, and it is how a real file system answers a dead device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from highwater_chaos.machine.disk.power_loss import FLUSH_ALL, bring_up, down, shut_down
from highwater_chaos.machine.faults.node_fault import VolumeFault


@dataclass(frozen=True, slots=True)
class DiskError(VolumeFault):
    """``volume`` fails with EIO."""

    KIND: ClassVar[str] = "disk error"
    ALONE: ClassVar[bool] = False
    MEETS: ClassVar[str] = "EIO"

    def make(self, _held: Sequence[int]) -> Self:
        """Write out, then shut down."""
        shut_down(Path(self.volume.mount_point), FLUSH_ALL)
        return self

    def undo(self) -> None:
        """Mount again. Processes of the run that still hold files of the dead file system are killed: their files can
        never work again."""
        bring_up(self.volume)

    def left(self) -> str | None:
        """Whether the volume still fails."""
        return down(self.volume)

    def describe(self) -> str:
        return f"failing disk {self.volume.name}"
