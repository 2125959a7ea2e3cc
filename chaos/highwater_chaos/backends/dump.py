"""What a broker's disk holds, record by record: the ``replica_log`` table.

Read from the files and not from the broker, so that a stopped or confused broker cannot hide anything.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any, Final

from highwater_chaos.workload.consumer import value_of
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import BatchView, iter_batches
from highwater_runtime.ports import Disk

METADATA_TOPIC: Final = "__cluster_metadata"


def dump_replicas(broker: int, disk: Disk) -> Iterator[dict[str, Any]]:
    """Every record of every replica on one disk, by partition and offset.

    A segment is read up to its first bad batch: what lies behind it after a power loss is what recovery will cut. Of a
    compressed batch the values stay unknown (None); its CRC tells it from others all the same.
    """
    for directory in disk.list():
        topic, dash, index = directory.rpartition("-")
        if not dash or not index.isdigit() or topic == METADATA_TOPIC or not disk.is_dir(directory):
            continue
        topic_id = _topic_id(disk, directory)
        for batch in _batches(disk, directory):
            if not batch.is_control:
                for position, (offset, value) in enumerate(_records(batch)):
                    yield {
                        "broker": broker,
                        "partition": directory,
                        "topic_id": topic_id,
                        "offset": offset,
                        "leader_epoch": batch.leader_epoch,
                        "producer_id": batch.producer_id,
                        "sequence": batch.base_sequence + position if batch.base_sequence >= 0 else -1,
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


def _batches(disk: Disk, directory: str) -> Iterator[BatchView]:
    for name in disk.list(directory):
        if name.endswith(".log"):
            file = disk.open(f"{directory}/{name}")
            try:
                for batch in iter_batches(file.read(0, file.size())):
                    batch.ensure_valid()
                    yield batch
            except LogError:
                return
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
