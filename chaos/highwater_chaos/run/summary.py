"""``run.json``: what a verdict needs beside the recordings.

Only the run itself knows broken invariants and inconclusive reasons. With them a run directory is enough to reach the
same verdict again: by ``highwater check``, or by a Job on Kubernetes.

It also lists the recorded files, with a digest of each. A check finds nothing in a missing or shortened recording, so
an incomplete run directory is not judged. The manifest (:mod:`.manifest`) covers this file and all that came later.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.assertions import PhaseRow, phase_rows
from highwater_chaos.backends.protocol import InvariantViolation
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.software import software_of
from highwater_chaos.run.environment import environment_here
from highwater_chaos.run.features import Feature
from highwater_chaos.run.load import Load
from highwater_chaos.run.manifest import MANIFEST_FILE, BadSummaryError, digest_of, has_manifest, make_manifest, verify
from highwater_chaos.run.result import RunResult, settings_of_run
from highwater_pipeline.tables.recordings import OPERATIONS_FILE, RUN_FILE, UNITS, run_label
from highwater_pipeline.tables.remote import AnyPath
from highwater_pipeline.tables.settings import Settings

_EXPERIMENT: Final = "experiment.yaml"
_WRITTEN_BY_RUNS: Final = (_EXPERIMENT, RUN_FILE, "faults.jsonl", "phases.jsonl", "verdict.json", "metrics", "logs")
"""A run directory has one of these. A directory of tables that others recorded has none."""

_TABLES: Final = ("history", "events", "dumps", UNITS, "faults", "metrics")
"""What verdicts are read from, by the first part of a path without its suffix."""

_NOT_EVIDENCE: Final = ("logs", MANIFEST_FILE, "verdict.json", "junit.xml", "report.html", "shrunk.yaml")
"""What no verdict depends on, by the first part of a path."""


class _Written(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    run_id: str = ""
    """The run's key; empty: it was recorded before runs had one, and is called by its name, seed and switches."""
    name: str
    seed: int
    backend: str
    switches: dict[str, str]
    violations: list[InvariantViolation]
    inconclusive_reasons: list[str]
    acknowledged: int
    trace_digest: str
    run_ns: int
    wall_seconds: float
    wire: bool
    settings: Settings
    load: Load | None = None
    software: dict[str, str | None] = {}
    """Runtime, release of Apache Kafka, mode and first metadata.version; empty: recorded before anybody wrote it."""
    features: dict[str, Feature] = {}
    """How each feature did; empty: the run was recorded before anybody looked."""
    environment: dict[str, str] = {}
    began_unix_ns: int | None = None
    """When run time began, by the clock by which nodes write their logs; None in the simulator."""


class _File(_Written, frozen=True, kw_only=True):
    """``recordings``: SHA-256 of every file that was recorded, by its path in the run directory."""

    recordings: dict[str, str]
    manifest: bool = False
    """Whether a manifest was made beside it; of earlier versions there is none."""


class RunSummary(_Written, frozen=True, kw_only=True):
    """A run without its recordings. ``faults`` are rows of ``faults.jsonl``, ``phases`` those of ``phases.jsonl``."""

    faults: list[dict[str, Any]]
    phases: list[PhaseRow]


def summary_of(experiment: ChaosExperiment, result: RunResult, *, wire: bool, run_id: str = "") -> RunSummary:
    """The summary of a run that has just ended. ``wire``: whether every simulated message went through the codec."""
    return RunSummary(
        run_id=run_id or run_label(result.name, result.seed, result.switches),
        name=result.name,
        seed=result.seed,
        backend=result.backend,
        switches=dict(result.switches),
        violations=list(result.violations),
        inconclusive_reasons=list(result.inconclusive_reasons),
        acknowledged=result.acknowledged,
        trace_digest=result.trace_digest,
        run_ns=result.run_ns,
        wall_seconds=result.wall_seconds,
        wire=wire,
        settings=settings_of_run(experiment, result),
        load=result.load,
        software=software_of(experiment.cluster),
        features=result.features,
        environment=environment_here(),
        began_unix_ns=None if result.backend == "sim" else result.began_unix_ns,
        faults=[record.to_dict() for record in result.faults],
        phases=[PhaseRow(phase.name, phase.start_ns, phase.end_ns) for phase in result.phases],
    )


