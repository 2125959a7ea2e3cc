"""What the controller of ZooKeeper mode knows: a metadata image, and what ZooKeeper holds beside it.

The image is the one of KRaft mode, so that what is decided on it is decided by the same code in both modes. A broker is
registered in it as long as its node under ``/brokers/ids`` exists; its epoch is the czxid of that node. The partition
epoch is the version of the node ``leaderAndISR``; :data:`NO_NODE` while there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from highwater_runtime.metadata import MetadataImage, PartitionRegistration
from highwater_runtime.metadata.registrations import NO_LEADER, ConfigResource, LeaderRecoveryState, TopicImage
from highwater_runtime.metadata.znodes import BrokerNode, LeaderAndIsrNode, TopicNode, ZnodeError, topic_path
from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord

NO_NODE: Final = -1
"""Partition epoch of a partition that was assigned and never had a leader."""


class PartitionKey(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Target(NamedTuple):
    """Where a partition is to be moved, and the version of the node that says so."""

    replicas: tuple[int, ...]
    version: int


class ControllerContext:
    """The cluster as the controller has read it. Changed by the methods below alone."""

    def __init__(self, *, topic_ids: bool) -> None:
        self.image = MetadataImage()
        self.topic_ids = topic_ids
        self.topic_versions: dict[str, int] = {}
        """Version of each ``/brokers/topics/T``."""
        self.topic_created: dict[str, int] = {}
        """And its czxid: a topic that is created again has another one."""
        self.reassigned: dict[PartitionKey, Target] = {}
        self.controller_epochs: dict[PartitionKey, int] = {}
        """Epoch of the controller that last wrote the partition."""
        self.deleting: dict[str, dict[tuple[int, int], None]] = {}
        """Topics that are being deleted: the replicas (partition, broker) that are not known to be gone."""
        self.gone: dict[str, None] = {}
        """Topics whose node another client of ZooKeeper has deleted."""
        self.offline: dict[int, dict[PartitionKey, None]] = {}
        """Replicas by broker whose log directory has failed (KIP-112)."""

    # --- questions ------------------------------------------------------------------------------------------------

    def partition(self, key: PartitionKey) -> PartitionRegistration | None:
        """The partition's state; None: there is no such partition."""
        return self.image.partition(key.topic, key.partition)

    def is_online(self, broker_id: int, key: PartitionKey) -> bool:
        """Whether the broker is registered and its log of this partition is not known to have failed."""
        return broker_id in self.image.brokers and key not in self.offline.get(broker_id, {})

    def may_lead(self, broker_id: int, key: PartitionKey) -> bool:
        """As :meth:`is_online`, and the broker is not shutting down."""
        return self.is_online(broker_id, key) and self.image.brokers[broker_id].active

    def is_going(self, topic: str) -> bool:
        """Whether the topic is being deleted, or is gone."""
        return topic in self.deleting or topic in self.gone

    def all_keys(self) -> list[PartitionKey]:
        """All partitions."""
        return [PartitionKey(topic.name, index) for topic, index, _ in self.image.all_partitions()]

    def keys_on(self, broker_id: int) -> list[PartitionKey]:
        """The partitions that are assigned to the broker."""
        found = self.image.all_partitions()
        return [PartitionKey(topic.name, index) for topic, index, state in found if broker_id in state.replicas]

    def keys_at(self, places: list[tuple[UUID, int]]) -> list[PartitionKey]:
        """The same as the index of the image gives them."""
        return [PartitionKey(self.image.topics_by_id[topic_id].name, index) for topic_id, index in places]

    def topic_id(self, topic: str) -> UUID:
        """Return the topic's id in commands to brokers; zero if the cluster has no topic ids."""
        return self.image.topics_by_name[topic].id if self.topic_ids else ZERO_UUID

    # --- changes --------------------------------------------------------------------------------------------------

    def apply(self, record: Any) -> None:
        """Apply one record of metadata to the image."""
        self.image.apply(record, self.image.offset + 1)

    def register(self, broker_id: int, node: BrokerNode, czxid: int) -> None:
        """The broker's node was read. Raises ``ValueError`` for an endpoint that is not ``host:port``."""
        endpoints = []
        for name, address in node.endpoints.items():
            host, _, port = address.rpartition(":")
            endpoints.append(
                BrokerEndpoint(
                    name=name, host=host, port=int(port), security_protocol=node.security_protocols.get(name, 0)
                )
            )
        self.offline.pop(broker_id, None)
        self.apply(
            RegisterBrokerRecord(
                broker_id=broker_id,
                incarnation_id=UUID(int=czxid),
                broker_epoch=czxid,
                end_points=endpoints,
                rack=node.rack,
                fenced=False,
            )
        )

    def unregister(self, broker_id: int) -> None:
        """The broker's node is gone."""
        self.offline.pop(broker_id, None)
        self.apply(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=self.image.brokers[broker_id].epoch))

    def begin_shutdown(self, broker_id: int) -> None:
        """The broker wants to go: it leads nothing new."""
        epoch = self.image.brokers[broker_id].epoch
        self.apply(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, in_controlled_shutdown=1))

    def add_topic(self, topic: str, node: TopicNode, version: int, czxid: int) -> None:
        """A topic that was not known, without the state of its partitions."""
        topic_id = node.topic_id if self.topic_ids and node.topic_id is not None else uuid5(NAMESPACE_URL, topic)
        self.apply(TopicRecord(name=topic, topic_id=topic_id))
        self.topic_created[topic] = czxid
        self.assign(topic, node, version)

    def assign(self, topic: str, node: TopicNode, version: int) -> None:
        """What ``/brokers/topics/T`` says; partitions that it does not name are gone."""
        self.topic_versions[topic] = version
        image = self.image.topics_by_name[topic]
        for index in [index for index in image.partitions if index not in node.partitions]:
            self.remove_partition(PartitionKey(topic, index))
        for index, replicas in sorted(node.partitions.items()):
            if not replicas:
                raise ZnodeError(f"{topic_path(topic)}: expected replicas of partition {index}, found none")
            known = image.partitions.get(index)
            self.put(
                PartitionKey(topic, index),
                PartitionRegistration(
                    replicas=replicas,
                    isr=() if known is None else known.isr,
                    leader=NO_LEADER if known is None else known.leader,
                    leader_epoch=-1 if known is None else known.leader_epoch,
                    partition_epoch=NO_NODE if known is None else known.partition_epoch,
                    leader_recovery_state=LeaderRecoveryState.RECOVERED
                    if known is None
                    else known.leader_recovery_state,
                    adding_replicas=node.adding_replicas.get(index, ()),
                    removing_replicas=node.removing_replicas.get(index, ()),
                ),
            )

    def lead(self, key: PartitionKey, node: LeaderAndIsrNode, version: int) -> None:
        """What the partition's leaderAndISR says."""
        known = self.partition(key)
        assert known is not None, "its topic was read first"
        self.controller_epochs[key] = node.controller_epoch
        self.put(
            key,
            PartitionRegistration(
                replicas=known.replicas,
                isr=node.isr,
                leader=node.leader,
                leader_epoch=node.leader_epoch,
                partition_epoch=version,
                leader_recovery_state=LeaderRecoveryState(int(node.leader_recovery_state == 1)),
                adding_replicas=known.adding_replicas,
                removing_replicas=known.removing_replicas,
            ),
        )

    def put(self, key: PartitionKey, state: PartitionRegistration) -> None:
        """The partition's state from now on."""
        if state == self.partition(key):
            return
        self.apply(
            PartitionRecord(
                topic_id=self.image.topics_by_name[key.topic].id,
                partition_id=key.partition,
                replicas=list(state.replicas),
                isr=list(state.isr),
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                partition_epoch=state.partition_epoch,
                leader_recovery_state=int(state.leader_recovery_state),
                adding_replicas=list(state.adding_replicas),
                removing_replicas=list(state.removing_replicas),
            )
        )

    def remove_partition(self, key: PartitionKey) -> None:
        """The partition is no longer assigned."""
        topic = self.image.topics_by_name[key.topic]
        self.image.index.partition_changed(topic.id, key.partition, topic.partitions.pop(key.partition), None)
        self._forget([key])

    def remove_topic(self, topic: str) -> TopicImage:
        """Forget a topic that was deleted."""
        image = self.image.topics_by_name[topic]
        self.apply(RemoveTopicRecord(topic_id=image.id))
        self._forget([PartitionKey(topic, index) for index in image.partitions])
        for table in (self.topic_versions, self.topic_created, self.deleting, self.gone):
            table.pop(topic, None)
        return image

    def _forget(self, keys: list[PartitionKey]) -> None:
        for key in keys:
            self.reassigned.pop(key, None)
            self.controller_epochs.pop(key, None)
            for offline in self.offline.values():
                offline.pop(key, None)

    def configure(self, resource: ConfigResource, values: Mapping[str, str]) -> None:
        """The whole configuration of a resource, as it was read."""
        present = self.image.configs.get(resource, {})
        for name in [*values, *(name for name in present if name not in values)]:
            self.apply(
                ConfigRecord(
                    resource_type=resource.type, resource_name=resource.name, name=name, value=values.get(name)
                )
            )

    def topic_node(self, topic: str) -> TopicNode:
        """``/brokers/topics/T`` as the image has it."""
        image = self.image.topics_by_name[topic]
        states = image.partitions.items()
        return TopicNode(
            partitions={index: state.replicas for index, state in states},
            topic_id=image.id if self.topic_ids else None,
            adding_replicas={index: state.adding_replicas for index, state in states if state.adding_replicas},
            removing_replicas={index: state.removing_replicas for index, state in states if state.removing_replicas},
        )
