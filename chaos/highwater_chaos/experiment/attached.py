"""An experiment file on a cluster of somebody else's: what of ``spec.cluster`` counts there, and what is refused.

The schedule, the workload and the topics mean what they always mean. What a file says of nodes describes a cluster that
a run brings up itself. On another cluster a number of brokers, and properties of brokers, must be what is found there;
switches and a metadata.version cannot be set; mode, release, runtime, controllers and file systems are what they are,
and no verdict depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from highwater_chaos.experiment.errors import ExperimentError, Problem
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.experiment.model import ChaosExperiment
from highwater_chaos.experiment.properties import every_step, every_topic
from highwater_chaos.experiment.yaml_text import read_documents, read_text

_REACH_OUT: Final = frozenset({"createTopic", "upgradeMetadata", "throttledReassign", "electLeaders"})
PROBE_TOPIC: Final = "highwater-progress"
"""The topic on which administration is asked for again once the cluster has recovered."""


def load_attached(
    path: Path, cluster_id: str, brokers: Sequence[int], voters: Sequence[int], config: Mapping[str, str]
) -> ChaosExperiment:
    """Read an experiment file for the cluster that was found.

    Raises:
        ExperimentError: as of any file, and for what a cluster of others cannot be.
    """
    return parse_attached(read_text(path), str(path), cluster_id, brokers, voters, config)


def parse_attached(
    text: str, source: str, cluster_id: str, brokers: Sequence[int], voters: Sequence[int], config: Mapping[str, str]
) -> ChaosExperiment:
    """The same of a text; ``source`` names it in errors."""
    documents = read_documents(text, source)
    data = documents[0][1] if len(documents) == 1 else None
    spec = data.get("spec") if isinstance(data, dict) else None
    given = spec.get("cluster") if isinstance(spec, dict) else None
    if not isinstance(data, dict) or not isinstance(spec, dict) or not isinstance(given, dict):
        parse_experiment(text, source)  # says what is wrong with any file
        raise ExperimentError(source, [Problem("spec.cluster", "expected a cluster with the topics to create")])
    if problems := list(_problems(given, len(brokers), config)):
        raise ExperimentError(source, problems)
    found = {
        "runtime": "apache-kafka",
        "mode": "kraft" if voters else "zookeeper",
        "brokers": len(brokers),
        "config": dict(config),
        "topics": given.get("topics") or [],
        "attached": {"clusterId": cluster_id, "brokers": list(brokers), "controllers": list(voters)},
    }
    experiment = parse_experiment(yaml.safe_dump({**data, "spec": {**spec, "cluster": found}}), source)
    if problems := list(_refused(experiment)):
        raise ExperimentError(source, problems)
    return experiment


def topics_named(path: Path) -> list[str]:
    """The topics that a file names, as far as it can be read: none of them may exist yet."""
    documents = read_documents(read_text(path), str(path))
    names: dict[str, None] = {PROBE_TOPIC: None}

    def walk(found: Any, key: str) -> None:
        if isinstance(found, dict):
            if key in ("topics", "createTopic") and isinstance(name := found.get("name"), str):
                names[name] = None
            for inner, value in found.items():
                walk(value, str(inner))
        elif isinstance(found, list):
            for value in found:
                walk(value, key)

    for _, data in documents:
        walk(data, "")
    return list(names)


def own_topics(experiment: ChaosExperiment) -> list[str]:
    """The topics that a run may make."""
    return list(dict.fromkeys([*(topic.name for topic in every_topic(experiment.spec)), PROBE_TOPIC]))


def _problems(given: Mapping[str, Any], brokers: int, config: Mapping[str, str]) -> list[Problem]:
    problems = []
    if given.get("brokers", brokers) != brokers:
        problems.append(
            Problem("spec.cluster.brokers", f"the cluster has {brokers}; found {given['brokers']}: leave it out")
        )
    if given.get("switches"):
        problems.append(
            Problem("spec.cluster.switches", "are of our own runtime, brought up by the run: leave them out")
        )
    if given.get("metadataVersion") is not None:
        problems.append(
            Problem("spec.cluster.metadataVersion", "a cluster of others keeps its own: leave it out (kafka-features)")
        )
    wanted = given.get("config") or {}
    for name, value in wanted.items() if isinstance(wanted, dict) else ():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if config.get(name) != text:
            has = f"brokers have {config[name]!r}" if name in config else "it is not known what brokers have"
            problems.append(
                Problem(
                    f"spec.cluster.config.{name}",
                    f"brokers of others are not configured; {has}, found {text!r}: leave it out, or give the property"
                    " of topics that corresponds to it in the config of each topic",
                )
            )
    return problems


def _refused(experiment: ChaosExperiment) -> list[Problem]:
    """What would reach beyond the experiment's own topics."""
    problems = []
    if experiment.spec.workload.group_members:
        problems.append(
            Problem(
                "spec.workload.groupMembers", "their group is not the experiment's own on a cluster of others: give 0"
            )
        )
    for step in every_step(experiment.spec.schedule):
        if step.random is not None and (drawn := sorted(_REACH_OUT & step.random.faults.keys())):
            problems.append(
                Problem("spec.schedule", f"random: {', '.join(drawn)}: would reach beyond the experiment's own topics")
            )
        if step.admin is None:
            continue
        if step.admin.choice == "upgradeMetadata":
            problems.append(
                Problem("spec.schedule", "admin.upgradeMetadata changes the cluster for good: leave it out")
            )
        if step.admin.elect_leaders is not None:
            elected = step.admin.elect_leaders.partitions
            if elected is None or any(one.rpartition("-")[0] not in own_topics(experiment) for one in elected):
                problems.append(
                    Problem("spec.schedule", "admin.electLeaders: expected partitions of the experiment's own topics")
                )
        if step.admin.remove_throttle is not None or getattr(step.admin.chosen, "throttle", None) is not None:
            problems.append(
                Problem("spec.schedule", "a throttle is set on brokers, too, which others use: leave it out")
            )
        topic = getattr(step.admin.chosen, "topic", None) or getattr(step.admin.chosen, "name", None)
        partition = getattr(step.admin.chosen, "partition", None)
        named = topic or (partition.rpartition("-")[0] if partition else None)
        if named is not None and named not in own_topics(experiment):
            problems.append(
                Problem("spec.schedule", f"admin.{step.admin.choice}: {named!r} is not the experiment's own")
            )
    return problems
