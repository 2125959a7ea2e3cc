"""Assertions as the timeline draws them: what the verdict says of each, and the values that it compared."""

from __future__ import annotations

from dataclasses import dataclass

from highwater_chaos.assertions import Values, assertions_over_time
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.report.files import RunFiles
from highwater_chaos.report.timeline import Span


@dataclass(frozen=True, slots=True)
class Condition:
    """One assertion over time. ``span``: its phase, if the run came to it; times in ns of run time."""

    name: str
    during: str
    holds: bool | None
    bound: float | None
    span: Span | None
    series: list[Values]
    broken: list[int]


def conditions_of(run: RunFiles, experiment: ChaosExperiment) -> list[Condition]:
    """The experiment's assertions; none of a run whose samples cannot be read."""
    if run.directory is None:
        return []
    held = {row["name"]: row["holds"] for row in run.verdict["assertions"]}
    return [
        Condition(
            one.name,
            one.during,
            held.get(one.name),
            one.bound,
            None if one.within is None else Span(*one.within, one.during, "within"),
            one.series,
            one.broken if held.get(one.name) is False else [],
        )
        for one in assertions_over_time(experiment.spec, run.directory)
    ]
