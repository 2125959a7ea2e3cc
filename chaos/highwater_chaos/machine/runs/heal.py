"""``highwater heal``: gives a machine back whatever runs left on it, from their journals, without harness or guardian.

Runs whose owner lives are not touched unless asked for. Any number of healers may be at work at once.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.runs.directory import INFO, LOCK, RunInfo, is_run_id, locked, run_directories
from highwater_chaos.machine.runs.journal import JOURNAL, Journal
from highwater_chaos.machine.runs.kinds import from_journal
from highwater_chaos.machine.runs.orphans import orphans
from highwater_chaos.machine.runs.undoing import REMOVED, end_run, failure

_BEING_MADE: Final = 60.0
"""Seconds for which a run's directory may exist without saying whose it is."""


@dataclass(slots=True)
class Healed:
    """One run, or ``orphans``: what was undone of it (would be, in a dry run), and what is left and why.

    ``owner`` is the pid of a living owner; such a run was ``skipped`` unless living ones were asked for."""

    run: str
    label: str = ""
    owner: int | None = None
    skipped: bool = False
    undone: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def heal(root: Path, *, only: str | None = None, living: bool = False, dry_run: bool = False) -> list[Healed]:
    """Heal the runs below a state directory.

    Args:
        root: the state directory.
        only: the id of one run; None: all, and what belongs to none.
        living: also runs whose owner lives; it can make nothing any more then.
        dry_run: only say what there is.

    Raises:
        MachineError: there is no run ``only``.
    """
    root = root.resolve()
    if only is not None and only not in {path.name for path in run_directories(root)}:
        raise MachineError(f"there is no run {only} in {root}")
    results = []
    for path in run_directories(root):
        if only in (None, path.name):
            result = _heal_run(path, living, dry_run)
            if result is not None:
                results.append(result)
    if only is None:
        found = _heal_orphans(root, dry_run)
        if found.undone or found.left:
            results.append(found)
        if not dry_run:
            _sweep(root)
    return results


def _heal_run(path: Path, living: bool, dry_run: bool) -> Healed | None:
    result = Healed(path.name)
    try:
        info = RunInfo.read(path)
        result.label, result.owner = info.label, info.owner.pid if info.owned() else None
        if result.owner is not None and not living:
            result.skipped = True
        elif dry_run:
            result.undone = _outstanding(path)
        else:
            ended = end_run(path, "heal")
            result.undone, result.left = ended.undone, ended.left
    except RunGoneError:
        # Its guardian or another healer was faster, or it is just being made; what says nothing of an owner is swept.
        return result if result.label or result.undone else None
    except Exception as error:  # whatever is wrong with one run: the others are healed all the same
        result.left.append(failure(error))
    return result


def _outstanding(path: Path) -> list[str]:
    with locked(path):
        journal = Journal(path / JOURNAL)
        journal.refresh()
    return [from_journal(entry.kind, entry.resource).describe() for entry in reversed(journal.outstanding())]


def _heal_orphans(root: Path, dry_run: bool) -> Healed:
    result = Healed("orphans")
    for orphan in orphans(root):
        try:
            if not dry_run:
                orphan.undo()
            result.undone.append(orphan.what)
        except Exception as error:  # of this one alone
            result.left.append(f"{orphan.what}: {failure(error)}")
    return result


def _sweep(root: Path) -> None:
    # Directories of runs that ended while they were being removed or made: nothing was made for them, or nothing is
    # left. Nothing else is touched: a user may keep other things in a directory that is given as state directory.
    if not root.is_dir():
        return
    for path in root.iterdir():
        with suppress(FileNotFoundError):  # another healer was faster
            own = stat.S_ISDIR(path.lstat().st_mode) and path.lstat().st_uid == os.geteuid()
            if own and not linux.mount_points(path) and (path.name.startswith(REMOVED) or _is_unfinished(path)):
                shutil.rmtree(path, ignore_errors=True)


def _is_unfinished(path: Path) -> bool:
    if not is_run_id(path.name) or time.time() - path.stat().st_mtime <= _BEING_MADE:
        return False
    names = {one.name for one in path.iterdir()}
    return not names or (LOCK in names and INFO not in names)  # the lock comes first
