"""The metadata image as records and back, and what two images differ in (KIP-630).

A snapshot holds the fewest records that make the image of one offset. They are written in the image's own order, so
that equal histories give equal snapshots, byte for byte, on every node; and each is complete in itself: the partition
records carry the epochs, the registrations the broker epochs, of that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from highwater_runtime.metadata.changes import (
    BrokerChanged,
    Change,
    ConfigChanged,
    FeatureChanged,
    PartitionChanged,
    ProducerIdsChanged,
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from highwater_runtime.metadata.image import MetadataImage
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.metadata.registrations import (
    BrokerListener,
    BrokerRegistration,
    PartitionRegistration,
    TopicImage,
)
from highwater_runtime.metadata.scram import credential_record
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord


def snapshot_records(image: MetadataImage) -> list[Any]:
    """The records that make ``image``, in an order in which they can be applied."""
    records: list[Any] = [FeatureLevelRecord(name=FEATURE_NAME, feature_level=int(image.metadata_version))]
    if image.next_producer_id:
        records.append(ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id))
    records += [_registration(broker) for broker in image.brokers.values()]
    for topic in image.topics_by_name.values():
        records.append(TopicRecord(name=topic.name, topic_id=topic.id))
        records += [_partition(topic, index, state) for index, state in topic.partitions.items()]
    for resource, values in image.configs.items():
        records += [
            ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=key, value=value)
            for key, value in values.items()
        ]
    records += [
        credential_record(user, mechanism, credential)
        for (user, mechanism), credential in image.scram_credentials.items()
    ]
    return records


def image_of(records: Iterable[Any], end_offset: int) -> MetadataImage:
    """The image that ``records`` of a snapshot make; it ends before ``end_offset``.

    Raises:
        MetadataReplayError: they do not fit together.
    """
    image = MetadataImage()
    for record in records:
        image.apply_snapshot_record(record, end_offset - 1)
    return image


def differences(before: MetadataImage, after: MetadataImage) -> Iterator[Change]:
    """Yield the changes that lead from ``before`` to ``after``: deletions first, then what is new or changed.

    A topic that was deleted and created again under its name is both. States of a partition in between are lost.
    """
    for topic in before.topics_by_name.values():
        if topic.id not in after.topics_by_id:
            yield TopicDeleted(topic)
    for broker_id, broker in before.brokers.items():
        if broker_id not in after.brokers:
            yield BrokerChanged(broker_id, broker, None)
    for broker_id, broker in after.brokers.items():
        if before.brokers.get(broker_id) != broker:
            yield BrokerChanged(broker_id, before.brokers.get(broker_id), broker)
    yield from _config_differences(before, after)
    for topic in after.topics_by_name.values():
        known = before.topics_by_id.get(topic.id)
        if known is None:
            yield TopicCreated(topic.name, topic.id)
        for index, state in topic.partitions.items():
            was = None if known is None else known.partitions.get(index)
            if was != state:
                yield PartitionChanged(topic.name, topic.id, index, was, state)
    if before.metadata_version != after.metadata_version:
        yield FeatureChanged(FEATURE_NAME, int(after.metadata_version))
    if before.next_producer_id != after.next_producer_id:
        yield ProducerIdsChanged(after.next_producer_id)
    for key in dict.fromkeys((*before.scram_credentials, *after.scram_credentials)):
        if before.scram_credentials.get(key) != after.scram_credentials.get(key):
            yield ScramCredentialChanged(*key)


def _config_differences(before: MetadataImage, after: MetadataImage) -> Iterator[Change]:
    for resource, values in before.configs.items():
        for key in values:
            if key not in after.configs.get(resource, {}):
                yield ConfigChanged(resource, key, None)
    for resource, values in after.configs.items():
        for key, value in values.items():
            if before.configs.get(resource, {}).get(key) != value:
                yield ConfigChanged(resource, key, value)


def _registration(broker: BrokerRegistration) -> RegisterBrokerRecord:
    listeners = broker.listeners or (BrokerListener("PLAINTEXT", broker.endpoint),)
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(
                name=listener.name,
                host=listener.endpoint.host,
                port=listener.endpoint.port,
                security_protocol=listener.security_protocol,
            )
            for listener in listeners
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
    )


def _partition(topic: TopicImage, index: int, state: PartitionRegistration) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.id,
        replicas=list(state.replicas),
        isr=list(state.isr),
        removing_replicas=list(state.removing_replicas),
        adding_replicas=list(state.adding_replicas),
        leader=state.leader,
        leader_recovery_state=int(state.leader_recovery_state),
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
    )
