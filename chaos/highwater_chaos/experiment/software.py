"""What software a cluster runs, in which mode and version, and what only one kind of it can do or report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from highwater_chaos.apache_kafka.versions import (
    FIRST,
    FIRST_KRAFT,
    FIRST_WITHOUT_ZOOKEEPER,
    Parts,
    condition_problem,
    meets,
    metadata_parts,
    release_parts,
)
from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.model import ChaosExperiment, Cluster
from highwater_chaos.experiment.steps import CreateTopic, Step
from highwater_pipeline.anomalies import QUORUM_INVARIANTS, SIMULATED_INVARIANTS
from highwater_runtime.metadata.metadata_version import MetadataVersion

KAFKA: Final = "kafka"
METADATA_VERSION: Final = "metadataVersion"
VERSIONS: Final[Mapping[str, Callable[[str], Parts]]] = {KAFKA: release_parts, METADATA_VERSION: metadata_parts}
"""Names in ``expect.when`` that are not switches, and how their values are read."""

_COMPRESSION: Final = "compression.type"
_ADMINISTRATION: Final[Mapping[str, tuple[Parts, str]]] = {
    "reassign": ((2, 4, 0), "AlterPartitionReassignments"),
    "throttledReassign": ((2, 4, 0), "AlterPartitionReassignments"),
    "cancelReassign": ((2, 4, 0), "AlterPartitionReassignments"),
    "alterTopic": ((2, 3, 0), "IncrementalAlterConfigs"),
    "removeThrottle": ((2, 3, 0), "IncrementalAlterConfigs"),
}
"""Administration by a request that a release may not have: the first that has it, and the request."""
_FIRST_ELECT_LEADERS: Final[Parts] = (2, 2, 0)
"""The first release with a request for preferred elections; before, a znode asks for them."""
_EPOCH_INFLATION: Final = "epoch-inflation"
_PRE_VOTE: Final[Parts] = (4, 0, 0)
"""The first release with KIP-996 for controllers."""
_DEFAULT_REPLICATION: Final[Parts] = (2, 4, 0)
"""From here on a topic may be created with the brokers' default (KIP-464)."""


def cluster_problems(cluster: Cluster) -> Iterator[Problem]:
    """Mode, runtime and versions that do not go together."""
    yield from _mode(cluster)
    if cluster.runtime == "highwater":
        if cluster.version is not None:
            yield Problem(
                "spec.cluster.version",
                f"is a release of Apache Kafka: add runtime: apache-kafka, or leave it out; found {cluster.version!r}",
            )
        if cluster.metadata_version is not None:
            yield from metadata_version_problems("spec.cluster.metadataVersion", cluster.metadata_version)
        return
    if cluster.attached is not None:
        return
    assert cluster.kafka is not None, "the other runtime is Apache Kafka"
    try:
        release = release_parts(cluster.kafka)
    except ValueError as error:
        yield Problem("spec.cluster.version", str(error))
        return
    yield from _release(cluster, release)
    if cluster.metadata_version is not None and cluster.mode == "kraft":
        yield from _of_release(cluster.metadata_version, cluster.kafka)


def _mode(cluster: Cluster) -> Iterator[Problem]:
    """What only clusters of the other mode have."""
    given = cluster.model_fields_set
    if cluster.mode == "kraft":
        if "zookeepers" in given:
            yield Problem("spec.cluster.zookeepers", "mode kraft has no ZooKeeper servers: give controllers, or mode")
        return
    if "controllers" in given:
        yield Problem(
            "spec.cluster.controllers", "mode zookeeper has none, since a broker is elected: give zookeepers instead"
        )
    if cluster.metadata_version is not None:
        yield Problem("spec.cluster.metadataVersion", "mode zookeeper has none: give inter.broker.protocol.version")


