"""Several runs of the simulator at once, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final

from highwater_chaos.base.child_process import end_with_parent, how_it_ended
from highwater_chaos.cli.interrupts import Interrupts, raised_as_interruption
from highwater_chaos.cli.progress import Progress
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.directory import remove_ownerless
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check
from highwater_runtime.sim.garbage import freeze_collector

_FORK: Final = multiprocessing.get_context("fork")  # what was imported need not be imported again
_LINE_SECONDS: Final = 30.0
_ENDING_SECONDS: Final = 10.0
"""What a process that is interrupted may take to remove what it has begun."""


def side_by_side(
    planned: Sequence[tuple[ChaosExperiment, Mapping[str, str]]],
    jobs: int,
    out: Path,
    *,
    wire: bool,
    tables: TableFormat | None,
) -> Iterator[tuple[int, CheckedRun | str]]:
    """Run these experiments, each with the switches in which it differs, at most ``jobs`` at once.

    Yields the place in ``planned`` and the judged run as they come, or why there is none. Closing the iterator ends
    the processes and drops what they were at.
    """
    waiting = iter(enumerate(planned))
    under_way: dict[Connection, tuple[int, ForkProcess]] = {}
    done, said = 0, time.monotonic()
    with Progress(f"{len(planned)} runs, {jobs} at once") as progress:
        try:
            while True:
                for at, (experiment, varied) in islice(waiting, jobs - len(under_way)):
                    ours, theirs = _FORK.Pipe(duplex=False)
                    task = experiment, varied, out, wire, tables
                    process = _FORK.Process(target=_run, args=(theirs, [*under_way, ours], *task), daemon=True)
                    process.start()
                    theirs.close()
                    under_way[ours] = at, process
                if not under_way:
                    return
                for connection in wait(list(under_way), _LINE_SECONDS):
                    assert isinstance(connection, Connection)
                    at, process = under_way[connection]
                    found = _received(connection)
                    process.join(_ENDING_SECONDS)
                    del under_way[connection]
                    connection.close()
                    done += 1
                    yield at, f"its process ended: {how_it_ended(process.exitcode)}" if found is None else found
                    said = 0.0
                if time.monotonic() - said >= _LINE_SECONDS:
                    said = time.monotonic()
                    names = ", ".join(planned[at][0].metadata.name for at, _ in under_way.values())
                    progress(f"{done} done{names and f', {names} under way'}")
        finally:
            processes = [process for _, process in under_way.values()]
            for process in processes:
                process.terminate()
            deadline = time.monotonic() + _ENDING_SECONDS
            for process in processes:
                process.join(max(0.0, deadline - time.monotonic()))
                process.kill()
                process.join()
            remove_ownerless(out)


def _received(connection: Connection) -> CheckedRun | str | None:
    """What a process has sent; None: it ended before."""
    with suppress(EOFError, OSError):
        found = connection.recv()  # of a process of ours
        assert isinstance(found, CheckedRun | str)
        return found
    return None


def _run(
    connection: Connection,
    of_others: Sequence[Connection],
    experiment: ChaosExperiment,
    varied: Mapping[str, str],
    out: Path,
    wire: bool,
    tables: TableFormat | None,
) -> None:
    end_with_parent()
    Interrupts().listen()  # to SIGTERM: what was begun is removed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all; the parent decides
    for other in of_others:
        other.close()
    freeze_collector()
    with suppress(KeyboardInterrupt), raised_as_interruption():
        done = run_and_check(experiment, "sim", out, lambda _phase: None, varied=varied, wire=wire, tables=tables)
        connection.send(done)
