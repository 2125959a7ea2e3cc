"""The contents of a broker's disk, batch by batch: the ``replica_log`` table.

It is read from the files and not from the broker, so a stopped or faulty broker can hide nothing. A run at 10,000
records/s leaves millions of rows, so none is made: rows that come from one batch stay together as a
:class:`DumpedBatch`, which is written as JSON lines or as columns. After the records of each replica come *marks*, rows
whose ``ended`` is not null. So a log never ends without a reason:

* ``gap``: the batch after ``offset`` does not begin there; ``found`` says where it begins, and in which file;
* ``corrupt``: at ``offset`` bytes are no intact batch; the rest of that segment is not read, the next one is;
* ``end``, once for each replica: the log begins at ``start_offset`` and ends before ``offset``.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from typing import Final, NamedTuple, Protocol

import msgspec

from highwater_chaos.records.values import content_of
from highwater_runtime.log.errors import CorruptRecordError, LogError
from highwater_runtime.log.names import LOG, file_name, offsets_in
from highwater_runtime.log.records import HEADER_SIZE, BatchView, advance_sequence, batch_at
from highwater_runtime.metadata.topic_names import is_internal

METADATA_TOPIC: Final = "__cluster_metadata"
_READ_BYTES: Final = 1 << 18
"""Bytes of a segment that are read at once."""
_MOST_BATCH_BYTES: Final = 32 << 20
"""So much is in memory at most; ``message.max.bytes`` is 1 MiB by default."""
_MOST_OFFSETS: Final = 1 << 24
_MOST_RECORDS: Final = 1 << 20
_MOST_METADATA_BYTES: Final = 4096
_NO_ID: Final = "0" * 32


class DumpedFile(Protocol):
    """What is asked of a file."""

    def read(self, position: int, length: int) -> bytes:
        """At most ``length`` bytes; fewer at its end."""

    def size(self) -> int:
        """Return the size of the file in bytes."""

    def close(self) -> None: ...


class DumpedDisk(Protocol):
    """What is asked of a disk: to be read."""

    def open(self, path: str) -> DumpedFile:
        """Open a file that exists."""

    def list(self, path: str = "") -> list[str]: ...

    def is_dir(self, path: str) -> bool:
        """Whether it is a directory."""

    def exists(self, path: str) -> bool: ...


class Replica(NamedTuple):
    """Whose log it is. ``topic_id``: 32 hex digits."""

    broker: int
    partition: str
    topic_id: str


class DumpedBatch(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="batch"):
    """The records of one batch: a row each.

    ``values`` None: they are unknown, as the batch is compressed. ``offsets`` None: every one from ``base_offset`` to
    before ``end_offset``. ``altered``: by the position of a record, what of it is not as it was sent.
    """

    replica: Replica
    base_offset: int
    end_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    crc: int
    values: list[int] | None
    offsets: list[int] | None = None
    altered: dict[int, str] = {}

    def every_offset(self) -> Sequence[int]:
        """The offset of each record."""
        return range(self.base_offset, self.end_offset) if self.offsets is None else self.offsets

    def lines(self) -> Iterator[bytes]:
        """Its rows as lines of ``dumps/replica_log.jsonl``, without line ends."""
        first, base = self.base_sequence, self.base_offset
        before = f'{_head(self.replica)},"offset":'
        epochs = f'"leader_epoch":{self.leader_epoch},"producer_id":{self.producer_id}'
        middle = f',{epochs},"producer_epoch":{self.producer_epoch},"sequence":'
        values = repeat("null") if self.values is None else self.values
        for position, (offset, value) in enumerate(zip(self.every_offset(), values, strict=False)):
            sequence = advance_sequence(first, offset - base) if first >= 0 else -1
            row = f'{before}{offset}{middle}{sequence},"value":{value},"crc":{self.crc}'.encode()
            altered = self.altered.get(position)
            yield row + (b"}" if altered is None else b',"altered":%b}' % msgspec.json.encode(altered))


_OF_NO_RECORD: Final = ',"leader_epoch":-1,"producer_id":-1,"sequence":-1,"value":null,"crc":0'


class Mark(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="mark"):
    """A row that says how reading a replica went on or ended. ``start_offset`` is that of the mark ``end``."""

    replica: Replica
    offset: int
    ended: str
    found: str | None = None
    start_offset: int | None = None

    def lines(self) -> Iterator[bytes]:
        """Its row as a line of ``dumps/replica_log.jsonl``, without line end."""
        if self.found is None and self.start_offset is not None:
            begins = f'{_head(self.replica)},"offset":{self.offset}{_OF_NO_RECORD},"ended":"{self.ended}"'
            yield f'{begins},"found":null,"start_offset":{self.start_offset}}}'.encode()
            return
        row = {
            "offset": self.offset,
            "leader_epoch": -1,
            "producer_id": -1,
            "sequence": -1,
            "value": None,
            "crc": 0,
            "ended": self.ended,
            "found": self.found,
        }
        if self.start_offset is not None:
            row["start_offset"] = self.start_offset
        yield f"{_head(self.replica)},{msgspec.json.encode(row).decode()[1:]}".encode()


Dumped = DumpedBatch | Mark
DUMPED: Final = msgspec.json.Decoder(Dumped)
"""Reads what was written of them as JSON: an agent on Kubernetes sends it."""


@lru_cache(maxsize=1)
def _head(replica: Replica) -> str:
    """How each row of a replica begins. Rows of one replica are made one after the other."""
    return msgspec.json.encode(replica._asdict()).decode()[:-1]


def dump_replicas(broker: int, disk: DumpedDisk) -> Iterator[Dumped]:
    """Return every record of every replica on one disk, by partition and offset, and the marks of each replica.

    The values of a compressed batch are unknown. Its CRC still distinguishes it from other batches.
    """
    for directory in disk.list():
        topic, dash, index = directory.rpartition("-")
        if not dash or not index.isdigit() or topic == METADATA_TOPIC or not disk.is_dir(directory):
            continue
        yield from _of_replica(disk, directory, Replica(broker, directory, _topic_id(disk, directory)))


def _of_replica(disk: DumpedDisk, directory: str, replica: Replica) -> Iterator[Dumped]:
    start: int | None = None
    end = 0
    for base_offset in offsets_in(disk.list(directory), LOG):
        name = file_name(base_offset, LOG)
        if start is None:
            start = end = base_offset
        elif base_offset != end:
            yield Mark(replica, end, "gap", f"{name} begins at offset {base_offset}")
            end = base_offset
        position = 0
        try:
            for batch in _batches(disk, f"{directory}/{name}"):
                batch.ensure_valid()
                # All of a plain batch can be read, or nothing of it is a row.
                dumped = None if batch.is_control else _dumped(replica, batch)
                if batch.base_offset != end:
                    found = f"{name}, position {position}: a batch of offset {batch.base_offset}"
                    yield Mark(replica, end, "gap", found)
                if dumped is not None:
                    yield dumped
                end, position = batch.end_offset, position + batch.size_in_bytes
        except LogError as error:
            yield Mark(replica, end, "corrupt", f"{name}, position {position}: {error}")
    yield Mark(replica, end, "end", start_offset=start or 0)


def _dumped(replica: Replica, batch: BatchView) -> DumpedBatch:
    """Raises ``CorruptRecordError`` if a plain batch cannot be read."""
    offsets, values, altered = None, None, {}
    if batch.codec == "none":
        records, by_log = batch.records(), batch.is_log_append_time
        offsets = [record.offset for record in records]
        content = [content_of(record, by_log=by_log) for record in records]
        values = [value for value, _ in content]
        if not is_internal(replica.partition.rpartition("-")[0]):
            altered = {position: what for position, (_, what) in enumerate(content) if what is not None}
        if offsets == list(range(batch.base_offset, batch.end_offset)):
            offsets = None
    return DumpedBatch(
        replica,
        batch.base_offset,
        batch.end_offset,
        batch.leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.crc,
        values,
        offsets,
        altered,
    )


def _batches(disk: DumpedDisk, path: str) -> Iterator[BatchView]:
    """Batches of a segment; a part of it is in memory. Raises ``LogError`` where bytes are no batch."""
    file = disk.open(path)
    try:
        size = file.size()
        data, start, position = b"", 0, 0
        """``data`` are the bytes of the file from ``start``; the next batch begins at ``position``."""
        while position < size:
            at = position - start
            if len(data) - at < HEADER_SIZE:
                data, start, at = file.read(position, _READ_BYTES), position, 0
            if len(data) - at < HEADER_SIZE:
                raise CorruptRecordError(f"{size - position} bytes, fewer than the batch that begins there has")
            batch = BatchView(data, at)
            if batch.magic != 2 or batch.size_in_bytes < HEADER_SIZE:
                batch_at(data[at:], 0)  # says what is wrong with it
            length = batch.size_in_bytes
            if length > size - position:
                raise CorruptRecordError(f"{size - position} bytes, fewer than the batch that begins there has")
            if length > _MOST_BATCH_BYTES:
                raise CorruptRecordError(f"a batch of {length} bytes; one of more than {_MOST_BATCH_BYTES} is not read")
            if length > len(data) - at:
                data, start = file.read(position, max(length, _READ_BYTES)), position
                if len(data) < length:
                    raise CorruptRecordError("the segment became shorter while it was read")
                batch = BatchView(data)
            if batch.end_offset - batch.base_offset > _MOST_OFFSETS:
                raise CorruptRecordError(f"a batch of more than {_MOST_OFFSETS} offsets is not read")
            if batch.record_count > _MOST_RECORDS:
                raise CorruptRecordError(f"a batch of more than {_MOST_RECORDS} records is not read")
            yield batch
            position += length
    finally:
        file.close()


def _topic_id(disk: DumpedDisk, directory: str) -> str:
    """32 hex digits from ``partition.metadata``; zeros where there is none."""
    path = f"{directory}/partition.metadata"
    if disk.exists(path):
        file = disk.open(path)
        text = file.read(0, _MOST_METADATA_BYTES).decode("ascii", "replace")
        file.close()
        return _topic_id_in(text)
    return _NO_ID


@lru_cache(maxsize=64)
def _topic_id_in(text: str) -> str:
    """All replicas of a topic have the same text."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "topic_id":
            with suppress(ValueError):  # a broker's own mistake, or worse: the rows are dumped all the same
                return urlsafe_b64decode(value.strip() + "==").hex()
    return _NO_ID
