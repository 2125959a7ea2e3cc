"""One experiment, run, written down, judged and reported: what ``highwater run`` does for each file.

The modules that judge (NumPy, PyArrow, checks) are imported when the first run is judged, so runs start sooner.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from highwater_chaos import assertions
from highwater_chaos.assertions import read_phases
from highwater_chaos.backends import make_backend
from highwater_chaos.backends.protocol import Backend
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, ExperimentSpec
from highwater_chaos.run.directory import new_run_directory, new_spool_directory, write_recordings
from highwater_chaos.run.live import LiveRun
from highwater_chaos.run.log import logged_to
from highwater_chaos.run.result import RunResult
from highwater_chaos.run.run_id import new_run_id
from highwater_chaos.run.summary import read_summary, summary_of, write_summary
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.verdict.check import check_recordings, write_verdict
from highwater_chaos.verdict.verdict import verdict_of
from highwater_runtime.sim import frozen_collector

_LONGEST: Final = 200
"""Characters of what a directory is called after: a name of a file may have 255 bytes."""


Keep = Callable[[Path, Mapping[str, Any]], None]
"""Copies what it wants of a run: takes its temporary directory, and the content of its ``verdict.json``."""


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A finished run: its directory and the content of its ``verdict.json``."""

    directory: Path
    verdict: dict[str, Any]


def run_and_check(
    experiment: ChaosExperiment,
    backend: str,
    parent: Path,
    progress: Callable[[str], None],
    *,
    varied: Mapping[str, str],
    wire: bool,
    on_turn: Callable[[LiveRun], None] | None = None,
    ends_early: Callable[[], str | None] = lambda: None,
    tables: TableFormat | None = None,
    make: Callable[[], Backend] | None = None,
    run_id: str = "",
) -> CheckedRun:
    """Run ``experiment`` on the backend of that name and leave a run directory below ``parent``.

    It is judged from the written files, so the verdict can be repeated. ``varied``: the switches in which the runs of
    one command differ; they become part of the directory's name. ``wire``: encode and decode every simulated message.
    ``on_turn`` and ``ends_early`` are called very often during the run; if ``ends_early`` ends the run, the part until
    then is written and judged. ``tables``: the format of the large tables; None: by the amount of recordings. ``make``
    makes the backend if it takes more than a name. ``run_id``: the run's key; empty: a new one.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    title = "-".join([experiment.metadata.name, *(f"{switch}={value}" for switch, value in varied.items())])
    name = f"{title[:_LONGEST]}-{stamp}"
    with new_spool_directory(parent, name) as spool:
        log = spool / "harness-process.log"
        with frozen_collector(), logged_to(log):
            made = make_backend(backend, wire=wire) if make is None else make()
            result = run_experiment(
                experiment,
                made,
                progress=progress,
                on_turn=on_turn,
                spool=spool,
                ends_early=ends_early,
                tables=tables,
            )
        if log.exists():
            result.files["logs/harness-process.log"] = log.read_bytes()
        progress("judging")
        try:
            return write_checked(
                experiment, result, parent, name, wire=wire, tables=tables, run_id=run_id or new_run_id()
            )
        finally:
            if result.recorder is not None:
                result.recorder.close()


def run_and_forget(
    experiment: ChaosExperiment,
    *,
    wire: bool,
    run_id: str = "",
    keep: Keep = lambda _directory, _verdict: None,
    ends_early: Callable[[Backend], str | None] = lambda _backend: None,
) -> tuple[RunResult, dict[str, Any]]:
    """Run ``experiment`` in the simulator and judge it from temporary files, for callers that run many.

    ``keep`` may copy them before. ``ends_early`` is as for :func:`run_and_check`. Returns the result of the run
    and the content of ``verdict.json``.

    Raises:
        BackendCannotError: the simulator cannot do what the experiment needs.
    """
    gc.collect()  # the run before is one large cycle, which the raised thresholds would keep for hundreds of runs
    backend = make_backend("sim", wire=wire)
    result = run_experiment(experiment, backend, ends_early=lambda: ends_early(backend))
    return result, check_and_forget(experiment, result, wire=wire, run_id=run_id, keep=keep)


def check_and_forget(
    experiment: ChaosExperiment,
    result: RunResult,
    *,
    wire: bool,
    run_id: str = "",
    keep: Keep = lambda _directory, _verdict: None,
) -> dict[str, Any]:
    """Judge a run from temporary files, which ``keep`` may copy before, and return the content of ``verdict.json``."""
    with ScratchDirectory("run") as folder:
        directory = Path(folder)
        write_run(directory, experiment, result, wire=wire, run_id=run_id)
        summary = read_summary(directory)
        outcomes = assertions.check_assertions(experiment.spec, directory)
        verdict = verdict_of(experiment, summary, check_recordings(experiment, directory), outcomes)
        keep(directory, verdict)
        return verdict


def write_checked(
    experiment: ChaosExperiment,
    result: RunResult,
    parent: Path,
    name: str,
    *,
    wire: bool,
    tables: TableFormat | None = None,
    run_id: str = "",
) -> CheckedRun:
    """Write the run directory below ``parent``, judge it from its files, and write the report."""
    with new_run_directory(parent, name) as (directory, final):
        write_run(directory, experiment, result, wire=wire, tables=tables, run_id=run_id)
        verdict = write_verdict(directory, experiment, check_recordings(experiment, directory), shown_as=final)
    return CheckedRun(final, verdict)


def write_run(
    directory: Path,
    experiment: ChaosExperiment,
    result: RunResult,
    *,
    wire: bool,
    tables: TableFormat | None = None,
    run_id: str = "",
) -> None:
    """Write down all that a verdict needs, and none. ``run_id``: the run's key; empty: what determines it."""
    write_recordings(directory, experiment, result, tables or "jsonl")
    _ask_prometheus(experiment.spec, result, directory)
    write_summary(directory, summary_of(experiment, result, wire=wire, run_id=run_id))


def _ask_prometheus(spec: ExperimentSpec, result: RunResult, directory: Path) -> None:
    """Add the responses of the experiment's Prometheus to the recordings."""
    if spec.prometheus is not None:
        began_unix_ms = result.began_unix_ns // 1_000_000
        answers = assertions.ask_prometheus(spec.prometheus, spec.assertions, read_phases(directory), began_unix_ms)
        assertions.write_answers(directory, answers)
