"""A disk that stalls so badly that ``write()`` does not return: its file system is frozen (``disk.freezing``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self

from highwater_chaos.machine.disk.freezing import freeze
from highwater_chaos.machine.disk.write_probe import BLOCKED, BLOCKED_AFTER, probe_write
from highwater_chaos.machine.faults.node_fault import Seen, VolumeFault

_BLOCKED_SOON: Final = 0.1
"""Seconds: on a volume of which nobody else knows a write has nothing to wait for."""


@dataclass(frozen=True, slots=True)
class DiskFreeze(VolumeFault):
    """``volume`` takes no writes. What was written before is durable, so the fault itself loses nothing."""

    KIND: ClassVar[str] = "frozen disk"
    ALONE: ClassVar[bool] = True
    MEETS: ClassVar[str] = BLOCKED
    MAY_END_NODES: ClassVar[bool] = False

    def make(self, _held: Sequence[int]) -> Self:
        """Write dirty pages out, then freeze the file system."""
        freeze(Path(self.volume.mount_point))
        return self

    def undo(self) -> None:
        """Thaw; what waited goes on."""
        self.volume.thaw()

    def left(self) -> str | None:
        return f"volume {self.volume.name}, where a write blocks" if self._met() == BLOCKED else None

    def describe(self) -> str:
        return f"frozen disk {self.volume.name}"

    def seen(self, *, closely: bool = True) -> Seen:
        """``blocked`` while it is frozen."""
        return self._seen(self._met(BLOCKED_AFTER if closely else _BLOCKED_SOON))

    def _met(self, blocked_after: float = BLOCKED_AFTER) -> str | None:
        if not self.volume.mounted():
            return "not mounted"
        return probe_write(Path(self.volume.mount_point), self.volume.run, blocked_after)
