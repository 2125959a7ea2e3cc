"""The metadata image: every record type has one small story, and nothing passes that cannot follow what came before."""

from __future__ import annotations

from uuid import UUID

import pytest

from highwater_runtime.metadata import (
    NO_LEADER,
    BrokerChanged,
    ConfigChanged,
    ConfigResource,
    FeatureChanged,
    MetadataImage,
    MetadataVersion,
    NothingChanged,
    PartitionChanged,
    ProducerIdsChanged,
    TopicCreated,
    TopicDeleted,
)
from highwater_runtime.metadata.image import MetadataReplayError
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord
from highwater_runtime.wire.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord

TOPIC_ID = UUID(int=7)


def registration(broker_id: int, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=UUID(int=100 + epoch),
        broker_epoch=epoch,
        end_points=[BrokerEndpoint(name="PLAINTEXT", host=f"broker-{broker_id}", port=9092, security_protocol=0)],
        features=[BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=12)],
    )


@pytest.fixture
def image() -> MetadataImage:
    """Broker 0 (epoch 0) and topic ``orders`` with one partition on brokers 0 and 1; offset 2."""
    image = MetadataImage()
    image.apply(registration(0, 0), 0)
    image.apply(TopicRecord(name="orders", topic_id=TOPIC_ID), 1)
    image.apply(
        PartitionRecord(
            partition_id=0, topic_id=TOPIC_ID, replicas=[0, 1], isr=[0, 1], leader=0, leader_epoch=0, partition_epoch=0
        ),
        2,
    )
    return image


def test_a_registration_starts_fenced_with_the_epoch_and_endpoint_of_its_record() -> None:
    image = MetadataImage()

    change = image.apply(registration(3, 41), 41)

    broker = image.brokers[3]
    assert change == BrokerChanged(3, None, broker)
    assert (broker.epoch, broker.endpoint, broker.fenced) == (41, Endpoint("broker-3", 9092), True)
    assert broker.features == {"metadata.version": (7, 12)}
    assert not broker.active
    assert image.offset == 41


def test_fencing_and_controlled_shutdown_change_only_what_they_name(image: MetadataImage) -> None:
    image.apply(BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=0, fenced=-1), 3)
    assert image.brokers[0].active

    image.apply(BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=0, in_controlled_shutdown=1), 4)
    assert not image.brokers[0].fenced
    assert not image.brokers[0].active

    image.apply(BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=0, fenced=1), 5)
    assert image.brokers[0].fenced
    assert image.brokers[0].in_controlled_shutdown


def test_a_new_registration_ends_a_controlled_shutdown(image: MetadataImage) -> None:
    image.apply(BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=0, in_controlled_shutdown=1), 3)
    image.apply(registration(0, 4), 4)
    assert not image.brokers[0].in_controlled_shutdown
    assert image.brokers[0].epoch == 4


def test_an_unregistered_broker_is_gone(image: MetadataImage) -> None:
    before = image.brokers[0]
    assert image.apply(UnregisterBrokerRecord(broker_id=0, broker_epoch=0), 3) == BrokerChanged(0, before, None)
    assert image.brokers == {}


def test_a_partition_change_bumps_the_partition_epoch_and_the_leader_epoch_only_with_a_leader(
    image: MetadataImage,
) -> None:
    change = image.apply(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[0]), 3)
    partition = image.partition("orders", 0)
    assert partition is not None
    assert (partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch) == ((0,), 0, 0, 1)
    assert isinstance(change, PartitionChanged)
    assert change.before is not None
    assert change.before.isr == (0, 1)

    image.apply(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=0), 4)
    partition = image.partition("orders", 0)
    assert partition is not None
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 2)

    image.apply(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=NO_LEADER), 5)
    partition = image.partition("orders", 0)
    assert partition is not None
    assert (partition.leader, partition.isr, partition.leader_epoch) == (NO_LEADER, (0,), 2)


def test_a_partition_change_may_replace_the_assignment(image: MetadataImage) -> None:
    image.apply(
        PartitionChangeRecord(
            partition_id=0, topic_id=TOPIC_ID, replicas=[2, 0, 1], adding_replicas=[2], removing_replicas=[0]
        ),
        3,
    )
    partition = image.partition("orders", 0)
    assert partition is not None
    assert (partition.replicas, partition.adding_replicas, partition.removing_replicas) == ((2, 0, 1), (2,), (0,))
    assert partition.reassigning


