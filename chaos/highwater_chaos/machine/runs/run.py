"""One run on this machine: makes resources, journals them, and gives everything back.

::

    with MachineRun.open(label="kafka-14139") as run:
        hub = run.make(Namespace(run.name("net"), run.directory))
        run.make(Hub(hub.resource.name, "10.77.0.1/16"))
        cut = run.make(Cut(namespace, source="10.77.1.1"), lasts_ns=30 * 10**9)
        run.undo(cut)

A resource made with ``lasts_ns`` is a fault with a deadline: the guardian undoes it then, whatever this process does.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Generic, Self, TypeVar

from highwater_chaos.machine.errors import MachineError, PlaceError, RunGoneError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.linux import boot_time_ns
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.resource import Resource
from highwater_chaos.machine.runs.apart import alone_with, key_of
from highwater_chaos.machine.runs.directory import (
    READY,
    REFUSED,
    RunInfo,
    check_root,
    guarded,
    locked,
    make_root,
    new_run_id,
    state_root,
    wake,
)
from highwater_chaos.machine.runs.journal import JOURNAL, Entry, Journal
from highwater_chaos.machine.runs.kinds import from_journal, to_journal
from highwater_chaos.machine.runs.undoing import (
    Undone,
    end_run,
    undo_apart,
    undo_entry,
    undo_resource,
    undo_run,
)

GUARDIAN_MODULE: Final = "highwater_chaos.machine.runs.guardian"
_GUARDIAN_GOES_WITHIN: Final = 30.0

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Held(Generic[R]):
    """A resource that was made, and its id in the run's journal."""

    id: str
    resource: R