def write_summary(directory: Path, summary: RunSummary) -> None:
    """Write ``run.json`` beside the recordings, which have the faults and the phases. It is written last: it says what
    was recorded before."""
    written = {name: getattr(summary, name) for name in _Written.__struct_fields__}
    _write_run_file(directory, written, manifest=True)


def list_recordings(directory: Path) -> None:
    """Let ``run.json`` name the recordings that are in a run directory now: the same rows in other files. The manifest
    is made anew, if there is one: what was unverified stays so.

    Raises:
        BadSummaryError: there is none, or not of this version.
    """
    file = _run_file(directory)
    (directory / RUN_FILE).unlink()
    written = {name: getattr(file, name) for name in _Written.__struct_fields__}
    _write_run_file(directory, written, manifest=has_manifest(directory))


def _write_run_file(directory: Path, written: dict[str, Any], *, manifest: bool) -> None:
    file = _File(**written, recordings=_recordings(directory), manifest=manifest)
    (directory / RUN_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")
    if manifest:
        make_manifest(directory, file.recordings)


def is_run_directory(directory: AnyPath) -> bool:
    """Whether a directory is one that a run left, whole or not, and not one of tables that others recorded."""
    return any((directory / name).exists() for name in _WRITTEN_BY_RUNS)


def ensure_judgeable(directory: Path) -> None:
    """Check that the two files exist that say which other files must exist.

    Raises:
        BadSummaryError: one is missing, or ``run.json`` is not of this version.
    """
    _run_file(directory)


def _run_file(directory: Path) -> _File:
    for name in (_EXPERIMENT, RUN_FILE):
        if not (directory / name).is_file():
            raise BadSummaryError(
                f"{directory}: expected {name} in a run directory; found none, so it is not known what else is missing."
                f" Judge its history alone: highwater check {_history_of(directory)}"
            )
    path = directory / RUN_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSummaryError(f"{path}: cannot be read: {error}") from error


def _history_of(directory: Path) -> Path:
    parquet = directory / f"{OPERATIONS_FILE}.parquet"
    return parquet if parquet.exists() else directory / f"{OPERATIONS_FILE}.jsonl"


def read_summary(directory: Path) -> RunSummary:
    """The summary of a run directory that is whole.

    Raises:
        BadSummaryError: a file of it is missing or torn, or a recording is not what the run wrote.
    """
    file = _run_file(directory)
    path = directory / "faults.jsonl"
    try:
        _ensure_whole(directory, file.recordings)
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        faults = [decode(line) for line in path.read_bytes().splitlines()]
        path = directory / "phases.jsonl"
        phases = phase_rows(directory)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSummaryError(f"{path}: cannot be read: {error}") from error
    written = {name: getattr(file, name) for name in _Written.__struct_fields__}
    return RunSummary(**written, faults=faults, phases=phases)


def _recordings(directory: Path) -> dict[str, str]:
    return {name.as_posix(): digest_of(directory / name) for name in _recordings_there(directory)}


def _recordings_there(directory: Path) -> list[Path]:
    """The files of a run directory on which a verdict may depend, relative to it."""
    names = (path.relative_to(directory) for path in sorted(directory.rglob("*")) if path.is_file())
    return [name for name in names if name.parts[0] not in _NOT_EVIDENCE]


def _ensure_whole(directory: Path, recordings: Mapping[str, str]) -> None:
    verified = verify(directory) or {}
    for name, digest in recordings.items():
        path = directory / name
        if not path.is_file():
            raise BadSummaryError(f"{path}: expected the recording that {RUN_FILE} lists; found none")
        if (verified.get(name) or digest_of(path)) != digest:
            raise BadSummaryError(
                f"{path}: expected what the run recorded (SHA-256 {digest[:12]}…); found other content"
            )
    for found in _recordings_there(directory):
        if found.parts[0].partition(".")[0] in _TABLES and found.as_posix() not in recordings:
            raise BadSummaryError(
                f"{directory / found}: expected the recordings that {RUN_FILE} lists, no more; found this one. Move it"
                " out of the run directory"
            )
