"""Undo the entries of a run's journal. The run itself, its guardian and ``highwater heal`` use this.

The newest entry comes first, because later things depend on earlier ones. Every entry is tried, even if another one
failed. Each is probed afterwards, because a command that returned does not prove that the machine is healed.

Faults of disks come before all, each disk under its own lock (:mod:`~.apart`) and in parallel: what waits for a frozen
disk cannot be ended, and so not be undone. Frozen ones come first of a disk's. Then comes what is undone under the
run's lock, so that no other process makes or undoes anything at the same time. Instructions to programs
(:class:`~.instructions.Instruction`) are reversed last, because they end with the programs; each program under its own
lock and in parallel.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_chaos.machine.process.instructions import Instruction
from highwater_chaos.machine.process.processes import RUN_MARK, Process, marked
from highwater_chaos.machine.runs.apart import alone_with, by_key, key_of
from highwater_chaos.machine.runs.directory import RunInfo, bell, locked, ring
from highwater_chaos.machine.runs.journal import JOURNAL, Entry, Journal
from highwater_chaos.machine.runs.kinds import from_journal

REMOVED: Final = ".removed-"
"""Prefix of a run's directory that is being deleted."""
_TRIES_FOR: Final = 30.0
"""Seconds for which one program or one disk is tried, entry after entry; what is left is tried the next time."""
_WAITS_FOR: Final = 90.0
"""Seconds after which nobody waits for one that does not end."""


@dataclass(slots=True)
class Undone:
    """What came of it: descriptions of what was undone, and sentences about what is left and why."""

    undone: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def undo_resource(entry: Entry, *, same_boot: bool = True) -> str:
    """Undo what an entry speaks of, and see that nothing is left of it. Returns what it was.

    Raises:
        MachineError, OSError: it is not undone, or not wholly.
    """
    resource = from_journal(entry.kind, entry.resource)
    # Pids and sockets of another boot mean nothing now.
    if same_boot or not isinstance(resource, Process | Pause | Instruction):
        resource.undo()
        if left := resource.left():
            raise MachineError(f"still there: {left}")
    return resource.describe()


def undo_entry(journal: Journal, entry: Entry, by: str, *, same_boot: bool = True) -> str:
    """The same with the run's lock held, and note it."""
    what = undo_resource(entry, same_boot=same_boot)
    journal.undone(entry.id, by)
    return what


def undo_apart(path: Path, entry: Entry, by: str) -> str:
    """The same under the entry's own lock, and without the run's. Nothing is done where another process has undone it.

    Raises:
        MachineError, OSError: it is not undone.
        RunGoneError: there is no such run (any more).
    """
    with alone_with(path, str(key_of(entry.resource))):
        with locked(path):
            same_boot = _same_boot(path)
            journal = _journal(path)
            if journal.entries[entry.id].undone_by is not None:
                return from_journal(entry.kind, entry.resource).describe()
        what = undo_resource(entry, same_boot=same_boot)
        with locked(path):
            journal.refresh()
            journal.undone(entry.id, by)
    return what


def undo_run(path: Path, by: str, which: Callable[[Entry], bool] = lambda _: True) -> Undone:
    """Undo what is outstanding of the run at ``path`` and wanted by ``which``.

    Raises:
        RunGoneError: there is no such run (any more).
    """
    undone, failed = _undo_disks(path, by, which)
    with locked(path):
        more, failures, apart = undo_own(path, by, which)
    last, refused = _undo_all_apart(path, [entry for entry in apart if _is_told(entry)], by)
    return Undone([*undone, *more, *last], list((failed | failures | refused).values()))


def end_run(path: Path, by: str) -> Undone:
    """Undo everything of a run and remove it, unless something is left.

    Raises:
        RunGoneError: there is no such run (any more).
    """
    undone, failed = _undo_disks(path, by, lambda _: True)
    with locked(path):
        more, _, apart = undo_own(path, by, lambda _: True)
    last, refused = _undo_all_apart(path, [entry for entry in apart if _is_told(entry)], by)
    undone = [*undone, *more, *last]
    try:
        return _finish(path, by, undone, failed | refused)
    except RunGoneError:
        if undone:
            return Undone(undone, [])  # another one has ended it since, and does not know of these
        raise


