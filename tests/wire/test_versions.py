"""What a version cannot carry is refused, unless the schema says that it may be dropped."""

from __future__ import annotations

import pytest

from highwater_runtime.wire.codec import SchemaError, UnsupportedVersionError
from highwater_runtime.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.produce_request import ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.vote_request import PartitionData as VotePartition
from highwater_runtime.wire.messages.vote_request import TopicData as VoteTopic
from highwater_runtime.wire.messages.vote_request import VoteRequest


def test_the_broker_epoch_needs_the_versions_of_kip_903():
    fetch = FetchRequest(replica_state=ReplicaState(replica_id=2, replica_epoch=17))
    assert FetchRequest.decode(fetch.encode(15), 15).replica_state == ReplicaState(replica_id=2, replica_epoch=17)
    with pytest.raises(SchemaError, match="replica_state"):
        fetch.encode(14)
    with pytest.raises(SchemaError, match="replica_id"):
        FetchRequest(replica_id=2).encode(15)
    assert FetchRequest.decode(FetchRequest(replica_id=2).encode(14), 14).replica_id == 2

    with_epochs = PartitionData(new_isr_with_epochs=[BrokerState(broker_id=1, broker_epoch=9)])
    alter = AlterPartitionRequest(topics=[TopicData(partitions=[with_epochs])])
    assert AlterPartitionRequest.decode(alter.encode(3), 3) == alter
    with pytest.raises(SchemaError, match="new_isr_with_epochs"):
        alter.encode(2)
    with pytest.raises(SchemaError, match="new_isr"):
        AlterPartitionRequest(topics=[TopicData(partitions=[PartitionData(new_isr=[1])])]).encode(3)


def test_a_real_vote_and_a_pre_vote_do_not_look_alike():
    request = VoteRequest(topics=[VoteTopic(partitions=[VotePartition(pre_vote=True)])])
    assert VoteRequest.decode(request.encode(2), 2) == request
    with pytest.raises(SchemaError, match="pre_vote"):
        request.encode(1)


def test_what_is_ignorable_is_dropped():
    request = FetchRequest(
        cluster_id="c", topics=[FetchTopic(topic="t", partitions=[FetchPartition(current_leader_epoch=5)])]
    )
    old = FetchRequest.decode(request.encode(4), 4)
    assert old.cluster_id is None
    assert old.topics[0].topic == "t"
    assert old.topics[0].partitions[0].current_leader_epoch == -1


def test_null_needs_a_version_that_has_it():
    assert MetadataRequest.decode(MetadataRequest(topics=None).encode(1), 1).topics is None
    with pytest.raises(SchemaError, match="topics"):
        MetadataRequest(topics=None).encode(0)


@pytest.mark.parametrize("version", [-1, 3, 18, 99])
def test_a_version_that_does_not_exist(version):
    with pytest.raises(UnsupportedVersionError, match="versions 4 to 17"):
        FetchRequest().encode(version)
    with pytest.raises(UnsupportedVersionError):
        FetchRequest.decode(b"", version)
    with pytest.raises(UnsupportedVersionError):
        FetchRequest.decode_from(b"", 0, version)


@pytest.mark.parametrize(
    "request_",
    [
        FetchRequest(max_wait_ms=2**31),
        FetchRequest(topics=[FetchTopic(partitions=[FetchPartition(fetch_offset=-(2**63) - 1)])]),
        FetchRequest(rack_id="r" * 32768),
        FetchRequest(rack_id="\ud800"),
        FetchRequest(rack_id=None),  # type: ignore[arg-type]
        FetchRequest(topics=[None]),  # type: ignore[list-item]
        FetchRequest(min_bytes="1"),  # type: ignore[arg-type]
    ],
    ids=["int32", "int64", "long string", "surrogate", "null", "null element", "wrong type"],
)
@pytest.mark.parametrize("version", [11, 12, 17])
def test_values_that_do_not_fit(request_, version):
    with pytest.raises(SchemaError, match="FetchRequest"):
        request_.encode(version)


def test_the_longest_string():
    request = ProduceRequest(topic_data=[TopicProduceData(name="n" * 32767)])
    for version in (3, 9):
        assert ProduceRequest.decode(request.encode(version), version) == request


def test_record_batches_are_not_copied():
    records = bytes(1000)
    from highwater_runtime.wire.messages.produce_request import PartitionProduceData

    request = ProduceRequest(topic_data=[TopicProduceData(partition_data=[PartitionProduceData(records=records)])])
    for version in (3, 9):
        assert any(part is records for part in request.encode_parts(version))


def test_reading_the_metadata_of_all_topics_is_not_reading_that_of_none():
    every, none = MetadataReadRequest(topics=None), MetadataReadRequest(topics=[])
    assert MetadataReadRequest.decode(every.encode(0), 0) == every
    assert MetadataReadRequest.decode(none.encode(0), 0) == none != every
