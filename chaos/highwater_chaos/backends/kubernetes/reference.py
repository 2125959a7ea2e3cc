"""``clusterRef``: an experiment on a LogCluster that already runs, which is borrowed and given back as it was.

* It runs there alone: ``status.experiment`` of the LogCluster names the one that holds it, written by the operator
  against the object's version, and taken back when that experiment is over, however it ends. A holder that is over or
  gone holds nothing.
* Its topics (``clusterRef.topics``, the registers, those that its schedule creates) are its own: none of them may be
  there when it begins, and the operator deletes them when it is over. Of other topics it touches none.
* Brokers, controllers, switches and configuration are what the LogCluster has: a resolved experiment says so where
  another one says ``cluster``, so that targets, checks and ``expect.when`` mean what is in force.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import yaml

from highwater_chaos.experiment import ChaosExperiment, ExperimentError
from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.experiment.model import REGISTER_TOPIC
from highwater_chaos.experiment.steps import Step
from highwater_chaos.experiment.yaml_text import too_deep
from highwater_chaos.kube.conditions import Condition, condition_of, with_conditions
from highwater_chaos.kube.kinds import Json

_DESCRIBED: Final = (
    "mode",
    "runtime",
    "version",
    "fileSystem",
    "brokers",
    "controllers",
    "zookeepers",
    "switches",
    "config",
    "metadataVersion",
)

HELD: Final = "Held"
"""Condition of a LogCluster that an experiment borrows."""

DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""In C, where PyYAML was built with libyaml: this is done at every look at an experiment."""


def reference_of(found: Json) -> str:
    """Name of the LogCluster that an experiment (as the API server has it) refers to; empty: it brings its own."""
    return str((found["spec"].get("clusterRef") or {}).get("name", ""))


def is_crashable(cluster: Json) -> bool:
    """Whether the LogCluster's volumes can lose power."""
    return bool((cluster["spec"].get("storage") or {}).get("crashable"))


def holder(experiment: Json) -> str:
    """What the LogCluster's ``status.experiment`` says while this experiment holds it."""
    return f"{experiment['metadata']['name']}/{experiment['metadata']['uid']}"


def held_by(cluster: Json) -> str:
    """The holder of a LogCluster; empty: none. The condition ``Held`` says it as well: definitions of LogClusters that
    were installed by an earlier version drop ``status.experiment``."""
    held = condition_of(cluster, HELD, "True") or {}
    return str((cluster.get("status") or {}).get("experiment") or held.get("message") or "")


def with_holder(cluster: Json, value: str, at: datetime) -> Json:
    """The status that gives a LogCluster this holder (empty: none)."""
    others = [one for one in (cluster.get("status") or {}).get("conditions") or [] if one["type"] != HELD]
    left = {**cluster, "status": {"conditions": others}}
    held = [Condition(HELD, "True", "ByExperiment", value)] if value else []
    return {"experiment": value, "conditions": with_conditions(left, *held, at=at)}


def experiment_of(found: Json, cluster: Json | None = None) -> ChaosExperiment:
    """The experiment that an object of the API server describes.

    Args:
        found: the ChaosExperiment.
        cluster: the LogCluster that it refers to, where it does.

    Raises:
        ExperimentError: it cannot be run; for a reference by what the LogCluster is.
    """
    metadata = {"name": found["metadata"]["name"], "namespace": found["metadata"]["namespace"]}
    spec = dict(found["spec"])
    source = f"chaosexperiment/{metadata['name']}"
    if cluster is not None:
        described = {key: cluster["spec"][key] for key in _DESCRIBED if key in cluster["spec"]}
        spec["cluster"] = {**described, "topics": spec.pop("clusterRef").get("topics") or []}
    if too_deep_in := [Problem(f"spec.{key}", problem) for key, part in spec.items() if (problem := too_deep(part, 2))]:
        raise ExperimentError(source, too_deep_in)
    plain = {"apiVersion": found["apiVersion"], "kind": found["kind"], "metadata": metadata, "spec": spec}
    try:
        experiment = parse_experiment(yaml.dump(plain, Dumper=DUMPER, sort_keys=False), source)
    except ExperimentError as error:
        if cluster is None:
            raise
        raise ExperimentError(source, [of_reference(one) for one in error.problems]) from error
    if cluster is not None and (wrong := _reaches_out(experiment, cluster)):
        raise ExperimentError(source, wrong)
    return experiment


def own_topics(experiment: ChaosExperiment) -> list[str]:
    """Every topic that a resolved experiment makes."""
    names = [topic.name for topic in experiment.cluster.topics]
    if experiment.spec.workload.metadata is not None:
        names.append(REGISTER_TOPIC)
    names += [
        step.admin.create_topic.name
        for step in _all(experiment.spec.schedule)
        if step.admin is not None and step.admin.create_topic is not None
    ]
    return list(dict.fromkeys(names))


def of_reference(problem: Problem) -> Problem:
    """The problem with the names that the file has, which is read with a ``cluster`` in the place of its reference."""
    text = problem.message.replace("spec.cluster.topics", "spec.clusterRef.topics")
    return Problem(problem.path.replace("spec.cluster.topics", "spec.clusterRef.topics"), text)


def _reaches_out(experiment: ChaosExperiment, cluster: Json) -> list[Problem]:
    """What would change the LogCluster, or what others have on it."""
    theirs = {topic["name"] for topic in cluster["spec"].get("topics") or []}
    wrong = [
        Problem("spec.clusterRef.topics", f"topic {name!r} is the LogCluster's own: name the experiment's otherwise")
        for name in own_topics(experiment)
        if name in theirs
    ]
    if any(
        step.admin is not None and step.admin.upgrade_metadata is not None for step in _all(experiment.spec.schedule)
    ):
        wrong.append(Problem("spec.schedule", "upgradeMetadata cannot be undone: not on a LogCluster that is borrowed"))
    return wrong


def _all(steps: list[Step]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        found.append(step)
        for branch in step.parallel or []:
            found += _all(branch)
        if step.repeat is not None:
            found += _all(step.repeat.steps)
    return found
