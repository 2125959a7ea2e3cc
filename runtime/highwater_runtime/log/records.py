"""Record batches v2: the unit that is produced, stored, replicated and fetched (KIP-98 message format).

A batch is one header of 61 bytes and its records. Rules that the rest of the log rests on:

* The CRC-32C covers everything from ``attributes`` to the end, and neither the base offset nor the leader epoch:
  the leader patches those two in place (:func:`patch_batch`) and the bytes behind them stay the producer's own on
  every replica. So a batch's CRC identifies it across replicas.
* ``last_offset_delta`` and not the number of records says where the next batch begins: compaction leaves sparse
  batches.
* The payload is opaque. A compressed one is stored and passed on; only its header can be read here.

Layout (big endian): base_offset i64 · batch_length i32 (bytes behind this field) · partition_leader_epoch i32 ·
magic i8 = 2 · crc u32 · attributes i16 · last_offset_delta i32 · base_timestamp i64 · max_timestamp i64 ·
producer_id i64 · producer_epoch i16 · base_sequence i32 · record_count i32 · records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from highwater_runtime.log.errors import CompressedRecordsError, CorruptRecordError, UnsupportedMessageFormatError
from highwater_runtime.log.varint import read_bytes, read_varint, write_bytes, write_varint

Buffer = bytes | bytearray | memoryview

HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
LOG_OVERHEAD: Final = 12
"""Bytes before those that ``batch_length`` counts."""
CRC_START: Final = 21
"""Where the bytes that the CRC covers begin."""

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""Compression codecs by their number in the lowest three bits of the attributes."""

_CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40
_MAX_INT32: Final = 2**31 - 1

