"""Keeps a node that another program restarts from starting yet: the node waits until a file is removed.

Written before its predecessor is killed, so that there is no moment in which the new one could have begun.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class StartBarrier:
    """``path``: the file, in a directory that the node reads. The owner of that directory is not trusted."""

    KIND: ClassVar[str] = "start barrier"
    ALONE: ClassVar[bool] = False
    path: str

    def make(self, _held: Sequence[int]) -> Self:
        """Write it. A link in its place is not followed, but replaced."""
        self.undo()
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644))
        return self

    def undo(self) -> None:
        """Remove it; its directory may be gone with the node's pod."""
        with suppress(FileNotFoundError, NotADirectoryError):
            Path(self.path).unlink()

    def left(self) -> str | None:
        return f"file {self.path}" if os.path.lexists(self.path) else None

    def describe(self) -> str:
        """Whom it keeps from beginning."""
        return f"start barrier in {Path(self.path).parent}"
