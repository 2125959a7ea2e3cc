"""Batches: what goes in comes out, what was damaged is found out, what belongs to others passes through."""

import re
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from highwater_runtime.log import BatchView, ControlType, Record, build_batch, iter_batches
from highwater_runtime.log.control import (
    build_control_batch,
    build_leader_change,
    control_type_of,
    read_leader_change,
    snapshot_footer_value,
    snapshot_header_value,
)
from highwater_runtime.log.errors import CompressedRecordsError, CorruptRecordError, UnsupportedMessageFormatError
from highwater_runtime.log.records import HEADER_SIZE, advance_sequence, assemble_batch, patch_batch
from highwater_runtime.log.varint import read_varint, write_varint

int64 = st.integers(-(2**63), 2**63 - 1)
times = st.integers(0, 2**45)
blobs = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), blobs), max_size=3).map(tuple)
records = st.lists(
    st.builds(Record, offset=st.just(-1), timestamp=times, key=blobs, value=blobs, headers=headers),
    min_size=1,
    max_size=8,
)


small = st.builds(Record, offset=st.just(-1), timestamp=times, value=st.none() | st.binary(max_size=70))
plain = st.builds(Record, offset=st.just(-1), timestamp=st.integers(0, 200), value=st.binary(max_size=12))


def same_offsets_and_values(payload, count):
    batch = BatchView(
        assemble_batch(payload, record_count=count, attributes=0, base_offset=7, last_offset=200, leader_epoch=0)
    )
    try:
        whole = batch.records()
    except CorruptRecordError as error:
        with pytest.raises(CorruptRecordError, match=f"^{re.escape(str(error))}$"):
            batch.offsets_and_values()
    else:
        assert batch.offsets_and_values() == ([one.offset for one in whole], [one.value for one in whole])


@given(st.lists(small, max_size=4) | st.lists(plain, max_size=80) | records)
def test_offsets_and_values_are_those_of_the_records(items):
    payload = build_batch(items, base_offset=7, timestamp_ms=1, last_offset=200)[HEADER_SIZE:]
    same_offsets_and_values(payload, len(items))


def test_offsets_and_values_are_those_of_the_records_also_of_damaged_ones():
    """Each byte is changed to each other one."""
    items = [Record(timestamp=1, value=b"12"), Record(timestamp=300, key=b"\x04", value=b"x"), Record(value=b"3")]
    for some in (items, items[::2]):
        payload = build_batch(some, base_offset=7, timestamp_ms=1, last_offset=200)[HEADER_SIZE:]
        for count in range(len(some) + 2):
            same_offsets_and_values(payload, count)
        for at, byte in product(range(len(payload)), range(256)):
            same_offsets_and_values(payload[:at] + bytes([byte]) + payload[at + 1 :], len(some))


def test_a_length_of_two_bytes_is_not_taken_for_one_of_one_byte():
    """0x94 0x00 is a length of 10. If 0x94 alone were a length of 74, a whole record would follow."""
    long_timestamp, value = b"\x81\x80\x80\x80\x80\x01", bytes(63)
    payload = b"\x94\x00" + long_timestamp + b"\x00\x01" + bytes([2 * len(value)]) + value + b"\x00"
    assert len(payload) == 1 + 74
    same_offsets_and_values(payload, 1)


@given(int64)
def test_a_varint_comes_back(number):
    out = bytearray(b"x")
    write_varint(out, number)
    assert read_varint(bytes(out), 1) == (number, len(out))


def test_a_varint_is_as_long_as_protocol_buffers_say():
    lengths = {0: 1, -1: 1, 63: 1, 64: 2, -64: 1, -65: 2, 8191: 2, 8192: 3, 2**31 - 1: 5, -(2**31): 5, 2**63 - 1: 10}
    for number, length in lengths.items():
        out = bytearray()
        write_varint(out, number)
        assert len(out) == length, number


@given(records, st.integers(0, 2**40), st.integers(-1, 2**31 - 1), st.integers(-1, 2**40), st.integers(-1, 32767))
def test_a_batch_comes_back(originals, base, epoch, producer, producer_epoch):
    data = build_batch(
        originals,
        base_offset=base,
        leader_epoch=epoch,
        producer_id=producer,
        producer_epoch=producer_epoch,
        base_sequence=5,
    )
    (batch,) = iter_batches(data)
    batch.ensure_valid()
    assert batch.records() == [r._replace(offset=base + i) for i, r in enumerate(originals)]
    assert (batch.base_offset, batch.last_offset) == (base, base + len(originals) - 1)
    assert (batch.leader_epoch, batch.producer_id, batch.producer_epoch) == (epoch, producer, producer_epoch)
    assert batch.last_sequence == 5 + len(originals) - 1
    assert batch.max_timestamp == max(r.timestamp for r in originals)
    assert batch.size_in_bytes == len(data) == len(batch.bytes_of())
    assert not batch.is_control
    assert batch.codec == "none"


@given(records)
def test_kafka_python_reads_what_is_written_here(originals):
    batch = DefaultRecordBatch(bytearray(build_batch(originals, base_offset=9)))
    assert batch.validate_crc()
    theirs = [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]
    assert theirs == [tuple(r._replace(offset=9 + i)) for i, r in enumerate(originals)]


@given(records)
def test_kafka_python_writes_the_same_bytes(originals):
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        batch_size=2**20,
    )
    for i, record in enumerate(originals):
        builder.append(i, record.timestamp, record.key, record.value, list(record.headers))
    ours = build_batch(originals, leader_epoch=0, producer_id=7, producer_epoch=1, base_sequence=3)
    assert bytes(builder.build()) == ours


