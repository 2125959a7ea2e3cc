"""Read the files of a run directory for a report.

A recording may come from an untrusted source. So each row and the verdict are validated first: they have the fields
that a report needs, with values of their types.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from highwater_chaos.run.exercised import Exercised
from highwater_chaos.run.manifest import has_manifest
from highwater_pipeline.arrow.arrays import Bools
from highwater_pipeline.tables.export import rows_of
from highwater_pipeline.tables.files import BadTableError, jsonl_parts, parquet_parts
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_pipeline.tables.recordings import NODE_EVENTS_FILE, OPERATIONS_FILE, RECORDED_EVENTS_FILE, RUN_FILE
from highwater_pipeline.tables.rows import NODE_EVENT_ROWS, OPERATION_ROWS, RowKind
from highwater_pipeline.tables.rows import Row as Typed

Row = Mapping[str, Any]
_SHOWN: Final = 160
"""Bytes of a bad line that an error shows."""
_VIOLATIONS: Final = 1000
_PHASES: Final = "phases.jsonl"
_DECODE: Final = msgspec.json.Decoder(dict[str, Any]).decode


class BadRunFileError(ValueError):
    """A file of a run directory is missing or torn; the message says which, where, and what was found."""


class _Evidence(msgspec.Struct):
    what: str


class _InjectEvidence(_Evidence):
    data: dict[str, Any] | None = None


class _EvidenceOfBoth(msgspec.Struct):
    inject: list[_InjectEvidence]
    heal: list[_Evidence]


class _Fault(msgspec.Struct):
    """What a report shows of a fault."""

    kind: str
    name: str | None
    targets: list[str]
    parameters: dict[str, Any]
    started_ns: int
    injected_ns: int | None
    healed_ns: int | None
    confirmed: bool
    evidence: _EvidenceOfBoth
    error: str | None


class _Example(msgspec.Struct):
    story: str = ""
    partition: str | None = None
    offset: int | None = None
    stack: str | None = None


class _Anomaly(msgspec.Struct):
    count: int
    examples: list[_Example]


class _Found(msgspec.Struct):
    what: str
    value: Any


class _Broken(msgspec.Struct):
    time_ns: int
    found: list[_Found]


class _Assertion(msgspec.Struct):
    name: str
    promql: str
    must: str
    during: str
    reason: str
    holds: bool | None
    example: _Broken | None


class _Phase(msgspec.Struct):
    name: str
    start_ns: int
    end_ns: int


class _Violation(msgspec.Struct):
    name: str
    time_ns: int
    subject: str
    what: str


class _Summary(msgspec.Struct, rename="camel"):
    """What a report shows of ``run.json``."""

    violations: list[_Violation] = []
    environment: dict[str, str] = {}
    began_unix_ns: int | None = None


class _Expected(msgspec.Struct, rename="camel"):
    why_not: str | None


class _Load(msgspec.Struct, rename="camel"):
    asked_per_second: float
    seconds: float
    offered: int
    held_back: int
    acknowledged: int


class _Verdict(msgspec.Struct, rename="camel"):
    """What a report shows of a verdict."""

    verdict: Literal["pass", "fail", "inconclusive"]
    as_expected: bool
    expected: _Expected
    seed: int
    backend: str
    inconclusive_reasons: list[str]
    reasons: list[str]
    anomalies: dict[str, _Anomaly]
    assertions: list[_Assertion]
    checks: dict[str, str]
    load: _Load | None = None
    acknowledged: int = 0
    lost: int | None = None
    exercised: Exercised | None = None


class TableRows(Generic[Typed]):
    """Rows of a table that grows with the run, as JSON Lines have them. They are read as they are gone through: a run
    may have recorded more than fits into memory. Rows of the kind ``skip`` are passed over.

    Raises :class:`BadRunFileError` if the file is missing or torn, or a row is not one of its kind."""

    def __init__(self, path: Path, kind: RowKind[Typed], skip: str | None = None) -> None:
        self._path: Path = path
        self._kind: RowKind[Typed] = kind
        self._skip: str | None = skip
        with _opened(path):
            pass

    def __iter__(self) -> Iterator[Row]:
        return self.some(lambda _: None)

    def some(self, which: Callable[[pa.Table], Bools | None]) -> Iterator[Row]:
        """The rows of each part that ``which`` names; None: all. To make a row takes much longer than to look at it in
        its columns."""
        for part in self._parts():
            kept = part if self._skip is None else part.filter(pc.not_equal(part["kind"], self._skip))
            wanted = which(kept)
            yield from rows_of(kept if wanted is None else kept.filter(pa.array(wanted)))

    def last(self, name: str) -> Any:
        """A field of the last row, skipped or not; None where there is none."""
        if self._path.suffix != ".parquet":
            ends = (part[name][-1].as_py() for part in self._parts() if part.num_rows)
            return next(iter(deque(ends, maxlen=1)), None)
        try:
            with pq.ParquetFile(self._path) as file:
                if not file.metadata.num_row_groups:
                    return None
                # Not the whole row: the last group of rows holds what the final reader has read.
                column = file.read_row_group(file.metadata.num_row_groups - 1, [name])[name]
                return column[-1].as_py() if len(column) else None
        except (OSError, pa.ArrowException, KeyError) as error:
            raise BadRunFileError(f"{self._path}: cannot be read: {error}") from error

    def _parts(self) -> Iterator[pa.Table]:
        try:
            if self._path.suffix == ".parquet":
                yield from parquet_parts(self._path, self._kind)
            else:
                yield from jsonl_parts(self._path, self._kind, "")
        except BadTableError as error:
            raise BadRunFileError(str(error)) from error
        except OSError as error:
            raise BadRunFileError(f"{self._path}: cannot be read: {error.strerror or error}") from error


def without_kinds(rows: Iterable[Row], kinds: Collection[str]) -> Iterable[Row]:
    """The events that are of none of these kinds. Of large tables the others are not even decoded."""
    if isinstance(rows, TableRows):
        excluded = pa.array(sorted(kinds))
        return rows.some(lambda part: pc.invert(pc.is_in(part["kind"], excluded)).to_numpy())
    return (row for row in rows if row["kind"] not in kinds)


def _large_rows(directory: Path, name: str, kind: RowKind[Typed], skip: str | None = None) -> TableRows[Typed]:
    """A table that grows with the run, in whichever format the directory has it."""
    parquet = directory / f"{name}.parquet"
    return TableRows(parquet if parquet.exists() else directory / f"{name}.jsonl", kind, skip)


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
    phases: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    """Invariants that the backend saw broken, at most :data:`_VIOLATIONS` of them."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the run ran on, by its name; empty if it was not written down."""
    began_unix_ns: int | None = None
    """When run time began, by the clock that nodes write into their logs; None in the simulator."""
    directory: Path | None = None
    """Where logs and samples are; None: there are none."""
    unverified: bool = False
    """Whether a run directory has no manifest."""
    recorded_kinds: frozenset[str] = frozenset()
    """The kinds of events of which all are there; none if the recording does not say."""

    @classmethod
    def read(cls, directory: Path, verdict: Row | None = None) -> RunFiles:
        """Read a run directory, with another ``verdict`` than its own if one is given.

        Raises :class:`BadRunFileError` where a file is missing or torn."""
        summary: Row = {}
        if (directory / RUN_FILE).exists():
            summary = _object(_read(directory / RUN_FILE), directory / RUN_FILE, None, msgspec.json.Decoder(_Summary))
        phases: Sequence[Row] = ()
        if (directory / _PHASES).exists():
            phases = _rows(directory / _PHASES, msgspec.json.Decoder(_Phase))
        return cls(
            verdict=_document(directory / "verdict.json") if verdict is None else verdict,
            operations=_large_rows(directory, OPERATIONS_FILE, OPERATION_ROWS),
            events=_large_rows(directory, NODE_EVENTS_FILE, NODE_EVENT_ROWS, skip="batch-committed"),
            faults=_rows(directory / "faults.jsonl", msgspec.json.Decoder(_Fault)),
            experiment=_text(directory / "experiment.yaml"),
            phases=phases,
            violations=summary.get("violations", ())[:_VIOLATIONS],
            environment=summary.get("environment", {}),
            began_unix_ns=summary.get("beganUnixNs"),
            directory=directory,
            unverified=not has_manifest(directory),
            recorded_kinds=_recorded_kinds(directory / RECORDED_EVENTS_FILE),
        )


