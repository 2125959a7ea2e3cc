"""A recorded run, judged: from its files, so that it can be judged again. Runs and starts nothing.

The modules that judge (NumPy, PyArrow, checks) are imported when the first run is judged, so runs start sooner.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import highwater_pipeline
from highwater_chaos import assertions
from highwater_chaos.base.lines import FileLines
from highwater_chaos.base.machine_record import machine_troubles, new_disks
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.directory import new_run_directory, write_json
from highwater_chaos.run.manifest import update_manifest
from highwater_chaos.run.summary import list_recordings, read_summary
from highwater_chaos.verdict.junit import write_junit
from highwater_chaos.verdict.verdict import verdict_of
from highwater_pipeline.tables.recordings import OPERATIONS_FILE, UNITS
from highwater_pipeline.tables.remote import AnyPath
from highwater_pipeline.verdict import RunVerdict

if TYPE_CHECKING:
    pass


VERDICT_FILES: Final = ("verdict.json", "junit.xml", "report.html")
"""What judging adds to a run directory."""


def write_verdict(
    directory: Path, experiment: ChaosExperiment, run_verdict: RunVerdict, *, shown_as: Path | None = None
) -> dict[str, Any]:
    """Write what follows from ``verdict``, of the recordings in ``directory``, beside them: verdict, JUnit, report.

    The report calls the directory ``shown_as``. Returns the content of ``verdict.json``.

    Raises:
        BadSummaryError: the run directory is not whole.
    """
    summary = read_summary(directory)
    outcomes = assertions.check_assertions(experiment.spec, directory)
    troubles, disks = machine_troubles(directory), new_disks(directory)
    verdict = verdict_of(experiment, summary, run_verdict, outcomes, troubles, disks, directory)
    # Imported here: a campaign writes no report for a seed, so its processes need not import this.
    from highwater_chaos.report.explanation import explained  # noqa: PLC0415
    from highwater_chaos.report.files import RunFiles  # noqa: PLC0415
    from highwater_chaos.report.page import write_report  # noqa: PLC0415
    from highwater_chaos.report.vacuity import exercised  # noqa: PLC0415

    run = RunFiles.read(directory, verdict)
    known = explained(run)
    verdict["explanation"] = known.sentence
    verdict["exercised"] = exercised(run, experiment).to_dict()
    write_json(directory / "verdict.json", verdict)
    write_junit(directory / "junit.xml", [verdict])
    write_report(directory, shown_as, known)
    update_manifest(directory, VERDICT_FILES)
    return verdict


def check_recordings(experiment: ChaosExperiment, directory: Path) -> RunVerdict:
    """The verdict of what a run of ``experiment`` left in ``directory``: of its registers too where it has some."""
    if experiment.spec.workload.metadata is None:
        stored = highwater_pipeline.recorded_units(directory, tuple(experiment.spec.checks))
        if stored is not None:
            return highwater_pipeline.check_stored(stored)
        return highwater_pipeline.check_run(highwater_pipeline.open_run(directory), experiment.spec.checks)
    return highwater_pipeline.check_log_and_registers(highwater_pipeline.load_run(directory), experiment.spec.checks)


def check_recordings_on_spark(experiment: ChaosExperiment, directory: AnyPath, master: str | None = None) -> RunVerdict:
    """The same on Spark (``master`` None: all cores of this machine).

    Raises:
        BadTableError, FileNotFoundError: a recording is missing or torn.
        JavaNotFoundError, SparkFailedError: there is no Spark here.
    """
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import, and may not be there

    no_registers = experiment.spec.workload.metadata is None
    stored = highwater_pipeline.recorded_units(directory, tuple(experiment.spec.checks)) if no_registers else None
    if stored is not None:
        return spark.check_stored_on_spark(stored, master)
    judge = spark.check_on_spark if no_registers else spark.check_log_and_registers_on_spark
    return judge(directory, master, experiment.spec.checks)


def export_run(directory: Path, parent: Path) -> Path:
    """Write a run directory below ``parent`` that has the large tables of ``directory`` as JSON Lines, and all else
    that it has; returns the new one.

    Raises:
        BadSummaryError: ``directory`` is not whole.
        BadTableError: a table of it cannot be read, or it has none as Parquet.
        CannotWriteError: ``parent`` cannot be written to.
    """
    # Imported here: few runs are exported.
    from highwater_pipeline.partitions.recording import LARGE_TABLES  # noqa: PLC0415
    from highwater_pipeline.tables.export import lines_of  # noqa: PLC0415
    from highwater_pipeline.tables.files import BadTableError  # noqa: PLC0415

    read_summary(directory)
    if not (directory / f"{OPERATIONS_FILE}.parquet").exists():
        raise BadTableError(f"{directory}: expected {OPERATIONS_FILE}.parquet, found none; it has JSON Lines already")
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
