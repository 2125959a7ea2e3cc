"""What a report is drawn from: a run directory's files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

Row = Mapping[str, Any]
_TAIL: Final = 1 << 16
"""Bytes in which the last line of a file is looked for."""
_SHOWN: Final = 160
"""Bytes of a bad line that an error shows."""
_DECODE: Final = msgspec.json.Decoder(dict[str, Any]).decode


class BadRunFile(ValueError):  # noqa: N818 - what is wrong is the file
    """A file of a run directory is missing or torn; the message says which, where, and what was found."""


class FileRows:
    """Rows of a file of JSON Lines, decoded as they are gone through: a run may have recorded more than fits into
    memory. A line that holds ``skip`` is passed over. Raises :class:`BadRunFile` where the file is missing or torn."""

    def __init__(self, path: Path, skip: bytes | None = None) -> None:
        self._path = path
        self._skip = skip
        with _opened(path):
            pass

    def __iter__(self) -> Iterator[Row]:
        skip = self._skip
        with _opened(self._path) as file:
            for number, line in enumerate(file, start=1):
                if skip is None or skip not in line:
                    yield _object(line, self._path, number)

    def last(self) -> Row | None:
        """The last row, skipped or not; None where there is none."""
        lines: list[bytes] = []
        with _opened(self._path) as file:
            end = file.seek(0, os.SEEK_END)
            for back in (_TAIL, end):
                start = file.seek(max(0, end - back))
                lines = file.readlines()
                if start == 0 or len(lines) > 1:
                    break
            if not lines:
                return None
            try:
                return _object(lines[-1], self._path)
            except BadRunFile:  # find out which line it is
                file.seek(0)
                return _object(lines[-1], self._path, sum(1 for _ in file))


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run directory. Times are nanoseconds since the run began; rows are as their files write them, in their order,
    and can be gone through any number of times. Commits of single batches are not among the events: nothing of a report
    is drawn from them."""

    verdict: Row
    operations: Iterable[Row]
    events: Iterable[Row]
    faults: Sequence[Row]
    experiment: str

    @classmethod
    def read(cls, directory: Path) -> RunFiles:
        """Read a run directory; raises :class:`BadRunFile` where a file is missing or torn."""
        return cls(
            verdict=_document(directory / "verdict.json"),
            operations=FileRows(directory / "history" / "operations.jsonl"),
            events=FileRows(directory / "events" / "nodes.jsonl", skip=b'"kind":"batch-committed"'),
            faults=list(FileRows(directory / "faults.jsonl")),
            experiment=_text(directory / "experiment.yaml"),
        )


def _document(path: Path) -> Row:
    return _object(_read(path), path)


def _object(data: bytes, path: Path, line: int | None = None) -> Row:
    try:
        return _DECODE(data)
    except msgspec.DecodeError as error:
        place = path if line is None else f"{path}:{line}"
        start = data[:_SHOWN].decode("utf-8", "replace").rstrip("\n")
        raise BadRunFile(f"{place}: expected a JSON object, found: {start} ({error})") from error


def _text(path: Path) -> str:
    try:
        return _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRunFile(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _read(path: Path) -> bytes:
    with _opened(path) as file:
        return file.read()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BadRunFile(f"{path}: cannot be read: {error.strerror or error}") from error
