"""``maker.py STATE KIND,KIND… hold|churn [LASTS_MS]``: makes faults in a run of its own, for tests that kill it.

``hold`` makes each once, says ``made`` and stays; ``churn`` makes and undoes them for ever: a kill hits any moment.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

from highwater_chaos.machine.disk.power_loss import PowerLoss
from highwater_chaos.machine.disk.volumes import SMALLEST, FileSystem, Volume
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.faults.disk_error import DiskError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.faults.disk_full import DiskFull
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.network.links import Hub, Link
from highwater_chaos.machine.network.namespaces import Namespace
from highwater_chaos.machine.process.commands import Command
from highwater_chaos.machine.process.instructions import Instruction
from highwater_chaos.machine.process.processes import Process, Spawn
from highwater_chaos.machine.process.start_barrier import StartBarrier
from highwater_chaos.machine.resource import Resource
from highwater_chaos.machine.runs.run import MachineRun


def volume(run: MachineRun, name: str, kind: FileSystem) -> Volume:
    place = run.path / name
    return Volume(name, run.directory, f"{place}.img", str(place), kind, SMALLEST[kind])


# A child as well, which the shell does not wait for when it is killed.
SLEEPERS = "sleep 1000 & sleep 1000"


def process(run: MachineRun, name: str = "node", directory: Path | None = None, script: str = SLEEPERS) -> Process:
    spawn = Spawn(["sh", "-c", script], run.path / "log", run.name("node"), None, directory)
    return Process(name, run.directory, spawn=spawn)


def network(run: MachineRun) -> None:
    for name in ("net", "node"):
        run.make(Namespace(run.name(name), run.directory))
    run.make(Hub(run.name("net"), "10.77.0.1/16"))
    run.make(Link(run.name("net"), run.name("node"), "node", "10.77.1.1/16"))


def prepare(run: MachineRun, kind: str) -> Callable[[], Resource]:
    """What the fault stands on; returns what makes a fresh one."""
    match kind.split("-"):
        case ["namespace"]:
            return lambda: Namespace(run.name("other"), run.directory)
        case ["link"]:
            run.make(Namespace(run.name("linked"), run.directory))
            return lambda: Link(run.name("net"), run.name("linked"), "other", "10.77.1.2/16")
        case ["cut"]:
            return lambda: Cut(run.name("node"), "10.77.0.1")
        case ["instruction"]:
            program, key = str(run.path.parent.parent / "program"), {"key": "fault"}
            return lambda: Instruction(program, "forget", key, "knows", "keep", key)
        case ["command"]:
            there = str(run.path.parent.parent / "commanded")
            heal, probe, inject = ("rm", "-f", there), ("test", "-e", there), ("touch", there)
            return lambda: Command("a file", heal, probe, "/", 10, inject=inject)
        case ["hanging"]:
            there = str(run.path.parent.parent / "commanded")
            inject = ("sh", "-c", f"echo $$ >{there}; sleep 1000")
            return lambda: Command("a file", ("rm", "-f", there), ("test", "-s", there), "/", 2, inject=inject)
        case ["barrier"]:
            return lambda: StartBarrier(str(run.path.parent.parent / "barrier"))
        case ["process"]:
            return lambda: process(run)
        case ["pause"]:
            paused = run.make(process(run, "paused")).resource
            return lambda: Pause(paused)
        case ["volume", "ext4" | "xfs" as system]:
            return lambda: volume(run, kind, system)
        case [fault, "ext4" | "xfs" as system]:
            disk = run.make(volume(run, f"{kind}-disk", system)).resource
            writer = run.make(process(run, f"{kind}-writer", Path(disk.mount_point))).resource
            match fault:
                case "powerloss":
                    return lambda: PowerLoss(disk, (writer,))
                case "wipe":
                    run.make(PowerLoss(disk, (writer,)))
                    return lambda: Wipe(disk)
                case "full":
                    return lambda: DiskFull(disk)
                case "error":
                    return lambda: DiskError(disk)
                case "freeze":
                    script = "while echo more; do sleep 0.01; done > written"
                    run.make(process(run, f"{kind}-waits", Path(disk.mount_point), script))
                    return lambda: DiskFreeze(disk)
    raise ValueError(kind)


def main() -> None:
    state, kinds, mode, *lasts = sys.argv[1:]
    run = MachineRun.open(label=kinds, root=Path(state))
    network(run)
    fresh = [prepare(run, kind) for kind in kinds.split(",")]
    lasts_ns = int(lasts[0]) * 1_000_000 if lasts else None
    if mode == "churn":
        sys.stdout.write("made\n")
    sys.stdout.flush()
    while True:
        held = [run.make(one(), lasts_ns=lasts_ns) for one in fresh]
        if mode == "hold":
            sys.stdout.write("made\n")
            sys.stdout.flush()
            signal.pause()
        for one in reversed(held):
            run.undo(one)


if __name__ == "__main__":
    main()
