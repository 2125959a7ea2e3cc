"""The disk under one node: a file system of its own as root, a plain directory without.

The node's data lie in ``data`` below the mount point, so that what ``mkfs`` puts there (``lost+found``) and what faults
put there (ballast) are never taken for the node's.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, Protocol

from highwater_chaos.backends.local.pacing import remaining_ns
from highwater_chaos.backends.primitives import KeepMode, PowerLossReport
from highwater_chaos.machine.disk_error import DiskError
from highwater_chaos.machine.disk_freeze import DiskFreeze
from highwater_chaos.machine.disk_full import DiskFull
from highwater_chaos.machine.power_loss import PowerLoss, try_to_write
from highwater_chaos.machine.processes import Process
from highwater_chaos.machine.run import Held, MachineRun
from highwater_chaos.machine.volumes import FileSystem, Volume
from highwater_chaos.machine.wipe import Wipe
from highwater_chaos.machine.write_probe import probe_write

DATA: Final = "data"
VOLUME_BYTES: Final = 4 << 30
"""Size of a node's file system. Its image is sparse: it takes what was written."""


class NodeDisk(Protocol):
    """The disk of one node. Raises ``MachineError`` or ``OSError`` where the machine does not do what it is asked."""

    data: Path

    def wipe(self) -> None:
        """Replace it by an empty one. The node must be down."""

    def heal(self) -> None:
        """Undo what was done to it. Idempotent."""

    def probe(self) -> str | None:
        """Try to write and sync; the error's name, ``blocked``: it did not return, None: it worked."""

    @property
    def fails(self) -> bool:
        """Whether it has been made to fail: healing kills the processes that still use it."""

    @property
    def blocks(self) -> bool:
        """Whether a write to it would not return: nobody here may try."""


class VolumeDisk:
    """A loop-mounted file system."""

    def __init__(self, run: MachineRun, node: str, file_system: FileSystem) -> None:
        self._run = run
        volume = Volume(
            name=node,
            run=run.directory,
            image=str(run.path / f"{node}.img"),
            mount_point=str(run.path / "mnt" / node),
            file_system=file_system,
            size=VOLUME_BYTES,
        )
        self._volume = run.make(volume).resource
        self._point = Path(self._volume.mount_point)
        self._full: Held[DiskFull] | None = None
        self._error: Held[DiskError] | None = None
        self._frozen: Held[DiskFreeze] | None = None
        self.data = self._point / DATA
        self.data.mkdir()

    def power_loss(self, process: Process | None, keep: KeepMode) -> PowerLossReport:
        """``FS_IOC_SHUTDOWN``, SIGKILL, mount: lose what is not durable, and with it the process."""
        processes = () if process is None else (process,)
        held = self._run.make(PowerLoss(self._volume, processes, keep))
        self._run.undo(held)
        # Before the node's first write its very directory may not have been durable.
        self.data.mkdir(exist_ok=True)
        return PowerLossReport(held.resource.lost_bytes)

    def wipe(self) -> None:
        """``mkfs``."""
        self._run.undo(self._run.make(Wipe(self._volume)))
        self.data.mkdir()

    def fill(self, until_ns: int | None) -> None:
        """Ballast, until the run machine's deadline ``until_ns`` (CLOCK_MONOTONIC) at the latest."""
        if self._full is None:
            self._full = self._run.make(DiskFull(self._volume), lasts_ns=remaining_ns(until_ns))

    def fail(self, until_ns: int | None) -> None:
        """Shut the file system down, until ``until_ns`` at the latest."""
        if self._error is None:
            self._error = self._run.make(DiskError(self._volume), lasts_ns=remaining_ns(until_ns))

    def block(self, until_ns: int | None) -> None:
        """Freeze the file system, until ``until_ns`` at the latest."""
        if self._frozen is None:
            self._frozen = self._run.make(DiskFreeze(self._volume), lasts_ns=remaining_ns(until_ns))

    def heal(self) -> None:
        """Thaw the file system, remove the ballast, and mount the file system again."""
        if self._frozen is not None:
            self._run.undo(self._frozen)
            self._frozen = None
        full, error = self._full, self._error
        self._full = self._error = None
        if full is not None:
            self._run.undo(full)
        if error is not None:
            self._run.undo(error)

    def probe(self) -> str | None:
        """A small file, synced, by a process that may wait for ever."""
        return probe_write(self._point, self._run.directory)

    @property
    def fails(self) -> bool:
        """Whether it has been made to fail: healing kills the processes that still use it."""
        return self._error is not None

    @property
    def blocks(self) -> bool:
        """While it is frozen."""
        return self._frozen is not None


class DirectoryDisk:
    """A directory on whatever disk the machine has: it can be emptied, and no more."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / DATA
        self.data.mkdir(parents=True)
        self._directory = directory

    def wipe(self) -> None:
        """Empty the directory."""
        shutil.rmtree(self.data)
        self.data.mkdir()

    def heal(self) -> None:
        """Nothing to undo."""

    def probe(self) -> str | None:
        """A small file, synced."""
        return try_to_write(self._directory)

    @property
    def fails(self) -> bool:
        """Never."""
        return False

    @property
    def blocks(self) -> bool:
        """Never."""
        return False
