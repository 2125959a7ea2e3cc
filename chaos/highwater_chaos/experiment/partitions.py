"""Which partitions a schedule may name: those of the experiment's topics, and those that brokers create for groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.model import Cluster
from highwater_chaos.experiment.steps import Admin, CreateTopic
from highwater_chaos.experiment.workload import Workload
from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata.topic_names import GROUP_OFFSETS_TOPIC

_OFFSETS_PARTITIONS: Final = "offsets.topic.num.partitions"


def partition_count(topic: CreateTopic) -> int:
    """How many partitions a topic is created with."""
    return len(topic.assignment) if topic.assignment is not None else topic.partitions


def note_topics(admin: Admin, topics: dict[str, int]) -> None:
    """Add what a step creates to ``topics``, by name, with the number of partitions."""
    if admin.create_topic is not None:
        topics.setdefault(admin.create_topic.name, partition_count(admin.create_topic))
    if admin.add_partitions is not None and admin.add_partitions.topic in topics:
        topics[admin.add_partitions.topic] = max(topics[admin.add_partitions.topic], admin.add_partitions.total)


def internal_topics(workload: Workload, cluster: Cluster) -> dict[str, int]:
    """The topics that brokers create for themselves, with their partitions: that of the groups when there is one."""
    if not workload.group_members:
        return {}
    # As the node reads it; a value that it refuses is a problem of its own.
    asked = cluster.config.get(_OFFSETS_PARTITIONS, "")
    count = int(asked) if str(asked).isdigit() else NodeConfig().offsets_topic_num_partitions
    return {GROUP_OFFSETS_TOPIC: count}


def partition_problems(path: str, name: str, topics: dict[str, int]) -> Iterator[Problem]:
    """Yield why a partition of this name is not there."""
    topic, _, index = name.rpartition("-")
    if topic == GROUP_OFFSETS_TOPIC and topic not in topics:
        what = "expected a topic of clients, or to wait for or hit its replicas with workload.groupMembers above 0"
        yield Problem(path, f"{what}; found {name!r}, of the topic that brokers create for the first group")
    elif topic not in topics:
        yield Problem(path, f"there is no topic {topic!r} (partition {name!r}); topics are: {listed(sorted(topics))}")
    elif int(index) >= topics[topic]:
        yield Problem(path, f"topic {topic!r} has partitions 0 to {topics[topic] - 1}; found {name!r}")


def listed(names: list[str]) -> str:
    """Names for a message."""
    return ", ".join(names) or "none"
