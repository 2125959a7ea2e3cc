"""The units of one run judged by several processes of this machine, for runs of millions of operations.

Which process judges which units is settled before any begins, by their rows. A process sends what it found in each
unit, and so ends after its unit at the latest if the one that waits is gone.
"""

from __future__ import annotations

import heapq
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Final

from highwater_pipeline.checks import check_unit
from highwater_pipeline.files import BadTable
from highwater_pipeline.judgement import UnitFindings
from highwater_pipeline.store import StoredRun, StoredUnit, read_unit
from highwater_pipeline.units import RunFacts

_CONTEXT: Final = multiprocessing.get_context("forkserver")
"""A fork of this process would inherit what its threads hold, those of an object store's client among them."""
_ENDING_SECONDS: Final = 10


def findings_of(run: StoredRun, jobs: int) -> Iterator[UnitFindings]:
    """What the checks find in each unit, in any order. Each of ``jobs`` processes has one unit in memory at a time.

    Raises:
        BadTable, OSError: a unit cannot be read.
        ChildProcessError: a process ended before it had judged all of its units.
    """
    _CONTEXT.set_forkserver_preload(["__main__", __name__])
    processes = {}
    try:
        for units in shares(run.units, jobs):
            ours, theirs = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_judge, args=(theirs, run.facts, run.checks, units), daemon=True)
            process.start()
            theirs.close()
            processes[ours] = process, len(units)
        while processes:
            for connection in wait(list(processes)):
                assert isinstance(connection, Connection)
                process, left = processes[connection]
                try:
                    found = connection.recv()
                except EOFError:
                    process.join(_ENDING_SECONDS)
                    raise ChildProcessError(_why(process.exitcode)) from None
                if isinstance(found, Exception):
                    raise found
                yield found
                processes[connection] = process, left - 1
                if left == 1:
                    del processes[connection]
                    connection.close()
                    process.join()
    finally:
        for connection, (process, _) in processes.items():
            process.kill()
            process.join()
            connection.close()


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
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C in a terminal reaches all
    for unit in units:
        try:
            found: UnitFindings | BadTable | OSError = check_unit(read_unit(facts, unit), checks)
        except (BadTable, OSError) as error:
            found = error
        connection.send(found)


def _why(exit_code: int | None) -> str:
    ended = f"signal {signal.Signals(-exit_code).name}" if exit_code and exit_code < 0 else f"exit status {exit_code}"
    return f"a process that judged a part of the run ended ({ended}); if memory was short, try --jobs 1"
