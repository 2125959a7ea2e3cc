"""Image → records → image is the identity, and the differences of two images lead from one to the other."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.metadata import (
    BrokerChanged,
    ConfigChanged,
    FeatureChanged,
    MetadataImage,
    MetadataVersion,
    PartitionChanged,
    ProducerIdsChanged,
    TopicCreated,
    TopicDeleted,
    differences,
    image_of,
    snapshot_records,
)
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from highwater_runtime.wire.records_codec import decode_committed_record, decode_metadata_record, encode_metadata_record


def step(image: MetadataImage, random: Random, offset: int) -> None:
    """Apply one random record that fits."""
    broker_id = random.randrange(3)
    topic = random.choice([*image.topics_by_name.values(), None])
    match random.randrange(9):
        case 0 | 1:
            record = RegisterBrokerRecord(
                broker_id=broker_id,
                incarnation_id=UUID(int=offset + 1),
                broker_epoch=offset,
                end_points=[BrokerEndpoint(name="PLAINTEXT", host=f"b{broker_id}", port=9092, security_protocol=0)],
                features=[BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=12)],
                rack=random.choice((None, "a")),
                fenced=random.random() < 0.5,
            )
        case 2 if broker_id in image.brokers:
            epoch = image.brokers[broker_id].epoch
            record = random.choice(
                (
                    UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch),
                    BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, in_controlled_shutdown=1),
                    BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=-1),
                )
            )
        case 3:
            name = f"t{random.randrange(4)}"
            if name in image.topics_by_name:
                record = RemoveTopicRecord(topic_id=image.topics_by_name[name].id)
            else:
                record = TopicRecord(name=name, topic_id=UUID(int=offset + 1))
        case 4 | 5 if topic is not None:
            index = random.randrange(3)
            if index in topic.partitions:
                record = PartitionChangeRecord(
                    partition_id=index,
                    topic_id=topic.id,
                    isr=[0],
                    leader=random.choice((-2, -1, 0)),
                    adding_replicas=[2],
                )
            else:
                record = PartitionRecord(partition_id=index, topic_id=topic.id, replicas=[0, 1], isr=[0, 1], leader=0)
        case 6:
            value = random.choice((None, "1", "2"))
            record = ConfigRecord(resource_type=2, resource_name="t0", name=f"k{random.randrange(3)}", value=value)
        case 7:
            record = FeatureLevelRecord(
                name="metadata.version", feature_level=int(random.choice(list(MetadataVersion)))
            )
        case _:
            record = ProducerIdsRecord(broker_id=0, broker_epoch=0, next_producer_id=offset * 1000)
    image.apply(record, offset)


def random_image(seed: int, steps: int) -> MetadataImage:
    image, random = MetadataImage(), Random(seed)
    for offset in range(steps):
        step(image, random, offset)
    return image


def content(image: MetadataImage) -> tuple:
    """All but the offset, orders included: equal states give equal snapshots."""
    topics = [(t.name, t.id, list(t.partitions.items())) for t in image.topics_by_name.values()]
    configs = [(resource, list(values.items())) for resource, values in image.configs.items()]
    return list(image.brokers.items()), topics, configs, image.metadata_version, image.next_producer_id


def reborn(image: MetadataImage, end_offset: int) -> MetadataImage:
    """Through the bytes of the records, as a file holds them."""
    return image_of([decode_metadata_record(data) for data in encoded(image)], end_offset)


def encoded(image: MetadataImage) -> list[bytes]:
    versions = {RegisterBrokerRecord: 1}
    return [encode_metadata_record(r, versions.get(type(r), 0)) for r in snapshot_records(image)]


@given(st.integers(0, 2**32), st.integers(0, 80))
def test_records_of_an_image_make_that_image(seed: int, steps: int) -> None:
    image = random_image(seed, steps)
    other = reborn(image, steps + 3)
    assert content(other) == content(image)
    assert other.offset == steps + 2
    assert set(other.topics_by_id) == set(image.topics_by_id)
    assert snapshot_records(other) == snapshot_records(image)


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 40))
def test_an_image_from_a_snapshot_goes_on_like_the_one_it_was_taken_of(seed: int, before: int, after: int) -> None:
    image, random = MetadataImage(), Random(seed)
    for offset in range(before):
        step(image, random, offset)
    other = reborn(image, before)
    twin = Random()
    twin.setstate(random.getstate())
    for offset in range(before, before + after):
        step(image, random, offset)
        step(other, twin, offset)
    assert content(other) == content(image)


@given(st.integers(0, 2**32), st.integers(0, 80), st.integers(0, 40))
def test_an_image_changes_no_record_that_it_applies(seed: int, steps: int, more: int) -> None:
    """Nodes of the simulator share decoded records."""
    data = encoded(random_image(seed, steps))
    records = [decode_committed_record(one) for one in data]
    image, random = image_of(records, steps + 3), Random(seed)
    for offset in range(steps + 3, steps + 3 + more):
        step(image, random, offset)
    assert [decode_committed_record(one) for one in data] == [decode_metadata_record(one) for one in data]


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 60))
def test_differences_lead_from_one_image_to_the_other(seed: int, steps: int, more: int) -> None:
    random = Random(seed)
    before = MetadataImage()
    for offset in range(steps):
        step(before, random, offset)
    after = before.copy()
    for offset in range(steps, steps + more):
        step(after, random, offset)
    found = before.copy()
    for change in differences(before, after):
        match change:
            case TopicDeleted(topic):
                del found.topics_by_id[topic.id], found.topics_by_name[topic.name]
            case TopicCreated(name, topic_id):
                found._apply(TopicRecord(name=name, topic_id=topic_id), 0)
            case PartitionChanged(_, topic_id, index, was, state):
                assert was != state
                found.topics_by_id[topic_id].partitions[index] = state
            case BrokerChanged(broker_id, was, None):
                assert found.brokers.pop(broker_id) == was
            case BrokerChanged(broker_id, was, broker):
                assert found.brokers.get(broker_id) == was
                found.brokers[broker_id] = broker
            case ConfigChanged(resource, key, None):
                del found.configs[resource][key]
            case ConfigChanged(resource, key, value):
                found.configs.setdefault(resource, {})[key] = value
            case FeatureChanged(_, level):
                found.metadata_version = MetadataVersion.of(level)
            case ProducerIdsChanged(next_producer_id):
                found.next_producer_id = next_producer_id
    assert found.brokers == after.brokers
    assert found.topics_by_name == after.topics_by_name
    assert found.topics_by_id == after.topics_by_id
    assert {resource: values for resource, values in found.configs.items() if values} == after.configs
    assert (found.metadata_version, found.next_producer_id) == (after.metadata_version, after.next_producer_id)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_differs_from_itself(seed: int) -> None:
    image = random_image(seed, 60)
    assert list(differences(image, image.copy())) == []
    assert list(differences(image, reborn(image, 60))) == []
