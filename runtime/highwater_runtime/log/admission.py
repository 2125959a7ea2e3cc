"""What a leader lets into its log: pure checks of batches, before anything is written (Kafka's ``LogValidator``).

A batch is intact, not larger than ``max.message.bytes``, begins at offset 0, is not a control batch, not of a
transaction, not dated by a leader, of a known compression, has as many records as offsets, and is alone in its
partition's records. Then its records are walked, decompressed if need be: as many as the header says, numbered from 0,
each as long as it says, nothing behind the last one, and with a key where the topic is compacted. What passes can be
read by every client; what does not would make the partition unreadable behind it.

A few bytes may decompress to gigabytes, or to millions of records or headers, each of which costs about a microsecond
while everybody else waits. Kafka bounds the compressed size alone (``max.message.bytes``) and walks everything. Here
:func:`most_uncompressed` bounds the bytes, and :func:`most_parts` the records and headers, in terms of what was sent. A
batch of more is MESSAGE_TOO_LARGE: a Java producer then splits it and sends the parts.

Stricter than Kafka, which repairs or stores it: offset deltas with gaps, attributes of a record (of which there are
none), header names that are not UTF-8, lengths below −1, more than one frame of a codec, and these bounds. As Kafka: a
header whose largest timestamp is not that of the records is put right (:func:`.records.set_max_timestamp`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_runtime.log.compression import decompress
from highwater_runtime.log.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    RecordTooLargeError,
    TransactionalRecordsError,
    UnknownCompressionError,
)
from highwater_runtime.log.record_runs import LEAST_RUN, run_behind
from highwater_runtime.log.records import CODECS, HEADER_SIZE, NO_TIMESTAMP, BatchView, Buffer, batch_at
from highwater_runtime.log.varint import read_varint

_LEAST_UNCOMPRESSED: Final = 16 << 20
_MOST_RATIO: Final = 512
_FEW_PARTS: Final = 256
_PARTS_PER_BYTE: Final = 8
"""Ten equal headers in each record come to seven a byte, compressed by zstd's level 19."""
_LEAST_RECORD: Final = 7
"""Bytes of the smallest record: length, attributes, two deltas, null key, null value, no headers."""
_NULL: Final = 1
"""The length −1, zigzag."""
_NEVER: Final = 1 << 65
_MOST_REPORTED: Final = 100
_MAX_INT64: Final = 2**63 - 1


class Admission(NamedTuple):
    """What a leader asks of its topic's batches."""

    max_message_bytes: int
    keyed: bool
    """The topic is compacted: a record without key would never go."""


def most_uncompressed(max_message_bytes: int, size: int) -> int:
    """How many bytes of records a batch of ``size`` compressed bytes may hold: producers bound them before they
    compress. What fits uncompressed always fits."""
    return min(max(_LEAST_UNCOMPRESSED, 4 * max_message_bytes), max_message_bytes + _MOST_RATIO * size)


