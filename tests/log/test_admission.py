"""What a producer may write: whatever gets in can be read by everybody, and what is refused changes nothing."""

from __future__ import annotations

import zlib
from struct import pack

import cramjam
import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record import MemoryRecords

from highwater_runtime.log import LogError, Record, admission, build_batch
from highwater_runtime.log.admission import Admission, check_client_batch, whole_batches
from highwater_runtime.log.compression import XERIAL_MAGIC, decompress
from highwater_runtime.log.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    RecordTooLargeError,
)
from highwater_runtime.log.record_runs import Run, run_behind
from highwater_runtime.log.records import HEADER_SIZE, BatchView, assemble_batch
from highwater_runtime.wire.errors import ErrorCode

MOST = 1 << 20
TOPIC = Admission(MOST, keyed=False)
REFUSALS = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def xerial(payload: bytes) -> bytes:
    blocks = [bytes(cramjam.snappy.compress_raw(payload[i : i + 100])) for i in range(0, len(payload), 100)]
    return XERIAL_MAGIC + pack(">ii", 1, 1) + b"".join(pack(">I", len(block)) + block for block in blocks)


PACK = {
    "none": bytes,
    "gzip": lambda payload: zlib.compress(payload, wbits=31),
    "snappy": lambda payload: bytes(cramjam.snappy.compress_raw(payload)),
    "lz4": lambda payload: lz4.frame.compress(payload, block_linked=False),
    "zstd": lambda payload: bytes(cramjam.zstd.compress(payload)),
    "xerial": xerial,
}


def batch_of(payload: bytes, count: int, codec: str = "none", *, last: int | None = None, **header: int) -> bytes:
    number = CODECS.index("snappy" if codec == "xerial" else codec)
    fields = {"base_offset": 0, "leader_epoch": -1, "base_timestamp": 1000, "max_timestamp": 1000, **header}
    fields["last_offset"] = count - 1 if last is None else last
    return assemble_batch(PACK[codec](payload), record_count=count, attributes=number, **fields)


def payload_of(*records: Record | bytes, timestamp_ms: int = 1000) -> bytes:
    return build_batch(records, timestamp_ms=timestamp_ms)[HEADER_SIZE:]


def check(data: bytes, admission: Admission = TOPIC) -> int:
    batches = whole_batches(data)
    return max([check_client_batch(batch, admission, alone=len(batches) == 1) for batch in batches])


FIVE = payload_of(b"a", b"b", Record(key=b"k", value=None, headers=(("h", b"v"), ("é", None))), b"d" * 200, b"e")


# --- two that were admitted once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [5, 2**31 - 1])
def test_a_count_that_the_records_do_not_bear_out_changes_nothing(world, count):
    """69 bytes that made a partition unreadable behind them, or moved its end by two billion offsets."""
    log = world.open()
    attack = batch_of(payload_of(b"a"), count)
    assert len(attack) == 69
    with pytest.raises(InvalidRecordError, match="in 8 bytes"):
        log.append_as_leader(attack, 1, 0)
    assert (log.log_end_offset, log.size_in_bytes) == (0, 0)


# --- what is right gets in ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [*CODECS, "xerial"])
def test_what_clients_send_gets_in(codec):
    assert check(batch_of(FIVE, 5, codec)) == 1000
    many = payload_of(*[b"x" * n for n in range(300)])
    assert check(batch_of(many, 300, codec)) == 1000


@pytest.mark.parametrize("codec", CODECS)
def test_what_kafka_python_writes_gets_in(codec):
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS.index(codec),
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for n in range(100):
        builder.append(n, timestamp=1000 + n, key=b"k%d" % n, value=b"v" * n, headers=[("h", b"v")])
    assert check(bytes(builder.build())) == 1099


def test_the_header_says_the_largest_timestamp_of_the_records(world):
    """As Kafka puts it right: an index by time is made of headers alone."""
    log = world.open()
    log.append_as_leader(batch_of(payload_of(b"a", Record(value=b"b", timestamp=1500)), 2, max_timestamp=99), 1, 0)
    (batch,) = log.batches_between(0, 2)
    batch.ensure_valid()
    assert batch.max_timestamp == 1500
    assert log.offset_for_timestamp(1200).offset == 1


# --- what is not is refused ---------------------------------------------------------------------------------------

ONE = payload_of(b"a")
"""Length 14, attributes, timestamp delta, offset delta, null key, value of 1 byte, no headers."""


