"""One proposal, run in the simulator and judged; nothing of the run is kept but its anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.consistency import problems_of
from highwater_chaos.run.result import RunResult
from highwater_chaos.schedule.capability import BackendCannotError
from highwater_chaos.verdict.checked_run import run_and_forget

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


def run_quietly(experiment: ChaosExperiment, *, wire: bool) -> tuple[RunResult, frozenset[str]]:
    """Run the experiment in the simulator; return what it left behind and the names of the anomalies found.

    Raises:
        BackendCannotError: the simulator cannot do what the experiment needs.
    """
    result, verdict = run_and_forget(experiment, wire=wire)
    return result, frozenset(verdict["anomalies"])


class Tried(NamedTuple):
    """Whether an experiment fails in the same way, and how many runs it took to know."""

    shows: bool
    runs: int
    took_ns: int = 0
    """Simulated time of the run with the switches."""
    shown_ns: int | None = None
    """How long after the schedule began an invariant showed the anomaly; None if the verdict did."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Whether an experiment fails in the same way.

    It must show ``anomaly``. A run is ended once an invariant has shown it.
    ``only_with_switches``: the same experiment must not show it with every switch at its default. Without this, a
    smaller experiment may be one that loses records whatever the switch says, since what was removed (time, nodes,
    replicas) was what kept it within what a replicated log promises.
    """

    anomaly: str
    wire: bool
    only_with_switches: bool = False

    def __call__(self, data: Data, most_ns: int | None = None) -> Tried:
        """Run it, for at most so much simulated time; if it shows the anomaly, at the defaults, too, to the end."""
        tried = self._run(data, most_ns)
        if not tried.shows or not self.only_with_switches:
            return tried
        return tried._replace(shows=not self._run(at_defaults(data), None).shows, runs=2)

    def _run(self, data: Data, most_ns: int | None) -> Tried:
        experiment = experiment_of(data)
        if experiment is None:
            return Tried(False, 1)
        shown_ns: list[int] = []

        def ends(backend: Backend) -> str | None:
            now = backend.now_ns()
            if any(one.name == self.anomaly for one in backend.violations()):
                shown_ns.append(now)
                return "it has shown the anomaly"
            return "it takes too long" if most_ns is not None and now > most_ns else None

        try:
            result, verdict = run_and_forget(experiment, wire=self.wire, ends_early=ends)
        except BackendCannotError:
            return Tried(False, 1)
        began_ns = next((phase.start_ns for phase in result.phases if phase.name == "fault"), None)
        known = shown_ns[0] - began_ns if shown_ns and began_ns is not None else None
        return Tried(self.anomaly in verdict["anomalies"], 1, result.run_ns, known)


def at_defaults(data: Data) -> Data:
    """The experiment with every switch at its default."""
    return {**data, "spec": {**data["spec"], "cluster": {**data["spec"]["cluster"], "switches": {}}}}
