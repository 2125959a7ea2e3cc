"""Write the large tables of a run as Parquet: as a whole, and split by partition for checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from highwater_chaos.base.lines import OfFiles
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.recorder.dump import DumpFile
from highwater_chaos.run.result import RunResult, settings_of_run
from highwater_pipeline.partitions.recording import LARGE_TABLES, RunWriter
from highwater_pipeline.tables.files import lines_in_parts
from highwater_pipeline.tables.recordings import run_label
from highwater_pipeline.tables.run_tables import about_run


def finish_tables(directory: Path, experiment: ChaosExperiment, result: RunResult) -> bool:
    """Move the tables that were converted during the run into its directory. Returns False if there are none."""
    recorder = result.recorder
    if recorder is None or not recorder.has_begun:
        return False
    dump = result.replica_log_lines
    return recorder.finish(
        directory,
        # Not the files that the recorder was told of so far: the last events may have gone to a further one.
        _files_of(result.history),
        _files_of(result.event_lines),
        dump.path if isinstance(dump, DumpFile) else None,
        settings_of_run(experiment, result),
        tuple(experiment.spec.checks),
    )


def _files_of(lines: Iterable[bytes]) -> Sequence[Path]:
    """The files that lines are read from; none where there are no lines, as no client was ever started."""
    if isinstance(lines, OfFiles):
        return lines.paths
    assert not any(True for _ in lines), "a run whose files are converted has all its lines in files"
    return ()


def write_tables(directory: Path, experiment: ChaosExperiment, result: RunResult) -> None:
    """Write the large tables of a run as Parquet, from its lines. Its other files are in ``directory`` already."""
    spec = experiment.spec
    label = run_label(result.name, result.seed, result.switches)
    writer = RunWriter(directory, units=spec.workload.metadata is None)
    lines = (result.history, result.event_lines, result.replica_log_lines)
    for (name, kind), recorded in zip(LARGE_TABLES.items(), lines, strict=True):
        for part in lines_in_parts(recorded, kind, label, str(directory / name)):
            writer.add(name, part)
    writer.close(about_run(directory, label, settings_of_run(experiment, result)), tuple(spec.checks))