def one(**bytes_at: int) -> bytes:
    data = bytearray(ONE)
    for name, value in bytes_at.items():
        data[int(name[1:])] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (batch_of(FIVE, 4), InvalidRecordError),
        (batch_of(FIVE, 6), InvalidRecordError),
        (batch_of(FIVE, 5, last=5), InvalidRecordError),
        (batch_of(FIVE, 5, last=3), InvalidRecordError),
        (batch_of(b"", 0, last=0), InvalidRecordError),
        (batch_of(FIVE, -1, last=0), CorruptRecordError),
        (batch_of(ONE + b"\x00", 1), InvalidRecordError),
        (batch_of(one(_1=1), 1), InvalidRecordError),
        (batch_of(one(_3=2), 1), InvalidRecordError),
        (batch_of(ONE + ONE, 2), InvalidRecordError),
        (batch_of(one(_0=12), 1), InvalidRecordError),
        (batch_of(one(_0=16), 1), InvalidRecordError),
        (batch_of(one(_4=3), 1), InvalidRecordError),
        (batch_of(one(_4=60), 1), InvalidRecordError),
        (batch_of(one(_5=3), 1), InvalidRecordError),
        (batch_of(one(_5=60), 1), InvalidRecordError),
        (batch_of(one(_7=2), 1), InvalidRecordError),
        (batch_of(one(_7=1), 1), InvalidRecordError),
        (batch_of(payload_of(Record(value=b"", headers=(("h", b""),))).replace(b"h", b"\xff"), 1), InvalidRecordError),
        (batch_of(b"\x18" + ONE[1:3] + b"\x80\x80\x80\x80\x80\x00" + ONE[4:], 1), InvalidRecordError),
        (batch_of(payload_of(Record(value=b"a", timestamp=2**63 - 1), timestamp_ms=0), 1), InvalidTimestampError),
        (batch_of(ONE, 1, base_offset=3, last=3), InvalidRecordError),
        (batch_of(ONE, 1, producer_id=7, producer_epoch=0), InvalidRecordError),
        (batch_of(b"d" * MOST, 1), RecordTooLargeError),
    ],
)
def test_what_is_refused(data, error):
    with pytest.raises(LogError) as refusal:
        check(data)
    assert type(refusal.value) is error


def test_a_record_without_key_is_not_for_a_compacted_topic():
    keyed = Admission(MOST, keyed=True)
    assert check(batch_of(payload_of(Record(key=b"", value=b"v")), 1), keyed) == 1000
    with pytest.raises(InvalidRecordError) as refusal:
        check(batch_of(payload_of(Record(key=b"k"), b"a", b"b"), 3), keyed)
    assert [index for index, _ in refusal.value.record_errors] == [1, 2]


# --- compression --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "xerial"])
def test_a_bomb_is_refused_at_its_bound(codec):
    bomb = PACK[codec](bytes(3 << 20))
    name = "snappy" if codec == "xerial" else codec
    with pytest.raises(RecordTooLargeError):
        decompress(name, bomb, (3 << 20) - 1)
    assert len(decompress(name, bomb, 3 << 20)) == 3 << 20


def test_a_bomb_is_refused_by_the_leader(world):
    log = world.open()
    bomb = batch_of(payload_of(bytes(16 << 20)), 1, "zstd")
    assert len(bomb) < 10_000
    with pytest.raises(RecordTooLargeError):
        log.append_as_leader(bomb, 1, 0)
    assert log.log_end_offset == 0


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_batch_is_little_work_for_its_size(codec):
    """Two million records, or as many headers as fit into :data:`MOST` bytes: each costs a microsecond.
    The headers would fit uncompressed, so the bound on bytes lets them through."""
    null = b"\x0c\x00\x00\x00\x01\x01\x00"
    records = batch_of(null * 2_000_000, 2_000_000, codec)
    headers = batch_of(payload_of_headers(500_000), 1, codec)
    for bomb in (records, headers):
        assert len(bomb) < MOST // 8
        with pytest.raises(RecordTooLargeError, match=" compressed"):
            check_client_batch(BatchView(bomb), TOPIC, alone=True)


def payload_of_headers(count: int) -> bytes:
    body = b"\x00\x00\x00\x01\x01" + varint(2 * count) + b"\x00\x01" * count
    return varint(2 * len(body)) + body


