"""A disk that was replaced: the same volume with a new, empty file system. For volumes whose processes are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from highwater_chaos.machine.disk.power_loss import bring_up, down
from highwater_chaos.machine.disk.volumes import Volume, make_file_system
from highwater_chaos.machine.errors import MachineError


@dataclass(frozen=True, slots=True)
class Wipe:
    """``volume`` is empty."""

    KIND: ClassVar[str] = "wipe"
    ALONE: ClassVar[bool] = False
    volume: Volume

    def make(self, held: Sequence[int]) -> Self:
        """Unmount, make a new file system, mount."""
        self.volume.unmount()
        self._make_anew(held)
        self.volume.mount()
        if not self.empty():
            raise MachineError(f"{self.volume.mount_point} is not empty after its file system was replaced")
        return self

    def undo(self) -> None:
        """Mount the volume, where a wipe stopped half way. What was on it stays lost."""
        if self.volume.mounted() or not Path(self.volume.image).exists():
            return
        try:
            bring_up(self.volume)
        except OSError:
            # Stopped inside mkfs: neither the old file system nor the new one.
            self._make_anew(())
            bring_up(self.volume)

    def _make_anew(self, held: Sequence[int]) -> None:
        self.volume.free_image()
        make_file_system(self.volume.file_system, self.volume.image, held)

    def left(self) -> str | None:
        """Whether the volume is down."""
        return down(self.volume)

    def describe(self) -> str:
        return f"wipe of volume {self.volume.name}"

    def empty(self) -> bool:
        """Evidence: whether the volume holds nothing but what mkfs makes."""
        return is_empty(self.volume)


def is_empty(volume: Volume) -> bool:
    """Probe: whether a volume holds nothing but what mkfs makes."""
    point = Path(volume.mount_point)
    shared = point / volume.share.name if volume.share is not None else None
    names = {path.name for path in point.iterdir() if path != shared}
    return names <= {"lost+found"} and (shared is None or not shared.exists() or not any(shared.iterdir()))
