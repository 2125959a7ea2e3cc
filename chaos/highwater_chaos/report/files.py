"""What a report is drawn from: a run directory's files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

Row = Mapping[str, Any]
_TAIL: Final = 1 << 16
"""Bytes in which the last line of a file is looked for."""


class BadRunFile(ValueError):  # noqa: N818 - what is wrong is the file
    """A file of a run directory is missing or torn; the message says which, where, and what was found."""


class FileRows:
    """Rows of a file of JSON Lines, decoded as they are gone through: a run may have recorded more than fits into
    memory. A line that holds ``skip`` is passed over. Raises :class:`BadRunFile` where the file is missing or torn."""

    def __init__(self, path: Path, skip: bytes | None = None) -> None:
        self._path = path
        self._skip = skip
        if not path.is_file():
            raise BadRunFile(f"{path}: cannot be read: expected a file")

    def __iter__(self) -> Iterator[Row]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        skip = self._skip
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if skip is not None and skip in line:
                        continue
                    try:
                        yield decode(line)
                    except msgspec.DecodeError as error:
                        raise BadRunFile(f"{self._path}:{number}: expected a JSON object, found: {error}") from error
        except OSError as error:
            raise BadRunFile(f"{self._path}: cannot be read: {error.strerror or error}") from error

    def last(self) -> Row | None:
        """The last row, skipped or not; None where there is none."""
        lines: list[bytes] = []
        with self._path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            for back in (_TAIL, end):
                file.seek(max(0, end - back))
                lines = file.read().splitlines()
                if len(lines) > 1:
                    break
        try:
            return msgspec.json.decode(lines[-1], type=dict[str, Any]) if lines else None
        except msgspec.DecodeError as error:
            raise BadRunFile(f"{self._path}: expected a JSON object at its end, found: {error}") from error


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
            experiment=_read(directory / "experiment.yaml").decode("utf-8"),
        )


def _document(path: Path) -> Row:
    try:
        return msgspec.json.decode(_read(path), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadRunFile(f"{path}: expected a JSON object, found: {error}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadRunFile(f"{path}: cannot be read: {error.strerror or error}") from error