def _release(cluster: Cluster, release: Parts) -> Iterator[Problem]:
    if release < FIRST:
        yield Problem("spec.cluster.version", f"expected {_text(FIRST)} or later; found {cluster.kafka}")
    elif cluster.mode == "zookeeper" and release >= FIRST_WITHOUT_ZOOKEEPER:
        yield Problem(
            "spec.cluster.version",
            f"mode zookeeper is in releases below {_text(FIRST_WITHOUT_ZOOKEEPER)} only; found {cluster.kafka}",
        )
    elif cluster.mode == "kraft" and release < FIRST_KRAFT:
        yield Problem(
            "spec.cluster.version",
            f"mode kraft is not meant for production below {_text(FIRST_KRAFT)}: give a later release, or mode:"
            f" zookeeper; found {cluster.kafka}",
        )


def _of_release(metadata_version: str, release: str) -> Iterator[Problem]:
    path = "spec.cluster.metadataVersion"
    try:
        parts = metadata_parts(metadata_version)
    except ValueError as error:
        yield Problem(path, str(error))
        return
    if parts[:2] > release_parts(release)[:2]:
        yield Problem(path, f"Apache Kafka {release} has none that is newer than itself; found {metadata_version!r}")


def metadata_version_problems(path: str, text: str) -> Iterator[Problem]:
    """Why our own runtime does not know a metadata version."""
    try:
        MetadataVersion.of(text)
    except ValueError as error:
        yield Problem(path, str(error))


def _text(release: Parts) -> str:
    return ".".join(map(str, release))


# --- expectations ---------------------------------------------------------------------------------------------------


def elects_by_znode(cluster: Cluster) -> bool:
    """Whether the release has no request to elect preferred leaders. Such a one has ZooKeeper, and watches a znode."""
    return cluster.kafka is not None and release_parts(cluster.kafka) < _FIRST_ELECT_LEADERS


def versions_of(cluster: Cluster) -> dict[str, str]:
    """The versions that run, by the names that ``expect.when`` gives them; those that are not known are left out."""
    found = {KAFKA: cluster.kafka, METADATA_VERSION: cluster.first_metadata_version}
    return {name: value for name, value in found.items() if value is not None}


def software_of(cluster: Cluster) -> dict[str, str | None]:
    """What runs, for ``verdict.json``: the runtime, its release (None: our own has none), the mode, and the
    metadata.version that it begins with (None: it has none, or it is not known)."""
    return {
        "runtime": cluster.runtime if cluster.attached is None else "attached",
        "version": cluster.kafka,
        "mode": cluster.mode,
        "metadataVersion": cluster.first_metadata_version,
    }


def software_text(cluster: Cluster) -> str:
    """What runs, in words: ``apache-kafka 3.4.1, metadata.version 3.4-IV0``."""
    if cluster.attached is not None:
        return f"a cluster of others, {cluster.attached.cluster_id}"
    if cluster.kafka is None:
        return cluster.runtime
    version = cluster.first_metadata_version
    return f"{cluster.runtime} {cluster.kafka}" + (f", metadata.version {version}" if version else "")


def matches(name: str, condition: str, cluster: Cluster) -> bool:
    """Whether one of the :data:`VERSIONS` of a cluster meets a condition of ``expect.when``."""
    value = versions_of(cluster).get(name)
    return value is not None and meets(value, condition, VERSIONS[name])


def condition_problems(path: str, name: str, condition: str, cluster: Cluster | None) -> Iterator[Problem]:
    """Why a condition on one of the :data:`VERSIONS` cannot be judged."""
    if (problem := condition_problem(condition, VERSIONS[name])) is not None:
        yield Problem(path, problem)
    elif cluster is None or name in versions_of(cluster):
        return
    elif cluster.attached is not None:
        yield Problem(path, "it is not known which release a cluster of others runs: leave the condition out")
    elif name == KAFKA:
        yield Problem(path, f"is of runtime apache-kafka; found spec.cluster.runtime: {cluster.runtime}")
    elif cluster.mode == "zookeeper":
        yield Problem(path, "mode zookeeper has no metadata.version: leave it out")
    else:
        yield Problem(
            path,
            f"it is not known with which one Apache Kafka {cluster.kafka} begins: give spec.cluster.metadataVersion",
        )


