"""Temporary directories of which nothing is left behind, not even by a process that was killed.

``tempfile.TemporaryDirectory`` removes a directory when its process ends, but not if SIGKILL ends it. So there is a
file ``DIRECTORY.lock`` beside each, and its process holds a lock on that file. The kernel releases the lock when the
process ends, however it ends. A process that needs its first scratch directory removes those of the same user whose
lock is free. A process in another container that shares the folder holds its locks as well.

A lock file gets its name when it is locked, so nobody finds one that is not locked yet.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Final

_PREFIX: Final = "highwater-"
_LOCK: Final = ".lock"


class ScratchDirectory(tempfile.TemporaryDirectory[str]):
    """``/tmp/highwater-KIND-…`` until the ``with`` block, or the process, ends."""

    def __init__(self, kind: str) -> None:
        folder = tempfile.gettempdir()
        _remove_abandoned_once(folder)
        super().__init__(prefix=f"{_PREFIX}{kind}-", dir=folder)
        self._lock = Path(f"{self.name}{_LOCK}")
        unlocked = Path(f"{self.name}{_LOCK}-new")
        held = unlocked.open("xb")
        fcntl.flock(held, fcntl.LOCK_EX)
        unlocked.rename(self._lock)
        self._release = weakref.finalize(self, _release, self._lock, held)

    def cleanup(self) -> None:
        super().cleanup()
        self._release()


def _release(lock: Path, held: IO[bytes]) -> None:
    lock.unlink(missing_ok=True)
    held.close()


@cache
def _remove_abandoned_once(folder: str) -> None:
    remove_abandoned(Path(folder))


def remove_abandoned(folder: Path) -> None:
    """Remove the scratch directories in ``folder`` whose processes have ended."""
    for lock in folder.glob(f"{_PREFIX}*{_LOCK}"):
        with suppress(OSError):  # another process is faster, or it belongs to another user
            _remove_if_abandoned(lock)


def _remove_if_abandoned(lock: Path) -> None:
    held = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(held).st_uid != os.geteuid():
            return
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink()
    finally:
        os.close(held)
