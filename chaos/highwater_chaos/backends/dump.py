"""What a broker's disk holds, record by record: the ``replica_log`` table.

Read from the files and not from the broker, so that a stopped or confused broker cannot hide anything. Behind the
records of each replica come *marks*, rows whose ``ended`` is not null, so that nothing ends silently:

* ``gap``: the batch after ``offset`` does not begin there; ``found`` says where it begins, and in which file;
* ``corrupt``: at ``offset`` bytes are no intact batch; the rest of that segment is not read, the next one is;
* ``end``, once for each replica: the log begins at ``start_offset`` and ends before ``offset``.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any, Final

from highwater_chaos.workload.consumer import value_of
from highwater_runtime.log.errors import CorruptRecord, LogError
from highwater_runtime.log.names import LOG, file_name, offsets_in
from highwater_runtime.log.records import BatchView, advance_sequence, iter_batches
from highwater_runtime.ports import Disk

METADATA_TOPIC: Final = "__cluster_metadata"


def dump_replicas(broker: int, disk: Disk) -> Iterator[dict[str, Any]]:
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


def _replica_rows(disk: Disk, directory: str) -> Iterator[dict[str, Any]]:
    start: int | None = None
    end = 0
    for base_offset in offsets_in(disk.list(directory), LOG):
        name = file_name(base_offset, LOG)
        if start is None:
            start = end = base_offset
        elif base_offset != end:
            yield _mark("gap", end, f"{name} begins at offset {base_offset}")
            end = base_offset
        data = _content(disk, f"{directory}/{name}")
        position = 0
        try:
            for batch in iter_batches(data):
                batch.ensure_valid()
                rows = list(_record_rows(batch))
                if batch.base_offset != end:
                    yield _mark("gap", end, f"{name}, position {position}: a batch of offset {batch.base_offset}")
                yield from rows
                end, position = batch.end_offset, position + batch.size_in_bytes
            if position < len(data):
                raise CorruptRecord(f"{len(data) - position} bytes, fewer than the batch that begins there has")
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


def _record_rows(batch: BatchView) -> Iterator[dict[str, Any]]:
    if batch.is_control:
        return
    for offset, value in _records(batch):
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


def _records(batch: BatchView) -> Iterator[tuple[int, int | None]]:
    """Offset and value of each record."""
    if batch.codec != "none":
        for offset in range(batch.base_offset, batch.end_offset):
            yield offset, None
        return
    for record in batch.records():
        yield record.offset, value_of(record.value)


def _content(disk: Disk, path: str) -> bytes:
    file = disk.open(path)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def _topic_id(disk: Disk, directory: str) -> str:
    """32 hex digits from ``partition.metadata``; zeros where there is none."""
    path = f"{directory}/partition.metadata"
    if disk.exists(path):
        file = disk.open(path)
        text = file.read(0, file.size()).decode("ascii", "replace")
        file.close()
        for line in text.splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "topic_id":
                return urlsafe_b64decode(value.strip() + "==").hex()
    return "0" * 32
