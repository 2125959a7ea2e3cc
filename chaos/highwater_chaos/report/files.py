"""What a report is drawn from: a run directory's files, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

Row = Mapping[str, Any]


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
        """Read a run directory; ``OSError`` where a file is missing, ``msgspec.DecodeError`` where one is torn."""
        return cls(
            verdict=msgspec.json.decode((directory / "verdict.json").read_bytes()),
            operations=_lines(directory / "history" / "operations.jsonl"),
            events=_lines(directory / "events" / "nodes.jsonl"),
            faults=_lines(directory / "faults.jsonl"),
            experiment=(directory / "experiment.yaml").read_text(encoding="utf-8"),
        )


def _lines(path: Path) -> list[Row]:
    decode = msgspec.json.Decoder().decode
    with path.open("rb") as file:
        return [decode(line) for line in file if line.strip()]
