"""Probe whether a file system takes a write, from a process that may wait for ever.

On a disk that stalls, or on a file system that is frozen, a write waits in the kernel, where no signal ends it. So a
child of its own writes, and nobody waits for it longer than a bound: it ends by itself when the write returns.

The file has no name (``O_TMPFILE``): what the disk's owner puts there is neither followed nor waited for, probes are
not in each other's way, and one that was killed leaves nothing.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.process.processes import RUN_MARK

BLOCKED: Final = "blocked"
BLOCKED_AFTER: Final = 1.0
"""A small write that takes longer (s) to get into the page cache is blocked; the sync behind it may take longer."""
STALLED: Final = "stalled"
_STALLED_AFTER: Final = 30.0
_STARTS_WITHIN: Final = 30.0
_ENDS_WITHIN: Final = 5.0
_PROGRAM: Final = """
import errno, os, sys, tempfile
os.write(1, b"begun\\n")
try:
    with tempfile.TemporaryFile(dir=sys.argv[1], buffering=0) as file:
        file.write(bytes(4096))
        os.write(1, b"written\\n")
        os.fsync(file.fileno())
    found = "ok"
except OSError as error:
    found = errno.errorcode.get(error.errno or 0, str(error))
os.write(1, found.encode() + b"\\n")
"""

_waiting: dict[Path, _Child] = {}
"""Children whose write has not returned yet, by mount point."""


def probe_write(point: Path, run: str, blocked_after: float = BLOCKED_AFTER) -> str | None:
    """Write and sync a small file without a name: :data:`BLOCKED` or :data:`STALLED` if the write or the sync takes too
    long, or the name of the error that it met (``EIO``, ``ENOSPC``), None: it worked. ``run``: the run's directory; the
    child carries its mark.

    Raises:
        MachineError: the child does not start.
    """
    earlier = _waiting.get(point)
    if earlier is not None:
        if earlier.line(blocked_after) is None:
            return BLOCKED
        del _waiting[point]
        earlier.leave()
    child = _Child(point, run)
    if child.line(_STARTS_WITHIN) != "begun":
        child.leave()
        raise MachineError(f"the process that probes {point} does not start")
    found = child.line(blocked_after)
    if found is None:
        _waiting[point] = child
        return BLOCKED
    if found == "written":
        found = child.line(_STALLED_AFTER) or STALLED
    child.leave()
    return None if found == "ok" else found or "no answer"


class _Child:
    """A process that writes, and says a line at each step."""

    def __init__(self, point: Path, run: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(point)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # what one read takes must not hide a line from the next select
            env={**os.environ, RUN_MARK: run},
            start_new_session=True,
        )

    def line(self, seconds: float) -> str | None:
        """Its next line, empty if it has ended; None: there is none in time."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return None
        return self._process.stdout.readline().decode().strip()

    def leave(self) -> None:
        """Let it end, and wait for it if it has: no longer."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN)
