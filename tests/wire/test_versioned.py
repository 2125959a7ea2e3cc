"""Records of coordinators and words between consumers, against bytes put together by hand."""

from __future__ import annotations

import pytest

from highwater_runtime.wire.codec import DecodeError, SchemaError
from highwater_runtime.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from highwater_runtime.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from highwater_runtime.wire.messages.group_metadata_key import GroupMetadataKey
from highwater_runtime.wire.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from highwater_runtime.wire.messages.offset_commit_key import OffsetCommitKey
from highwater_runtime.wire.messages.offset_commit_value import OffsetCommitValue
from highwater_runtime.wire.versioned import (
    decode_consumer_protocol,
    decode_coordinator_key,
    decode_versioned,
    encode_versioned,
)


def test_the_key_says_what_it_is_a_key_of():
    offset, group = OffsetCommitKey(group="g", topic="tt", partition=3), GroupMetadataKey(group="g")
    assert encode_versioned(offset, 1) == b"\0\1\0\1g\0\2tt\0\0\0\3"
    assert encode_versioned(group, 2) == b"\0\2\0\1g"
    assert decode_coordinator_key(b"\0\1\0\1g\0\2tt\0\0\0\3") == offset
    assert decode_coordinator_key(b"\0\0\0\1g\0\2tt\0\0\0\3") == offset
    assert decode_coordinator_key(memoryview(b"\0\2\0\1g")) == group
    assert decode_coordinator_key(b"\0\3anything at all") is None
    with pytest.raises(SchemaError):
        encode_versioned(group, 1)


def test_values():
    offset = OffsetCommitValue(offset=7, leader_epoch=2, metadata="m", commit_timestamp=9)
    data = b"\0\3" + (7).to_bytes(8, "big") + b"\0\0\0\2" + b"\0\1m" + (9).to_bytes(8, "big")
    assert encode_versioned(offset, 3) == data
    assert decode_versioned(OffsetCommitValue, data) == offset

    member = MemberMetadata(
        member_id="m", client_id="c", client_host="/h", rebalance_timeout=1, session_timeout=2, subscription=b"s"
    )
    group = GroupMetadataValue(protocol_type="consumer", generation=5, protocol=None, leader=None, members=[member])
    data = (
        b"\0\3\0\x08consumer\0\0\0\5\xff\xff\xff\xff" + b"\xff" * 8 + b"\0\0\0\1"
        b"\0\1m\xff\xff\0\1c\0\2/h\0\0\0\1\0\0\0\2\0\0\0\1s\0\0\0\0"
    )
    assert encode_versioned(group, 3) == data
    assert decode_versioned(GroupMetadataValue, data) == group


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\x09", b"\xff\xff", b"\0\3\0", b"\0\3" + bytes(100)])
def test_malformed_values(data):
    with pytest.raises(DecodeError):
        decode_versioned(OffsetCommitValue, data)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1", b"\0\2\0\5g", b"\0\1\0\1g\0\2tt\0\0\0\3x"])
def test_malformed_keys(data):
    with pytest.raises(DecodeError):
        decode_coordinator_key(data)


def test_consumers_of_a_newer_version_are_understood_as_far_as_they_can_be():
    subscription = ConsumerProtocolSubscription(
        topics=["t"], owned_partitions=[TopicPartition(topic="t", partitions=[1])], generation_id=4, rack_id="r"
    )
    newest = encode_versioned(subscription, 3)
    assert decode_consumer_protocol(ConsumerProtocolSubscription, newest) == subscription
    assert decode_consumer_protocol(ConsumerProtocolSubscription, b"\0\x09" + newest[2:] + b"more") == subscription
    assert decode_consumer_protocol(ConsumerProtocolAssignment, b"\0\0\0\0\0\0\xff\xff\xff\xff").user_data is None
    for bad in (b"", b"\xff\xff\0\0\0\0", newest[:-1]):
        with pytest.raises(DecodeError):
            decode_consumer_protocol(ConsumerProtocolSubscription, bad)