def _undo_disks(path: Path, by: str, which: Callable[[Entry], bool]) -> tuple[list[str], dict[str, str]]:
    with locked(path):
        entries = [entry for entry in _journal(path).outstanding() if which(entry)]
    disks = [entry for entry in entries if key_of(entry.resource) is not None and not _is_told(entry)]
    return _undo_all_apart(path, _in_order(disks), by)


def _finish(path: Path, by: str, undone: list[str], failed: dict[str, str]) -> Undone:
    with locked(path):
        again, failures, apart = undo_own(path, by, lambda _: True)
        for entry in apart:
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


def undo_own(
    path: Path, by: str, which: Callable[[Entry], bool], tell: Callable[[Entry, str], None] = lambda *_: None
) -> tuple[list[str], dict[str, str], list[Entry]]:
    """Undo what is undone with the run's lock held: what was undone, failures by entry, and what is to be undone under
    locks of its own. ``tell`` hears of each entry that was undone, and of what that was."""
    same_boot = _same_boot(path)
    journal = _journal(path)
    undone, failures, apart = [], {}, []
    for entry in _in_order(journal.outstanding()):
        if not which(entry):
            continue
        if key_of(entry.resource) is not None and (same_boot or not _is_told(entry)):
            apart.append(entry)
            continue
        try:
            undone.append(undo_entry(journal, entry, by, same_boot=same_boot))
            tell(entry, undone[-1])
        except Exception as error:  # whatever is wrong with one: the others are undone all the same
            failures[entry.id] = failure_of(entry, error)
    return undone, failures, apart


def _in_order(entries: list[Entry]) -> list[Entry]:
    newest_first = reversed(entries)
    return sorted(newest_first, key=lambda entry: entry.kind != DiskFreeze.KIND)


def _is_told(entry: Entry) -> bool:
    return entry.kind == Instruction.KIND


def _same_boot(path: Path) -> bool:
    return RunInfo.read(path).boot == boot_id()


def failure_of(entry: Entry, error: Exception) -> str:
    """Return an exception in words."""
    return f"{entry.kind} {entry.id}: {failure(error)}"


def failure(error: Exception) -> str:
    """An error in words; one that should not be has its type."""
    return str(error) if isinstance(error, MachineError | OSError) else f"{type(error).__name__}: {error}"


def _undo_all_apart(path: Path, entries: list[Entry], by: str) -> tuple[list[str], dict[str, str]]:
    undone: list[str] = []
    failures: dict[str, str] = {}
    # Until it is over: what does not end in time is said to be left.
    waiting = {entry.id: f"{entry.kind} {entry.id}: not undone within {_WAITS_FOR:g} s" for entry in entries}

    def undo(some: list[Entry]) -> None:
        until = time.monotonic() + _TRIES_FOR
        for entry in some:
            if time.monotonic() > until:
                failures[entry.id] = f"{entry.kind} {entry.id}: not tried, others took {_TRIES_FOR:g} s"
                continue
            try:
                undone.append(undo_apart(path, entry, by))
            except Exception as error:  # of this entry alone, whatever the program answered
                failures[entry.id] = failure_of(entry, error)
            waiting.pop(entry.id, None)

    threads = [threading.Thread(target=undo, args=(group,), daemon=True) for group in by_key(entries).values()]
    for thread in threads:
        thread.start()
    until = time.monotonic() + _WAITS_FOR
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return list(undone), {**waiting, **failures}


def _journal(path: Path) -> Journal:
    journal = _kept(path, path.stat().st_ino)
    journal.refresh()
    return journal


@lru_cache(maxsize=4)
def _kept(path: Path, inode: int) -> Journal:
    # A run's journal grows with each fault: only what was written since is read. ``inode``: of this run's directory.
    del inode
    return Journal(path / JOURNAL)


def _strays(path: Path, result: Undone) -> list[str]:
    # A maker killed between fork and exec leaves a process that had no mark yet when its own entry was undone.
    for member in marked(RUN_MARK, str(path)):
        stray = Process("stray", str(path), member)
        stray.undo()
        result.undone.append(stray.describe())
    # What the journal does not name must not be deleted with the directory: it would be a user's data.
    return [f"{point} is mounted" for point in linux.mount_points(path)]
