"""One node of a run: its process, the incarnations it goes through, and what is known of how each ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends.local.control import ControlChannel
from highwater_chaos.backends.local.disks import NodeDisk, VolumeDisk
from highwater_chaos.backends.local.pacing import remaining_ns
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace, NodeProgram
from highwater_chaos.backends.primitives import KeepMode, PowerLossReport, SkewsClocks
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.node_fault import NodeFault, Part
from highwater_chaos.machine.kernel.proc import ProcessorTime, processor_time_of
from highwater_chaos.machine.process.processes import Process, Spawn
from highwater_chaos.machine.runs.run import Held, MachineRun

_TAIL_BYTES: Final = 8000
_TAIL_LINES: Final = 8


class LocalNode:
    """See the module. Methods that end the process return once it is gone."""

    def __init__(
        self,
        run: MachineRun,
        program: NodeProgram,
        place: NodePlace,
        disk: NodeDisk,
        *,
        namespace: str | None,
        log: Path,
    ) -> None:
        self.place = place
        self.disk = disk
        self.log = log
        self.incarnation = 0
        self.channel: ControlChannel | None = None
        self.stopping = False
        self.disk_troubled = False
        """Whether its disk failed on purpose in this incarnation, or when it began: then it may well exit."""
        self.began_wiped = False
        """Whether the present incarnation began on an empty disk after another one had been there."""
        self.program = program
        self._run = run
        self._namespace = namespace
        self._process: Held[Process] | None = None
        self._faults: dict[type[NodeFault], Held[NodeFault]] = {}
        self._wiped = False
        self._own_log: Path | None = None

    @property
    def name(self) -> str:
        """``broker-0``."""
        return self.place.name

    @property
    def is_ours(self) -> bool:
        """Whether its process is a host of ours, which is asked for more than rules."""
        return SkewsClocks in self.program.done_by_nodes

    @property
    def has_process(self) -> bool:
        """Whether a process was started whose end has not been noted yet."""
        return self._process is not None

    @property
    def is_gone(self) -> bool:
        """Return whether the process has ended and that is not noted yet."""
        return self._process is not None and self._process.resource.state() == "gone"

    def state(self) -> NodeState:
        """From the kernel as far as it knows: a pause that was ended from outside (by the guardian, at its deadline)
        is none, and one that was not ended is one, whatever was asked for."""
        if self._process is None:
            return NodeState.DOWN
        if self._process.resource.state() == "stopped":
            return NodeState.PAUSED
        return NodeState.STOPPING if self.stopping else NodeState.UP

    # --- as a machine's node ---

    def running(self) -> Process | None:
        return None if self._process is None else self._process.resource

    def processes(self) -> Process:
        if self._process is None:
            raise MachineError(f"{self.name} does not run")
        return self._process.resource

    def volume(self) -> Volume:
        if self.disk.volume is None:
            raise MachineError(f"{self.name} has no disk of its own")
        return self.disk.volume

    def network(self) -> str:
        if self._namespace is None:
            raise MachineError(f"{self.name} has no network of its own")
        return self._namespace

    def begin(self, fault: type[NodeFault], parameters: Mapping[str, Any], until_ns: int | None) -> None:
        """Make a fault unless the node has it; CLOCK_MONOTONIC ``until_ns`` at the latest it is undone."""
        self.disk_troubled |= fault.MAY_END_NODES
        if fault not in self._faults:
            self._faults[fault] = self._run.make(fault.on(self, **parameters), lasts_ns=remaining_ns(until_ns))

    def take_back(self, *faults: type[NodeFault]) -> None:
        """Undo those of these faults that the node has, in this order."""
        for fault in faults:
            if (held := self._faults.get(fault)) is not None:
                self._run.undo(held)
                del self._faults[fault]

    def take_back_from(self, part: Part) -> None:
        """Undo the faults that this part of the node has."""
        self.take_back(*[fault for fault in self._faults if part == fault.ACTS_ON])

    def has(self, fault: type[NodeFault]) -> bool:
        """Whether it was made, and not taken back."""
        return fault in self._faults

    def processor_time(self) -> ProcessorTime | None:
        """None: it does not run, or the kernel does not count."""
        identity = None if self._process is None else self._process.resource.identity
        return None if identity is None else processor_time_of(identity.pid)

    # --- life ---

    def start(self, plan: ClusterPlan) -> dict[str, Path]:
        """Start the next incarnation; returns files to keep with the run, by their path there."""
        assert self._process is None, f"{self.name} runs"
        self.incarnation += 1
        self.stopping = False
        self.disk_troubled = any(fault.MAY_END_NODES for fault in self._faults)
        self.began_wiped, self._wiped = self._wiped and self.incarnation > 1, False
        launch = self.program.launch(plan, self.place, self.incarnation)
        self._own_log = launch.log
        environment = {**os.environ, **launch.env}
        spawn = Spawn(launch.argv, self.log, namespace=self._namespace, environment=environment)
        self._process = self._run.make(Process(self.name, self._run.directory, spawn=spawn))
        self.channel = None if launch.control is None else ControlChannel(launch.control, self.name)
        return dict(launch.paths)

    def ask_to_stop(self) -> None:
        """Ask the process to stop (SIGTERM)."""
        assert self._process is not None
        self.stopping = True
        self._process.resource.signal(signal.SIGTERM)

    def end(self) -> int | None:
        """SIGKILL, unless it is gone already; returns its exit status (−9 where this killed it)."""
        assert self._process is not None
        process = self._process.resource
        self._run.undo(self._process)
        self._forget()
        return process.status()

    def lose_power(self, disk: VolumeDisk, keep: KeepMode) -> PowerLossReport:
        """The process, if it runs, and whatever its disk had not made durable, are gone."""
        report = disk.power_loss(self.running(), keep)
        if self._process is not None:
            self.end()
        return report

    def wipe(self) -> None:
        self.disk.wipe()
        self._wiped = True

    def tail(self) -> str:
        """The end of what it logged and printed, without the frames of Java's exceptions."""
        logs = [log for log in (self._own_log, self.log) if log is not None]
        lines = [line for log in logs for line in _end_of(log) if not line.startswith("\tat ")]
        return "\n".join(lines[-_TAIL_LINES:])

    def _forget(self) -> None:
        self._process = None
        self.stopping = False
        self.take_back_from("processes")
        if self.channel is not None:
            self.channel.close()
            self.channel = None


def _end_of(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
