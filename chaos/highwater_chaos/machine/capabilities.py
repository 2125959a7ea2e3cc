"""What this machine can do, found by doing it: each ability is tried on something thrown away at once.

A missing device node, a kernel without a module, a container without ``CAP_SYS_ADMIN``, a program that is not
installed: there are more reasons than can be looked up, and an ability that was tried is one that works. All trials
are part of a run of their own, with journal and guardian, so that even a trial that is killed leaves nothing. The run
lies in the state directory, where ``highwater heal`` finds it if the guardian was killed as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from highwater_chaos.machine.ability import Ability
from highwater_chaos.machine.cuts import Cut
from highwater_chaos.machine.disk_error import DiskError
from highwater_chaos.machine.disk_freeze import DiskFreeze
from highwater_chaos.machine.disk_full import DiskFull
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.links import Hub, Link
from highwater_chaos.machine.namespaces import Namespace
from highwater_chaos.machine.pauses import Pause
from highwater_chaos.machine.power_loss import PowerLoss
from highwater_chaos.machine.processes import Process, Spawn
from highwater_chaos.machine.reach import Reach
from highwater_chaos.machine.run import MachineRun
from highwater_chaos.machine.volumes import SMALLEST, FileSystem, Volume, find_mkfs
from highwater_chaos.machine.wipe import Wipe

NEEDS_ROOT: Final = "needs root; run as root (sudo)"


@cache
def available() -> dict[Ability, str | None]:
    """Each ability, and why not; None: it works. Tried once per process; takes a second or two."""
    try:
        return _try_all()
    except (MachineError, OSError) as error:
        return dict.fromkeys(Ability, str(error))


def _try_all() -> dict[Ability, str | None]:
    found: dict[Ability, str | None] = {}
    with MachineRun.open(label="doctor") as run:
        trials = _Trials(run)
        found[Ability.PROCESSES] = _why_not(trials.processes)
        if os.geteuid() != 0:
            return found | {ability: NEEDS_ROOT for ability in Ability if ability is not Ability.PROCESSES}
        found[Ability.NAMESPACES] = _why_not(trials.namespaces)
        found[Ability.CUTS] = found[Ability.NAMESPACES] or _why_not(trials.cuts)
        volumes: dict[FileSystem, str | None] = {
            "ext4": _why_not(lambda: trials.volume("ext4")),
            "xfs": _why_not(lambda: trials.volume("xfs")),
        }
        found[Ability.EXT4], found[Ability.XFS] = volumes["ext4"], volumes["xfs"]
        usable = [kind for kind, reason in volumes.items() if reason is None]
        for ability, trial in (
            (Ability.POWER_LOSS, trials.power_loss),
            (Ability.DISK_FULL, partial(trials.fault, DiskFull)),
            (Ability.DISK_ERROR, partial(trials.fault, DiskError)),
            (Ability.DISK_FREEZE, partial(trials.fault, DiskFreeze)),
            (Ability.WIPE, trials.wipe),
        ):
            if usable:
                found[ability] = _why_not(partial(trial, usable))
            else:
                found[ability] = f"no volume can be made: {volumes['ext4']}"
    return found


@dataclass(slots=True)
class _Trials:
    run: MachineRun

    def processes(self) -> None:
        log = self.run.path / "log"
        process = self.run.make(
            Process("sleeper", self.run.directory, spawn=Spawn(["/bin/sleep", "60"], log, None, {}))
        )
        pause = self.run.make(Pause(process.resource))
        _see(process.resource.state() == "stopped", "a process does not stop at SIGSTOP")
        self.run.undo(pause)
        self.run.undo(process)
        _see(process.resource.state() == "gone", "a process does not end at SIGKILL")

    def namespaces(self) -> None:
        net, node = self._name("net"), self._name("node")
        for name in (net, node):
            self.run.make(Namespace(name, self.run.directory))
        self.run.make(Hub(net, "10.77.0.1/16"))
        self.run.make(Link(net, node, "node", "10.77.1.1/16"))
        with self._reach() as reach:
            _see(reach.reaches("net", "node", 2), "a datagram does not cross the bridge between two namespaces")

    def cuts(self) -> None:
        cut = self.run.make(Cut(self._name("node"), "10.77.0.1"))
        with self._reach() as reach:
            arrived: list[bool] = []
            dropped = cut.resource.counts(lambda: arrived.append(reach.reaches("net", "node", 0.1)))
            _see(not any(arrived), "a datagram crosses a cut")
            _see(dropped > 0, "nftables does not count what it drops")
            _see(reach.reaches("node", "net", 2), "a one-way cut cuts both ways")
        self.run.undo(cut)

    def volume(self, kind: FileSystem) -> None:
        find_mkfs(kind)
        self.run.make(self._volume(kind))

    def power_loss(self, kinds: list[FileSystem]) -> None:
        for kind in kinds:
            volume = self._volume(kind)
            (Path(volume.mount_point) / "later").write_bytes(b"never synced")
            loss = self.run.make(PowerLoss(volume))
            _see(loss.resource.lost_files == 1, f"{kind} keeps an unsynced file over FS_IOC_SHUTDOWN")
            self.run.undo(loss)

    def fault(self, fault: type[DiskFull] | type[DiskError] | type[DiskFreeze], kinds: list[FileSystem]) -> None:
        for kind in kinds:
            made = self.run.make(fault(self._volume(kind)))
            seen = made.resource.seen(closely=False)
            self.run.undo(made)
            _see(seen.in_force, f"{made.resource.describe()}: {seen.what}, not with {seen.details['expected']}")

    def wipe(self, kinds: list[FileSystem]) -> None:
        for kind in kinds:
            wipe = self.run.make(Wipe(self._volume(kind)))
            _see(wipe.resource.empty(), f"a new {kind} is not empty")
            self.run.undo(wipe)

    def _name(self, part: str) -> str:
        return self.run.name(part)

    def _reach(self) -> Reach:
        reach = Reach()
        reach.add("net", self._name("net"), "10.77.0.1")
        reach.add("node", self._name("node"), "10.77.1.1")
        return reach

    def _volume(self, kind: FileSystem) -> Volume:
        place = self.run.path / kind
        return Volume(kind, self.run.directory, f"{place}.img", str(place), kind, SMALLEST[kind])


def _why_not(trial: Callable[[], None]) -> str | None:
    try:
        trial()
    except PermissionError as error:
        return f"{error.strerror}; root lacks that privilege here: run the container with --privileged"
    except (MachineError, OSError) as error:
        return str(error)
    return None


def _see(seen: bool, otherwise: str) -> None:
    if not seen:
        raise MachineError(otherwise)
