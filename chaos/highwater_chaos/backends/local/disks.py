"""The disk under one node: a file system of its own as root, a plain directory without.

The node's data lie in ``data`` below the mount point, so that what ``mkfs`` puts there (``lost+found``) and what faults
put there (ballast) are never taken for the node's.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, Protocol

from highwater_chaos.backends.primitives import KeepMode, PowerLossReport
from highwater_chaos.machine.disk.power_loss import PowerLoss, try_to_write
from highwater_chaos.machine.disk.volumes import FileSystem, Volume
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.disk.write_probe import probe_write
from highwater_chaos.machine.process.processes import Process
from highwater_chaos.machine.runs.run import MachineRun

DATA: Final = "data"
VOLUME_BYTES: Final = 4 << 30
"""Size of a node's file system. Its image is sparse: it takes what was written."""


class NodeDisk(Protocol):
    """The disk of one node. Raises ``MachineError`` or ``OSError`` where the machine does not do what it is asked."""

    data: Path

    @property
    def volume(self) -> Volume | None:
        """Its file system; None: it has none of its own, and no fault is done to it."""

    def wipe(self) -> None:
        """Replace it by an empty one. The node must be down."""

    def probe(self) -> str | None:
        """Try to write and sync; the error's name, ``blocked``: it did not return, None: it worked."""


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
        self.volume = run.make(volume).resource
        self._point = Path(self.volume.mount_point)
        self.data = self._point / DATA
        self.data.mkdir()

    def power_loss(self, process: Process | None, keep: KeepMode) -> PowerLossReport:
        """``FS_IOC_SHUTDOWN``, SIGKILL, mount: lose what is not durable, and with it the process."""
        processes = () if process is None else (process,)
        held = self._run.make(PowerLoss(self.volume, processes, keep))
        self._run.undo(held)
        # Before the node's first write its very directory may not have been durable.
        self.data.mkdir(exist_ok=True)
        return PowerLossReport(held.resource.lost_bytes)

    def wipe(self) -> None:
        """Make a new file system (``mkfs``)."""
        self._run.undo(self._run.make(Wipe(self.volume)))
        self.data.mkdir()

    def probe(self) -> str | None:
        """A small file, synced, by a process that may wait for ever."""
        return probe_write(self._point, self._run.directory)


class DirectoryDisk:
    """A directory on whatever disk the machine has: it can be emptied, and no more."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / DATA
        self.data.mkdir(parents=True)
        self.volume = None
        self._directory = directory

    def wipe(self) -> None:
        shutil.rmtree(self.data)
        self.data.mkdir()

    def probe(self) -> str | None:
        """Write and sync a small file."""
        return try_to_write(self._directory)
