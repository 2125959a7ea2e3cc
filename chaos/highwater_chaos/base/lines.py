"""Files of lines: the processes of a run append to them, and the run's tables are made of them at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

_CHUNK: Final = 1 << 18


def whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without their ends; none where there is no file, and not one that was torn at its end."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        partial = b""
        while data := file.read(_CHUNK):
            *lines, partial = (partial + data).split(b"\n")
            yield from lines


@runtime_checkable
class OfFiles(Protocol):
    """Lines that are a merge of files."""

    @property
    def paths(self) -> Sequence[Path]:
        """The files, in the order in which lines of one time come."""


class FileLines:
    """Lines of a file, written once; they can be gone through any number of times."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, lines: Iterable[bytes]) -> None:
        """Write the file; ``lines`` are without their ends. Raises ``OSError``."""
        with self._path.open("wb") as file:
            for line in lines:
                file.write(line)
                file.write(b"\n")

    def __iter__(self) -> Iterator[bytes]:
        return whole_lines(self._path)
