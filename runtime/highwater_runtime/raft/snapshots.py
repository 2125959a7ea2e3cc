"""Snapshots of the state machine, as files beside the metadata log (KIP-630).

``<end offset>-<epoch>.checkpoint`` holds the state below that offset: a SnapshotHeader control batch, batches of
records, a SnapshotFooter. The bytes follow from the state alone, so the same snapshot is the same file on every node.
A file is written whole under another name, fsynced, renamed, and the directory fsynced: under its own name it is
complete, and whatever is not (a disk that lies, a hand that copied half of it) is found by the CRCs, the offsets, or
the footer that is missing, and is ignored.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_runtime.log.control import (
    ControlType,
    build_control_batch,
    control_type_of,
    snapshot_footer_value,
    snapshot_header_value,
)
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import build_batch, iter_batches
from highwater_runtime.ports import Disk

SUFFIX: Final = ".checkpoint"
_PART: Final = ".part"
_BATCH_BYTES: Final = 1 << 20


class SnapshotId(NamedTuple):
    """All below ``end_offset``, the last of it written in ``epoch``."""

    end_offset: int
    epoch: int


class SnapshotError(ValueError):
    """Bytes that are no whole snapshot."""


def file_name(snapshot_id: SnapshotId) -> str:
    """``00000000000000000100-0000000003.checkpoint``, as Kafka names it."""
    return f"{snapshot_id.end_offset:020d}-{snapshot_id.epoch:010d}{SUFFIX}"


def id_of(name: str) -> SnapshotId | None:
    """Inverse of :func:`file_name`; None for any other name."""
    stem = name.removesuffix(SUFFIX)
    end_offset, dash, epoch = stem.partition("-")
    if stem == name or not dash or not (end_offset + epoch).isascii() or not (end_offset + epoch).isdigit():
        return None
    found = SnapshotId(int(end_offset), int(epoch))
    return found if file_name(found) == name else None


def build_snapshot(snapshot_id: SnapshotId, records: list[bytes], last_timestamp_ms: int) -> bytes:
    """A snapshot's bytes. ``last_timestamp_ms`` is that of the last record of the log that it stands for."""
    epoch = snapshot_id.epoch
    header = snapshot_header_value(last_timestamp_ms)
    out = bytearray(
        build_control_batch(ControlType.SNAPSHOT_HEADER, header, leader_epoch=epoch, timestamp_ms=last_timestamp_ms)
    )
    offset, batch, size = 1, list[bytes](), 0
    for record in [*records, None]:
        if batch and (record is None or size + len(record) > _BATCH_BYTES):
            out += build_batch(batch, base_offset=offset, leader_epoch=epoch, timestamp_ms=last_timestamp_ms)
            offset, batch, size = offset + len(batch), [], 0
        if record is not None:
            batch.append(record)
            size += len(record)
    out += build_control_batch(
        ControlType.SNAPSHOT_FOOTER,
        snapshot_footer_value(),
        base_offset=offset,
        leader_epoch=epoch,
        timestamp_ms=last_timestamp_ms,
    )
    return bytes(out)


def read_snapshot(data: bytes) -> list[bytes]:
    """The records of a snapshot.

    Raises:
        SnapshotError: it is not whole, or not one; the message says where.
    """
    records: list[bytes] = []
    kinds: list[ControlType] = []
    size, offset = 0, 0
    try:
        for batch in iter_batches(data):
            batch.ensure_valid()
            if batch.base_offset != offset or (kinds[-1:] == [ControlType.SNAPSHOT_FOOTER]):
                raise SnapshotError(f"batch at offset {batch.base_offset}, expected one at {offset} before the footer")
            if batch.is_control:
                kinds.append(control_type_of(batch.records()[0]))
            elif not kinds:
                raise SnapshotError("records before the header")
            else:
                records += [record.value or b"" for record in batch.records()]
            size += batch.size_in_bytes
            offset = batch.last_offset + 1
    except LogError as error:
        raise SnapshotError(f"at byte {size}: {error}") from error
    if size != len(data) or kinds != [ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER]:
        found = ", ".join(kind.name for kind in kinds) or "none"
        raise SnapshotError(f"{len(data)} bytes, {size} of them whole batches; control records: {found}")
    return records


class SnapshotStore:
    """The snapshot files in ``directory``."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory

    def list(self) -> list[SnapshotId]:
        """Every file by its name, oldest first; leftovers of a write that was cut short are removed."""
        if not self._disk.is_dir(self._directory):
            return []
        found: list[SnapshotId] = []
        for name in self._disk.list(self._directory):
            if name.endswith(SUFFIX + _PART):
                self._disk.unlink(f"{self._directory}/{name}")
            elif (snapshot_id := id_of(name)) is not None:
                found.append(snapshot_id)
        return sorted(found)

    def read(self, snapshot_id: SnapshotId) -> bytes:
        return self.read_part(snapshot_id, 0, None)[0]

    def read_part(self, snapshot_id: SnapshotId, position: int, max_bytes: int | None) -> tuple[bytes, int]:
        """Up to ``max_bytes`` from ``position`` on (nothing behind the end), and the size of the whole file."""
        file = self._disk.open(f"{self._directory}/{file_name(snapshot_id)}")
        try:
            size = file.size()
            if position >= size:
                return b"", size  # a peer may ask for any position, and a kernel refuses those near 2**63
            return file.read(position, size if max_bytes is None else max_bytes), size
        finally:
            file.close()

    def save(self, snapshot_id: SnapshotId, data: bytes) -> None:
        """Durable on return, or not there at all."""
        path = f"{self._directory}/{file_name(snapshot_id)}"
        file = self._disk.open(path + _PART, create=True)
        try:
            file.truncate(0)
            file.append(data)
            file.fsync()
        finally:
            file.close()
        self._disk.rename(path + _PART, path)
        self._disk.fsync_dir(self._directory)

    def remove(self, snapshot_id: SnapshotId) -> None:
        """Forget it; a power loss may bring it back, which does no harm."""
        self._disk.unlink(f"{self._directory}/{file_name(snapshot_id)}")
