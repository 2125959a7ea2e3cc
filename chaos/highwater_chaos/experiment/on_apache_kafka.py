"""The same experiment on Apache Kafka: what an experiment of our own runtime becomes there."""

from __future__ import annotations

from typing import Any, Final

from highwater_chaos.apache_kafka.versions import newest
from highwater_chaos.experiment.model import ChaosExperiment, Cluster
from highwater_chaos.experiment.steps import CreateTopic

_OTHER_THERE: Final = ("log.segment.bytes", "offsets.topic.segment.bytes", "leader.imbalance.check.interval.ms")
"""Kafka 4 refuses segments below 1 MiB, and measures the last one in seconds."""
_LAG: Final = "replica.lag.time.max.ms"
_WAIT: Final = "replica.fetch.wait.max.ms"


def on_apache_kafka(experiment: ChaosExperiment, release: str | None = None) -> ChaosExperiment:
    """The experiment on a release of Apache Kafka; None: the newest that was tested. It has all checks that can be done
    there and expects and asserts nothing: that and its switches are of our own runtime."""
    cluster, spec = experiment.cluster, experiment.spec
    config: dict[str, Any] = {name: value for name, value in cluster.config.items() if name not in _OTHER_THERE}
    lag, wait = int(config.get(_LAG, 30_000)), int(config.get(_WAIT, 500))
    config[_WAIT] = min(wait, lag)  # Kafka does not start with a longer one
    topics = [
        topic.model_copy(
            update={
                "config": {name: value for name, value in topic.config.items() if f"log.{name}" not in _OTHER_THERE}
            }
        )
        for topic in cluster.topics
    ]
    changed = cluster.model_copy(
        update={
            "runtime": "apache-kafka",
            "version": release or newest(cluster.mode),
            "switches": {},
            "config": config,
            "topics": topics,
        }
    )
    workload = spec.workload.model_copy(update={"metadata": None})  # it judges what only our nodes answer
    return experiment.model_copy(
        update={
            "spec": spec.model_copy(
                update={
                    "cluster": changed,
                    "workload": workload,
                    "checks": ["all"],
                    "expect": [],
                    "assertions": [],  # on metrics of our own nodes
                    "prometheus": None,
                }
            )
        }
    )


def with_assignments(experiment: ChaosExperiment) -> ChaosExperiment:
    """The experiment with the replicas of each of its topics' partitions named: runtimes that place them by chance
    could not be compared."""
    cluster = experiment.cluster
    topics = [topic if topic.assignment is not None else _assigned(topic, cluster) for topic in cluster.topics]
    changed = cluster.model_copy(update={"topics": topics})
    return experiment.model_copy(update={"spec": experiment.spec.model_copy(update={"cluster": changed})})


def _assigned(topic: CreateTopic, cluster: Cluster) -> CreateTopic:
    factor = topic.replication_factor or int(cluster.config.get("default.replication.factor", 1))
    replicas = [[(first + more) % cluster.brokers for more in range(factor)] for first in range(topic.partitions)]
    return topic.model_copy(update={"assignment": replicas, "replication_factor": None})
