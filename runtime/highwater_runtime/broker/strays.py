"""Which logs of a broker are strays: of topics that were deleted, or replicas that were moved away, while the
broker was off (KAFKA-7362, KAFKA-14616).

A log is a stray if it belongs to no assigned partition. A log of another topic id than the one assigned is a stray,
whatever its name. Two kinds are none: a log that has failed, as nobody knows what it holds, and one that is being
created.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from uuid import UUID

from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import TopicPartition


def is_assigned(topic_id: UUID | None, assigned: PartitionKey | None) -> bool:
    """Whether a log with ``topic_id`` (None: it has none) is that of ``assigned``, the partition of its name that this
    broker has to have (None: there is none)."""
    return assigned is not None and topic_id in (None, assigned[0])


def find(
    logs: Mapping[TopicPartition, Log], assigned: Mapping[PartitionKey, str], creating: Container[TopicPartition]
) -> list[TopicPartition]:
    """The strays among ``logs``, where ``assigned`` has the topic's name of each partition to have."""
    wanted = {TopicPartition(topic, key[1]): key for key, topic in assigned.items()}
    return [
        tp
        for tp, log in logs.items()
        if not is_assigned(log.topic_id, wanted.get(tp)) and tp not in creating and log.failure is None
    ]
