"""What a verdict needs of a run beside its recordings: ``run.json``.

Violated invariants and doubts are known to whoever ran it and to nobody else. Written down, they make a run directory
enough to come to the whole verdict again: by ``highwater check``, by a Job on Kubernetes, on another day.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.assertions import PhaseRow, phase_rows
from highwater_chaos.backends.protocol import InvariantViolation
from highwater_chaos.engine import RunResult

FILE: Final = "run.json"


class BadSummary(ValueError):  # noqa: N818 - what is wrong is the file
    """``run.json``, or what goes with it, is torn or of another version; the message says which and where."""


class _Written(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    seed: int
    backend: str
    switches: dict[str, str]
    violations: list[InvariantViolation]
    doubts: list[str]
    acknowledged: int
    trace_digest: str
    run_ns: int
    wall_seconds: float
    wire: bool


class RunSummary(_Written, frozen=True):
    """A run without its recordings. ``faults`` are rows of ``faults.jsonl``, ``phases`` those of ``phases.jsonl``."""

    faults: list[dict[str, Any]]
    phases: list[PhaseRow]


def summary_of(result: RunResult, *, wire: bool) -> RunSummary:
    """The summary of a run that has just ended. ``wire``: whether every simulated message went through the codec."""
    return RunSummary(
        name=result.name,
        seed=result.seed,
        backend=result.backend,
        switches=dict(result.switches),
        violations=list(result.violations),
        doubts=list(result.doubts),
        acknowledged=result.acknowledged,
        trace_digest=result.trace_digest,
        run_ns=result.run_ns,
        wall_seconds=result.wall_seconds,
        wire=wire,
        faults=[record.to_dict() for record in result.faults],
        phases=[PhaseRow(phase.name, phase.start_ns, phase.end_ns) for phase in result.phases],
    )


def write_summary(directory: Path, summary: RunSummary) -> None:
    """Write ``run.json`` beside the recordings, which have the faults and the phases."""
    written = _Written(**{name: getattr(summary, name) for name in _Written.__struct_fields__})
    (directory / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n")


def read_summary(directory: Path) -> RunSummary | None:
    """The summary of a run directory; None where an older version wrote it, without one.

    Raises:
        BadSummary: a file of it is missing or torn.
    """
    path = directory / FILE
    if not path.is_file():
        return None
    try:
        written = msgspec.json.decode(path.read_bytes(), type=_Written)
        path = directory / "faults.jsonl"
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        faults = [decode(line) for line in path.read_bytes().splitlines()]
        path = directory / "phases.jsonl"
        phases = phase_rows(directory)
    except (OSError, msgspec.DecodeError) as error:
        raise BadSummary(f"{path}: cannot be read: {error}") from error
    told = {name: getattr(written, name) for name in _Written.__struct_fields__}
    return RunSummary(**told, faults=faults, phases=phases)
