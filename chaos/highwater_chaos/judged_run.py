"""One experiment, run, written down, judged and reported: what ``highwater run`` does for each file.

The modules that judge (NumPy, PyArrow, checks) are imported when the first run is judged, so runs start sooner.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import highwater_pipeline
from highwater_chaos import assertions
from highwater_chaos.assertions import read_phases
from highwater_chaos.backends import make_backend
from highwater_chaos.backends.protocol import Backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, ExperimentSpec, load_experiment
from highwater_chaos.junit import write_junit
from highwater_chaos.lines import FileLines
from highwater_chaos.live_run import LiveRun
from highwater_chaos.run_directory import new_run_directory, new_spool_directory, write_json, write_recordings
from highwater_chaos.run_log import logged_to
from highwater_chaos.run_result import RunResult
from highwater_chaos.run_summary import list_recordings, read_summary, summary_of, write_summary
from highwater_chaos.table_format import TableFormat
from highwater_chaos.user_error import UserError
from highwater_chaos.verdict import verdict_of
from highwater_pipeline.judgement import Judgement
from highwater_pipeline.recordings import OPERATIONS_FILE, UNITS
from highwater_pipeline.remote import AnyPath
from highwater_runtime.sim import frozen_collector

if TYPE_CHECKING:
    from highwater_pipeline.units import RunFacts


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A finished run: its directory and the content of its ``verdict.json``."""

    directory: Path
    verdict: dict[str, Any]


def run_and_judge(
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
) -> JudgedRun:
    """Run ``experiment`` on the backend of that name and leave a run directory below ``parent``.

    It is judged from the written files, so the judgement can be repeated. ``varied``: the switches in which the runs of
    one command differ; they become part of the directory's name. ``wire``: encode and decode every simulated message.
    ``on_turn`` and ``ends_early`` are called very often during the run; if ``ends_early`` ends the run, the part until
    then is written and judged. ``tables``: the format of the large tables; None: by the amount of recordings.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = "-".join([experiment.metadata.name, *(f"{switch}={value}" for switch, value in varied.items()), stamp])
    with new_spool_directory(parent, name) as spool:
        log = spool / "harness-process.log"
        with frozen_collector(), logged_to(log):
            made = make_backend(backend, wire=wire)
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
            return write_judged(experiment, result, parent, name, wire=wire, tables=tables)
        finally:
            if result.recorder is not None:
                result.recorder.close()


def run_and_forget(
    experiment: ChaosExperiment,
    *,
    wire: bool,
    keep: Callable[[Path], None] = lambda _directory: None,
    ends_early: Callable[[Backend], str | None] = lambda _backend: None,
) -> tuple[RunResult, dict[str, Any]]:
    """Run ``experiment`` in the simulator and judge it from temporary files, for callers that run many.

    ``keep`` may copy them before. ``ends_early`` is as for :func:`run_and_judge`. Returns the result of the run
    and the content of ``verdict.json``.

    Raises:
        BackendCannotError: the simulator cannot do what the experiment needs.
    """
    gc.collect()  # the run before is one large cycle, which the raised thresholds would keep for hundreds of runs
    backend = make_backend("sim", wire=wire)
    result = run_experiment(experiment, backend, ends_early=lambda: ends_early(backend))
    with tempfile.TemporaryDirectory(prefix="highwater-run-") as folder:
        directory = Path(folder)
        write_run(directory, experiment, result, wire=wire)
        summary = read_summary(directory)
        outcomes = assertions.judge_assertions(experiment.spec, directory)
        verdict = verdict_of(experiment, summary, judge_recordings(experiment, directory), outcomes)
        keep(directory)
        return result, verdict


def write_judged(
    experiment: ChaosExperiment,
    result: RunResult,
    parent: Path,
    name: str,
    *,
    wire: bool,
    tables: TableFormat | None = None,
) -> JudgedRun:
    """Write the run directory below ``parent``, judge it from its files, and write the report."""
    with new_run_directory(parent, name) as (directory, final):
        write_run(directory, experiment, result, wire=wire, tables=tables)
        verdict = write_verdict(directory, experiment, judge_recordings(experiment, directory), shown_as=final)
    return JudgedRun(final, verdict)


def write_run(
    directory: Path, experiment: ChaosExperiment, result: RunResult, *, wire: bool, tables: TableFormat | None = None
) -> None:
    """Write down all that a verdict needs, and none."""
    write_recordings(directory, experiment, result, tables or "jsonl")
    _ask_prometheus(experiment.spec, result, directory)
    write_summary(directory, summary_of(experiment, result, wire=wire))


def write_verdict(
    directory: Path, experiment: ChaosExperiment, judgement: Judgement, *, shown_as: Path | None = None
) -> dict[str, Any]:
    """Write what follows from ``judgement``, of the recordings in ``directory``, beside them: verdict, JUnit, report.

    The report calls the directory ``shown_as``. Returns the content of ``verdict.json``.

    Raises:
        BadSummary: the run directory is not whole.
    """
    summary = read_summary(directory)
    verdict = verdict_of(experiment, summary, judgement, assertions.judge_assertions(experiment.spec, directory))
    write_json(directory / "verdict.json", verdict)
    write_junit(directory / "junit.xml", [verdict])
    # Imported here: a campaign writes no report for a seed, so its processes need not import this.
    from highwater_chaos.report import write_report  # noqa: PLC0415

    write_report(directory, shown_as=shown_as)
    return verdict


def _ask_prometheus(spec: ExperimentSpec, result: RunResult, directory: Path) -> None:
    """Add the responses of the experiment's Prometheus to the recordings."""
    if spec.prometheus is not None:
        began_unix_ms = result.began_unix_ns // 1_000_000
        answers = assertions.ask_prometheus(spec.prometheus, spec.assertions, read_phases(directory), began_unix_ms)
        assertions.write_answers(directory, answers)


