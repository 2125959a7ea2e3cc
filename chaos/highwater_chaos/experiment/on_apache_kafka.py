"""The same experiment on Apache Kafka: what an experiment of our own runtime becomes there."""

from __future__ import annotations

from typing import Any, Final

from highwater_chaos.experiment.kafka_versions import newest
from highwater_chaos.experiment.model import ChaosExperiment

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
