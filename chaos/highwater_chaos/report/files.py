"""What a report is drawn from: a run directory's files, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

Row = Mapping[str, Any]


class BadRunFile(ValueError):  # noqa: N818 - what is wrong is the file
    """A file of a run directory is missing or torn; the message says which, where, and what was found."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run directory. Times are nanoseconds since the run began; rows are as their files write them."""

    verdict: Row
    operations: list[Row]
    events: list[Row]
    faults: list[Row]
    experiment: str

    @classmethod
    def read(cls, directory: Path) -> RunFiles:
        """Read a run directory; raises :class:`BadRunFile` where a file is missing or torn."""
        return cls(
            verdict=_document(directory / "verdict.json"),
            operations=_lines(directory / "history" / "operations.jsonl"),
            events=_lines(directory / "events" / "nodes.jsonl"),
            faults=_lines(directory / "faults.jsonl"),
            experiment=_read(directory / "experiment.yaml").decode("utf-8"),
        )


def _document(path: Path) -> Row:
    try:
        return msgspec.json.decode(_read(path), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadRunFile(f"{path}: expected a JSON object, found: {error}") from error


def _lines(path: Path) -> list[Row]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    rows: list[Row] = []
    for number, line in enumerate(_read(path).splitlines(), start=1):
        try:
            rows.append(decode(line))
        except msgspec.DecodeError as error:
            raise BadRunFile(f"{path}:{number}: expected a JSON object, found: {error}") from error
    return rows


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadRunFile(f"{path}: cannot be read: {error.strerror or error}") from error
