"""Several runs of the simulator at once, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from highwater_chaos.cli.progress import Progress
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.directory import remove_ownerless
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check
from highwater_runtime.sim.garbage import freeze_collector

_planned: list[tuple[ChaosExperiment, Mapping[str, str]]] = []
"""In a process: what there is to run. It comes by fork, as models made on the way cannot be sent."""


def side_by_side(
    planned: Sequence[tuple[ChaosExperiment, Mapping[str, str]]],
    jobs: int,
    out: Path,
    *,
    wire: bool,
    tables: TableFormat | None,
) -> Iterator[CheckedRun]:
    """Judged runs in the order of ``planned``, each with the switches in which it differs; at most ``jobs`` at once.

    Closing the iterator ends the processes and drops what they were at.
    """
    fork = multiprocessing.get_context("fork")  # what was imported need not be imported again
    with (
        Progress(f"{len(planned)} runs, {jobs} at once") as progress,
        ProcessPoolExecutor(jobs, fork, initializer=_prepare, initargs=(planned,)) as pool,
    ):
        try:
            for number, one in enumerate([pool.submit(_run, at, out, wire, tables) for at in range(len(planned))]):
                done = one.result()
                progress(f"{number + 1} done")
                yield done
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
                process.join()
            remove_ownerless(out)
            raise


def _prepare(planned: Sequence[tuple[ChaosExperiment, Mapping[str, str]]]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    freeze_collector()
    _planned.extend(planned)


def _run(at: int, out: Path, wire: bool, tables: TableFormat | None) -> CheckedRun:
    experiment, varied = _planned[at]
    return run_and_check(experiment, "sim", out, lambda _phase: None, varied=varied, wire=wire, tables=tables)
