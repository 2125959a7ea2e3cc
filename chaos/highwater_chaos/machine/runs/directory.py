"""Runs on this machine: where their directories are, who owns each, and the lock that makers and healers share.

A run is a directory below the state directory: ``run.json`` (who owns it), ``journal.jsonl``, ``lock``, and whatever
the run keeps there. The directory is removed when nothing is left of the run; one that exists is a run that lives, or
one that must be healed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError, PlaceError, RunGoneError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.ownership import check_own, check_place, read_own
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_chaos.machine.runs.journal import JOURNAL, RESERVE, RESERVED

INFO: Final = "run.json"
LOCK: Final = "lock"
WAKE: Final = "wake"
GUARD_LOCK: Final = "guardian"
ENVIRONMENT: Final = "HIGHWATER_STATE_DIR"
READY: Final = b"ready\n"
"""What a guardian prints when it watches its run."""
REFUSED: Final = 3
"""Exit status of a guardian that cannot make the run's directory; stderr says why."""


def state_root(environment: Mapping[str, str] = os.environ) -> Path:
    """The state directory: ``$HIGHWATER_STATE_DIR``, else ``/run/highwater`` as root, else the user's own.

    Raises:
        PlaceError: this user has no home.
    """
    try:
        if given := environment.get(ENVIRONMENT):
            return Path(given).resolve()
        if os.geteuid() == 0:
            return Path("/run/highwater")
        if runtime := environment.get("XDG_RUNTIME_DIR"):
            return Path(runtime) / "highwater"
        return Path("~/.local/state/highwater").expanduser()
    except (OSError, RuntimeError) as error:
        raise PlaceError(f"there is no state directory: {error}; {_advice()}") from error


def make_root(root: Path) -> None:
    """Make the state directory where it is not there yet.

    Raises:
        PlaceError: it cannot be made, or another user may write journals there.
    """
    check_root(root)
    try:
        for place in reversed((root, *root.parents)):
            if not place.exists():
                place.mkdir(mode=0o755, exist_ok=True)  # whatever the umask: nobody else may write there
    except OSError as error:
        raise _no_place(root, error) from error
    check_root(root)


def new_run_id() -> str:
    """Six random hexadecimal digits."""
    return secrets.token_hex(3)


def is_run_id(name: str) -> bool:
    """Whether :func:`new_run_id` may have made it."""
    return re.fullmatch("[0-9a-f]{6}", name) is not None


def check_root(root: Path) -> None:
    """Raises ``PlaceError`` if another user may write journals in a state directory, or put another in its place."""
    check_place(root, _advice())


def _no_place(root: Path, error: OSError) -> PlaceError:
    return PlaceError(f"no run can be kept in {root}: {error}; {_advice()}")


def begin(path: Path, label: str, owner: Identity) -> None:
    """Make the directory of a run, in a state directory that exists. Nobody takes it for a run before it is whole.

    Raises:
        PlaceError: it cannot be made. Nothing is left then.
    """
    try:
        path.mkdir(mode=0o711)
    except OSError as error:
        raise _no_place(path.parent, error) from error
    with removed_unless_whole(path):
        check_own(path, path.lstat())  # a file system may give each file an owner of its own choice
        (path / LOCK).touch(mode=0o600)
        (path / JOURNAL).touch(mode=0o600)
        (path / RESERVE).write_bytes(bytes(RESERVED))
        os.mkfifo(path / WAKE, 0o600)
        RunInfo(path.name, label, owner, boot_id()).write(path)


@contextmanager
def removed_unless_whole(path: Path) -> Iterator[None]:
    """Remove a run's directory, for which nothing was made yet, if the block fails.

    Raises:
        PlaceError: for an ``OSError`` of the block.
    """
    try:
        yield
    except BaseException as error:
        shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise _no_place(path.parent, error) from error
        raise


def _advice() -> str:
    return f"set {ENVIRONMENT} to another directory"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """``run.json``: whose run it is. ``label`` is for people; ``boot`` is the boot that it belongs to."""

    id: str
    label: str
    owner: Identity
    boot: str

    @classmethod
    def read(cls, path: Path) -> RunInfo:
        """Of the run at a directory.

        Raises:
            RunGoneError: there is none (any more).
            NotOwnError: another user may have written it, or the run's journal.
            MachineError: it cannot be read.
        """
        try:
            check_own(path, path.lstat())
            row = json.loads(read_own(path / INFO))
            owner = Identity(int(row["owner"]["pid"]), int(row["owner"]["started"]))
            return cls(str(row["id"]), str(row["label"]), owner, str(row["boot"]))
        except FileNotFoundError as error:
            raise RunGoneError(f"no run at {path}") from error
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise MachineError(
                f"{path / INFO}: not readable ({error}); remove {path} if nothing of it is left"
            ) from error

    def write(self, path: Path) -> None:
        """Into the run's directory, whole or not at all."""
        row = {
            "id": self.id,
            "label": self.label,
            "owner": {"pid": self.owner.pid, "started": self.owner.started},
            "boot": self.boot,
        }
        part = path / f"{INFO}.part"
        part.write_text(json.dumps(row) + "\n")
        part.rename(path / INFO)

    def owned(self) -> bool:
        """Whether the process that owns the run lives."""
        return self.boot == boot_id() and self.owner.state() != "gone"


def run_directories(root: Path) -> list[Path]:
    """Directories of all runs below a state directory, by name; links are none. In a directory that users share (with
    the sticky bit), only those of this user.

    Raises:
        PlaceError: another user may write journals there, or it cannot be read.
    """
    check_root(root)
    try:
        if not root.is_dir():
            return []
        is_shared = bool(root.stat().st_mode & stat.S_ISVTX)
        with os.scandir(root) as entries:
            return sorted(
                root / entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith(".")
                and (not is_shared or entry.stat(follow_symlinks=False).st_uid == os.geteuid())
            )
    except OSError as error:
        raise PlaceError(f"{root}: cannot be read: {error}; {_advice()}") from error


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Hold the lock of the run at ``path``; yields its file descriptor, for programs that must hold it too.

    Raises:
        RunGoneError: the run was removed, before or while this waited.
    """
    try:
        fd = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise RunGoneError(f"the run at {path} is gone: it was closed or healed") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        # The run was healed, and the lock removed with it, while we waited.
        try:
            there = (path / LOCK).stat()
        except FileNotFoundError as error:
            raise RunGoneError(f"the run at {path} is gone: it was closed or healed") from error
        if not os.path.samestat(there, os.fstat(fd)):
            raise RunGoneError(f"the run at {path} is gone: another one has its name")
        yield fd
    finally:
        os.close(fd)


def guarded(path: Path) -> bool:
    """Whether a guardian watches the run at ``path``: it holds a lock as long as it lives."""
    try:
        fd = os.open(path / GUARD_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def wake(path: Path) -> None:
    """Have the guardian of the run at ``path`` look at the journal again; nothing where there is none."""
    ring(bell(path))


def bell(path: Path) -> int | None:
    """What wakes the guardian, to be rung with :func:`ring` when the run may be gone already; None: no guardian."""
    try:
        return os.open(path / WAKE, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


def ring(opened: int | None) -> None:
    """Ring and close a bell."""
    if opened is None:
        return
    with suppress(OSError):  # a pipe that is full, or that has no reader any more, needs no more bytes
        os.write(opened, b"\n")
    os.close(opened)
