"""Phases of a run as a run directory keeps them: ``phases.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

FILE: Final = "phases.jsonl"


class PhaseRow(msgspec.Struct, frozen=True):
    """A part of the run, [``start_ns``, ``end_ns``) of run time."""

    name: str
    start_ns: int
    end_ns: int


class Span(NamedTuple):
    """A phase in milliseconds of run time, Prometheus' unit, both ends included."""

    start_ms: int
    end_ms: int


def write_phases(directory: Path, phases: Iterable[PhaseRow]) -> None:
    """Write a run's phases, in order."""
    encode = msgspec.json.Encoder().encode
    (directory / FILE).write_bytes(b"".join(encode(phase) + b"\n" for phase in phases))


def phase_rows(directory: Path) -> list[PhaseRow]:
    """What :func:`write_phases` wrote. Raises as :func:`read_phases` does."""
    decode = msgspec.json.Decoder(PhaseRow).decode
    return [decode(line) for line in (directory / FILE).read_bytes().splitlines()]


def read_phases(directory: Path) -> Mapping[str, Span]:
    """The phases of a run that took place, by name.

    Raises:
        OSError: there is no such file.
        msgspec.DecodeError: it is torn.
    """
    rows = phase_rows(directory)
    # The first whole millisecond of the phase, and the last.
    return {row.name: Span(-(-row.start_ns // 1_000_000), (row.end_ns - 1) // 1_000_000) for row in rows}
