"""Topic properties that may be set: Apache Kafka's names and bounds, of those that something here acts on.

Controllers refuse the rest; brokers act on what the image holds (``LogConfig.of`` for what a log obeys,
``min.insync.replicas`` for what the partition does).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"

LEAST: Final[Mapping[str, int]] = {
    "file.delete.delay.ms": 0,
    "flush.messages": 1,
    "flush.ms": 0,
    "index.interval.bytes": 0,
    "max.message.bytes": 0,
    MIN_INSYNC_REPLICAS: 1,
    "retention.bytes": -1,
    "retention.ms": -1,
    "segment.bytes": 14,
    "segment.index.bytes": 4,
    "segment.ms": 1,
}
"""Topic property → its least value. All are whole numbers."""

_MOST: Final = 2**63 - 1


def check_topic_property(name: str, value: str) -> None:
    """Raise ``ValueError`` with a sentence that says why, unless ``name`` may be set to ``value``."""
    least = LEAST.get(name)
    if least is None:
        raise ValueError(f"unknown topic property {name!r}; known are {', '.join(LEAST)}")
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"topic property {name!r} takes a whole number, not {value!r}") from None
    if not least <= number <= _MOST:
        raise ValueError(f"topic property {name!r} must be at least {least}, not {value}")