def _recorded_kinds(path: Path) -> frozenset[str]:
    if not path.exists():
        return frozenset()
    found = _object(_read(path), path, None, msgspec.json.Decoder(RecordedEvents))
    return frozenset(found["kinds"])


def _document(path: Path) -> Row:
    return _object(_read(path), path, None, msgspec.json.Decoder(_Verdict))


def _rows(path: Path, check: msgspec.json.Decoder[Any]) -> Sequence[Row]:
    return [_object(line, path, number, check) for number, line in enumerate(_read(path).splitlines(), start=1)]


def _object(data: bytes, path: Path, line: int | None, check: msgspec.json.Decoder[Any]) -> Row:
    """Return one object with all its fields, which ``check`` has seen."""
    place = path if line is None else f"{path}:{line}"
    try:
        row = _DECODE(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRunFileError(f"{place}: expected a JSON object, found: {_start(data)} ({error})") from error
    try:
        check.decode(data)
    except msgspec.ValidationError as error:
        raise BadRunFileError(f"{place}: {error}; found: {_start(data)}") from error
    return row


def _start(data: bytes) -> str:
    return data[:_SHOWN].decode("utf-8", "replace").rstrip("\n")


def _text(path: Path) -> str:
    try:
        return _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRunFileError(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _read(path: Path) -> bytes:
    with _opened(path) as file:
        return file.read()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BadRunFileError(f"{path}: cannot be read: {error.strerror or error}") from error
