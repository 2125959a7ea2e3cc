"""A run directory: everything needed to judge a run again. It appears only when it is complete."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from highwater_chaos.assertions import PhaseRow, write_phases
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.base.user_error import UserError
from highwater_chaos.experiment import ChaosExperiment, dump_experiment
from highwater_chaos.run.result import RunResult
from highwater_chaos.run.table_format import TableFormat
from highwater_pipeline.tables.recorded_events import EVERY_KIND, RecordedEvents, write_recorded_events
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.portable import PortableError

if TYPE_CHECKING:
    from highwater_pipeline.tables.remote import AnyPath

_OWNED: Final = "harness-lives.lock"
"""A file of a spool directory that its harness holds a lock on, as long as it lives."""

_KIND: Final = b'"kind":"'
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CannotWriteError(PortableError, UserError):
    """A run directory or a store cannot be written. The incomplete one has been removed."""

    def __init__(self, parent: AnyPath, error: OSError) -> None:
        advice = "free some space, or give" if error.errno in NO_ROOM else "give"
        reason = os.strerror(error.errno) if error.errno else str(error)
        super().__init__(f"{parent}: expected a directory that takes a run; found: {reason}; {advice} another --out")


@contextmanager
def new_spool_directory(parent: Path, name: str) -> Iterator[Path]:
    """Make a hidden directory below ``parent`` for files that a run writes; it is removed at the end.

    Those of harnesses that were killed are removed too.

    Raises:
        CannotWriteError: ``parent`` cannot be written to, or its disk is full.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        remove_ownerless(parent)
        made = tempfile.TemporaryDirectory(prefix=f".{name}-", dir=parent.resolve())
    except OSError as error:
        raise CannotWriteError(parent, error) from error
    with made as directory:
        spool = Path(directory)
        try:
            with (spool / f"{_OWNED}.part").open("wb") as file:
                if _is_locked(file):
                    (spool / f"{_OWNED}.part").rename(spool / _OWNED)  # it is never visible without its lock
                yield spool
        except OSError as error:
            if error.errno in NO_ROOM:
                raise CannotWriteError(parent, error) from error
            raise


def _is_locked(file: BinaryIO) -> bool:
    """Lock a file, where its file system can; if it cannot, what a killed harness leaves stays."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            return False
        raise
    return True


def remove_ownerless(parent: Path) -> None:
    """Remove the hidden directories below ``parent`` whose harness was killed."""
    for path in parent.glob(f".*/{_OWNED}"):
        with suppress(OSError), path.open("rb") as file:  # its owner lives, or it has been removed
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)


@contextmanager
def new_run_directory(parent: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Fill a new directory below ``parent``, which is made where it is missing.

    Yields (where to write, what it will be called). It gets its name when the block ends without an exception;
    otherwise nothing is left. An existing directory is never touched: the new one gets a number. If this process is
    killed meanwhile, an empty directory of that name is left, and the next run removes the rest.

    Raises:
        CannotWriteError: ``parent`` cannot be written to, or its disk is full.
    """
    with new_spool_directory(parent, name) as hidden:
        try:
            final = _reserve(parent, name)
        except OSError as error:
            raise CannotWriteError(parent, error) from error
        partial = hidden / "run"
        try:
            partial.mkdir()
            partial.chmod(0o755)
            yield partial, final
            _sync(partial)
            partial.rename(final)
        except BaseException:
            final.rmdir()
            raise


def _sync(directory: Path) -> None:
    """What gets its name is on the disk as a whole."""
    for path in directory.rglob("*"):
        if not path.is_symlink():
            opened = os.open(path, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def _reserve(parent: Path, name: str) -> Path:
    """An empty directory, which holds the name against another harness that writes there at the same time."""
    number, candidate = 1, parent / name
    while True:
        try:
            candidate.mkdir()
        except FileExistsError:
            number += 1
            candidate = parent / f"{name}-{number}"
        else:
            return candidate


def write_recordings(
    directory: Path, experiment: ChaosExperiment, result: RunResult, tables: TableFormat = "jsonl"
) -> None:
    """Write what was recorded: everything but verdict and report. ``tables``: how the tables that grow with the run."""
    encode = msgspec.json.Encoder().encode
    (directory / "experiment.yaml").write_text(dump_experiment(experiment), encoding="utf-8")
    _write_lines(directory / "faults.jsonl", (encode(record.to_dict()) for record in result.faults))
    write_phases(directory, (PhaseRow(phase.name, phase.start_ns, phase.end_ns) for phase in result.phases))
    result.metrics.write(directory / "metrics" / "samples.parquet")
    for relative, content in result.files.items():
        path = directory / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    declared = _recorded_events(result)
    write_recorded_events(directory, declared, {})  # what makes the tables counts them
    log = [f"{time_ns / 1e9:12.6f} {text}" for time_ns, text in _log(result)]
    _write_lines(directory / "logs" / "harness.log", (line.encode() for line in log))
    if result.recorder is not None or tables == "parquet":
        from highwater_chaos.run.tables import finish_tables, write_tables  # noqa: PLC0415 - PyArrow

        if finish_tables(directory, experiment, result):
            return
        if tables == "parquet":
            write_tables(directory, experiment, result)
            return
    _write_lines(directory / "history" / "operations.jsonl", result.history)
    counts: Counter[str] = Counter()
    _write_lines(directory / "events" / "nodes.jsonl", _counted(result.event_lines, counts))
    write_recorded_events(directory, declared, counts)
    _write_lines(directory / "dumps" / "replica_log.jsonl", result.replica_log_lines)


def _recorded_events(result: RunResult) -> RecordedEvents:
    """Which kinds of events the nodes report: a backend that has other software says it, our own report all."""
    said = result.files.get(RECORDED_EVENTS_FILE)
    return EVERY_KIND if said is None else msgspec.json.decode(said, type=RecordedEvents)


def _counted(lines: Iterable[bytes], counts: Counter[str]) -> Iterator[bytes]:
    """The lines of events, each counted by its kind."""
    for line in lines:
        start = line.index(_KIND) + len(_KIND)
        counts[line[start : line.index(b'"', start)].decode()] += 1
        yield line


def write_json(path: Path, data: Any) -> None:
    """Write an indented JSON document."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")


def _log(result: RunResult) -> list[tuple[int, str]]:
    entries = [
        (phase.start_ns, f"phase {phase.name} ({format_duration(phase.end_ns - phase.start_ns)})")
        for phase in result.phases
    ]
    entries += result.journal
    entries += [(violation.time_ns, f"invariant {violation.name}: {violation.what}") for violation in result.violations]
    entries += [(result.run_ns, f"inconclusive: {reason}") for reason in result.inconclusive_reasons]
    return sorted(entries, key=lambda entry: entry[0])


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for line in lines:
            file.write(line)
            file.write(b"\n")
