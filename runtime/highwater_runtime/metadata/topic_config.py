"""Topic properties that may be set: Apache Kafka's names, bounds and defaults, of those that something here acts on.

Controllers refuse the rest; brokers act on what the image holds (``LogConfig.of`` for what a log obeys,
``min.insync.replicas`` for what the partition does). A few properties have one value here, and may be set to that one.

Most have a *broker property* that holds where the topic says nothing. Those are also the ones that can be changed on
brokers while they run (:data:`DYNAMIC_BROKER_PROPERTIES`), for one broker or for all. So can :data:`THROTTLED_RATES`,
which nothing else sets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"
CLEANUP_POLICY: Final = "cleanup.policy"
LEADER_THROTTLED_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_THROTTLED_REPLICAS: Final = "follower.replication.throttled.replicas"
LEADER_THROTTLED_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_THROTTLED_RATE: Final = "follower.replication.throttled.rate"

_ALL_REPLICAS: Final = "*"
_REPLICAS: Final = re.compile(r"[0-9]{1,10}:[0-9]{1,10}(,[0-9]{1,10}:[0-9]{1,10})*")

_LONG_MAX: Final = 2**63 - 1


class Kind(IntEnum):
    """Type of a property, by Kafka's number in DescribeConfigs (``ConfigResponse.ConfigType``)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    LIST = 7


@dataclass(frozen=True, slots=True)
class TopicProperty:
    """One property of topics: a whole number of at least ``least``, one of ``values``, or a list of ``replicas``.

    ``broker_property`` is the property of brokers that holds where a topic has none; ``default`` is Kafka's.
    """

    kind: Kind
    default: str
    documentation: str
    broker_property: str | None = None
    least: int = 0
    values: tuple[str, ...] = ()
    replicas: bool = False


TOPIC_PROPERTIES: Final[Mapping[str, TopicProperty]] = {
    CLEANUP_POLICY: TopicProperty(
        Kind.LIST,
        "delete",
        "What happens to old segments: they are deleted, compacted (the last record of each key stays), or both.",
        "log.cleanup.policy",
        values=("delete", "compact", "compact,delete", "delete,compact"),
    ),
    "compression.type": TopicProperty(
        Kind.STRING,
        "producer",
        "How batches are stored: as their producer compressed them.",
        "compression.type",
        values=("producer",),
    ),
    "delete.retention.ms": TopicProperty(
        Kind.LONG,
        "86400000",
        "How long compaction keeps a tombstone after its first pass over it.",
        "log.cleaner.delete.retention.ms",
    ),
    "file.delete.delay.ms": TopicProperty(
        Kind.LONG,
        "60000",
        "How long a deleted segment stays on disk under another name.",
        "log.segment.delete.delay.ms",
    ),
    "flush.messages": TopicProperty(
        Kind.LONG,
        str(_LONG_MAX),
        "After how many records a log is made durable; 1 makes every acknowledged record durable on its leader.",
        "log.flush.interval.messages",
        least=1,
    ),
    "flush.ms": TopicProperty(
        Kind.LONG, str(_LONG_MAX), "After how long a log is made durable.", "log.flush.interval.ms"
    ),
    FOLLOWER_THROTTLED_REPLICAS: TopicProperty(
        Kind.LIST,
        "",
        "Replicas, as PARTITION:BROKER, that fetch no faster than their broker's follower.replication.throttled.rate; "
        "or *.",
        replicas=True,
    ),
    "index.interval.bytes": TopicProperty(
        Kind.INT, "4096", "Bytes of records for each entry of the offset index.", "log.index.interval.bytes"
    ),
    LEADER_THROTTLED_REPLICAS: TopicProperty(
        Kind.LIST,
        "",
        "Replicas, as PARTITION:BROKER, from which followers fetch no faster than their broker's "
        "leader.replication.throttled.rate; or *.",
        replicas=True,
    ),
    "max.message.bytes": TopicProperty(
        Kind.INT, "1048588", "The largest record batch that may be produced, compressed.", "message.max.bytes"
    ),
    "message.timestamp.type": TopicProperty(
        Kind.STRING,
        "CreateTime",
        "Whose clock dates a record: its producer's (CreateTime) or its leader's (LogAppendTime).",
        "log.message.timestamp.type",
        values=("CreateTime", "LogAppendTime"),
    ),
    MIN_INSYNC_REPLICAS: TopicProperty(
        Kind.INT,
        "1",
        "How many replicas must be in sync for a write with acks=all, and for the high watermark to advance.",
        MIN_INSYNC_REPLICAS,
        least=1,
    ),
    "preallocate": TopicProperty(
        Kind.BOOLEAN, "false", "Whether segments get their full size when they are created.", values=("false",)
    ),
    "retention.bytes": TopicProperty(
        Kind.LONG, "-1", "How large a partition may grow before old segments go; -1: any.", "log.retention.bytes", -1
    ),
    "retention.ms": TopicProperty(
        Kind.LONG, "604800000", "How long segments are kept; -1: for ever.", "log.retention.ms", -1
    ),
    "segment.bytes": TopicProperty(
        Kind.INT, "1073741824", "How large a segment may grow before the next begins.", "log.segment.bytes", 14
    ),
    "segment.index.bytes": TopicProperty(Kind.INT, "10485760", "The largest index of a segment.", None, 4),
    "segment.ms": TopicProperty(
        Kind.LONG, "604800000", "How long a segment is written before the next begins.", "log.roll.ms", 1
    ),
    UNCLEAN_LEADER_ELECTION: TopicProperty(
        Kind.BOOLEAN,
        "false",
        "Whether a replica outside the ISR may become leader if no member can, with loss of records.",
        UNCLEAN_LEADER_ELECTION,
        values=("false", "true"),
    ),
}
"""Topic property → what it is."""