def test_a_topic_goes_with_its_partitions_and_configuration(image: MetadataImage) -> None:
    image.apply(ConfigRecord(resource_type=2, resource_name="orders", name="min.insync.replicas", value="2"), 3)
    topic = image.topics_by_name["orders"]

    assert image.apply(RemoveTopicRecord(topic_id=TOPIC_ID), 4) == TopicDeleted(topic)

    assert image.topics_by_name == {}
    assert image.topics_by_id == {}
    assert image.configs == {}
    assert image.partition("orders", 0) is None


def test_a_topic_created_anew_under_the_same_name_has_another_id(image: MetadataImage) -> None:
    image.apply(RemoveTopicRecord(topic_id=TOPIC_ID), 3)
    assert image.apply(TopicRecord(name="orders", topic_id=UUID(int=8)), 4) == TopicCreated("orders", UUID(int=8))
    assert image.topics_by_name["orders"].id == UUID(int=8)
    assert TOPIC_ID not in image.topics_by_id


def test_configuration_is_set_and_removed(image: MetadataImage) -> None:
    resource = ConfigResource(2, "orders")
    change = image.apply(ConfigRecord(resource_type=2, resource_name="orders", name="segment.ms", value="9"), 3)
    assert change == ConfigChanged(resource, "segment.ms", "9")
    assert image.topic_config("orders") == {"segment.ms": "9"}

    image.apply(ConfigRecord(resource_type=2, resource_name="orders", name="segment.ms", value=None), 4)
    assert image.topic_config("orders") == {}
    assert image.configs == {}


def test_features_producer_ids_and_no_ops(image: MetadataImage) -> None:
    assert image.metadata_version is MetadataVersion.minimum()
    change = image.apply(FeatureLevelRecord(name="metadata.version", feature_level=10), 3)
    assert change == FeatureChanged("metadata.version", 10)
    assert image.metadata_version is MetadataVersion.IBP_3_5_IV1

    ids = image.apply(ProducerIdsRecord(broker_id=0, broker_epoch=0, next_producer_id=1000), 4)
    assert ids == ProducerIdsChanged(1000)
    assert image.next_producer_id == 1000

    assert image.apply(NoOpRecord(), 5) == NothingChanged()
    assert image.offset == 5


def test_a_copy_does_not_follow_the_original(image: MetadataImage) -> None:
    copy = image.copy()
    assert copy.topics_by_id[TOPIC_ID] is copy.topics_by_name["orders"]

    image.apply(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[0]), 3)
    image.apply(ConfigRecord(resource_type=2, resource_name="orders", name="segment.ms", value="9"), 4)
    image.apply(UnregisterBrokerRecord(broker_id=0, broker_epoch=0), 5)

    unchanged = copy.partition("orders", 0)
    assert unchanged is not None
    assert unchanged.isr == (0, 1)
    assert copy.topic_config("orders") == {}
    assert 0 in copy.brokers
    assert copy.offset == 2


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (PartitionChangeRecord(partition_id=0, topic_id=UUID(int=9)), "no topic with id"),
        (PartitionChangeRecord(partition_id=5, topic_id=TOPIC_ID), "has no partition 5"),
        (PartitionRecord(partition_id=0, topic_id=UUID(int=9)), "no topic with id"),
        (RemoveTopicRecord(topic_id=UUID(int=9)), "no topic with id"),
        (TopicRecord(name="orders", topic_id=UUID(int=9)), "exists already"),
        (BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=1, fenced=1), "registered under 0"),
        (UnregisterBrokerRecord(broker_id=4, broker_epoch=1), "no such broker"),
        (FeatureLevelRecord(name="group.version", feature_level=1), "unknown feature"),
        (object(), "unknown type"),
    ],
)
def test_a_record_that_cannot_follow_is_refused(image: MetadataImage, record: object, sentence: str) -> None:
    with pytest.raises(MetadataReplayError, match=sentence):
        image.apply(record, 3)
    assert image.offset == 2


def test_offsets_only_grow(image: MetadataImage) -> None:
    with pytest.raises(MetadataReplayError, match="after offset 2"):
        image.apply(NoOpRecord(), 2)
