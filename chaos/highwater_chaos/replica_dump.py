"""The contents of a broker's disk, record by record: the ``replica_log`` table.

It is read from the files and not from the broker, so a stopped or faulty broker can hide nothing. After the records of
each replica come *marks*, rows whose ``ended`` is not null. So a log never ends without a reason:

* ``gap``: the batch after ``offset`` does not begin there; ``found`` says where it begins, and in which file;
* ``corrupt``: at ``offset`` bytes are no intact batch; the rest of that segment is not read, the next one is;
* ``end``, once for each replica: the log begins at ``start_offset`` and ends before ``offset``.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from highwater_chaos.record_values import value_of
from highwater_runtime.log.errors import CorruptRecord, LogError
from highwater_runtime.log.names import LOG, file_name, offsets_in
from highwater_runtime.log.records import HEADER_SIZE, BatchView, Record, advance_sequence, batch_at

METADATA_TOPIC: Final = "__cluster_metadata"
_MOST_BATCH_BYTES: Final = 32 << 20
"""A batch at a time is in memory; ``message.max.bytes`` is 1 MiB by default."""
_MOST_OFFSETS: Final = 1 << 24
_MOST_RECORDS: Final = 1 << 20
_MOST_METADATA_BYTES: Final = 4096


class DumpedFile(Protocol):
    """What is asked of a file."""

    def read(self, position: int, length: int) -> bytes:
        """At most ``length`` bytes; fewer at its end."""

    def size(self) -> int:
        """Bytes it has."""

    def close(self) -> None:
        """Close it."""


class DumpedDisk(Protocol):
    """What is asked of a disk: to be read."""

    def open(self, path: str) -> DumpedFile:
        """A file that exists."""

    def list(self, path: str = "") -> list[str]:
        """Names, sorted."""

    def is_dir(self, path: str) -> bool:
        """Whether it is a directory."""

    def exists(self, path: str) -> bool:
        """Whether there is something."""


def dump_replicas(broker: int, disk: DumpedDisk) -> Iterator[dict[str, Any]]:
    """Return every record of every replica on one disk, by partition and offset, and the marks of each replica.

    The values of a compressed batch are unknown (None). Its CRC still distinguishes it from other batches.
    """
    for directory in disk.list():
        topic, dash, index = directory.rpartition("-")
        if not dash or not index.isdigit() or topic == METADATA_TOPIC or not disk.is_dir(directory):
            continue
        of_replica = {"broker": broker, "partition": directory, "topic_id": _topic_id(disk, directory)}
        for row in _replica_rows(disk, directory):
            yield of_replica | row


def _replica_rows(disk: DumpedDisk, directory: str) -> Iterator[dict[str, Any]]:
    start: int | None = None
    end = 0
    for base_offset in offsets_in(disk.list(directory), LOG):
        name = file_name(base_offset, LOG)
        if start is None:
            start = end = base_offset
        elif base_offset != end:
            yield _mark("gap", end, f"{name} begins at offset {base_offset}")
            end = base_offset
        position = 0
        try:
            for batch in _batches(disk, f"{directory}/{name}"):
                batch.ensure_valid()
                # All of a plain batch can be read, or nothing of it is a row.
                records = batch.records() if not batch.is_control and batch.codec == "none" else []
                if batch.base_offset != end:
                    yield _mark("gap", end, f"{name}, position {position}: a batch of offset {batch.base_offset}")
                yield from _record_rows(batch, records)
                end, position = batch.end_offset, position + batch.size_in_bytes
        except LogError as error:
            yield _mark("corrupt", end, f"{name}, position {position}: {error}")
    yield _mark("end", end) | {"start_offset": start or 0}


def _mark(ended: str, offset: int, found: str | None = None) -> dict[str, Any]:
    return {
        "offset": offset,
        "leader_epoch": -1,
        "producer_id": -1,
        "sequence": -1,
        "value": None,
        "crc": 0,
        "ended": ended,
        "found": found,
    }


def _record_rows(batch: BatchView, records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    if batch.is_control:
        return
    for offset, value in _values(batch, records):
        numbered = batch.base_sequence >= 0
        yield {
            "offset": offset,
            "leader_epoch": batch.leader_epoch,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "sequence": advance_sequence(batch.base_sequence, offset - batch.base_offset) if numbered else -1,
            "value": value,
            "crc": batch.crc,
        }


def _values(batch: BatchView, records: Sequence[Record]) -> Iterator[tuple[int, int | None]]:
    """Offset and value of each record."""
    if batch.codec != "none":
        for offset in range(batch.base_offset, batch.end_offset):
            yield offset, None
        return
    for record in records:
        yield record.offset, value_of(record.value)


def _batches(disk: DumpedDisk, path: str) -> Iterator[BatchView]:
    """Batches of a segment, one at a time in memory. Raises ``LogError`` where bytes are no batch."""
    file = disk.open(path)
    try:
        position, size = 0, file.size()
        while position < size:
            head = file.read(position, HEADER_SIZE)
            if len(head) < HEADER_SIZE:
                raise CorruptRecord(f"{size - position} bytes, fewer than the batch that begins there has")
            length = batch_at(head, 0).size_in_bytes
            if length > size - position:
                raise CorruptRecord(f"{size - position} bytes, fewer than the batch that begins there has")
            if length > _MOST_BATCH_BYTES:
                raise CorruptRecord(f"a batch of {length} bytes; one of more than {_MOST_BATCH_BYTES} is not read")
            batch = BatchView(file.read(position, length))
            if len(batch.bytes_of()) != length:
                raise CorruptRecord("the segment became shorter while it was read")
            if batch.end_offset - batch.base_offset > _MOST_OFFSETS:
                raise CorruptRecord(f"a batch of more than {_MOST_OFFSETS} offsets is not read")
            if batch.record_count > _MOST_RECORDS:
                raise CorruptRecord(f"a batch of more than {_MOST_RECORDS} records is not read")
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
        for line in text.splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "topic_id":
                with suppress(ValueError):  # a broker's own mistake, or worse: the rows are dumped all the same
                    return urlsafe_b64decode(value.strip() + "==").hex()
    return "0" * 32
