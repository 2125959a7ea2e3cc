"""Undo the entries of a run's journal. The run itself, its guardian and ``highwater heal`` use this.

It holds the run's lock, so no other process makes or undoes anything at the same time. The newest entry comes first,
because later things depend on earlier ones. Frozen disks come before all: what waits for one cannot be ended, and so
not be undone. Every entry is tried, even if another one failed. Each is probed
afterwards, because a command that returned does not prove that the machine is healed.

Instructions to programs (:class:`~.instructions.Instruction`) are reversed after that, without the lock: a program may
respond slowly or never, and the deadlines of all other faults need the lock. Programs are asked in parallel.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from highwater_chaos.machine import linux, loop
from highwater_chaos.machine.conversation import alone_with
from highwater_chaos.machine.disk_freeze import DiskFreeze
from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.instructions import Instruction
from highwater_chaos.machine.journal import JOURNAL, Entry, Journal
from highwater_chaos.machine.kinds import from_journal
from highwater_chaos.machine.pauses import Pause
from highwater_chaos.machine.processes import RUN_MARK, Process, marked
from highwater_chaos.machine.runs import RunInfo, bell, locked, ring

REMOVED: Final = ".removed-"
"""Prefix of a run's directory that is being deleted."""
_TALKS_FOR: Final = 30.0
"""Seconds for which one program is told, entry after entry; what is left is tried the next time."""


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
    # Pids and sockets of another boot mean nothing now.
    if same_boot or not isinstance(resource, Process | Pause | Instruction):
        resource.undo()
        if left := resource.left():
            raise MachineError(f"still there: {left}")
    journal.undone(entry.id, by)
    return resource.describe()


def is_told(entry: Entry) -> bool:
    """Whether undoing it means talking to a program: not under the run's lock."""
    return entry.kind == Instruction.KIND


def undo_told(path: Path, entry: Entry, by: str) -> str:
    """Take one instruction back and note it; without the run's lock. Returns what it was; nothing is done where
    another process has undone it.

    Raises:
        MachineError, OSError: it is not undone.
        RunGoneError: there is no such run (any more).
    """
    resource = from_journal(entry.kind, entry.resource)
    assert isinstance(resource, Instruction)
    with alone_with(path, resource.socket):
        with locked(path):
            journal = _journal(path)
            if journal.entries[entry.id].undone_by is not None:
                return resource.describe()
        resource.undo()
        if left := resource.left():
            raise MachineError(f"still there: {left}")
        with locked(path):
            journal.refresh()
            journal.undone(entry.id, by)
    return resource.describe()


def undo_run(path: Path, by: str, which: Callable[[Entry], bool] = lambda _: True, *, talk: bool = True) -> Undone:
    """Undo what is outstanding of the run at ``path`` and wanted by ``which``. Without ``talk``, what programs were
    told is left, and not mentioned.

    Raises:
        RunGoneError: there is no such run (any more).
    """
    with locked(path):
        undone, failures, told = undo_own(path, by, which)
    if talk:
        more, failed = _take_back(path, told, by)
        undone, failures = undone + more, failures | failed
    return Undone(undone, list(failures.values()))


def end_run(path: Path, by: str) -> Undone:
    """Undo everything of a run and remove it, unless something is left.

    Raises:
        RunGoneError: there is no such run (any more).
    """
    with locked(path):
        undone, _, told = undo_own(path, by, lambda _: True)
    more, failed = _take_back(path, told, by)
    try:
        return _finish(path, by, undone + more, failed)
    except RunGoneError:
        if undone or more:
            return Undone(undone + more, [])  # another one has ended it since, and does not know of these
        raise


def _finish(path: Path, by: str, undone: list[str], failed: dict[str, str]) -> Undone:
    with locked(path):
        again, failures, told = undo_own(path, by, lambda _: True)
        for entry in told:
            failures[entry.id] = failed.get(entry.id, f"{entry.kind} {entry.id}: made meanwhile")
        result = Undone(undone + again, list(failures.values()))
        result.left += _strays(path, result)
        if not result.left:
            # Out of sight first: a process that waits for the lock finds no run, and none finds half of one.
            guardian = bell(path)
            removed = path.with_name(REMOVED + path.name)
            path.rename(removed)
            ring(guardian)
            shutil.rmtree(removed)
        return result


def undo_own(path: Path, by: str, which: Callable[[Entry], bool]) -> tuple[list[str], dict[str, str], list[Entry]]:
    """Undo what needs nobody's answer, with the run's lock held: what was undone, failures by entry, and what is to be
    taken back without the lock."""
    same_boot = RunInfo.read(path).boot == linux.boot_id()
    journal = _journal(path)
    undone, failures, told = [], {}, []
    newest_first = reversed(journal.outstanding())
    for entry in sorted(newest_first, key=lambda entry: entry.kind != DiskFreeze.KIND):
        if not which(entry):
            continue
        if is_told(entry) and same_boot:
            told.append(entry)
            continue
        try:
            undone.append(undo_entry(journal, entry, by, same_boot=same_boot))
        except Exception as error:  # whatever is wrong with one: the others are undone all the same
            failures[entry.id] = failure_of(entry, error)
    return undone, failures, told


def failure_of(entry: Entry, error: Exception) -> str:
    """In words, for people."""
    what = str(error) if isinstance(error, MachineError | OSError) else f"{type(error).__name__}: {error}"
    return f"{entry.kind} {entry.id}: {what}"


def by_program(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Instructions by the socket of the program that was told."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(str(entry.resource.get("socket")), []).append(entry)
    return groups


def _take_back(path: Path, told: list[Entry], by: str) -> tuple[list[str], dict[str, str]]:
    undone: list[str] = []
    failures: dict[str, str] = {}

    def talk(entries: list[Entry]) -> None:
        until = time.monotonic() + _TALKS_FOR
        for entry in entries:
            if time.monotonic() > until:
                failures[entry.id] = f"{entry.kind} {entry.id}: not tried, others took {_TALKS_FOR:g} s"
                continue
            try:
                undone.append(undo_told(path, entry, by))
            except Exception as error:  # of this entry alone, whatever the program answered
                failures[entry.id] = failure_of(entry, error)

    threads = [threading.Thread(target=talk, args=(group,), daemon=True) for group in by_program(told).values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return undone, failures


def _journal(path: Path) -> Journal:
    journal = Journal(path / JOURNAL)
    journal.refresh()
    return journal


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
