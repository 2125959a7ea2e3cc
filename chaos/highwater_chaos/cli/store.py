"""``highwater store``: split recorded runs by partition, so that each Spark task reads no more than its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from highwater_chaos.assertions import judge_assertions
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.histories import histories_of
from highwater_chaos.experiment import load_experiment
from highwater_chaos.run_summary import BadSummary, is_run_directory, read_summary
from highwater_pipeline.files import BadTable
from highwater_pipeline.store import is_stored_run, write_units
from highwater_pipeline.tables import open_run
from highwater_pipeline.units import RunFacts


def store(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Run directories, directories of them, operations files, or patterns."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write to this store; it may hold other runs already.")],
) -> int:
    """Split recorded runs by partition, for Spark.

    Writes them into a store, which 'check' judges without reading a run as a whole.
    """
    for history in dict.fromkeys(history for path in paths for history in histories_of(path)):
        if is_stored_run(history):
            raise UsageError(f"{history}: expected a run directory or an operations file, found a run of a store")
        try:
            written = _write(history, out)
        except (BadTable, BadSummary, OSError) as error:
            raise UsageError(str(error)) from error
        print(f"written: {written}", file=sys.stderr)
    return Exit.OK


def _write(history: Path, out: Path) -> Path:
    if not is_run_directory(history):
        return write_units(open_run(history), out)
    experiment = load_experiment(history / "experiment.yaml").spec
    if experiment.workload.metadata is not None:
        raise UsageError(f"{history}: has registers, which a store does not hold; give check the run itself")
    known = tuple(_known_to_the_run(history))

    def complete(facts: RunFacts) -> RunFacts:
        return replace(facts, inconclusive_reasons=tuple(dict.fromkeys((*facts.inconclusive_reasons, *known))))

    return write_units(open_run(history), out, tuple(experiment.checks), complete)


def _known_to_the_run(directory: Path) -> Iterator[str]:
    """Yield a sentence for each thing that the tables do not say and that no pass is compatible with."""
    summary = read_summary(directory)
    yield from summary.inconclusive_reasons
    for one in summary.violations:
        yield f"{one.name}, which a store does not hold, was found while it ran: {one.what}"
    for assertion in judge_assertions(load_experiment(directory / "experiment.yaml").spec, directory):
        if assertion.holds is not True:
            yield f"an assertion, which a store does not hold, is not met: {assertion.reason}"