def judge_recordings(experiment: ChaosExperiment, directory: Path) -> Judgement:
    """The judgement of what a run of ``experiment`` left in ``directory``: of its registers too where it has some."""
    if experiment.spec.workload.metadata is None:
        stored = highwater_pipeline.recorded_units(directory, tuple(experiment.spec.checks))
        if stored is not None:
            return highwater_pipeline.judge_stored(stored)
        return highwater_pipeline.judge_run(highwater_pipeline.open_run(directory), experiment.spec.checks)
    return highwater_pipeline.judge_log_and_registers(highwater_pipeline.load_run(directory), experiment.spec.checks)


def judge_on_spark(experiment: ChaosExperiment, directory: AnyPath, master: str | None = None) -> Judgement:
    """The same on Spark (``master`` None: all cores of this machine).

    Raises:
        BadTable, FileNotFoundError: a recording is missing or torn.
        JavaNotFound, SparkFailed: there is no Spark here.
    """
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import, and may not be there

    no_registers = experiment.spec.workload.metadata is None
    stored = highwater_pipeline.recorded_units(directory, tuple(experiment.spec.checks)) if no_registers else None
    if stored is not None:
        return spark.check_stored_on_spark(stored, master)
    judge = spark.check_on_spark if no_registers else spark.check_log_and_registers_on_spark
    return judge(directory, master, experiment.spec.checks)


class HasRegisters(UserError):  # noqa: N818 - says what it has
    """A run whose clients operated on registers, which a store does not hold."""


def store_run(directory: Path, store: AnyPath, *, again: bool = False) -> AnyPath:
    """Split a run directory by partition and write it into a store; returns the run's directory there.

    ``again``: the same run may be there already, for it may have been run twice.

    Raises:
        HasRegisters: a store does not hold them.
        FileExistsError: the store has that run already.
        BadSummary, BadTable: the run directory is not whole.
    """
    # Imported here: few campaigns have a store.
    from highwater_pipeline.store import open_stored_run, stored_directory, write_units  # noqa: PLC0415
    from highwater_pipeline.units import split  # noqa: PLC0415

    spec = load_experiment(directory / "experiment.yaml").spec
    if spec.workload.metadata is not None:
        raise HasRegisters(f"{directory}: has registers, which a store does not hold; give check the run itself")
    known = tuple(_known_to_the_run(spec, directory))

    def complete(facts: RunFacts) -> RunFacts:
        return replace(facts, inconclusive_reasons=tuple(dict.fromkeys((*facts.inconclusive_reasons, *known))))

    try:
        return write_units(highwater_pipeline.open_run(directory), store, tuple(spec.checks), complete)
    except FileExistsError:
        run = highwater_pipeline.open_run(directory)
        there = stored_directory(store, run.run_id)
        if again and open_stored_run(there).facts == complete(split(run)[0]):
            return there
        raise


def _known_to_the_run(spec: ExperimentSpec, directory: Path) -> Iterator[str]:
    """Yield a sentence for each problem that is not in the tables and that rules out a pass."""
    summary = read_summary(directory)
    yield from summary.inconclusive_reasons
    for one in summary.violations:
        yield f"{one.name}, which a store does not hold, was found while it ran: {one.what}"
    for assertion in assertions.judge_assertions(spec, directory):
        if assertion.holds is not True:
            yield f"an assertion, which a store does not hold, is not met: {assertion.reason}"


def export_run(directory: Path, parent: Path) -> Path:
    """Write a run directory below ``parent`` that has the large tables of ``directory`` as JSON Lines, and all else
    that it has; returns the new one.

    Raises:
        BadSummary: ``directory`` is not whole.
        BadTable: a table of it cannot be read, or it has none as Parquet.
        CannotWriteError: ``parent`` cannot be written to.
    """
    # Imported here: few runs are exported.
    from highwater_pipeline.export import lines_of  # noqa: PLC0415
    from highwater_pipeline.files import BadTable  # noqa: PLC0415
    from highwater_pipeline.recording import LARGE_TABLES  # noqa: PLC0415

    read_summary(directory)
    if not (directory / f"{OPERATIONS_FILE}.parquet").exists():
        raise BadTable(f"{directory}: expected {OPERATIONS_FILE}.parquet, found none; it has JSON Lines already")
    with new_run_directory(parent, directory.resolve().name) as (made, final):
        replaced = {f"{name}.parquet": name for name in LARGE_TABLES}
        for path in sorted(file for file in directory.rglob("*") if file.is_file()):
            name = path.relative_to(directory)
            if name.parts[0] == UNITS:
                continue
            target = made / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (table := replaced.get(name.as_posix())) is not None:
                FileLines(target.with_suffix(".jsonl")).write(lines_of(path, LARGE_TABLES[table]))
            else:
                shutil.copyfile(path, target)
        list_recordings(made)
    return final
