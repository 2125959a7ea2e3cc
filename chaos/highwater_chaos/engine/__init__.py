"""Runs one experiment on one backend, from an empty cluster to everything that a verdict needs.

Phases:

1. *setup*: nodes start, topics are created, every replica is in sync;
2. *steady*: the workload runs and nothing is wrong yet;
3. *fault*: the schedule;
4. every fault is healed, also after an error;
5. *recovered*: the workload continues until the cluster has recovered (bounded), and two seconds more;
6. *final*: producers finish, then a fresh reader drains every partition up to the HW;
7. each replica's log is dumped.

A problem that makes it impossible to judge the run is an *inconclusive reason*: a condition that was not met, a fault
without evidence, no acknowledged write. A run with such a reason is inconclusive, never a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.engine.experiment_run import ExperimentRun
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.faults import FaultRecord
from highwater_chaos.run.live import LiveRun
from highwater_chaos.run.result import RunResult
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.schedule.capability import BackendCannotError, missing_capabilities

__all__ = ["run_experiment"]


def run_experiment(
    experiment: ChaosExperiment,
    backend: Backend,
    *,
    progress: Callable[[str], None] = lambda _: None,
    faults: Callable[[Sequence[FaultRecord]], None] = lambda _: None,
    on_turn: Callable[[LiveRun], None] | None = None,
    spool: Path | None = None,
    ends_early: Callable[[], str | None] = lambda: None,
    tables: TableFormat | None = None,
) -> RunResult:
    """Run one experiment with the seed and the switches that it carries.

    Args:
        experiment: validated, with ``spec.cluster``.
        backend: a fresh one; it is closed at the end, whatever happens.
        progress: hears of each phase as it begins, and ``ending`` if the run ends early.
        faults: is given the list of faults, once, that grows and changes while the schedule runs.
        on_turn: is called very often while the run goes on.
        spool: a directory for what a run in real time writes while it goes on; the result lies there. None: one that
            is there as long as the result is.
        ends_early: is asked very often while the run goes on. Once it says why, the run goes on as if its timeout were
            over: everything is healed, nothing is waited for, and what was recorded is inconclusive for that reason.
        tables: the format of the large tables; None: by how much a run in real time records. Parquet is written while
            such a run goes on.

    Raises:
        BackendCannotError: when the backend lacks something; nothing has been started then.
    """
    if problems := missing_capabilities(experiment, backend):
        raise BackendCannotError(backend.name, problems)
    run = ExperimentRun(experiment, backend, progress, faults, on_turn, spool, ends_early, tables)
    try:
        return run.execute()
    except BaseException:
        run.recordings.close()
        raise
    finally:
        backend.close()