class MachineRun:
    """A run that this process makes things for. Methods may be called from any thread; they block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.directory = str(path)
        self._journal = Journal(path / JOURNAL)
        self._busy = threading.Lock()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._closed = False

    @classmethod
    def open(cls, *, label: str = "", root: Path | None = None, owner: Identity | None = None) -> Self:
        """Begin a run and start its guardian.

        Args:
            label: what it is for, shown by ``highwater heal``.
            root: the state directory; None: :func:`~.runs.state_root`.
            owner: the process with which the run ends; None: this one.

        Raises:
            PlaceError: no run can be kept there.
            MachineError: the guardian does not start. Nothing is left then.
        """
        root = (root or state_root()).resolve()
        make_root(root)
        path = root / new_run_id()
        while path.exists():
            path = root / new_run_id()
        run = cls(path)
        owner = owner or Identity.own()
        # The guardian makes the directory. So there is none without one that watches it, whenever this process ends.
        run._start_guardian("--begin", label, str(owner.pid), str(owner.started))
        return run

    @classmethod
    def attach(cls, run_id: str, *, root: Path | None = None) -> Self:
        """Work on a run that another process opened and that lives on when this one ends (do not close it then).

        Raises:
            RunGoneError: there is no such run.
        """
        root = (root or state_root()).resolve()
        check_root(root)
        path = root / run_id
        RunInfo.read(path)
        return cls(path)

    def name(self, part: str) -> str:
        """A name for a namespace of this run: ``hw-<run>-<part>``."""
        return f"hw-{self.id}-{part}"

    def make(self, resource: R, *, lasts_ns: int | None = None, tag: str = "") -> Held[R]:
        """Journal a resource, make it, journal that it is made. ``lasts_ns``: undone that many ns from now, by the
        process that is there; None: when the run ends. ``tag``: a name by which to find it in the journal
        (:meth:`tagged`).

        Raises:
            MachineError, OSError: it could not be made; what was half made is undone (or is left to the run's end).
            RunGoneError: another process healed this run.
        """
        key = key_of(to_journal(resource))
        if key is None:
            with self._noting() as lock:
                return self._make(resource, lasts_ns, tag, lock, nullcontext)
        with alone_with(self.path, key) as lock:
            return self._make(resource, lasts_ns, tag, lock, self._noting)

    def undo(self, held: Held[R]) -> bool:
        """Undo what was made. False: another process did before (the guardian, at the deadline).

        Raises:
            MachineError, OSError: it is not undone; it stays in the journal and is tried again when the run ends.
            RunGoneError: another process healed this run.
        """
        with self._busy, locked(self.path):
            self._journal.refresh()
            entry = self._journal.entries[held.id]
            if entry.undone_by is not None:
                return False
            if key_of(entry.resource) is None:
                undo_entry(self._journal, entry, "run")
                return True
        undo_apart(self.path, entry, "run")
        return True

    def undone_by(self, held: Held[R]) -> str | None:
        """Who undid it: ``run``, ``guardian``, ``heal``; None: it is not undone yet."""
        with self._busy, locked(self.path):
            self._journal.refresh()
            return self._journal.entries[held.id].undone_by

    def outstanding(self) -> Sequence[tuple[str, Resource]]:
        """Ids and resources that are not undone, oldest first."""
        with self._busy, locked(self.path):
            self._journal.refresh()
            entries: list[Entry] = self._journal.outstanding()
        return [(entry.id, from_journal(entry.kind, entry.resource)) for entry in entries]

    def tagged(self, tag: str) -> list[Entry]:
        """Everything that was made under a tag, undone or not, in the order in which it was made."""
        with self._busy, locked(self.path):
            self._journal.refresh()
            return [replace(entry) for entry in self._journal.entries.values() if entry.tag == tag]

    def undo_tagged(self, tag: str, by: str = "run") -> Undone:
        """Undo what is outstanding of a tag, newest first; all of it is tried, whatever fails."""
        return undo_run(self.path, by, lambda entry: entry.tag == tag)

    def ensure_guarded(self) -> None:
        """Start a guardian where there is none: for one who attached to a run whose guardian may be dead.

        Raises:
            MachineError: it does not start.
            RunGoneError: another process healed this run.
        """
        with self._busy:
            self._guard()

    def close(self) -> Undone:
        """Undo everything and remove the run. Idempotent; says what is left, if anything."""
        with self._busy:
            if self._closed:
                return Undone()
            try:
                result = end_run(self.path, "run")
            except RunGoneError:
                result = Undone()
            self._closed = not result.left
            if self._closed and self._guardian is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._guardian.wait(_GUARDIAN_GOES_WITHIN)
            return result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if left := self.close().left:
            raise MachineError(f"run {self.id} left behind: {'; '.join(left)}; try 'highwater heal --run {self.id}'")

    @property
    def guardian(self) -> Identity | None:
        """The guardian that this process started, if it lives."""
        return None if self._guardian is None else Identity.of(self._guardian.pid)

    def _make(
        self,
        resource: R,
        lasts_ns: int | None,
        tag: str,
        lock: int,
        noting: Callable[[], AbstractContextManager[object]],
    ) -> Held[R]:
        # ``noting``: takes the run's lock for one line of the journal, where it is not held anyway.
        if resource.ALONE and (left := resource.left()):
            raise MachineError(f"{resource.describe()} cannot be made: there is {left} already")
        deadline = None if lasts_ns is None else boot_time_ns() + lasts_ns
        with noting():
            entry_id = self._journal.intent(resource.KIND, to_journal(resource), deadline, tag)
        if deadline is not None:
            wake(self.path)
        try:
            made = resource.make((lock,))
            with noting():
                self._journal.done(entry_id, to_journal(made))
        except BaseException:
            with suppress(Exception):  # what is left of it stays in the journal
                undo_resource(self._journal.entries[entry_id])
                with noting():
                    self._journal.undone(entry_id, "run")
            raise
        return Held(entry_id, made)

    @contextmanager
    def _noting(self) -> Iterator[int]:
        with self._busy:
            self._guard()
            with locked(self.path) as lock:
                self._journal.refresh()
                yield lock

    def _guard(self) -> None:
        # Called before anything is made: a run whose guardian was killed gets a new one first.
        if self._guardian is not None and self._guardian.poll() is None:
            return
        if not self.path.is_dir():
            raise RunGoneError(f"run {self.id} is gone: it was closed or healed")
        if guarded(self.path):
            return  # by one that another process started
        self._start_guardian()

    def _start_guardian(self, *begin: str) -> None:
        child = subprocess.Popen(  # noqa: S603
            own_program(GUARDIAN_MODULE, self.directory, *begin),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )
        try:
            assert child.stdout is not None
            ready = child.stdout.readline() == READY
            output = "" if ready else child.communicate()[1].decode(errors="replace").strip()
        except BaseException:
            child.kill()
            child.wait()
            if begin:
                shutil.rmtree(self.path, ignore_errors=True)  # nothing was made for it
            raise
        finally:
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()
        if not ready:
            if child.returncode == REFUSED:
                raise PlaceError(output)
            if begin:
                shutil.rmtree(self.path, ignore_errors=True)
            elif guarded(self.path):
                return  # another process was faster
            raise MachineError(
                f"the guardian of run {self.id} did not start (exit status {child.returncode}): {output}"
            )
        self._guardian = child
