"""The units of one run judged by several processes of this machine, for runs of millions of operations.

Which process judges which units is settled before any begins, by their rows. A process sends what it found in each
unit, and so ends after its unit at the latest if the one that waits is gone.
"""

from __future__ import annotations

import heapq
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Final

from highwater_pipeline.checks import check_partition
from highwater_pipeline.partitions.partition_tables import RunFacts
from highwater_pipeline.partitions.store import StoredRun, StoredUnit, read_unit
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.verdict import PartitionFindings

_CONTEXT: Final = multiprocessing.get_context("spawn")
"""A fork of this process would inherit what its threads hold, those of an object store's client among them. A fork
server needs a socket in ``TMPDIR``, whose name may be too long for one."""
_SAFE_PATH: Final = "PYTHONSAFEPATH"
_MEMORY: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
}
"""Checks make and drop an array of megabytes for each column that they look at. If each goes back to the system, to get
new pages is a seventh of all processor time. Arrow and NumPy share what they keep."""
_ENDING_SECONDS: Final = 10
_MESSAGE: Final = "a process that judged a part of the run ended ({}); if memory was short, try --jobs 1"


def findings_of(run: StoredRun, jobs: int) -> Iterator[PartitionFindings]:
    """What the checks find in each unit, in any order. Each of ``jobs`` processes has one unit in memory at a time.

    Raises:
        BadTableError, OSError: a unit cannot be read. It is the first one of the run that cannot, whatever ``jobs`` is.
        ChildProcessError: a process was killed before it had judged all of its units.
        RuntimeError: it ended by itself, and has said why on stderr.
    """
    processes = {}
    unreadable: dict[str, Exception] = {}
    try:
        for units in shares(run.units, jobs):
            ours, theirs = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_judge, args=(theirs, run.facts, run.checks, units), daemon=True)
            with _environment(), _uninterrupted():
                process.start()
            theirs.close()
            processes[ours] = process, len(units)
        while processes:
            for connection in wait(list(processes)):
                assert isinstance(connection, Connection)
                process, left = processes[connection]
                try:
                    partition, found = connection.recv()
                except (EOFError, OSError):  # the end of the pipe, perhaps inside of a message
                    process.join(_ENDING_SECONDS)
                    raise _ended(process.exitcode) from None
                if isinstance(found, Exception):
                    unreadable[partition] = found
                elif found is not None:
                    yield found
                processes[connection] = process, left - 1
                if left == 1:
                    del processes[connection]
                    connection.close()
                    process.join()
        if unreadable:
            raise unreadable[min(unreadable)]
    finally:
        for connection, (process, _) in processes.items():
            process.kill()
            process.join()
            connection.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that are started here have Ctrl-C held back, which reaches all in a terminal, until they judge. While
    they import it would interrupt them anywhere, and each would say where."""
    resource_tracker.ensure_running()  # which lets signals through again, once it has started its process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment() -> Iterator[None]:
    """What a process that is started here gets. Python's own command line for it (``python -c``) would find
    ``multiprocessing`` in the working directory, which may be anybody's."""
    before = dict(os.environ)
    os.environ.update({**_MEMORY, **before, _SAFE_PATH: "1"})
    try:
        yield
    finally:
        for name in {_SAFE_PATH, *_MEMORY} - before.keys():
            del os.environ[name]
        os.environ.update(before)


def shares(units: Sequence[StoredUnit], jobs: int) -> list[list[StoredUnit]]:
    """The units of each process: the largest first, each to the process with the fewest rows so far."""
    by_rows = sorted(units, key=lambda unit: -sum(unit.rows.values()))
    given: list[list[StoredUnit]] = [[] for _ in range(min(jobs, len(units)))]
    rows = [(0, number) for number in range(len(given))]
    for unit in by_rows:
        fewest, number = rows[0]
        given[number].append(unit)
        heapq.heapreplace(rows, (fewest + sum(unit.rows.values()), number))
    return given


def _judge(
    connection: Connection, facts: RunFacts, checks: tuple[str, ...] | None, units: Sequence[StoredUnit]
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    unreadable: str | None = None
    for unit in units:
        found: PartitionFindings | BadTableError | OSError | None = None
        if unreadable is None or unit.partition < unreadable:  # a store that is gone is not asked for every unit
            try:
                found = check_partition(read_unit(facts, unit), checks)
            except (BadTableError, OSError) as error:
                found, unreadable = error, unit.partition
        try:
            connection.send((unit.partition, found))
        except BrokenPipeError:
            return  # nobody waits for it any more


def _ended(exit_code: int | None) -> Exception:
    if exit_code is not None and exit_code < 0:
        return ChildProcessError(_MESSAGE.format(f"signal {-exit_code}"))
    return RuntimeError(_MESSAGE.format(f"exit status {exit_code}"))
