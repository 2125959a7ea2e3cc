"""Undoing what a run's journal names. The run itself, its guardian and ``highwater heal`` all do it with this.

Under the run's lock, so no process is in the middle of making or undoing; newest first, because later things stand on
earlier ones; everything is tried, whatever fails; and each is probed afterwards, because a command that returned is not
yet a machine that is whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from highwater_chaos.machine import linux, loop
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.journal import JOURNAL, Entry, Journal
from highwater_chaos.machine.kinds import from_journal
from highwater_chaos.machine.pauses import Pause
from highwater_chaos.machine.processes import RUN_MARK, Process, marked
from highwater_chaos.machine.runs import RunInfo, bell, locked, ring

REMOVED: Final = ".removed-"
"""Prefix of a run's directory that is being deleted."""


@dataclass(slots=True)
class Undone:
    """What came of it: descriptions of what was undone, and sentences about what is left and why."""

    undone: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def undo_entry(journal: Journal, entry: Entry, by: str, *, same_boot: bool = True) -> str:
    """Undo one entry, see that nothing is left of it, note it. With the run's lock held. Returns what it was.

    Raises:
        MachineError, OSError: it is not undone, or not wholly.
    """
    resource = from_journal(entry.kind, entry.resource)
    # Pids of another boot mean nothing now.
    if same_boot or not isinstance(resource, Process | Pause):
        resource.undo()
        if left := resource.left():
            raise MachineError(f"still there: {left}")
    journal.undone(entry.id, by)
    return resource.describe()


def undo_run(path: Path, by: str, which: Callable[[Entry], bool] = lambda _: True) -> Undone:
    """Undo what is outstanding of the run at ``path`` and wanted by ``which``.

    Raises:
        RunGoneError: there is no such run (any more).
    """
    with locked(path):
        return _undo(path, by, which)


def end_run(path: Path, by: str) -> Undone:
    """Undo everything of a run and remove it, unless something is left.

    Raises:
        RunGoneError: there is no such run (any more).
    """
    with locked(path):
        result = _undo(path, by, lambda _: True)
        result.left += _strays(path, result)
        if not result.left:
            # Out of sight first: a process that waits for the lock finds no run, and none finds half of one.
            guardian = bell(path)
            removed = path.with_name(REMOVED + path.name)
            path.rename(removed)
            ring(guardian)
            shutil.rmtree(removed)
        return result


def _undo(path: Path, by: str, which: Callable[[Entry], bool]) -> Undone:
    same_boot = RunInfo.read(path).boot == linux.boot_id()
    journal = Journal(path / JOURNAL)
    journal.refresh()
    result = Undone()
    for entry in reversed(journal.outstanding()):
        if not which(entry):
            continue
        try:
            result.undone.append(undo_entry(journal, entry, by, same_boot=same_boot))
        except (MachineError, OSError) as error:
            result.left.append(f"{entry.kind} {entry.id}: {error}")
    return result


def _strays(path: Path, result: Undone) -> list[str]:
    # A maker killed between fork and exec leaves a process that had no mark yet when its own entry was undone.
    for member in marked(RUN_MARK, str(path)):
        stray = Process("stray", str(path), member)
        stray.undo()
        result.undone.append(stray.describe())
    # What the journal does not name must not be deleted with the directory: it would be a user's data.
    below = [f"{point} is mounted" for point in linux.mount_points(path)]
    return below + [
        f"{device} is attached to {image}" for device, image in loop.attached().items() if image.is_relative_to(path)
    ]
