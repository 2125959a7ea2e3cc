"""Which experiments are run: those that any backend would take, less what Kubernetes cannot do yet."""

from __future__ import annotations

from typing import NamedTuple

from highwater_chaos.backends.kubernetes.runner import experiment_of
from highwater_chaos.experiment import ChaosExperiment, ExperimentError
from highwater_operator.kube import Json
from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.problems import problem_of
from highwater_operator.resources import LogClusterSpec


class Rejection(NamedTuple):
    """Why not: the condition's reason, and words."""

    reason: str
    message: str


def examine(found: Json) -> ChaosExperiment | Rejection:
    """The experiment, or why it is not accepted."""
    if "clusterRef" in found["spec"]:
        return Rejection("NotBuilt", "spec.clusterRef is not built yet: give spec.cluster")
    try:
        experiment = experiment_of(found)
    except ExperimentError as error:
        return Rejection("Invalid", str(error))
    if experiment.cluster.runtime != "highwater":
        runtime = experiment.cluster.runtime
        return Rejection("NotBuilt", f"spec.cluster.runtime {runtime} is not built yet on kubernetes")
    if experiment.spec.workload.driver != "highwater":
        return Rejection(
            "NotBuilt", f"spec.workload.driver {experiment.spec.workload.driver} is not built yet on kubernetes"
        )
    cluster = experiment.cluster.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"topics"})
    spec = LogClusterSpec.model_validate({**cluster, "storage": {"crashable": True}})
    metadata = found["metadata"]
    problem = problem_of(Owner(metadata["name"], metadata["namespace"], metadata["uid"], spec))
    return experiment if problem is None else Rejection(problem.reason, problem.message)
