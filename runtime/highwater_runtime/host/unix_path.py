"""Unix sockets below directories of any depth.

The kernel takes 107 bytes for the path of a Unix socket (``sun_path``, unix(7)); a run's directory may well be deeper
than that. A socket is therefore bound and reached through its directory, opened first: ``/proc/self/fd/N/name``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Another name of ``path``, short enough to bind or connect to, good within the context and this process.

    Raises:
        OSError: the directory of ``path`` is not there (``FileNotFoundError``) or cannot be entered.
    """
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