@given(st.lists(st.lists(st.binary(max_size=20), min_size=1, max_size=3), max_size=5), st.integers(0, 60))
def test_batches_one_after_the_other_and_a_cut_off_one_is_left_out(groups, missing):
    data = b"".join(build_batch(group) for group in groups)
    whole = len(data)
    data += build_batch([b"last"])[: -1 - missing]
    for form in (data, bytearray(data), memoryview(data)):
        batches = list(iter_batches(form))
        assert [[r.value for r in b.records()] for b in batches] == groups
        assert sum(b.size_in_bytes for b in batches) == whole


@given(records, st.data())
def test_any_flipped_bit_behind_the_crc_is_found(originals, data):
    batch = bytearray(build_batch(originals))
    bit = data.draw(st.integers(17 * 8, len(batch) * 8 - 1))
    batch[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptRecordError):
        BatchView(batch).ensure_valid()


def test_base_offset_and_leader_epoch_are_patched_without_touching_the_crc():
    original = build_batch([b"a", b"b"])
    data = bytearray(b"before" + original)
    patch_batch(data, 6, 1000, 8)
    batch = BatchView(data, 6)
    batch.ensure_valid()
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (1000, 1001, 8)
    assert bytes(data[6 + 16 :]) == original[16:]


@pytest.mark.parametrize(("number", "codec"), [(1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd"), (5, "codec-5")])
def test_a_compressed_batch_shows_its_header_and_keeps_its_records(number, codec):
    data = assemble_batch(
        b"\x00opaque",
        record_count=4,
        attributes=number,
        base_offset=7,
        last_offset=10,
        leader_epoch=2,
        max_timestamp=55,
    )
    (batch,) = iter_batches(data)
    batch.ensure_valid()
    assert (batch.codec, batch.record_count, batch.last_offset, batch.max_timestamp) == (codec, 4, 10, 55)
    with pytest.raises(CompressedRecordsError, match=codec):
        batch.records()


def test_compaction_leaves_sparse_and_even_empty_batches():
    sparse = build_batch([Record(offset=12, value=b"kept")], base_offset=10, last_offset=15, timestamp_ms=1)
    empty = build_batch([], base_offset=16, last_offset=18, timestamp_ms=1)
    first, second = iter_batches(sparse + empty)
    assert [(r.offset, r.value) for r in first.records()] == [(12, b"kept")]
    assert (first.last_offset, first.record_count) == (15, 1)
    assert second.records() == []
    assert second.end_offset == 19


def test_records_that_do_not_fit_the_batch_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        build_batch([Record(offset=9, value=b"x")], base_offset=10)
    with pytest.raises(ValueError, match="do not fit"):
        build_batch([b"a", b"b", b"c"], base_offset=10, last_offset=11)


def test_old_magic_and_impossible_sizes_are_told_apart():
    old = bytearray(build_batch([b"x"]))
    old[16] = 1
    with pytest.raises(UnsupportedMessageFormatError):
        list(iter_batches(old))
    old[16] = 9
    with pytest.raises(CorruptRecordError, match="magic 9"):
        list(iter_batches(old))
    small = bytearray(build_batch([b"x"]))
    small[8:12] = (HEADER_SIZE - 13).to_bytes(4, "big")
    with pytest.raises(CorruptRecordError, match="less than its header"):
        list(iter_batches(small))


@settings(max_examples=300)
@given(records, st.data())
def test_a_damaged_payload_raises_nothing_but_corrupt_record(originals, data):
    batch = bytearray(build_batch(originals))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(HEADER_SIZE - 4, len(batch) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CorruptRecordError):
        for record in BatchView(batch).records():
            assert isinstance(record, Record)


def test_sequences_wrap_behind_the_largest_int32():
    assert advance_sequence(2**31 - 1, 1) == 0
    assert advance_sequence(2**31 - 2, 3) == 1
    assert advance_sequence(0, 2**31 - 1) == 2**31 - 1
    assert BatchView(build_batch([b"a", b"b", b"c"], producer_id=1, base_sequence=2**31 - 2)).last_sequence == 0


def test_a_leader_change_says_who_leads_and_who_voted():
    data = build_leader_change(1001, [1000, 1001, 1002], [1001, 1002], base_offset=4, leader_epoch=9, timestamp_ms=77)
    batch = BatchView(data)
    batch.ensure_valid()
    assert batch.is_control
    assert (batch.base_offset, batch.leader_epoch, batch.max_timestamp) == (4, 9, 77)
    change = read_leader_change(batch)
    assert change is not None
    assert change == (1001, (1000, 1001, 1002), (1001, 1002))
    # LeaderChangeMessage v0, byte by byte: version, leader, voters, granting voters, no tagged fields
    assert batch.records()[0].value == bytes.fromhex(
        "0000 000003e9 04 000003e800 000003e900 000003ea00 03 000003e900 000003ea00 00"
    )
    assert batch.records()[0].key == bytes.fromhex("0000 0002")


def test_only_a_leader_change_is_one():
    assert read_leader_change(BatchView(build_batch([b"x"]))) is None
    header = BatchView(build_control_batch(ControlType.SNAPSHOT_HEADER, snapshot_header_value(123)))
    assert read_leader_change(header) is None
    assert control_type_of(header.records()[0]) is ControlType.SNAPSHOT_HEADER
    assert header.records()[0].value == bytes.fromhex("0000 000000000000007b 00")
    assert snapshot_footer_value() == bytes.fromhex("0000 00")
    with pytest.raises(CorruptRecordError):
        control_type_of(Record(key=b"xyz"))
    with pytest.raises(CorruptRecordError):
        read_leader_change(BatchView(build_control_batch(ControlType.LEADER_CHANGE, b"\x00\x00")))
    with pytest.raises(CorruptRecordError, match="no record"):
        read_leader_change(BatchView(build_batch([], last_offset=0, is_control=True)))
