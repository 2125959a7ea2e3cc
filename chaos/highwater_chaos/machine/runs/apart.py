"""What is made and undone without the run's lock, which the deadlines of everything else need.

A program may respond slowly or never; a disk may hold a million files, or be in use by a process that does not die. So
an instruction to a program and a fault of a disk are noted in the journal under the run's lock, and carried out under a
lock of their own: one a program, one a disk (:func:`key_of`). What its owner does to it is in nobody else's way.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.runs.journal import Entry

_LOCKS: Final = "talks"
_WAITS_FOR_ANOTHER: Final = 20.0


def key_of(resource: Mapping[str, Any]) -> str | None:
    """What a resource, as the journal has it, must be alone with: a program's socket, a disk's image. None: it is made
    and undone under the run's lock."""
    match resource:
        case {"socket": str(socket)}:
            return socket
        case {"volume": {"image": str(image)}}:
            return image
        case {"heal": _, "probe": _, "name": str(name)}:
            return f"command {name}"
    return None


def by_key(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries by what they must be alone with."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(str(key_of(entry.resource)), []).append(entry)
    return groups


@contextmanager
def alone_with(run: Path, key: str) -> Iterator[int]:
    """Keep others of the run, in any process, from the program or the disk ``key`` meanwhile. Yields the lock's file
    descriptor, for programs that must hold it too.

    Raises:
        MachineError: another one does not end.
        RunGoneError: the run is gone.
    """
    try:
        fd = os.open(run / _LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError as error:
        raise RunGoneError(f"the run at {run} is gone: it was closed or healed") from error
    try:
        # One byte a key, of a file that stays empty; the lock belongs to this descriptor (OFD).
        wanted = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, zlib.crc32(key.encode()), 1, 0)
        deadline = time.monotonic() + _WAITS_FOR_ANOTHER
        while not _taken(fd, wanted):
            if time.monotonic() > deadline:
                raise MachineError(f"what another does with {key} has not ended within {_WAITS_FOR_ANOTHER:g} s")
            time.sleep(0.02)
        yield fd
    finally:
        os.close(fd)


def _taken(fd: int, wanted: bytes) -> bool:
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        return False
    return True
