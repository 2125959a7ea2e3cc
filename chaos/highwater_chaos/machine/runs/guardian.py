"""The guardian of a run: ``python -m highwater_chaos.machine.runs.guardian RUN_DIRECTORY [--begin LABEL PID STARTED]``.

A small process in a session of its own. It makes the run's directory itself (``--begin``), so that there is never one
that nobody watches, and says ``ready`` before the run makes anything. It undoes each fault at its deadline,
and everything as soon as the run's owner is gone, however it went: it waits on the owner itself (pidfd), so SIGKILL, a
crash and a forgotten close are all the same to it. Signals that end a terminal's or a session's processes do not end
it, because the owner's end follows from them and then there is work to do. SIGKILL does, and then ``highwater heal``
or the run's next step (which starts a new guardian) takes over.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError, PlaceError, RunGoneError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.linux import boot_time_ns
from highwater_chaos.machine.runs.apart import by_key
from highwater_chaos.machine.runs.directory import (
    GUARD_LOCK,
    READY,
    REFUSED,
    WAKE,
    RunInfo,
    begin,
    locked,
    removed_unless_whole,
)
from highwater_chaos.machine.runs.journal import JOURNAL, Entry, Journal
from highwater_chaos.machine.runs.undoing import end_run, failure_of, undo_apart, undo_own

LOG: Final = "guardian.log"
_LOOK_AGAIN: Final = 5.0
"""Seconds after which it looks at the run again without being woken."""
_RETRY: Final = 1.0
_TRIES: Final = 50
_MOST_SAID: Final = 10
"""Different sentences about one entry: a program may answer differently each time."""
_INSISTS_FOR: Final = 120.0
"""Seconds for which it tries to undo what is in the way of something; then ``highwater heal`` must."""


def main(arguments: list[str]) -> int:
    """Guard one run until it is gone. Exits 0 then, 1 where something is left that cannot be undone."""
    path = Path(arguments[1]).resolve()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    making: AbstractContextManager[None] = nullcontext()
    match arguments[2:]:
        case ["--begin", label, pid, started]:
            begin(path, label, Identity(int(pid), int(started)))
            making = removed_unless_whole(path)
    try:
        info = RunInfo.read(path)
        with making:
            guard, wake, log = _open(path)
    except (FileNotFoundError, RunGoneError):
        return 0
    # One guardian a run: the descriptor is held, and with it the lock, until this process ends.
    if not _become(guard):
        _log("warning", "another guardian is at work")
        return 1
    owner = info.owner.pidfd()
    os.dup2(log, sys.stderr.fileno())
    with suppress(BrokenPipeError):  # the owner is gone already, so there is work to do
        os.write(sys.stdout.fileno(), READY)
    os.dup2(log, sys.stdout.fileno())
    try:
        if owner is not None:
            _watch(path, owner, wake)
            _log("warning", "the owner of the run is gone", pid=info.owner.pid)
        return _end(path)
    except RunGoneError:
        return 0


def _open(path: Path) -> tuple[int, int, int]:
    return (
        os.open(path / GUARD_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600),
        os.open(path / WAKE, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC),
        os.open(path / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600),
    )


def _become(guard: int) -> bool:
    # More than one try: who only looks whether there is a guardian holds the lock for an instant too.
    for _ in range(_TRIES):
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


def _watch(path: Path, owner: int, wake: int) -> None:
    # Returns when the owner is gone. Raises RunGoneError when the run is.
    apart = _Apart(path)
    poll = select.poll()
    poll.register(owner, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        seconds = _undo_overdue(path, apart)
        ready = dict(poll.poll(seconds * 1000))
        if owner in ready:
            return
        if wake in ready:
            os.read(wake, 4096)


def _undo_overdue(path: Path, apart: _Apart) -> float:
    # Returns in how many seconds there may be something to do again.
    with locked(path):
        _, failures, entries = undo_own(path, "guardian", _overdue, _log_undone)
        journal = Journal(path / JOURNAL)
        journal.refresh()
    for entry, what in failures.items():
        apart.log_once(journal.entries[entry], what)
    apart.begin(entries)
    if failures or entries:
        return _RETRY
    deadlines = [entry.deadline_ns for entry in journal.outstanding() if entry.deadline_ns is not None]
    if not deadlines:
        return _LOOK_AGAIN
    return min(_LOOK_AGAIN, max(0.0, (min(deadlines) - boot_time_ns()) / 1e9) + 0.001)


class _Apart:
    """Undoes what has a lock of its own while deadlines are looked after: one thread for each program and each disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads: dict[str, threading.Thread] = {}
        self._said: dict[str, set[str]] = {}

    def begin(self, entries: list[Entry]) -> None:
        """Return at once; one whose turn has not ended gets no other."""
        self._threads = {key: thread for key, thread in self._threads.items() if thread.is_alive()}
        for key, some in by_key(entries).items():
            if key not in self._threads:
                thread = threading.Thread(target=self._undo, args=(some,), name="apart", daemon=True)
                self._threads[key] = thread
                thread.start()

    def log_once(self, entry: Entry, error: str) -> None:
        """Log what keeps an entry from being undone, once: a hostile program must not fill the disk with it."""
        said = self._said.setdefault(entry.id, set())
        if error not in said and len(said) < _MOST_SAID:
            said.add(error)
            _log("warning", "fault not undone", fault=_fault_of(entry), error=f"overdue: {error}")

    def _undo(self, entries: list[Entry]) -> None:
        for entry in entries:
            try:
                _log_undone(entry, undo_apart(self._path, entry, "guardian"))
            except RunGoneError:
                return
            except Exception as error:  # of this entry alone, whatever the program answered
                self.log_once(entry, failure_of(entry, error))


def _overdue(entry: Entry) -> bool:
    return entry.deadline_ns is not None and entry.deadline_ns <= boot_time_ns()


def _end(path: Path) -> int:
    until = time.monotonic() + _INSISTS_FOR
    while True:
        result = end_run(path, "guardian")
        for what in result.undone:
            _log("info", "undone at the end of the run", what=what)
        if not result.left:
            return 0
        for what in result.left:
            _log("warning", "left at the end of the run", what=what)
        if time.monotonic() > until:
            return 1
        time.sleep(_RETRY)


def _log(level: str, event: str, **fields: object) -> None:
    # A line of docs/logs.md. The machine imports nothing of the runtime, whose programs make the same lines.
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told = {name: value for name, value in fields.items() if value is not None}
    line = json.dumps({"time": now, "level": level, "component": "guardian", "event": event, **told}, default=str)
    with suppress(OSError):  # a full disk: what it does is worth more than what it says
        os.write(sys.stderr.fileno(), f"{line}\n".encode())


def _log_undone(entry: Entry, what: str) -> None:
    _log("info", "fault undone", fault=_fault_of(entry), by="deadline", what=what)


def _fault_of(entry: Entry) -> str | None:
    return entry.tag.partition(":")[0] or None


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except PlaceError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)
    except MachineError as error:
        _log("error", "the guardian cannot work", error=str(error))
        sys.exit(1)
    except Exception as error:
        _log("critical", "not caught", error=str(error), traceback=traceback.format_exc())
        sys.exit(1)
