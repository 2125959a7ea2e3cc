"""A disk that stalls so badly that ``write()`` does not return: its file system is frozen (:mod:`~.freezing`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from highwater_chaos.machine.freezing import freeze
from highwater_chaos.machine.volumes import Volume
from highwater_chaos.machine.write_probe import BLOCKED, BLOCKED_AFTER, probe_write


@dataclass(frozen=True, slots=True)
class DiskFreeze:
    """``volume`` takes no writes. What was written before is durable, so the fault itself loses nothing."""

    KIND: ClassVar[str] = "frozen disk"
    ALONE: ClassVar[bool] = True
    volume: Volume

    def make(self, _held: Sequence[int]) -> Self:
        """Write out, then freeze."""
        freeze(Path(self.volume.mount_point))
        return self

    def undo(self) -> None:
        """Thaw; what waited goes on."""
        self.volume.thaw()

    def left(self) -> str | None:
        """Whether a write blocks."""
        if not self.volume.mounted():
            return None
        return f"volume {self.volume.name}, where a write blocks" if self.probe() == BLOCKED else None

    def describe(self) -> str:
        return f"frozen disk {self.volume.name}"

    def probe(self, blocked_after: float = BLOCKED_AFTER) -> str | None:
        """Evidence: ``blocked`` while it is frozen, None: a small file could be written and synced."""
        return probe_write(Path(self.volume.mount_point), self.volume.run, blocked_after)
