"""What ZooKeeper mode keeps in ZooKeeper: paths and JSON values, shared by controller and brokers.

The paths are those of *Detailed Replication Design V3*; the values have Apache Kafka's fields (3.9, ``ZkData``). What
the document lacks is Kafka's too: ``/controller_epoch``, ``/admin/delete_topics``, ``/config``, the producer ids and
``/isr_change_notification``, by which the controller hears of an ISR that a leader has written.

===============================================  ================================  ==============================
path                                             value                             written by
===============================================  ================================  ==============================
``/controller`` (ephemeral)                      node id                           the candidate that is elected
``/controller_epoch``                            epoch                             the same, in the same multi
``/brokers/ids/N`` (ephemeral)                   :class:`BrokerNode`               broker N; its czxid is N's epoch
``/brokers/topics/T``                            :class:`TopicNode`                controller
``/brokers/topics/T/P/leaderAndISR``             :class:`LeaderAndIsrNode`         controller; the ISR also the leader
``/admin/partitions_reassigned/T/P``             :class:`ReplicasNode`             administration
``/admin/partitions_add/T/P``                    :class:`ReplicasNode`             administration
``/admin/partitions_remove/T/P``                 empty                             administration
``/admin/delete_topics/T``                       empty                             administration
``/config/topics/T``, ``/config/brokers/N``      :class:`ConfigNode`               administration
``/config/changes/config_change_…`` (sequential) :class:`ConfigChangeNode`         administration
``/isr_change_notification/isr_change_…`` (seq.) :class:`IsrChangeNode`            the leader, with its new ISR
``/latest_producer_id_block``                    :class:`ProducerIdBlockNode`      brokers
===============================================  ================================  ==============================
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeVar
from uuid import NAMESPACE_OID, UUID, uuid5

import msgspec

from highwater_runtime.metadata.topic_config import can_be_read

CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
PARTITIONS_REASSIGNED: Final = "/admin/partitions_reassigned"
PARTITIONS_ADD: Final = "/admin/partitions_add"
PARTITIONS_REMOVE: Final = "/admin/partitions_remove"
DELETE_TOPICS: Final = "/admin/delete_topics"
TOPIC_CONFIGS: Final = "/config/topics"
BROKER_CONFIGS: Final = "/config/brokers"
ALL_BROKERS: Final = "<default>"
"""Name of the node with what is configured for all brokers (Kafka's)."""
ALL_BROKERS_CONFIG: Final = f"{BROKER_CONFIGS}/{ALL_BROKERS}"
CONFIG_CHANGES: Final = "/config/changes"
CONFIG_CHANGE_PREFIX: Final = "/config/changes/config_change_"
ISR_CHANGES: Final = "/isr_change_notification"
ISR_CHANGE_PREFIX: Final = "/isr_change_notification/isr_change_"
PRODUCER_ID_BLOCK: Final = "/latest_producer_id_block"

PERSISTENT: Final = (
    "/brokers",
    BROKER_IDS,
    TOPICS,
    "/admin",
    PARTITIONS_REASSIGNED,
    PARTITIONS_ADD,
    PARTITIONS_REMOVE,
    DELETE_TOPICS,
    "/config",
    TOPIC_CONFIGS,
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
)
"""Nodes that every broker creates at its start unless they exist, parents first."""


def broker_path(broker_id: int) -> str:
    """``/brokers/ids/N``."""
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    """``/brokers/topics/T``."""
    return f"{TOPICS}/{topic}"


def partition_path(topic: str, partition: int) -> str:
    """``/brokers/topics/T/P``, the parent of the leader and ISR."""
    return f"{TOPICS}/{topic}/{partition}"


def leader_and_isr_path(topic: str, partition: int) -> str:
    """``/brokers/topics/T/P/leaderAndISR``; its version is the partition epoch."""
    return f"{TOPICS}/{topic}/{partition}/leaderAndISR"


def topic_config_path(topic: str) -> str:
    """``/config/topics/T``."""
    return f"{TOPIC_CONFIGS}/{topic}"


def key_of(topic: str, topic_id: UUID | None) -> UUID:
    """The topic's id; where the cluster has none, one that follows from the name, so that a topic that returns under
    its name has the same (which is what KAFKA-7362 is about)."""
    return _key_of_name(topic) if topic_id is None else topic_id


@lru_cache(maxsize=1 << 10)
def _key_of_name(topic: str) -> UUID:
    """Asked for each partition; a SHA-1."""
    return uuid5(NAMESPACE_OID, topic)


def has_id(topic: str, key: UUID) -> bool:
    """Whether a topic's key is an id of its own, and does not follow from the name."""
    return key.version != 5 or key != key_of(topic, None)


class ZnodeError(ValueError):
    """The data of a node is not what it must be. The message names the path, what was expected and what was found."""


class BrokerNode(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that lives. ``endpoints`` maps the names of listeners to ``host:port``, that of the brokers among
    themselves first; ``security_protocols`` has the number of each."""

    endpoints: dict[str, str]
    security_protocols: dict[str, int] = {}
    rack: str | None = None
    version: int = 5


class TopicNode(msgspec.Struct, frozen=True, kw_only=True):
    """The assignment of a topic's replicas, the preferred one first, by partition. ``topic_id`` is None where the
    cluster has no topic ids."""

    partitions: dict[int, tuple[int, ...]]
    topic_id: UUID | None = None
    adding_replicas: dict[int, tuple[int, ...]] = {}
    removing_replicas: dict[int, tuple[int, ...]] = {}
    version: int = 3


class LeaderAndIsrNode(msgspec.Struct, frozen=True, kw_only=True):
    """Leader (−1: none) and ISR of a partition. ``controller_epoch`` is that of the controller that last wrote it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    leader_recovery_state: int = 0
    version: int = 1


class ReplicasNode(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas that a partition is to have."""

    replicas: tuple[int, ...]


class ConfigNode(msgspec.Struct, frozen=True, kw_only=True):
    """The properties that are set for one topic or broker."""

    config: dict[str, str]
    version: int = 1


class ConfigChangeNode(msgspec.Struct, frozen=True, kw_only=True):
    """Notifies all brokers of a changed configuration. ``entity_path`` is its path below ``/config``."""

    entity_path: str
    version: int = 2


class PartitionName(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of a topic."""

    topic: str
    partition: int


class IsrChangeNode(msgspec.Struct, frozen=True, kw_only=True):
    """Notifies the controller of the ISRs that a leader has written. The controller deletes the node."""

    partitions: tuple[PartitionName, ...]
    version: int = 1


class ProducerIdBlockNode(msgspec.Struct, frozen=True, kw_only=True):
    """The producer ids that were handed out last: those from ``block_start`` to ``block_end``, inclusive."""

    broker: int
    block_start: int
    block_end: int
    version: int = 1


N = TypeVar("N", bound=msgspec.Struct)


def encode_node(value: msgspec.Struct) -> bytes:
    """The JSON of a node; equal values have equal bytes."""
    return msgspec.json.encode(msgspec.to_builtins(value, str_keys=True), order="deterministic")


def decode_node(kind: type[N], path: str, data: bytes) -> N:
    """Read the JSON of the node at ``path``.

    Raises:
        ZnodeError: it is not the JSON of a ``kind``.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        found = data[:80] + (b"..." if len(data) > 80 else b"")
        raise ZnodeError(f"{path}: expected a {kind.__name__}, found {found!r}: {error}") from None


def decode_config(path: str, data: bytes) -> Mapping[str, str]:
    """The properties in the node at ``path`` that can be read: clients of ZooKeeper may write what they like there.

    None if it is not the JSON of a :class:`ConfigNode` (Kafka).
    """
    try:
        written = decode_node(ConfigNode, path, data).config
    except ZnodeError:
        return {}
    return {name: value for name, value in written.items() if can_be_read(name, value)}
