"""The machine run that the agent's faults are part of: found again after a restart, ended after a reboot.

It belongs to the machine's first process, so its guardian undoes each fault at its deadline and nothing sooner,
whatever becomes of the agent. A container runtime ends the guardian with the agent's container; another container of
the pod starts one again (:mod:`~.guard`). If that has died too, the next agent undoes what is overdue when it starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import RunGoneError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.linux import boot_time_ns
from highwater_chaos.machine.runs.directory import RunInfo, run_directories
from highwater_chaos.machine.runs.journal import Entry
from highwater_chaos.machine.runs.run import MachineRun
from highwater_chaos.machine.runs.undoing import end_run, undo_run

STATE: Final = Path("/var/lib/highwater/agent")
"""Where the agent's journals are, unless ``HIGHWATER_AGENT_STATE`` says otherwise."""


def runs_of(state: Path) -> Path:
    """The directory of the agent's runs."""
    return state / "runs"


def open_run(state: Path) -> tuple[MachineRun, list[str]]:
    """The run to work in, guarded, with what is overdue undone; and what was done to get there.

    Volumes must be mounted as far as they can be: what lies on one can only be undone there.

    Raises:
        MachineError: something of an earlier run is in the way.
    """
    root = runs_of(state)
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    notes: list[str] = []
    kept: MachineRun | None = None
    for path in run_directories(root):
        try:
            if kept is None and RunInfo.read(path).owned():
                overdue = undo_run(path, "restart", _is_overdue)
                notes += [f"overdue, undone: {what}" for what in overdue.undone]
                notes += [f"overdue, in the way: {what}" for what in overdue.left]
                run = MachineRun.attach(path.name, root=root)
                if run.outstanding():
                    kept = run
                    continue
            ended = end_run(path, "restart")
            notes += [f"of an earlier run, undone: {what}" for what in ended.undone]
            notes += [f"of an earlier run, left: {what}" for what in ended.left]
        except RunGoneError:
            continue  # its guardian was faster
    run = kept or MachineRun.open(label="highwater-agent", root=root, owner=Identity.of(1))
    run.ensure_guarded()
    return run, notes


def _is_overdue(entry: Entry) -> bool:
    return entry.deadline_ns is not None and entry.deadline_ns <= boot_time_ns()
