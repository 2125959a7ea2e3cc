"""What a broker's coming, going and dying does to the partitions (Kafka's ``generateLeaderAndIsrUpdates``).

Every function returns records in an order in which any number of them, from the first on, may be written: what a broker
must leave it leaves before its own record says why. So no offset of the metadata log shows a fenced or newly registered
broker in an ISR beside others, and a broker with many partitions needs no batch that holds them all.

An unclean election, where a topic allows it, takes place in the same records (Apache Kafka 4.0,
``generateLeaderAndIsrUpdates``).

Which partitions are concerned, the image's index says: the price is that of the broker's own, not of all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from highwater_runtime.controller.partition_change import (
    PartitionTarget,
    UncleanAllowed,
    change_partition,
    never_unclean,
    without,
)
from highwater_runtime.controller.placement import is_active
from highwater_runtime.metadata import MetadataImage, PartitionRegistration, TopicImage
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord


def leads_any(image: MetadataImage, broker_id: int) -> bool:
    """Whether the broker leads a partition."""
    return image.index.leads_any(broker_id)


def remove_from_isrs(
    image: MetadataImage, broker_id: int, unclean: UncleanAllowed = never_unclean, at_most: int | None = None
) -> list[PartitionChangeRecord]:
    """Take the broker out of every ISR (not where it is the last member) and out of every leadership.

    ``at_most``: how many records to return; None: all.
    """
    records: list[PartitionChangeRecord] = []
    for topic_id, index in image.index.in_sync(broker_id):
        topic = image.topics_by_id[topic_id]
        record = leave_isr(image, topic, index, topic.partitions[index], broker_id, unclean)
        if record is not None:
            records.append(record)
            if len(records) == at_most:
                break
    return records


def leave_isr(
    image: MetadataImage,
    topic: TopicImage,
    index: int,
    partition: PartitionRegistration,
    broker_id: int,
    unclean: UncleanAllowed = never_unclean,
) -> PartitionChangeRecord | None:
    """Take the broker out of one ISR (not where it is the last member) and out of the leadership; None: it is so."""
    return change_partition(
        partition,
        replace(PartitionTarget.keep(partition), isr=without(partition.isr, (broker_id,))),
        topic_id=topic.id,
        index=index,
        may_lead=lambda replica: replica != broker_id and is_active(image, replica),
        metadata_version=image.metadata_version,
        unclean=unclean(topic.name),
    )


def elect_leaderless(
    image: MetadataImage, returned: int, unclean: UncleanAllowed = never_unclean
) -> list[PartitionChangeRecord]:
    """Elect leaders where there is none, now that broker ``returned`` is unfenced. ``NO_LEADER``: no broker is, but a
    topic may have come to allow an unclean election."""
    records = []
    for topic_id, index in image.index.leaderless():
        topic = image.topics_by_id[topic_id]
        partition = topic.partitions[index]
        record = change_partition(
            partition,
            PartitionTarget.keep(partition),
            topic_id=topic_id,
            index=index,
            may_lead=lambda replica: replica == returned or is_active(image, replica),
            metadata_version=image.metadata_version,
            unclean=unclean(topic.name),
        )
        if record is not None:
            records.append(record)
    return records


def fence(image: MetadataImage, broker_id: int, unclean: UncleanAllowed = never_unclean) -> list[Any]:
    """The broker asked to be fenced."""
    return [*remove_from_isrs(image, broker_id, unclean), *own_fencing(image, broker_id)]


def own_fencing(image: MetadataImage, broker_id: int) -> list[Any]:
    """Return the broker's own record of being fenced, which comes behind those of its partitions."""
    broker = image.brokers[broker_id]
    if broker.fenced:
        return []
    return [BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=1)]


def unfence(image: MetadataImage, broker_id: int, unclean: UncleanAllowed = never_unclean) -> list[Any]:
    """The broker has caught up with its own registration: it may lead again what has been waiting for it."""
    broker = image.brokers[broker_id]
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=-1)
    # A broker on its way out stays unfit to lead: only a new registration ends a controlled shutdown.
    return [change] if broker.in_controlled_shutdown else [change, *elect_leaderless(image, broker_id, unclean)]


def begin_controlled_shutdown(
    image: MetadataImage, broker_id: int, unclean: UncleanAllowed = never_unclean
) -> list[Any]:
    """The broker asked to leave while it still leads: its leaderships and ISR memberships go to others first."""
    broker = image.brokers[broker_id]
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=1)
    changes = remove_from_isrs(image, broker_id, unclean)
    return changes if broker.in_controlled_shutdown else [*changes, change]


def unregister(image: MetadataImage, broker_id: int, unclean: UncleanAllowed = never_unclean) -> list[Any]:
    """The broker is taken out of the cluster; its replicas stay assigned, without being in sync."""
    return [
        *remove_from_isrs(image, broker_id, unclean),
        UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=image.brokers[broker_id].epoch),
    ]
