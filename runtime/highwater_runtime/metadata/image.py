"""The state of the cluster as of one offset of the metadata log (KIP-631).

Rules in words: records apply in offset order; a broker's epoch is the one its registration record names; every
PartitionChangeRecord bumps the partition epoch by one, and the leader epoch by one where it names a leader, even the
same one; a record about something the image does not know is a corrupted log and raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from highwater_runtime.metadata.changes import (
    BrokerChanged,
    Change,
    ConfigChanged,
    FeatureChanged,
    NothingChanged,
    PartitionChanged,
    ProducerIdsChanged,
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from highwater_runtime.metadata.metadata_version import FEATURE_NAME, MetadataVersion
from highwater_runtime.metadata.partition_index import PartitionIndex
from highwater_runtime.metadata.registrations import (
    NO_LEADER_CHANGE,
    TOPIC_RESOURCE,
    BrokerListener,
    BrokerRegistration,
    ConfigResource,
    LeaderRecoveryState,
    PartitionRegistration,
    TopicImage,
)
from highwater_runtime.metadata.scram import ScramCredential, ScramMechanism
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord
from highwater_runtime.wire.messages.register_broker_record import RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from highwater_runtime.wire.messages.user_scram_credential_record import UserScramCredentialRecord

_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})


class MetadataReplayError(Exception):
    """A record that cannot follow those before it: the metadata log and this code disagree."""


class MetadataImage:
    """Brokers, topics, partitions, configurations, features, producer ids and SCRAM credentials as of :attr:`offset`.

    Attributes are to be read by everyone and changed by :meth:`apply` (and :meth:`remove_partition`) alone.
    """

    __slots__ = (
        "_index",
        "brokers",
        "configs",
        "metadata_version",
        "next_producer_id",
        "offset",
        "scram_credentials",
        "topics_by_id",
        "topics_by_name",
    )

    def __init__(self) -> None:
        self.offset = -1
        """Offset of the last record applied, −1 before the first."""
        self.brokers: dict[int, BrokerRegistration] = {}
        self.topics_by_name: dict[str, TopicImage] = {}
        self.topics_by_id: dict[UUID, TopicImage] = {}
        self.configs: dict[ConfigResource, dict[str, str]] = {}
        self.metadata_version = MetadataVersion.minimum()
        self.next_producer_id = 0
        self.scram_credentials: dict[tuple[str, ScramMechanism], ScramCredential] = {}
        self._index: PartitionIndex | None = None

    @property
    def index(self) -> PartitionIndex:
        """An index of the partitions; made when it is first asked for, kept up from then on."""
        if self._index is None:
            self._index = PartitionIndex(self.topics_by_name.values())
        return self._index

    def copy(self) -> MetadataImage:
        """An image of its own, not indexed yet; costs one dict copy per topic, values are shared."""
        other = MetadataImage()
        other.offset = self.offset
        other.brokers = self.brokers.copy()
        for topic in self.topics_by_name.values():
            other._add_topic(TopicImage(topic.name, topic.id, topic.partitions.copy()))
        other.configs = {resource: values.copy() for resource, values in self.configs.items()}
        other.metadata_version = self.metadata_version
        other.next_producer_id = self.next_producer_id
        other.scram_credentials = self.scram_credentials.copy()
        return other

    def endpoint_of(self, broker_id: int) -> Endpoint | None:
        """Where other brokers reach this one; None if it is not registered."""
        broker = self.brokers.get(broker_id)
        return None if broker is None else broker.endpoint

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """The configuration set for one topic, by Kafka's topic property names; empty where none is."""
        return self.configs.get(ConfigResource(TOPIC_RESOURCE, topic), _NO_CONFIGS) if self.configs else _NO_CONFIGS

    def partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        """State of one partition, ``None`` where there is no such topic or partition."""
        found = self.topics_by_name.get(topic)
        return None if found is None else found.partitions.get(partition)

    def all_partitions(self) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
        """Every partition, topics in order of creation, partitions in order of creation."""
        for topic in self.topics_by_name.values():
            for index, registration in topic.partitions.items():
                yield topic, index, registration

    def apply(self, record: Any, offset: int) -> Change:
        """Apply one metadata record (a generated class of ``wire.messages``) at ``offset``.

        Raises:
            MetadataReplayError: where the record is of an unknown type, is out of order, or speaks of a broker, topic
                or partition that the image does not have.
        """
        if offset <= self.offset:
            raise MetadataReplayError(f"{record.NAME} at offset {offset} after offset {self.offset} was applied")
        change = self._apply(record, offset)
        self.offset = offset
        return change

    def apply_snapshot_record(self, record: Any, offset: int) -> None:
        """Apply one record of a snapshot that ends with ``offset``: all its records have that one.

        Raises:
            MetadataReplayError: as :meth:`apply`.
        """
        self._apply(record, offset)
        self.offset = offset

    def _apply(self, record: Any, offset: int) -> Change:
        match record:
            case PartitionChangeRecord():
                return self._change_partition(record, offset)
            case PartitionRecord():
                return self._create_partition(record, offset)
            case TopicRecord():
                if record.name in self.topics_by_name:
                    raise MetadataReplayError(f"TopicRecord at offset {offset}: topic {record.name!r} exists already")
                self._add_topic(TopicImage(record.name, record.topic_id))
                return TopicCreated(record.name, record.topic_id)
            case RemoveTopicRecord():
                topic = self._topic(record.topic_id, "RemoveTopicRecord", offset)
                if self._index is not None:
                    self._index.topic_deleted(topic)
                del self.topics_by_id[topic.id]
                del self.topics_by_name[topic.name]
                self.configs.pop(ConfigResource(TOPIC_RESOURCE, topic.name), None)
                return TopicDeleted(topic)
            case RegisterBrokerRecord():
                return self._register_broker(record)
            case BrokerRegistrationChangeRecord():
                return self._change_broker(record, offset)
            case UnregisterBrokerRecord():
                self._broker(record.broker_id, record.broker_epoch, "UnregisterBrokerRecord", offset)
                return BrokerChanged(record.broker_id, self.brokers.pop(record.broker_id), None)
            case ConfigRecord():
                return self._set_config(record)
            case FeatureLevelRecord():
                return self._set_feature(record, offset)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
                return ProducerIdsChanged(record.next_producer_id)
            case UserScramCredentialRecord():
                mechanism = ScramMechanism(record.mechanism)
                self.scram_credentials[record.name, mechanism] = ScramCredential(
                    record.salt, record.stored_key, record.server_key, record.iterations
                )
                return ScramCredentialChanged(record.name, mechanism)
            case RemoveUserScramCredentialRecord():
                return self._remove_scram_credential(record, offset)
            case NoOpRecord():
                return NothingChanged()
            case _:
                raise MetadataReplayError(f"record of unknown type {type(record).__name__} at offset {offset}")

    # --- topics ---------------------------------------------------------------------------------------------------

    def _add_topic(self, topic: TopicImage) -> None:
        self.topics_by_name[topic.name] = topic
        self.topics_by_id[topic.id] = topic
        if self._index is not None:
            self._index.topic_created(topic)

    def _topic(self, topic_id: UUID, record_name: str, offset: int) -> TopicImage:
        topic = self.topics_by_id.get(topic_id)
        if topic is None:
            raise MetadataReplayError(f"{record_name} at offset {offset}: there is no topic with id {topic_id}")
        return topic

    def remove_partition(self, topic_id: UUID, index: int) -> None:
        """Take away one partition of a topic: no metadata record says that, but ZooKeeper mode can."""
        topic = self.topics_by_id[topic_id]
        before = topic.partitions.pop(index, None)
        if before is not None:
            self._index = None

    def _create_partition(self, record: PartitionRecord, offset: int) -> Change:
        topic = self._topic(record.topic_id, "PartitionRecord", offset)
        before = topic.partitions.get(record.partition_id)
        after = PartitionRegistration(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=LeaderRecoveryState(record.leader_recovery_state),
            adding_replicas=tuple(record.adding_replicas),
            removing_replicas=tuple(record.removing_replicas),
        )
        topic.partitions[record.partition_id] = after
        if self._index is not None:
            self._index.partition_changed(topic.id, record.partition_id, before, after)
        return PartitionChanged(topic.name, topic.id, record.partition_id, before, after)

    def _change_partition(self, record: PartitionChangeRecord, offset: int) -> Change:
        topic = self._topic(record.topic_id, "PartitionChangeRecord", offset)
        before = topic.partitions.get(record.partition_id)
        if before is None:
            raise MetadataReplayError(
                f"PartitionChangeRecord at offset {offset}: topic {topic.name!r} has no partition {record.partition_id}"
            )
        after = merge_partition_change(before, record)
        topic.partitions[record.partition_id] = after
        if self._index is not None:
            self._index.partition_changed(topic.id, record.partition_id, before, after)
        return PartitionChanged(topic.name, topic.id, record.partition_id, before, after)

    # --- brokers --------------------------------------------------------------------------------------------------

    def _broker(self, broker_id: int, epoch: int, record_name: str, offset: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            found = "no such broker is registered" if broker is None else f"it is registered under {broker.epoch}"
            raise MetadataReplayError(f"{record_name} at offset {offset}: broker {broker_id} epoch {epoch}: {found}")
        return broker

    def _register_broker(self, record: RegisterBrokerRecord) -> Change:
        listeners = tuple(
            BrokerListener(point.name, Endpoint(point.host, point.port), point.security_protocol)
            for point in record.end_points
        )
        after = BrokerRegistration(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoint=listeners[0].endpoint,
            listeners=listeners,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            rack=record.rack,
            features={f.name: (f.min_supported_version, f.max_supported_version) for f in record.features},
        )
        before = self.brokers.get(record.broker_id)
        self.brokers[record.broker_id] = after
        return BrokerChanged(record.broker_id, before, after)

    def _change_broker(self, record: BrokerRegistrationChangeRecord, offset: int) -> Change:
        before = self._broker(record.broker_id, record.broker_epoch, "BrokerRegistrationChangeRecord", offset)
        after = replace(
            before,
            fenced=before.fenced if record.fenced == 0 else record.fenced > 0,
            # There is no way back out of a controlled shutdown but a new registration.
            in_controlled_shutdown=before.in_controlled_shutdown or record.in_controlled_shutdown > 0,
        )
        self.brokers[record.broker_id] = after
        return BrokerChanged(record.broker_id, before, after)

    # --- the rest -------------------------------------------------------------------------------------------------

    def _set_config(self, record: ConfigRecord) -> Change:
        resource = ConfigResource(record.resource_type, record.resource_name)
        values = self.configs.setdefault(resource, {})
        if record.value is None:
            values.pop(record.name, None)
            if not values:
                del self.configs[resource]
        else:
            values[record.name] = record.value
        return ConfigChanged(resource, record.name, record.value)

    def _remove_scram_credential(self, record: RemoveUserScramCredentialRecord, offset: int) -> Change:
        key = record.name, ScramMechanism(record.mechanism)
        if self.scram_credentials.pop(key, None) is None:
            raise MetadataReplayError(
                f"RemoveUserScramCredentialRecord at offset {offset}: user {record.name!r} has no such credential"
            )
        return ScramCredentialChanged(*key)

    def _set_feature(self, record: FeatureLevelRecord, offset: int) -> Change:
        if record.name != FEATURE_NAME:
            raise MetadataReplayError(f"FeatureLevelRecord at offset {offset} for unknown feature {record.name!r}")
        self.metadata_version = MetadataVersion.of(record.feature_level)
        return FeatureChanged(record.name, record.feature_level)


def merge_partition_change(before: PartitionRegistration, record: PartitionChangeRecord) -> PartitionRegistration:
    """The partition after ``record``: fields that it leaves out stay; naming a leader bumps the leader epoch."""
    leader, leader_epoch = before.leader, before.leader_epoch
    if record.leader != NO_LEADER_CHANGE:
        leader, leader_epoch = record.leader, before.leader_epoch + 1
    return PartitionRegistration(
        replicas=_or(record.replicas, before.replicas),
        isr=_or(record.isr, before.isr),
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=before.partition_epoch + 1,
        leader_recovery_state=before.leader_recovery_state
        if record.leader_recovery_state < 0
        else LeaderRecoveryState(record.leader_recovery_state),
        adding_replicas=_or(record.adding_replicas, before.adding_replicas),
        removing_replicas=_or(record.removing_replicas, before.removing_replicas),
    )


def _or(new: list[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if new is None else tuple(new)
