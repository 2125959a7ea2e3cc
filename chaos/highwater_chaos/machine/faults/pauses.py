"""A process that stands still, as in a long garbage collection: SIGSTOP, and SIGCONT to undo it."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.node_fault import MachineNode, Part, Seen
from highwater_chaos.machine.kernel.identity import Identity, ProcessState
from highwater_chaos.machine.process.processes import Process

_STOPPED_WITHIN: Final = 5.0


@dataclass(frozen=True, slots=True)
class Pause:
    """``process`` and everything that it started are stopped."""

    KIND: ClassVar[str] = "pause"
    ALONE: ClassVar[bool] = False
    ACTS_ON: ClassVar[Part] = "processes"
    MAY_END_NODES: ClassVar[bool] = False
    process: Process

    @classmethod
    def on(cls, node: MachineNode, /) -> Self:
        return cls(node.processes())

    def make(self, _held: Sequence[int]) -> Self:
        """SIGSTOP; returns when the kernel says that every one of them stands still."""
        deadline = time.monotonic() + _STOPPED_WITHIN
        stopped: list[Identity] = []
        # Looked for again until all that there are stand still: one that ran may have started another meanwhile.
        while (members := self.process.members()) != stopped or not members:
            if not members:
                raise MachineError(f"process {self.process.name} is gone and cannot be paused")
            for member in members:
                member.send(signal.SIGSTOP)
            while any(member.state() == "running" for member in members):
                if time.monotonic() > deadline:
                    raise MachineError(f"process {self.process.name} does not stop: it waits in the kernel")
                time.sleep(0.001)
            stopped = members
        return self

    def undo(self) -> None:
        """Let the processes go on (SIGCONT)."""
        for member in self.process.members():
            member.send(signal.SIGCONT)

    def left(self) -> str | None:
        """Which of them are stopped."""
        stopped = [str(member.pid) for member in self.process.members() if member.state() == "stopped"]
        return f"process {self.process.name} stopped (pid {', '.join(stopped)})" if stopped else None

    def describe(self) -> str:
        return f"pause of process {self.process.name}"

    def seen(self, *, closely: bool = True) -> Seen:
        """By the kernel's word for each process."""
        del closely
        states = {str(member.pid): member.state() for member in self.process.members()}
        if not states:
            return Seen(f"no process of {self.process.name} is left", False, True, {})
        found = sorted(states.values())
        counts = ", ".join(f"{found.count(state)} {state}" for state in dict.fromkeys(found))
        saw = f"processes of {self.process.name}: {counts}"
        return Seen(saw, set(found) == {"stopped"}, set(found) == {"running"}, states)


def process_state(node: MachineNode) -> ProcessState:
    """Probe: ``stopped`` if any process of a node is; ``gone``: none lives."""
    process = node.running()
    states = set() if process is None else {one.state() for one in process.members()} - {"gone"}
    return "stopped" if "stopped" in states else "running" if states else "gone"
