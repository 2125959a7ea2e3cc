"""One proposal, run in the simulator and judged; nothing of the run is kept but its anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from highwater_chaos.backends.protocol import Backend
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


@dataclass(frozen=True, slots=True)
class Trial:
    """Whether an experiment fails in the same way.

    It must show ``anomaly``. A run is ended once an invariant has shown it, or after ``most_ns`` of simulated time.
    ``only_with_switches``: the same experiment must not show it with every switch at its default. Without this, a
    smaller experiment may be one that loses records whatever the switch says, since what was removed (time, nodes,
    replicas) was what kept it within what a replicated log promises.
    """

    anomaly: str
    wire: bool
    most_ns: int
    only_with_switches: bool = False

    def __call__(self, data: Data) -> tuple[bool, int]:
        """Whether it does, and how many runs that took."""
        if not self._shows(data):
            return False, 1
        if not self.only_with_switches:
            return True, 1
        return not self._shows(at_defaults(data)), 2

    def _shows(self, data: Data) -> bool:
        experiment = experiment_of(data)
        if experiment is None:
            return False
        try:
            _, verdict = run_and_forget(experiment, wire=self.wire, ends_early=self._ends)
        except BackendCannotError:
            return False
        return self.anomaly in verdict["anomalies"]

    def _ends(self, backend: Backend) -> str | None:
        if any(one.name == self.anomaly for one in backend.violations()):
            return "it has shown the anomaly"
        return "it takes too long" if backend.now_ns() > self.most_ns else None


def at_defaults(data: Data) -> Data:
    """The experiment with every switch at its default."""
    return {**data, "spec": {**data["spec"], "cluster": {**data["spec"]["cluster"], "switches": {}}}}
