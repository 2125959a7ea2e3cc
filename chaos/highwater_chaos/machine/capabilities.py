"""What this machine can do, found by doing it: each capability is tried on something thrown away at once.

A missing device node, a kernel without a module, a container without ``CAP_SYS_ADMIN``, a program that is not
installed: there are more reasons than can be looked up, and a capability that was tried is one that works. All trials
are part of a run of their own, with journal and guardian, so that even a trial that is killed leaves nothing. The run
lies in the state directory, where ``highwater heal`` finds it if the guardian was killed as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final

from highwater_chaos.machine.disk.power_loss import PowerLoss
from highwater_chaos.machine.disk.volumes import SMALLEST, FileSystem, Volume, find_mkfs
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.faults.node_fault import NodeFault
from highwater_chaos.machine.network.links import Hub, Link
from highwater_chaos.machine.network.namespaces import Namespace
from highwater_chaos.machine.network.reach import Reach
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES
from highwater_chaos.machine.process.processes import Process, Spawn
from highwater_chaos.machine.runs.run import Held, MachineRun

PROCESSES: Final = "processes"
NAMESPACES: Final = "network namespaces on a bridge"
VOLUMES: Final[dict[FileSystem, str]] = {"ext4": "ext4 volumes", "xfs": "XFS volumes"}
POWER_LOSS: Final = "power loss"
WIPE: Final = "wiped disks"
_PRIMITIVES: Final = {one.title: one.fault for one in MACHINE_PRIMITIVES.values()}
_WITHOUT_ROOT: Final = {PROCESSES, *(title for title, fault in _PRIMITIVES.items() if fault.ACTS_ON == "processes")}
EVERY: Final = (PROCESSES, NAMESPACES, *VOLUMES.values(), POWER_LOSS, WIPE, *_PRIMITIVES)
"""All that is tried: what faults are made on, and the primitives of the list by their titles."""
NEEDS_ROOT: Final = "needs root; run as root (sudo)"


@cache
def available() -> dict[str, str | None]:
    """Each of :data:`EVERY`, and why not; None: it works. Tried once per process; takes a second or two."""
    try:
        with MachineRun.open(label="doctor") as run:
            trials = _Trials(run)
            for capability in EVERY:
                trials.found[capability] = trials.why_not(capability)
            return trials.found
    except (MachineError, OSError) as error:
        return dict.fromkeys(EVERY, str(error))


@dataclass(slots=True)
class _Trials:
    run: MachineRun
    found: dict[str, str | None] = field(default_factory=dict)
    """What has been tried."""

    def why_not(self, capability: str) -> str | None:
        """Try it, and return why it failed; None: it works."""
        if os.geteuid() != 0 and capability not in _WITHOUT_ROOT:
            return NEEDS_ROOT
        try:
            self._trial(capability)()
        except PermissionError as error:
            return f"{error.strerror}; root lacks that privilege here: run the container with --privileged"
        except (MachineError, OSError) as error:
            return str(error)
        return None

    def _trial(self, capability: str) -> Callable[[], None]:
        own = {PROCESSES: self.processes, NAMESPACES: self.namespaces, POWER_LOSS: self.power_loss, WIPE: self.wipe}
        own |= {what: partial(self.volume, kind) for kind, what in VOLUMES.items()}
        if capability in own:
            return own[capability]
        fault = _PRIMITIVES[capability]
        return self.cuts if fault is Cut else partial(self.fault, fault)

    def processes(self) -> None:
        sleeper = self.sleeper()
        _see(sleeper.resource.state() == "running", "a process does not run")
        self.run.undo(sleeper)
        _see(sleeper.resource.state() == "gone", "a process does not end at SIGKILL")

    def namespaces(self) -> None:
        net, node = self.name("net"), self.name("node")
        for name in (net, node):
            self.run.make(Namespace(name, self.run.directory))
        self.run.make(Hub(net, "10.77.0.1/16"))
        self.run.make(Link(net, node, "node", "10.77.1.1/16"))
        with self._reach() as reach:
            _see(reach.reaches("net", "node", 2), "a datagram does not cross the bridge between two namespaces")

    def cuts(self) -> None:
        """As any fault, and that they are one-way."""
        self.need(NAMESPACES)
        cut = self.run.make(Cut(self.name("node"), "10.77.0.1"))
        with self._reach() as reach:
            arrived: list[bool] = []
            dropped = cut.resource.counts(lambda: arrived.append(reach.reaches("net", "node", 0.1)))
            _see(not any(arrived), "a datagram crosses a cut")
            _see(dropped > 0, "nftables does not count what it drops")
            _see(reach.reaches("node", "net", 2), "a one-way cut cuts both ways")
        self.run.undo(cut)

    def volume(self, kind: FileSystem) -> None:
        find_mkfs(kind)
        self.run.make(self.made_volume(kind))

    def power_loss(self) -> None:
        for volume in map(self.made_volume, self._kinds()):
            (Path(volume.mount_point) / "later").write_bytes(b"never synced")
            loss = self.run.make(PowerLoss(volume))
            _see(loss.resource.lost_files == 1, f"{volume.name} keeps an unsynced file over FS_IOC_SHUTDOWN")
            self.run.undo(loss)

    def wipe(self) -> None:
        for volume in map(self.made_volume, self._kinds()):
            wipe = self.run.make(Wipe(volume))
            _see(wipe.resource.empty(), f"a new {volume.name} is not empty")
            self.run.undo(wipe)

    def fault(self, fault: type[NodeFault]) -> None:
        on_volume = fault.ACTS_ON == "volume"
        for node in [_Node(self, kind) for kind in self._kinds()] if on_volume else [_Node(self)]:
            made = self.run.make(fault.on(node))
            during = made.resource.seen(closely=False)
            self.run.undo(made)
            _see(during.in_force, f"{made.resource.describe()} does nothing: {during.what}")
            after = made.resource.seen(closely=False)
            _see(after.gone, f"{made.resource.describe()} is not undone: {after.what}")

    def need(self, capability: str) -> None:
        if (reason := self.found[capability]) is not None:
            raise MachineError(reason)

    def sleeper(self) -> Held[Process]:
        spawn = Spawn(["/bin/sleep", "60"], self.run.path / "log", None, {})
        return self.run.make(Process("sleeper", self.run.directory, spawn=spawn))

    def made_volume(self, kind: FileSystem) -> Volume:
        place = self.run.path / kind
        return Volume(kind, self.run.directory, f"{place}.img", str(place), kind, SMALLEST[kind])

    def name(self, part: str) -> str:
        return self.run.name(part)

    def _kinds(self) -> list[FileSystem]:
        """Those of which volumes can be made."""
        kinds = [kind for kind, what in VOLUMES.items() if self.found[what] is None]
        if not kinds:
            raise MachineError(f"no volume can be made: {self.found[VOLUMES['ext4']]}")
        return kinds

    def _reach(self) -> Reach:
        reach = Reach()
        reach.add("net", self.name("net"), "10.77.0.1")
        reach.add("node", self.name("node"), "10.77.1.1")
        return reach


@dataclass(frozen=True, slots=True)
class _Node:
    """What faults are tried on."""

    trials: _Trials
    kind: FileSystem = "ext4"
    name: str = "trial"

    def running(self) -> Process:
        return self.processes()

    def processes(self) -> Process:
        return self.trials.sleeper().resource

    def volume(self) -> Volume:
        return self.trials.made_volume(self.kind)

    def network(self) -> str:
        self.trials.need(NAMESPACES)
        return self.trials.name("node")


def _see(seen: bool, otherwise: str) -> None:
    if not seen:
        raise MachineError(otherwise)
