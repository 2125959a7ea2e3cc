"""What a replica does with snapshots (KIP-630): which it keeps, where its log begins, what it can offer to laggards.

The two newest are kept, and the log begins where the older one ends: should the newer one not be readable, the older
one and the log make the same state. A snapshot is durable before anything of the log that it stands for goes; so after
a crash in between there is more than needed, never less. A snapshot that came from a leader stands alone: the log that
it replaced was behind.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from crc32c import crc32c

from highwater_runtime.ports import Disk, Trace
from highwater_runtime.ports.trace import RaftSnapshot
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.snapshot_messages import SnapshotParams, SnapshotPiece
from highwater_runtime.raft.snapshots import SnapshotError, SnapshotId, SnapshotStore, build_snapshot, read_snapshot
from highwater_runtime.wire.errors import ErrorCode

_KEPT: Final = 2


class SnapshotMissingError(Exception):
    """The log begins in the middle and no snapshot stands for what is gone; the replica must not start."""


class Snapshot(NamedTuple):
    """One that can be loaded."""

    id: SnapshotId
    records: list[bytes]
    crc: int


class Snapshots:
    """The snapshots of one replica. Every method that touches the disk may raise ``OSError``."""

    def __init__(self, disk: Disk, directory: str, log: MetadataLog, trace: Trace) -> None:
        self._store = SnapshotStore(disk, directory)
        self._directory = directory
        self._log = log
        self._trace = trace
        self._kept: list[SnapshotId] = []

    @property
    def newest(self) -> SnapshotId | None:
        """The one to begin with."""
        return self._kept[-1] if self._kept else None

    def load(self, epoch: int) -> Snapshot | None:
        """At the start: the newest that is whole, with the log cut to fit. ``epoch``: for the trace.

        Raises:
            SnapshotMissingError: the state cannot be made from what is on the disk.
        """
        listed = self._store.list()
        whole = {found.id: found for snapshot_id in listed if (found := self._read(snapshot_id)) is not None}
        usable = [snapshot_id for snapshot_id in sorted(whole) if snapshot_id.end_offset >= self._log.start_offset]
        if not usable:
            if self._log.start_offset > 0:
                raise SnapshotMissingError(
                    f"{self._directory} begins at offset {self._log.start_offset} and holds no whole snapshot that "
                    f"reaches so far (found {len(listed)} files, {len(whole)} whole): restore one from another voter, "
                    "or wipe the directory only if a majority of the other voters is healthy"
                )
            return None
        newest = usable[-1]
        if self._holds(newest):
            self._kept = usable[-_KEPT:]
            if len(self._kept) == _KEPT or self._log.start_offset > 0:
                self._log.begin_at(_base(self._kept[0]))
        else:
            self._kept = [newest]
            self._log.replace_by(_base(newest), epoch)
        for snapshot_id in whole:
            if snapshot_id not in self._kept:
                self._store.remove(snapshot_id)
        return whole[newest]

    def _read(self, snapshot_id: SnapshotId) -> Snapshot | None:
        data = self._store.read(snapshot_id)
        crc = crc32c(data)
        try:
            return Snapshot(snapshot_id, read_snapshot(data), crc)
        except SnapshotError:
            self._report(snapshot_id, crc, "ignored")
            return None

    def _holds(self, snapshot_id: SnapshotId) -> bool:
        """Whether the log continues from this snapshot: it reaches so far, and with the same history."""
        end, log = snapshot_id.end_offset, self._log
        if log.start_offset == end:
            return True
        return end <= log.end_offset and log.log.epoch_of(end - 1) == snapshot_id.epoch

    def write(self, end_offset: int, records: list[bytes]) -> bool:
        """Keep ``records`` as the state below ``end_offset``; whether that is news."""
        if self.newest is not None and end_offset <= self.newest.end_offset:
            return False
        epoch, timestamp_ms = self._log.last_timestamp_below(end_offset)
        snapshot_id = SnapshotId(end_offset, epoch)
        data = build_snapshot(snapshot_id, records, timestamp_ms)
        self._store.save(snapshot_id, data)
        self._report(snapshot_id, crc32c(data), "written")
        dropped, self._kept = self._kept[: 1 - _KEPT], [*self._kept[1 - _KEPT :], snapshot_id]
        if len(self._kept) == _KEPT:
            self._log.begin_at(_base(self._kept[0]))
        for old in dropped:
            self._store.remove(old)
        return True

    def take(self, snapshot_id: SnapshotId, data: bytes, epoch: int) -> Snapshot | None:
        """Put a snapshot that the leader sent in the place of the log; None, and nothing done, if it is not whole."""
        try:
            records = read_snapshot(data)
        except SnapshotError:
            self._report(snapshot_id, crc32c(data), "ignored")
            return None
        self._store.save(snapshot_id, data)
        snapshot = Snapshot(snapshot_id, records, crc32c(data))
        self._report(snapshot_id, snapshot.crc, "fetched")
        self._log.replace_by(_base(snapshot_id), epoch)
        for old in self._kept:
            self._store.remove(old)
        self._kept = [snapshot_id]
        return snapshot

    def report_loaded(self, snapshot: Snapshot) -> None:
        """The state machine has jumped to it."""
        self._report(snapshot.id, snapshot.crc, "loaded")

    def _report(self, snapshot_id: SnapshotId, crc: int, reason: str) -> None:
        event = RaftSnapshot(offset=snapshot_id.end_offset, epoch=snapshot_id.epoch, crc=crc, reason=reason)
        self._trace.emit(event)

    def piece(self, params: SnapshotParams) -> tuple[ErrorCode, SnapshotPiece]:
        """What a laggard asks for."""
        empty = SnapshotPiece(params.snapshot_id, params.position, 0, b"")
        if params.snapshot_id not in self._kept:
            return ErrorCode.SNAPSHOT_NOT_FOUND, empty
        if params.position < 0:
            return ErrorCode.POSITION_OUT_OF_RANGE, empty
        data, size = self._store.read_part(params.snapshot_id, params.position, params.max_bytes)
        if params.position >= size:
            return ErrorCode.POSITION_OUT_OF_RANGE, empty
        return ErrorCode.NONE, empty._replace(size=size, data=data)


def _base(snapshot_id: SnapshotId) -> LogEnd:
    return LogEnd(snapshot_id.epoch, snapshot_id.end_offset)
