"""Where recordings go that ConfigMaps do not take: a PersistentVolumeClaim of the runners' namespace.

The operator mounts it in the pods of runners and judging Jobs, of each experiment a folder of its own: no pod sees the
recordings of another experiment.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".part"
"""Of a file that is not whole yet."""


@dataclass(frozen=True)
class Claim:
    """The experiment's folder.

    Args:
        directory: where it is mounted.
        where: the same for somebody outside the pod.
    """

    directory: Path
    where: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Claim | None:
        """``HIGHWATER_RECORDINGS_DIRECTORY``, ``HIGHWATER_RECORDINGS_WHERE``; None: there is no claim."""
        directory = environment.get("HIGHWATER_RECORDINGS_DIRECTORY")
        return (
            None if not directory else cls(Path(directory), environment.get("HIGHWATER_RECORDINGS_WHERE") or directory)
        )

    def put(self, name: str, content: BinaryIO) -> None:
        """Keep a file: whole, and on the disk, when this returns. Raises ``OSError``, and leaves nothing then."""
        partial = self.directory / f"{name}{_SUFFIX}"
        try:
            with partial.open("wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.directory / name)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)  # the file's name
        finally:
            os.close(descriptor)

    def open(self, name: str) -> BufferedReader:
        """A file that was kept. Raises ``OSError``."""
        return (self.directory / Path(name).name).open("rb")
