"""Topic properties: which there are, what they may be, and how they override a node's configuration.

Names, bounds and the properties they override are Apache Kafka's; those that nothing here would act on are unknown.
Controllers validate with :func:`check_topic_property`, brokers act on :func:`effective_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from highwater_runtime.config import NodeConfig


@dataclass(frozen=True, slots=True)
class TopicProperty:
    """A property's field in :class:`NodeConfig`, and its least value."""

    field: str
    least: int


TOPIC_PROPERTIES: Final[Mapping[str, TopicProperty]] = {
    "file.delete.delay.ms": TopicProperty("log_segment_delete_delay_ms", 0),
    "flush.messages": TopicProperty("log_flush_messages", 1),
    "flush.ms": TopicProperty("log_flush_ms", 0),
    "index.interval.bytes": TopicProperty("log_index_interval_bytes", 0),
    "max.message.bytes": TopicProperty("message_max_bytes", 0),
    "min.insync.replicas": TopicProperty("min_insync_replicas", 1),
    "retention.bytes": TopicProperty("log_retention_bytes", -1),
    "retention.ms": TopicProperty("log_retention_ms", -1),
    "segment.bytes": TopicProperty("log_segment_bytes", 14),
    "segment.ms": TopicProperty("log_roll_ms", 1),
}

_MOST: Final = 2**63 - 1


def check_topic_property(name: str, value: str) -> None:
    """Raise ``ValueError`` with a sentence that says why, unless ``name`` may be set to ``value``."""
    known = TOPIC_PROPERTIES.get(name)
    if known is None:
        raise ValueError(f"unknown topic property {name!r}; known are {', '.join(sorted(TOPIC_PROPERTIES))}")
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"topic property {name!r} takes a whole number, not {value!r}") from None
    if not known.least <= number <= _MOST:
        raise ValueError(f"topic property {name!r} must be at least {known.least}, not {value}")


def effective_config(config: NodeConfig, topic_config: Mapping[str, str]) -> NodeConfig:
    """``config`` with the topic's own properties (as the image holds them, already validated) in place."""
    if not topic_config:
        return config
    changes: dict[str, Any] = {TOPIC_PROPERTIES[name].field: int(value) for name, value in topic_config.items()}
    return replace(config, **changes)
