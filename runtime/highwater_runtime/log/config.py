"""What one log is told: the ``log.*`` properties of a node, overridden by the topic's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

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
}
"""Topic properties that a log obeys, and the field of :class:`LogConfig` that each sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Settings of one log; times in ms, sizes in bytes, −1 for no limit. Defaults are Kafka's.

    ``flush_messages`` makes an append that reaches it wait for the disk, as Kafka's does: with 1, nothing is
    acknowledged that is not durable here.
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
    producer_id_expiration_ms: int = 86_400_000

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
            producer_id_expiration_ms=node.producer_id_expiration_ms,
        )
        overrides = {
            field: int(topic[name]) for name, field in TOPIC_PROPERTIES.items() if topic is not None and name in topic
        }
        return replace(config, **overrides) if overrides else config
