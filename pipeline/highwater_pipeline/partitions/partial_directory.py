"""A hidden directory in which a writer makes what gets its name when it is complete.

Its writer holds a lock on it. So the next writer tells those of writers that live from those that killed ones left.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = ".partial-"


@contextmanager
def partial_directory(parent: Path) -> Iterator[Path]:
    """Make a hidden directory in ``parent``, which is there; it is removed at the end, and so are those of writers that
    were killed."""
    with locked(parent):
        for path in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError), locked(path, wait=False):  # its owner lives, or it has been removed
                shutil.rmtree(path, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        held = _opened(made)
        with suppress(OSError):  # the file system has no locks: what a killed writer leaves stays
            fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield made
    finally:
        shutil.rmtree(made)
        os.close(held)


@contextmanager
def locked(directory: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a directory's lock, where its file system has locks. Without ``wait`` raise ``OSError`` if it is not to be
    had at once."""
    opened = _opened(directory)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            if not wait:
                raise
        yield
    finally:
        os.close(opened)


def _opened(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