def varint(number: int) -> bytes:
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
@pytest.mark.parametrize(
    "records",
    [
        [Record(value=None)] * 20_000,
        [Record(value=b"GET /index.html 200")] * 50_000,
        [Record(value=b"x" * 20, headers=tuple((f"h{i}", b"v") for i in range(10)))] * 10_000,
        [Record(value=b"1".ljust(MOST - 1000))],
        [Record(value=b"y" * 1000)] * 4000,
    ],
    ids=["null values", "equal lines", "equal headers", "one value of spaces", "four times max.message.bytes"],
)
def test_what_compresses_best_is_let_in(codec, records):
    batch = batch_of(payload_of(*records), len(records), codec)
    check_client_batch(BatchView(batch), TOPIC, alone=True)


def test_a_block_of_snappy_that_promises_gigabytes_gets_no_buffer():
    with pytest.raises(RecordTooLargeError):
        decompress("snappy", b"\xff\xff\xff\xff\x0f", 1000)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "xerial"])
@pytest.mark.parametrize("damage", ["cut", "garbage", "tail", "twice"])
def test_a_payload_is_one_whole_frame(codec, damage):
    packed = PACK[codec](FIVE)
    data = {"cut": packed[:-1], "garbage": b"garbage", "tail": packed + b"\0", "twice": packed + packed}[damage]
    with pytest.raises(InvalidRecordError):
        decompress("snappy" if codec == "xerial" else codec, data, MOST)


def test_lz4_blocks_that_depend_on_each_other_are_unreadable_for_kafka():
    linked = lz4.frame.compress(bytes(200_000), block_linked=True)
    with pytest.raises(InvalidRecordError, match="depend"):
        decompress("lz4", linked, MOST)


# --- anything -----------------------------------------------------------------------------------------------------


@st.composite
def mutations(draw):
    """A right batch with bytes of its records (before or after compression) or fields of its header changed."""
    codec = draw(st.sampled_from([*CODECS, "xerial"]))
    inner = bytearray(FIVE)
    for _ in range(draw(st.integers(0, 2))):
        _mutate(draw, inner)
    count = draw(st.sampled_from([5, 5, 5, 0, 1, 4, 6, 64, 2**31 - 1, -1]))
    last = draw(st.sampled_from([count - 1, count - 1, 4, 5, 2**31 - 1, -1]))
    outer = bytearray(batch_of(bytes(inner), max(count, 0), codec, last=max(0, last)))
    body = bytearray(outer[HEADER_SIZE:])
    for _ in range(draw(st.integers(0, 2))):
        _mutate(draw, body)
    view = BatchView(bytes(outer))
    return assemble_batch(
        bytes(body),
        record_count=count,
        attributes=view.attributes ^ draw(st.sampled_from([0, 0, 0, 0, 1, 4, 8, 16, 32])),
        base_offset=draw(st.sampled_from([0, 0, 0, 0, 1])),
        last_offset=last,
        leader_epoch=-1,
        base_timestamp=draw(st.sampled_from([1000, 1000, -1, 2**63 - 1])),
        max_timestamp=draw(st.sampled_from([1000, 1000, -1, 0])),
    )


def _mutate(draw, data: bytearray) -> None:
    if not data:
        return
    at = draw(st.integers(0, len(data) - 1))
    match draw(st.sampled_from(["change", "insert", "delete", "cut"])):
        case "change":
            data[at] = draw(st.integers(0, 255))
        case "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=3))
        case "delete":
            del data[at]
        case "cut":
            del data[at:]


@settings(max_examples=1500)
@given(mutations())
def test_what_gets_in_can_be_read_and_what_does_not_is_refused_by_a_code_of_kafkas(data):
    latest = _latest_or_code(data)
    if isinstance(latest, ErrorCode):
        assert latest in REFUSALS
        return
    records = [record for batch in _kafka_python(data) for record in batch]
    assert [record.offset for record in records] == list(range(BatchView(data).record_count))
    assert max(record.timestamp for record in records) == latest or latest == -1
    if not BatchView(data).is_compressed:
        assert [r.value for r in BatchView(data).records()] == [r.value for r in records]


# --- runs of records of one shape -----------------------------------------------------------------------------------


def judged(payload: bytes, count: int, *, keyed: bool, walk: bool) -> int | str:
    return judged_batch(BatchView(batch_of(payload, count)), keyed=keyed, walk=walk)


def judged_batch(batch: BatchView, *, keyed: bool, walk: bool) -> int | str:
    with pytest.MonkeyPatch.context() as patch:
        if walk:
            patch.setattr(admission, "run_behind", lambda *_: Run(0, -1))
        try:
            return check_client_batch(batch, Admission(MOST, keyed=keyed), alone=True)
        except LogError as refusal:
            return f"{type(refusal).__name__} {refusal}"


