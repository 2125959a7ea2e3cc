"""One proposal, run in the simulator and judged; nothing of the run is kept but its anomalies."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.consistency import problems_of
from highwater_chaos.judged_run import run_and_forget
from highwater_chaos.refusals import BackendCannotError
from highwater_chaos.run_result import RunResult

Data = dict[str, Any]
"""An experiment as a file has it."""


def as_data(experiment: ChaosExperiment) -> Data:
    """The experiment as a file has it, defaults written out."""
    data: Data = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    return data


def experiment_of(data: Data) -> ChaosExperiment | None:
    """The experiment, or None if no file may say this."""
    try:
        experiment = ChaosExperiment.model_validate(data)
    except ValidationError:
        return None
    return None if problems_of(experiment) else experiment


def anomalies_of(data: Data, *, wire: bool) -> frozenset[str]:
    """Run the experiment; return the names of the anomalies found. Empty if no such experiment is possible."""
    experiment = experiment_of(data)
    if experiment is None:
        return frozenset()
    try:
        return run_quietly(experiment, wire=wire)[1]
    except BackendCannotError:
        return frozenset()


def run_quietly(experiment: ChaosExperiment, *, wire: bool) -> tuple[RunResult, frozenset[str]]:
    """Run the experiment in the simulator; return what it left behind and the names of the anomalies found.

    Raises:
        BackendCannotError: the simulator cannot do what the experiment needs.
    """
    result, verdict = run_and_forget(experiment, wire=wire)
    return result, frozenset(verdict["anomalies"])