def _named(cluster: Cluster) -> str:
    return "the cluster" if cluster.kafka is None else f"Apache Kafka {cluster.kafka}"


# --- what only our own nodes can do -----------------------------------------------------------------------------------


def other_runtime_problems(experiment: ChaosExperiment) -> Iterator[Problem]:
    """What only our own nodes can do or tell, and what a release cannot. (What cannot be done to others, the backend
    refuses.)"""
    runtime = experiment.cluster.runtime
    if runtime == "highwater":
        return
    if experiment.spec.workload.metadata is not None:
        yield Problem("spec.workload.metadata", f"reads registers as only our own runtime answers them; not {runtime}")
    for index, name in enumerate(experiment.spec.checks):
        if name in {*QUORUM_INVARIANTS, *SIMULATED_INVARIANTS}:
            yield Problem(f"spec.checks[{index}]", f"{name} is judged by what only our own nodes tell; not {runtime}")
    configs = {"spec.cluster.config": experiment.cluster.config}
    configs |= {f"spec.cluster.topics[{i}].config": topic.config for i, topic in enumerate(experiment.cluster.topics)}
    for path, config in configs.items():
        if config.get(_COMPRESSION, "producer") not in ("producer", "uncompressed"):
            yield Problem(
                f"{path}.{_COMPRESSION}",
                f"found {config[_COMPRESSION]!r}; the harness's own readers do not decompress: leave it out",
            )
    yield from _lacking(experiment)


def _lacking(experiment: ChaosExperiment) -> Iterator[Problem]:
    """What the release does not have."""
    kafka = experiment.cluster.kafka
    if kafka is None:
        return  # a cluster of others, of any release
    try:
        release = release_parts(kafka)
    except ValueError:
        return  # said elsewhere
    for index, name in enumerate(experiment.spec.checks):
        if name == _EPOCH_INFLATION and release < _PRE_VOTE:
            yield Problem(
                f"spec.checks[{index}]",
                f"{name} needs to know when a follower has given its leader up, which nodes log from {_text(_PRE_VOTE)}"
                f" on; found {kafka}",
            )
    for index, topic in enumerate(experiment.cluster.topics):
        yield from _placed(f"spec.cluster.topics[{index}]", topic, release)
    yield from _steps(experiment.spec.schedule, "spec.schedule", kafka, release)


def _steps(steps: list[Step], path: str, kafka: str, release: Parts) -> Iterator[Problem]:
    for index, step in enumerate(steps):
        at = f"{path}[{index}]"
        drawn = {} if step.random is None else step.random.faults
        asked = [f"random.faults.{kind}" for kind in drawn]
        if step.admin is not None:
            asked.append(f"admin.{step.admin.choice}")
        for name in asked:
            first, request = _ADMINISTRATION.get(name.rpartition(".")[2], (release, ""))
            if release < first:
                yield Problem(f"{at}.{name}", f"needs {request}, which is in {_text(first)} or later; found {kafka}")
        if step.admin is not None and step.admin.create_topic is not None:
            yield from _placed(f"{at}.admin.createTopic", step.admin.create_topic, release)
        for number, branch in enumerate(step.parallel or []):
            yield from _steps(branch, f"{at}.parallel[{number}]", kafka, release)
        if step.repeat is not None:
            yield from _steps(step.repeat.steps, f"{at}.repeat.steps", kafka, release)


def _placed(path: str, topic: CreateTopic, release: Parts) -> Iterator[Problem]:
    if topic.assignment is None and topic.replication_factor is None and release < _DEFAULT_REPLICATION:
        yield Problem(
            f"{path}.replicationFactor",
            f"is required below {_text(_DEFAULT_REPLICATION)}, where a request cannot leave it to the brokers",
        )