SHAPES = {
    "plain": Record(key=None, value=b"vvv"),
    "key": Record(key=b"kk", value=b"vvv"),
    "tombstone": Record(key=b"kk", value=None),
    "dated in two bytes": Record(timestamp=1100, key=b"", value=b"vvv"),
    "dated in three bytes": Record(timestamp=11000, key=b"", value=b"vvv"),
    "dated before": Record(timestamp=999, key=b"", value=b"vvv"),
    "value with a length of two bytes": Record(key=None, value=b"v" * 64),
    "headers": Record(key=None, value=b"vvv", headers=(("h", b"v"),)),
}


@pytest.mark.quick("plain-False", "tombstone-True", "dated in two bytes-False", "headers-True")
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("record", SHAPES.values(), ids=SHAPES)
def test_runs_of_records_are_judged_as_if_each_was_walked(record, keyed):
    """Any byte of a record in the midst of a run is changed to any value."""
    for count, changed in ((40, 25), (100, 80)):
        payload = bytearray(payload_of(*[record] * count))
        begin, end = len(payload_of(*[record] * changed)), len(payload_of(*[record] * (changed + 1)))
        assert judged(payload, count, keyed=keyed, walk=False) == judged(payload, count, keyed=keyed, walk=True)
        for at in range(begin, end):
            before = payload[at]
            for byte in range(256) if count == 40 else (0, 1, before ^ 1, before ^ 2, before ^ 0x80):
                payload[at] = byte
                found = judged(payload, count, keyed=keyed, walk=False)
                assert found == judged(payload, count, keyed=keyed, walk=True), (at - begin, byte)
            payload[at] = before


@pytest.mark.parametrize("said", [63, 65])
def test_a_run_is_no_longer_than_the_header_says(said):
    payload = payload_of(*[b"v"] * 64)
    assert "InvalidRecordError" in str(judged(payload, said, keyed=False, walk=False))


def test_a_number_in_more_bytes_than_it_needs_begins_no_run():
    """Offset delta 0 in two bytes is valid. Where its second byte is, the others have a key of negative length."""
    first = bytes((2 * 10, 0, 0, 0x80, 0, 1, 6, *b"vvv", 0))
    others = b"".join(bytes((2 * 10, 0, 0, 2 * number, 3, 1, 6, *b"vvv", 0)) for number in range(1, 40))
    found = judged(first + others, 40, keyed=False, walk=False)
    assert found == judged(first + others, 40, keyed=False, walk=True)
    assert "key of negative length" in str(found)


@pytest.mark.parametrize("delta", [bytes((0,)), bytes((0x80, 0))], ids=["one byte", "two bytes"])
def test_the_earliest_time_is_a_time_however_its_delta_is_written(delta):
    """Kafka bounds a timestamp by nothing but its 64 bits. In the midst of a run a delta is not looked at alone."""

    def record(number: int, delta: bytes) -> bytes:
        body = bytes((0, *delta, 2 * number, 1, 6, *b"vvv", 0))
        return bytes((2 * len(body), *body))

    later = bytes((0x80, 1)) if len(delta) == 2 else bytes((2,))
    payload = b"".join(record(number, delta if number == 20 else later) for number in range(40))
    for walk in (False, True):
        batch = BatchView(batch_of(payload, 40, base_timestamp=-(2**63)))
        assert judged_batch(batch, keyed=False, walk=walk) == -1


@pytest.mark.parametrize("step_ms", [0, 1, 2])
def test_records_of_one_shape_are_not_walked(monkeypatch, step_ms):
    """5,000 records change the width of their offset deltas once, and that of their timestamp deltas once at most."""
    runs: list[int] = []
    monkeypatch.setattr(
        admission, "run_behind", lambda *args: runs.append(run_behind(*args).length) or run_behind(*args)
    )
    records = [Record(value=b"v" * 100, timestamp=1000 + step_ms * (n // 10)) for n in range(5000)]
    assert check(build_batch(records, timestamp_ms=1000)) == 1000 + step_ms * 499
    assert sum(runs) > 4800


def _latest_or_code(data: bytes) -> int | ErrorCode:
    try:
        return check(data)
    except LogError as refusal:
        return ErrorCode[refusal.KAFKA_ERROR]


def _kafka_python(data: bytes):
    batches = MemoryRecords(data)
    while batches.has_next():
        yield batches.next_batch()
