"""Failing seeds as something to look at: run directories, and small experiments that fail the same way.

Workers keep nothing but rows. A seed that failed is run again where the campaign's directory is, which gives the same
run, wherever the first one was.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from highwater_chaos.campaign.seed import ASSERTION, Outcome, SeedJob, experiment_of
from highwater_chaos.shrink import CannotShrinkError, file_text
from highwater_chaos.shrink import shrink as find_smallest
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check
from highwater_pipeline.anomalies import BY_WEIGHT

RUNS: Final = "runs"
"""The folder of a campaign with run directories."""


class Example(NamedTuple):
    """A failing seed, written down. ``shrunk``: the small experiment, and ``sizes`` what it was and what it is."""

    unit: SeedJob
    directory: Path
    same: bool
    """Whether the second run was the same as the first. If not, the simulator is at fault."""
    shrunk: Path | None = None
    sizes: str = ""
    explanation: str = ""
    """What happened, in a sentence; empty if it is not known."""


def kept_example(unit: SeedJob, outcome: Outcome, campaign: Path) -> Example:
    """A failing seed whose run directory was kept when it ran, as it cannot be run again."""
    return Example(unit, campaign / RUNS / outcome.directory, same=True)


def write_example(unit: SeedJob, outcome: Outcome, campaign: Path, around: AbstractContextManager[None]) -> Example:
    """Run a failing seed again, within ``around``, and leave its run directory below ``campaign``.

    If an earlier part of the campaign has left one, that is taken.
    """
    done = _left_by_an_earlier_part(outcome, campaign / RUNS)
    if done is None:
        with around:
            done = run_and_check(
                experiment_of(unit),
                "sim",
                campaign / RUNS,
                _quiet,
                varied=dict(unit.switches),
                wire=unit.wire,
                run_id=unit.run_id,
            )
    same = done.verdict["traceDigest"] == outcome.trace_digest
    return Example(unit, done.directory, same=same, explanation=done.verdict.get("explanation", ""))


def _left_by_an_earlier_part(outcome: Outcome, runs: Path) -> CheckedRun | None:
    for file in sorted(runs.glob("*/verdict.json")):
        with suppress(OSError, ValueError):
            verdict = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(verdict, dict) and verdict.get("traceDigest") == outcome.trace_digest:
                return CheckedRun(file.parent, verdict)
    return None


def shrink_example(
    example: Example, outcome: Outcome, campaign: Path, most_runs: int, around: AbstractContextManager[None]
) -> Example:
    """Add the small experiment, which is looked for within ``around``; none if the seed cannot be shrunk."""
    unit = example.unit
    shown = [name for name in outcome.anomalies if not name.startswith(ASSERTION)]
    anomaly = next((name for name in (*BY_WEIGHT, *shown) if name in shown), None)
    if anomaly is None:
        return example._replace(sizes="no anomaly to look for: an assertion failed")
    with around:
        try:
            shrunk = find_smallest(experiment_of(unit), anomaly, most_runs=most_runs, wire=unit.wire)
        except CannotShrinkError as error:
            return example._replace(sizes=str(error))
    name = "-".join([unit.experiment, *(f"{name}={value}" for name, value in unit.switches), unit.variant or "seed"])
    path = campaign / "shrunk" / f"{name[:200]}-{unit.seed}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(file_text(shrunk, f"{unit.experiment} (seed {unit.seed})"), encoding="utf-8")
    return example._replace(shrunk=path, sizes=f"{shrunk.before} → {shrunk.after}, {shrunk.runs} runs")


_quiet: Callable[[str], None] = lambda _phase: None  # noqa: E731 - says nothing, by its name
