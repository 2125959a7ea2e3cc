"""Runs on this machine: where their directories are, who owns each, and the lock that makers and healers share.

A run is a directory below the state directory: ``run.json`` (who owns it), ``journal.jsonl``, ``lock``, and whatever
the run keeps there. The directory is removed when nothing is left of the run; one that exists is a run that lives, or
one that must be healed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.identity import Identity
from highwater_chaos.machine.proc import boot_id

INFO: Final = "run.json"
LOCK: Final = "lock"
WAKE: Final = "wake"
GUARD_LOCK: Final = "guardian"
ENVIRONMENT: Final = "HIGHWATER_STATE_DIR"


def state_root(environment: Mapping[str, str] = os.environ) -> Path:
    """The state directory: ``$HIGHWATER_STATE_DIR``, else ``/run/highwater`` as root, else the user's own."""
    if given := environment.get(ENVIRONMENT):
        return Path(given).resolve()
    if os.geteuid() == 0:
        return Path("/run/highwater")
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "highwater"
    return Path("~/.local/state/highwater").expanduser()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """``run.json``: whose run it is. ``label`` is for people; ``boot`` is the boot that it belongs to."""

    id: str
    label: str
    owner: Identity
    boot: str

    @classmethod
    def read(cls, path: Path) -> RunInfo:
        """Of the run at a directory. Raises ``RunGoneError`` where there is none (any more)."""
        try:
            row = json.loads((path / INFO).read_text())
            owner = Identity(int(row["owner"]["pid"]), int(row["owner"]["started"]))
            return cls(str(row["id"]), str(row["label"]), owner, str(row["boot"]))
        except FileNotFoundError as error:
            raise RunGoneError(f"no run at {path}") from error
        except (ValueError, KeyError, TypeError) as error:
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
    """Directories of all runs below a state directory, by name."""
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Hold the lock of the run at ``path``; yields its file descriptor, for programs that must hold it too.

    Raises:
        RunGoneError: the run was removed, before or while this waited.
    """
    try:
        fd = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
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
        fd = os.open(path / GUARD_LOCK, os.O_RDWR | os.O_CLOEXEC)
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
