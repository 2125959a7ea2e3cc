"""Frames of metadata records. No library knows these records, so bytes put together by hand are the oracle."""

from __future__ import annotations

from uuid import UUID

import pytest

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.codec import DecodeError, SchemaError, UnsupportedVersionError
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from highwater_runtime.wire.records_codec import METADATA_RECORDS, decode_metadata_record, encode_metadata_record

TOPIC = UUID(int=0x0102030405060708090A0B0C0D0E0F10)

GOLDEN = [
    pytest.param(
        FeatureLevelRecord(name="metadata.version", feature_level=7),
        0,
        b"\x01\x0c\x00\x11metadata.version\x00\x07\x00",
        id="feature level",
    ),
    pytest.param(NoOpRecord(), 0, b"\x01\x14\x00\x00", id="no-op"),
    pytest.param(
        PartitionChangeRecord(partition_id=2, topic_id=TOPIC, isr=[1, 3], leader=-1),
        0,
        b"\x01\x05\x00"
        b"\0\0\0\2" + TOPIC.bytes + b"\x02"  # two tagged fields
        b"\x00\x09\x03\0\0\0\1\0\0\0\3"  # tag 0: ISR
        b"\x01\x04\xff\xff\xff\xff",  # tag 1: leader
        id="partition change",
    ),
    pytest.param(
        PartitionRecord(
            partition_id=1,
            topic_id=TOPIC,
            replicas=[0, 1],
            isr=[0],
            leader=0,
            leader_recovery_state=1,
            leader_epoch=4,
            partition_epoch=5,
        ),
        0,
        b"\x01\x03\x00"
        b"\0\0\0\1" + TOPIC.bytes + b"\x03\0\0\0\0\0\0\0\1"
        b"\x02\0\0\0\0"
        b"\x01"
        b"\x01"
        b"\0\0\0\0"
        b"\0\0\0\4"
        b"\0\0\0\5"
        b"\x01\x00\x01\x01",
        id="partition",
    ),
    pytest.param(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9, fenced=-1, in_controlled_shutdown=1),
        1,
        b"\x01\x11\x01\0\0\0\1\0\0\0\0\0\0\0\x09\x02\x00\x01\xff\x01\x01\x01",
        id="registration change",
    ),
    pytest.param(
        RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=TOPIC,
            broker_epoch=9,
            end_points=[BrokerEndpoint(name="PLAINTEXT", host="broker-1", port=9092)],
            rack="a",
        ),
        1,
        b"\x01\x00\x01"
        b"\0\0\0\1" + TOPIC.bytes + b"\0\0\0\0\0\0\0\x09"
        b"\x02"
        b"\x0aPLAINTEXT"
        b"\x09broker-1"
        b"\x23\x84"
        b"\0\0"
        b"\0"
        b"\x01"
        b"\x02a"
        b"\x01"
        b"\x00"
        b"\x00",
        id="register broker",
    ),
]


@pytest.mark.parametrize(("record", "version", "data"), GOLDEN)
def test_golden_bytes(record, version, data):
    assert encode_metadata_record(record, version) == data
    assert decode_metadata_record(data) == record
    assert decode_metadata_record(memoryview(data)) == record


@pytest.mark.parametrize("cls", METADATA_RECORDS.values())
def test_every_record_comes_back(cls, full_sample, as_carried):
    for version in cls.versions():
        record = as_carried(full_sample(cls), version)
        framed = encode_metadata_record(record, version)
        assert decode_metadata_record(framed) == record
        for length in range(len(framed)):
            with pytest.raises(DecodeError):
                decode_metadata_record(framed[:length])
        with pytest.raises(DecodeError, match="left over"):
            decode_metadata_record(framed + b"\0")


def test_every_record_is_known_by_its_key():
    assert {cls.API_KEY: cls for cls in message_classes() if cls.KIND == "metadata"} == METADATA_RECORDS


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "truncated"),
        (b"\x01\x14", "truncated"),
        (b"\x02\x14\x00\x00", "frame version 2"),
        (b"\x00\x14\x00\x00", "frame version 0"),
        (b"\x01\x7f\x00\x00", "unknown record key 127"),
        (b"\x01\x14\x05\x00", "versions 0 to 0, not 5"),
    ],
)
def test_a_frame_that_is_not_understood_is_never_passed_over(data, complaint):
    with pytest.raises(DecodeError, match=complaint):
        decode_metadata_record(data)


def test_a_version_that_cannot_carry_the_record():
    with pytest.raises(UnsupportedVersionError):
        encode_metadata_record(NoOpRecord(), 1)
    with pytest.raises(SchemaError, match="in_controlled_shutdown"):
        encode_metadata_record(BrokerRegistrationChangeRecord(in_controlled_shutdown=1), 0)