_BASE_OFFSET: Final = Struct(">q")
_ATTRIBUTES: Final = Struct(">h")
_MAX_TIMESTAMP: Final = Struct(">q")
_MAX_TIMESTAMP_START: Final = 35
_LEADER_EPOCH: Final = Struct(">i")
_PREFIX: Final = Struct(">qi")
_CRC: Final = Struct(">I")

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record.

    ``offset`` is absolute; −1 in :func:`build_batch` means "the next one". ``timestamp`` is in ms since the epoch;
    −1 in :func:`build_batch` means "the batch's". ``value`` None is a tombstone.
    """

    offset: int = -1
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()


class BatchView:
    """One batch inside a buffer: the header's fields as attributes, the rest on demand.

    Does not copy; valid as long as ``data`` is. ``position`` is where the batch begins in ``data``,
    ``size_in_bytes`` counts the whole batch. Nothing is validated here but that the header fits
    (:func:`iter_batches` sees to sizes and magic, :meth:`ensure_valid` to the CRC).
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "data",
        "last_offset",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size_in_bytes",
    )

    def __init__(self, data: Buffer, position: int = 0) -> None:
        self.data = data
        self.position = position
        (
            base_offset,
            length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = HEADER.unpack_from(data, position)
        self.base_offset: int = base_offset
        self.last_offset: int = base_offset + last_offset_delta
        self.size_in_bytes: int = length + LOG_OVERHEAD

    @property
    def end_offset(self) -> int:
        """The offset behind the batch: where the next one begins."""
        return self.last_offset + 1

    @property
    def is_plain(self) -> bool:
        """Whether its attributes tell nothing but a codec of Kafka's, as those of nearly every batch do."""
        return bool(0 <= self.attributes < len(CODECS))

    @property
    def is_control(self) -> bool:
        """Whether its records steer the protocol (leader change, transaction markers) and are no client's."""
        return bool(self.attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_log_append_time(self) -> bool:
        """Whether ``max_timestamp`` is the broker's and stands for every record."""
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def delete_horizon_ms(self) -> int | None:
        """From when on compaction may remove the batch's tombstones (KIP-534); None: no pass has seen them yet."""
        return self.base_timestamp if self.attributes & _DELETE_HORIZON else None

    @property
    def is_compressed(self) -> bool:
        """Whether its records are compressed, however."""
        return bool(self.attributes & _CODEC_MASK)

    @property
    def codec(self) -> str:
        """The compression codec's name; ``codec-5`` and the like where the number is not one of Kafka's."""
        number = self.attributes & _CODEC_MASK
        return CODECS[number] if number < len(CODECS) else f"codec-{number}"

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, which wraps from 2^31−1 to 0; −1 for a batch without sequence."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return advance_sequence(self.base_sequence, self.last_offset - self.base_offset)

    def bytes_of(self) -> bytes:
        """A copy of the whole batch."""
        return bytes(memoryview(self.data)[self.position : self.position + self.size_in_bytes])

    def computed_crc(self) -> int:
        """CRC-32C of the bytes as they are now."""
        end = self.position + self.size_in_bytes
        crc: int = crc32c(memoryview(self.data)[self.position + CRC_START : end])
        return crc

    def ensure_valid(self) -> None:
        """Check what the header says of itself, and the CRC.

        Raises:
            CorruptRecordError: with what was expected and found.
        """
        crc = self.computed_crc()
        if crc != self.crc:
            raise CorruptRecordError(
                f"batch at offset {self.base_offset}: CRC {crc:#010x}, its header says {self.crc:#010x}"
            )
        if self.base_offset < 0 or self.last_offset < self.base_offset or self.record_count < 0:
            raise CorruptRecordError(
                f"batch at offset {self.base_offset}: last offset {self.last_offset}, {self.record_count} records"
            )

    def records(self) -> list[Record]:
        """Its records, keys and values copied out of the buffer.

        Raises:
            CompressedRecordsError: the payload is compressed.
            CorruptRecordError: the payload is not what the header says.
        """
        if self.is_compressed:
            raise CompressedRecordsError(
                f"batch at offset {self.base_offset} is compressed with {self.codec}; only its header can be read"
            )
        payload = bytes(memoryview(self.data)[self.position + HEADER_SIZE : self.position + self.size_in_bytes])
        records: list[Record] = []
        position = 0
        try:
            for _ in range(self.record_count):
                record, position = self._record(payload, position)
                records.append(record)
        except (IndexError, UnicodeDecodeError) as error:
            raise CorruptRecordError(
                f"batch at offset {self.base_offset}: record {len(records)} is cut short"
            ) from error
        if position != len(payload):
            raise CorruptRecordError(
                f"batch at offset {self.base_offset}: {len(payload) - position} bytes behind its last record"
            )
        return records

    def offsets_and_values(self) -> tuple[list[int], list[bytes | None]]:
        """Of :meth:`records` the offsets and the values alone: much cheaper for records without keys and headers.

        Raises as :meth:`records`.
        """
        if not self.is_compressed and (found := self._plain_records()) is not None:
            return found
        records = self.records()
        return [record.offset for record in records], [record.value for record in records]

    def _plain_records(self) -> tuple[list[int], list[bytes | None]] | None:
        """Offsets and values, if every record has a value, and neither key nor headers; else None."""
        payload = bytes(memoryview(self.data)[self.position + HEADER_SIZE : self.position + self.size_in_bytes])
        size, base_offset, position = len(payload), self.base_offset, 0
        offsets: list[int] = []
        values: list[bytes | None] = []
        try:
            for _ in range(self.record_count):
                # Length, attributes, timestamp delta, offset delta, no key (-1), length of the value, value, no headers
                # (0). Numbers are zigzag varints: of one byte below 0x80, and even if they are not negative.
                if (length := payload[position]) < 0x80:
                    length = (length >> 1) ^ -(length & 1)
                    position += 1
                else:
                    length, position = read_varint(payload, position)
                end = position + length
                position += 1
                if payload[position] < 0x80:
                    position += 1
                else:
                    _, position = read_varint(payload, position)
                if (delta := payload[position]) < 0x80:
                    delta = (delta >> 1) ^ -(delta & 1)
                    position += 1
                else:
                    delta, position = read_varint(payload, position)
                if payload[position] != 1:
                    return None
                position += 1
                if (value_length := payload[position]) < 0x80:
                    value_length = (value_length >> 1) ^ -(value_length & 1)
                    position += 1
                else:
                    value_length, position = read_varint(payload, position)
                start, position = position, position + value_length
                if length < 1 or value_length < 0 or position + 1 != end or payload[position] != 0:
                    return None
                offsets.append(base_offset + delta)
                values.append(payload[start:position])
                position = end
        except IndexError:
            return None
        return (offsets, values) if position == size else None

    def _record(self, payload: bytes, position: int) -> tuple[Record, int]:
        length, position = read_varint(payload, position)
        end = position + length
        if length < 1 or end > len(payload):
            raise IndexError
        position += 1  # attributes, unused in v2
        timestamp_delta, position = read_varint(payload, position)
        offset_delta, position = read_varint(payload, position)
        key, position = read_bytes(payload, position)
        value, position = read_bytes(payload, position)
        count, position = read_varint(payload, position)
        if count < 0:
            raise IndexError
        if count == 0 and position == end:
            timestamp = self.max_timestamp if self.is_log_append_time else self.base_timestamp + timestamp_delta
            return Record(self.base_offset + offset_delta, timestamp, key, value), end
        headers: list[Header] = []
        for _ in range(count):
            name, position = read_bytes(payload, position)
            if name is None:
                raise IndexError
            header, position = read_bytes(payload, position)
            headers.append((name.decode(), header))
        if position != end:
            raise IndexError
        timestamp = self.max_timestamp if self.is_log_append_time else self.base_timestamp + timestamp_delta
        return Record(self.base_offset + offset_delta, timestamp, key, value, tuple(headers)), end


def iter_batches(data: Buffer) -> Iterator[BatchView]:
    """The complete batches of ``data`` in order; a batch cut off at the end is left out, as Fetch allows.

    Raises:
        CorruptRecordError: for a size or magic that no batch can have (see :func:`batch_at`).
    """
    position, end = 0, len(data)
    while end - position >= HEADER_SIZE:
        batch = BatchView(data, position)
        if batch.magic != 2 or batch.size_in_bytes < HEADER_SIZE:
            batch = batch_at(data, position)  # says what is wrong with it
        position += batch.size_in_bytes
        if position > end:
            return
        yield batch


def batch_at(data: Buffer, position: int) -> BatchView:
    """The batch that begins at ``position``, of which at least the header must be there.

    Raises:
        CorruptRecordError: for a size smaller than a header.
        UnsupportedMessageFormatError: for magic 0 or 1.
    """
    batch = BatchView(data, position)
    if batch.magic != 2:
        if batch.magic in (0, 1):
            raise UnsupportedMessageFormatError(f"message of magic {batch.magic} at byte {position}; only 2 is stored")
        raise CorruptRecordError(f"batch at byte {position} has magic {batch.magic}")
    if batch.size_in_bytes < HEADER_SIZE:
        raise CorruptRecordError(
            f"batch at byte {position} says it has {batch.size_in_bytes} bytes, less than its header"
        )
    return batch


def build_batch(
    records: Iterable[Record | bytes],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    timestamp_ms: int = NO_TIMESTAMP,
    last_offset: int | None = None,
    is_control: bool = False,
    is_transactional: bool = False,
    is_log_append_time: bool = False,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """Encode one uncompressed batch.

    A plain ``bytes`` among ``records`` is a record's value. ``last_offset`` (absolute) makes a batch whose last
    records are missing, as compaction leaves it; it may then have no records at all. ``timestamp_ms`` is that of
    the records that have none of their own, and the batch's base timestamp, unless ``delete_horizon_ms`` is.
    """
    payload = bytearray()
    base_timestamp = max_timestamp = timestamp_ms
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    count, offset = 0, base_offset - 1
    first = True
    for item in records:
        record = item if isinstance(item, Record) else Record(value=item)
        offset = record.offset if record.offset >= 0 else offset + 1
        timestamp = record.timestamp if record.timestamp != NO_TIMESTAMP else timestamp_ms
        if first and base_timestamp == NO_TIMESTAMP:
            base_timestamp = timestamp
        first = False
        max_timestamp = max(max_timestamp, timestamp)
        _write_record(payload, record, timestamp - base_timestamp, offset - base_offset)
        count += 1
    if last_offset is None:
        last_offset = offset
    if not base_offset <= offset <= last_offset and not (count == 0 and last_offset >= base_offset):
        raise ValueError(f"records from {base_offset} to {offset} do not fit a batch that ends at {last_offset}")
    attributes = (_TRANSACTIONAL if is_transactional else 0) | (_CONTROL if is_control else 0)
    attributes |= _LOG_APPEND_TIME if is_log_append_time else 0
    attributes |= _DELETE_HORIZON if delete_horizon_ms is not None else 0
    return assemble_batch(
        bytes(payload),
        record_count=count,
        attributes=attributes,
        base_offset=base_offset,
        last_offset=last_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
    )


def assemble_batch(
    payload: bytes,
    *,
    record_count: int,
    attributes: int,
    base_offset: int,
    last_offset: int,
    leader_epoch: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    base_timestamp: int = NO_TIMESTAMP,
    max_timestamp: int = NO_TIMESTAMP,
) -> bytes:
    """Put a header with its CRC before an encoded (and perhaps compressed) payload."""
    batch = bytearray(HEADER_SIZE + len(payload))
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LOG_OVERHEAD,
        leader_epoch,
        2,
        0,
        attributes,
        last_offset - base_offset,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    batch[HEADER_SIZE:] = payload
    _CRC.pack_into(batch, CRC_START - 4, crc32c(memoryview(batch)[CRC_START:]))
    return bytes(batch)


def patch_batch(data: bytearray, position: int, base_offset: int, leader_epoch: int) -> None:
    """Set base offset and leader epoch of the batch at ``position``, in place; its CRC stays right."""
    _BASE_OFFSET.pack_into(data, position, base_offset)
    _LEADER_EPOCH.pack_into(data, position + LOG_OVERHEAD, leader_epoch)


def stamp_batch(data: bytearray, batch: BatchView, timestamp: int) -> None:
    """Date every record of ``batch``, a view of ``data``, by its leader (``LogAppendTime``): two fields of the header,
    so that compressed records need not be read. They are under the CRC, which becomes another one."""
    batch.attributes |= _LOG_APPEND_TIME
    _ATTRIBUTES.pack_into(data, batch.position + CRC_START, batch.attributes)
    set_max_timestamp(data, batch, timestamp)


def set_max_timestamp(data: bytearray, batch: BatchView, timestamp: int) -> None:
    """Write the largest timestamp of ``batch``, a view of ``data``, and the CRC that follows from it."""
    batch.max_timestamp = timestamp
    _MAX_TIMESTAMP.pack_into(data, batch.position + _MAX_TIMESTAMP_START, timestamp)
    end = batch.position + batch.size_in_bytes
    batch.crc = crc32c(memoryview(data)[batch.position + CRC_START : end])
    _CRC.pack_into(data, batch.position + CRC_START - 4, batch.crc)


def peek_batch(data: Buffer, position: int) -> tuple[int, int]:
    """Base offset and size in bytes of the batch at ``position``, from its first 12 bytes alone."""
    base_offset, length = _PREFIX.unpack_from(data, position)
    return base_offset, length + LOG_OVERHEAD


def advance_sequence(sequence: int, by: int) -> int:
    """``sequence`` + ``by``, which wraps from 2^31−1 to 0."""
    return sequence + by if sequence <= _MAX_INT32 - by else by - (_MAX_INT32 - sequence) - 1


def _write_record(out: bytearray, record: Record, timestamp_delta: int, offset_delta: int) -> None:
    body = bytearray(1)  # attributes
    write_varint(body, timestamp_delta)
    write_varint(body, offset_delta)
    write_bytes(body, record.key)
    write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for name, value in record.headers:
        write_bytes(body, name.encode())
        write_bytes(body, value)
    write_varint(out, len(body))
    out += body
