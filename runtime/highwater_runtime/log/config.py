"""Configuration of one log: the ``log.*`` properties of a node, overridden by the topic's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from highwater_runtime.config import NodeConfig

TOPIC_PROPERTIES: Final[Mapping[str, str]] = {
    "segment.bytes": "segment_bytes",
    "segment.ms": "segment_ms",
    "segment.index.bytes": "index_max_bytes",
    "index.interval.bytes": "index_interval_bytes",
    "max.message.bytes": "max_message_bytes",
    "retention.ms": "retention_ms",
    "retention.bytes": "retention_bytes",
    "flush.messages": "flush_messages",
    "flush.ms": "flush_ms",
    "file.delete.delay.ms": "delete_delay_ms",
    "delete.retention.ms": "delete_retention_ms",
}
"""Topic properties that a log obeys, all numbers, and the field of :class:`LogConfig` that each sets."""

CLEANUP_POLICY: Final = "cleanup.policy"
TIMESTAMP_TYPE: Final = "message.timestamp.type"
LOG_APPEND_TIME: Final = "LogAppendTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Settings of one log; times in ms, sizes in bytes, −1 for no limit. Defaults are Kafka's.

    ``flush_messages`` makes an append that reaches it wait for the disk, as Kafka's does: with 1, nothing is
    acknowledged that is not durable here. ``log_append_time``: the leader's wall clock, not the producer's, dates
    records (``message.timestamp.type``). ``deletes`` and ``compacts`` are the two words of ``cleanup.policy``: old
    segments go, or only those records in them go that a later one of the same key has replaced.
    """

    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    index_interval_bytes: int = 4096
    index_max_bytes: int = 10_485_760
    max_message_bytes: int = 1_048_588
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    delete_delay_ms: int = 60_000
    delete_retention_ms: int = 86_400_000
    log_append_time: bool = False
    deletes: bool = True
    compacts: bool = False
    producer_id_expiration_ms: int = 86_400_000
    truncation_sync: bool = True
    """Switch ``truncation-sync``: a truncation is on the disk before anything is written behind it."""

    @classmethod
    def of(cls, node: NodeConfig, topic: Mapping[str, str] | None = None) -> LogConfig:
        """From a node's properties, overridden by a topic's (those that no log cares about are left aside)."""
        config = cls(
            segment_bytes=node.log_segment_bytes,
            segment_ms=node.log_roll_ms,
            index_interval_bytes=node.log_index_interval_bytes,
            max_message_bytes=node.message_max_bytes,
            retention_ms=node.log_retention_ms,
            retention_bytes=node.log_retention_bytes,
            flush_messages=node.log_flush_messages,
            flush_ms=node.log_flush_ms,
            delete_delay_ms=node.log_segment_delete_delay_ms,
            delete_retention_ms=node.log_cleaner_delete_retention_ms,
            log_append_time=node.log_timestamp_type == LOG_APPEND_TIME,
            producer_id_expiration_ms=node.producer_id_expiration_ms,
        )
        policy = node.log_cleanup_policy if topic is None else topic.get(CLEANUP_POLICY, node.log_cleanup_policy)
        words = policy.split(",")
        config = replace(config, deletes="delete" in words, compacts="compact" in words)
        overrides: dict[str, Any] = {
            field: int(topic[name]) for name, field in TOPIC_PROPERTIES.items() if topic is not None and name in topic
        }
        if topic is not None and TIMESTAMP_TYPE in topic:
            overrides["log_append_time"] = topic[TIMESTAMP_TYPE] == LOG_APPEND_TIME
        return replace(config, **overrides) if overrides else config