LEAST: Final[Mapping[str, int]] = {
    name: p.least for name, p in TOPIC_PROPERTIES.items() if not p.values and not p.replicas
}
"""Topic property that is a whole number → its least value."""

DYNAMIC_BROKER_PROPERTIES: Final[Mapping[str, str]] = {
    p.broker_property: name for name, p in TOPIC_PROPERTIES.items() if p.broker_property is not None
}
"""Broker property that may be altered while brokers run → the topic property that it is the default of."""

THROTTLED_RATES: Final[Mapping[str, TopicProperty]] = {
    LEADER_THROTTLED_RATE: TopicProperty(
        Kind.LONG, str(_LONG_MAX), "Bytes a second that followers may fetch of the throttled replicas of this broker."
    ),
    FOLLOWER_THROTTLED_RATE: TopicProperty(
        Kind.LONG, str(_LONG_MAX), "Bytes a second that the throttled replicas of this broker may fetch."
    ),
}
"""Broker property that is altered while brokers run, and at no other time → what it is (KIP-73)."""


def is_dynamic(broker_property: str) -> bool:
    """Whether a broker property may be altered while brokers run."""
    return broker_property in DYNAMIC_BROKER_PROPERTIES or broker_property in THROTTLED_RATES


def of_broker(broker_property: str) -> TopicProperty:
    """What a broker property is that may be altered while brokers run."""
    rate = THROTTLED_RATES.get(broker_property)
    return TOPIC_PROPERTIES[DYNAMIC_BROKER_PROPERTIES[broker_property]] if rate is None else rate


def check_topic_property(name: str, value: str) -> None:
    """Raise ``ValueError`` with a sentence that says why, unless ``name`` may be set to ``value``."""
    known = TOPIC_PROPERTIES.get(name)
    if known is None:
        raise ValueError(f"unknown topic property {name!r}; known are {', '.join(TOPIC_PROPERTIES)}")
    _check("topic", name, known, value)


def check_broker_property(name: str, value: str) -> None:
    """Raise ``ValueError`` unless ``name``, which is dynamic, may be set to ``value``."""
    _check("broker", name, of_broker(name), value)


def can_be_read(name: str, value: str) -> bool:
    """Whether a property's value is what those who read it expect; nobody reads properties that are not known."""
    try:
        if name in TOPIC_PROPERTIES:
            check_topic_property(name, value)
        elif is_dynamic(name):
            check_broker_property(name, value)
    except ValueError:
        return False
    return True


def throttled_partitions(replicas: str, broker_id: int) -> frozenset[int] | None:
    """The partitions whose replica on this broker is in a list of throttled replicas; None: all."""
    if replicas == _ALL_REPLICAS:
        return None
    pairs = (entry.split(":") for entry in replicas.split(",") if entry)
    return frozenset(int(partition) for partition, broker in pairs if int(broker) == broker_id)


def _check(whose: str, name: str, known: TopicProperty, value: str) -> None:
    if known.values:
        if value not in known.values:
            raise ValueError(f"{whose} property {name!r} takes {' or '.join(known.values)} here, not {value!r}")
        return
    if known.replicas:
        if value not in ("", _ALL_REPLICAS) and not _REPLICAS.fullmatch(value):
            raise ValueError(f"{whose} property {name!r} takes PARTITION:BROKER,… or *, not {value!r}")
        return
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"{whose} property {name!r} takes a whole number, not {value!r}") from None
    # Kafka's ints end at 2^31 − 1; nothing here minds a larger one.
    if not known.least <= number <= _LONG_MAX:
        raise ValueError(f"{whose} property {name!r} must be at least {known.least}, not {value}")
