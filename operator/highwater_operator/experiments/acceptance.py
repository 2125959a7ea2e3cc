"""Which experiments are run: those that any backend would take, less what Kubernetes cannot do yet.

One that is not is over at once: its object says so in everything that a client can wait for, and nothing is made for
it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_chaos.backends.kubernetes.access import is_secured
from highwater_chaos.backends.kubernetes.capabilities import KubernetesCapabilities
from highwater_chaos.backends.kubernetes.crashable import backend_for
from highwater_chaos.backends.kubernetes.reference import experiment_of, is_crashable
from highwater_chaos.experiment import ChaosExperiment, ExperimentError
from highwater_chaos.kube.conditions import Condition
from highwater_chaos.kube.kinds import Json
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.problems import problem_of
from highwater_operator.resources import LogClusterSpec


class Rejection(NamedTuple):
    """Why not: the condition's reason, and words."""

    reason: str
    message: str


LONGEST_NAME: Final = 200
"""Of an experiment. The ConfigMaps that keep its run, their file in a claim and its Events have its name and more in
theirs, and no name has more than 253 characters."""

NO_AGENTS: Final = Rejection(
    "NoAgents",
    "experiments need the node agents, which break and heal pods and collect what they report, and Highwater is"
    " installed without them: install the chart with agent.enabled=true",
)


class Refusal(NamedTuple):
    """How a rejected experiment ends: its status, and its conditions."""

    status: Json
    conditions: tuple[Condition, ...]


def without_looking(found: Json, *, has_agents: bool) -> Rejection | None:
    """Why an experiment is not accepted whatever its spec says."""
    if not has_agents:
        return NO_AGENTS
    length = len(found["metadata"]["name"])
    if length <= LONGEST_NAME:
        return None
    return Rejection(
        "Invalid",
        f"metadata.name: expected at most {LONGEST_NAME} characters, because its run is kept under longer names;"
        f" found {length}",
    )


def examine(found: Json, borrowed: Json | None = None) -> ChaosExperiment | Rejection:
    """The experiment, or why it is not accepted. ``borrowed``: the LogCluster that it refers to, where it does."""
    try:
        experiment = experiment_of(found, borrowed)
    except ExperimentError as error:
        return Rejection("Invalid", in_words(error))
    capabilities = KubernetesCapabilities(
        backend_for(crashable=borrowed is None or is_crashable(borrowed)),
        secured=borrowed is not None and is_secured(borrowed),
    )
    if problems := capabilities.problems(experiment.cluster):
        return Rejection("NotSupported", "; ".join(problems))
    if impossible := missing_capabilities(experiment, capabilities):
        return Rejection("NotPossible", "; ".join(impossible))
    if borrowed is not None:
        return experiment
    cluster = experiment.cluster.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"topics"})
    spec = LogClusterSpec.model_validate({**cluster, "storage": {"crashable": True}})
    metadata = found["metadata"]
    problem = problem_of(Owner(metadata["name"], metadata["namespace"], metadata["uid"], spec), "spec.cluster")
    return experiment if problem is None else Rejection("Invalid", problem.message)


def refusal(rejection: Rejection) -> Refusal:
    """The end of an experiment that was not accepted: ``kubectl wait --for=condition=Completed`` returns."""
    reason = f"not accepted: {rejection.message}"
    not_accepted = "NotAccepted"
    return Refusal(
        {"phase": "Refused", "verdict": "inconclusive", "expected": False, "reason": reason[:2000]},
        (
            Condition("Accepted", "False", rejection.reason, rejection.message),
            Condition("SteadyState", "False", not_accepted, "no cluster was brought up"),
            Condition("Injected", "False", not_accepted, "no fault was injected"),
            Condition("Healed", "True", not_accepted, "no fault was injected"),
            Condition("Completed", "True", not_accepted, reason),
            Condition("Passed", "Unknown", not_accepted, reason),
        ),
    )


def in_words(error: ExperimentError) -> str:
    """Every problem with the path of its field. Lines are left out: what was read is no file of the user's."""
    return "; ".join(f"{one.path}: {one.message}" if one.path else one.message for one in error.problems)