def most_parts(max_message_bytes: int, size: int) -> int:
    """How many records and headers a batch of ``size`` compressed bytes may hold: never more than the records that
    would fit uncompressed, and not many more than ``size`` can tell apart."""
    return _FEW_PARTS + min(max_message_bytes // _LEAST_RECORD, _PARTS_PER_BYTE * size)


def whole_batches(records: Buffer) -> list[BatchView]:
    """The batches that ``records`` consist of, to the last byte.

    Raises:
        CorruptRecordError, UnsupportedMessageFormatError: they are not batches v2, or not whole.
        InvalidRecordError: there is none.
    """
    batches: list[BatchView] = []
    position, end = 0, len(records)
    while position < end:
        if end - position < HEADER_SIZE:
            raise CorruptRecordError(f"{end - position} bytes behind the last batch")
        batch = batch_at(records, position)
        position += batch.size_in_bytes
        if position > end:
            raise CorruptRecordError(f"batch of {batch.size_in_bytes} bytes, of which {position - end} are missing")
        batches.append(batch)
    if not batches:
        raise InvalidRecordError("no batch to append")
    return batches


def check_client_batch(batch: BatchView, admission: Admission, *, alone: bool) -> int:
    """Refuse what a client may not write; returns the largest timestamp of the records.

    Raises:
        RecordTooLargeError, CorruptRecordError, InvalidRecordError, InvalidTimestampError: see the module.
    """
    if batch.size_in_bytes > admission.max_message_bytes:
        raise RecordTooLargeError(f"batch of {batch.size_in_bytes} bytes, at most {admission.max_message_bytes}")
    if not alone:
        raise InvalidRecordError("a batch comes alone in its partition's records")
    batch.ensure_valid()
    if batch.base_offset != 0:
        raise InvalidRecordError(f"a producer's batch begins at offset 0, not at {batch.base_offset}")
    plain = not batch.attributes  # not even compressed
    if not plain and not batch.is_plain:
        _check_attributes(batch)
    count = batch.record_count
    if count < 1 or count != batch.last_offset + 1:
        raise InvalidRecordError(f"{count} records in a batch from 0 to {batch.last_offset}")
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        raise InvalidRecordError(
            f"producer {batch.producer_id} with epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
        )
    begin, end = batch.position + HEADER_SIZE, batch.position + batch.size_in_bytes
    if plain or not batch.is_compressed:
        data = batch.data if isinstance(batch.data, bytes) else bytes(batch.data)  # a view is read at half the speed
        return check_records(batch, data, begin, end, keyed=admission.keyed)
    parts = most_parts(admission.max_message_bytes, batch.size_in_bytes)
    if count > parts:
        raise RecordTooLargeError(
            f"{count} records in a batch of {batch.size_in_bytes} compressed bytes, at most {parts}"
        )
    payload = bytes(memoryview(batch.data)[begin:end])
    most = most_uncompressed(admission.max_message_bytes, batch.size_in_bytes)
    records = bytes(decompress(batch.codec, payload, most))
    return check_records(batch, records, 0, len(records), keyed=admission.keyed, parts=parts)


def _check_attributes(batch: BatchView) -> None:
    if batch.is_control:
        raise InvalidRecordError("control batches are not for clients to write")
    if batch.is_transactional:
        raise TransactionalRecordsError("transactions are not supported")
    if batch.is_log_append_time:
        raise InvalidTimestampError("a producer cannot date its records by LogAppendTime")
    if batch.codec not in CODECS:
        raise UnknownCompressionError(f"compression type {batch.codec} is none of {', '.join(CODECS)}")


def check_records(
    batch: BatchView, data: bytes, position: int, end: int, *, keyed: bool, parts: int | None = None
) -> int:
    """Walk the records of ``batch``, which are ``data`` from ``position`` to ``end``; returns the largest timestamp.

    Every number is zigzag: an odd one is negative. Those of one or two bytes are read in place, for a function call
    would cost as much as the rest. Positions only grow, so a record whose parts end where it ends is whole. Runs of
    records of one shape are compared at once (:mod:`.record_runs`).

    Raises:
        InvalidRecordError: they are not what the header says, or (``keyed``) one has no key.
        InvalidTimestampError: one is dated beyond 64 bits.
        RecordTooLargeError: they are more than ``parts``, counted with their headers.
    """
    count = batch.record_count
    headers = end - position if parts is None else parts - count
    if count * _LEAST_RECORD > end - position:
        raise InvalidRecordError(f"{count} records in {end - position} bytes")
    latest, earliest = -1, _NEVER
    without_key = list[int]()
    index = following = 0
    look_at, wait = 0 if count > LEAST_RUN else count, LEAST_RUN
    try:
        while following < count:
            for index in range(following, count):
                begin = position
                length = data[position]
                position += 1
                if length > 0x7F:
                    if (second := data[position]) < 0x80:
                        length, position = length & 0x7F | second << 7, position + 1
                    else:
                        length, position = _zigzag32(data, position - 1)
                if length & 1:
                    raise InvalidRecordError(f"record {index} has a negative length")
                record_end = position + (length >> 1)
                if data[position]:
                    raise InvalidRecordError(f"record {index} has attributes; there are none")
                delta = data[position + 1]
                position += 2
                if delta > 0x7F:
                    delta, position = _timestamp_delta(batch, data, position - 1)
                if delta & 1:
                    earliest = min(earliest, delta)
                elif delta > latest:
                    latest = delta
                number = data[position]
                position += 1
                if number > 0x7F:
                    if (second := data[position]) < 0x80:
                        number, position = number & 0x7F | second << 7, position + 1
                    else:
                        number, position = _zigzag32(data, position - 1)
                if number != index << 1:
                    raise InvalidRecordError(f"record {index} has another offset delta than its place")
                size = data[position]
                position += 1
                if size > 0x7F:
                    size, position = _zigzag32(data, position - 1)
                if not size & 1:
                    position += size >> 1
                elif size != _NULL:
                    raise InvalidRecordError(f"record {index} has a key of negative length")
                elif keyed:
                    without_key.append(index)
                size = data[position]
                position += 1
                if size > 0x7F:
                    if (second := data[position]) < 0x80:
                        size, position = size & 0x7F | second << 7, position + 1
                    else:
                        size, position = _zigzag32(data, position - 1)
                if not size & 1:
                    position += size >> 1
                elif size != _NULL:
                    raise InvalidRecordError(f"record {index} has a value of negative length")
                if data[position]:
                    found, position = _zigzag32(data, position)
                    if (
                        found & 1 or found > record_end - position
                    ):  # two bytes each, of a number that is written doubled
                        raise InvalidRecordError(
                            f"record {index} has {found / 2} headers in {record_end - position} bytes"
                        )
                    headers -= found >> 1
                    if headers < 0:
                        raise RecordTooLargeError(f"more than {parts} records and headers in a compressed batch")
                    position = _check_headers(data, position, record_end, index, found >> 1)
                else:
                    position += 1
                if position != record_end:
                    raise InvalidRecordError(f"record {index} is {position - record_end} bytes longer than it says")
                if index == look_at and not without_key:
                    run = run_behind(data, begin, record_end, index, count)
                    if run.length:
                        position += run.length * (record_end - begin)
                        latest = max(latest, run.latest)
                        following = look_at = index + 1 + run.length
                        wait = LEAST_RUN
                        break
                    look_at = index + wait  # looking for runs where there are none shall cost little
                    wait *= 2
            else:
                following = count
    except IndexError as error:
        raise InvalidRecordError(f"record {index} is cut short") from error
    if position != end:
        raise InvalidRecordError(f"{count} records end {position - end} bytes behind their batch's end")
    if without_key:
        raise InvalidRecordError(
            f"{len(without_key)} records without key in a compacted topic",
            tuple((index, "a compacted topic needs a key") for index in without_key[:_MOST_REPORTED]),
        )
    delta = latest >> 1 if latest >= 0 else -(earliest >> 1) - 1
    return max(_timestamp(batch, delta), NO_TIMESTAMP)


def _zigzag32(data: bytes, position: int) -> tuple[int, int]:
    """A number of 32 bits as it is written, zigzag, and the position behind it. Kafka's decoder stops at five bytes."""
    number, shift = 0, 0
    for behind in range(position, position + 5):
        byte = data[behind]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, behind + 1
        shift += 7
    raise InvalidRecordError(f"a number of more than 32 bits at byte {position} of the batch")


def _timestamp_delta(batch: BatchView, data: bytes, position: int) -> tuple[int, int]:
    delta, position = read_varint(data, position)
    _timestamp(batch, delta)
    return (delta << 1 if delta >= 0 else (-delta << 1) - 1), position


def _timestamp(batch: BatchView, delta: int) -> int:
    timestamp: int = batch.base_timestamp + delta
    if not (-_MAX_INT64 <= delta <= _MAX_INT64 and -_MAX_INT64 - 1 <= timestamp <= _MAX_INT64):
        raise InvalidTimestampError(f"base timestamp {batch.base_timestamp} and delta {delta} do not make a timestamp")
    return timestamp


def _check_headers(data: bytes, position: int, end: int, index: int, count: int) -> int:
    for _ in range(count):
        size = data[position]
        position += 1
        if size > 0x7F:
            size, position = _zigzag32(data, position - 1)
        if size:
            name_end = position + (size >> 1)
            if size & 1 or name_end > end:
                raise InvalidRecordError(f"record {index} has a header whose name does not end within it")
            try:
                str(memoryview(data)[position:name_end], "utf-8")
            except UnicodeDecodeError as error:
                raise InvalidRecordError(f"record {index} has a header whose name is not UTF-8") from error
            position = name_end
        size = data[position]
        position += 1
        if size > 0x7F:
            size, position = _zigzag32(data, position - 1)
        if not size & 1:
            position += size >> 1
        elif size != _NULL:
            raise InvalidRecordError(f"record {index} has a header of negative length")
    return position
