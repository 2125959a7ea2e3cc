"""What an idempotent producer has written to one partition (KIP-98): duplicates, gaps and fencing.

For each producer id: its epoch and its last five batches. The rule at the leader, for a batch of epoch e with
sequences [s, t]:

* e below the known epoch: the producer is fenced, ``InvalidProducerEpochError``;
* the same epoch and exactly the sequences of one of the last five batches: a duplicate, answered with the offsets it
  was given then;
* a newer epoch must begin with s = 0; the same one must go on where the last batch ended (2^31−1 is followed by 0):
  else ``OutOfOrderSequenceError``;
* nothing known of the producer (its records may have been deleted): any s will do.

The state is a function of the log, and of nothing else: followers update it from the batches they copy, so that a
*new* leader recognises a retry of what the old one appended; after a restart or a truncation it is the newest snapshot
at or below the end, plus the batches behind it.

Snapshot files are Kafka's version 1. Kafka keeps only the last batch of each producer in them; here a producer has one
row for each batch, oldest first, of which Kafka's reader takes the last: a retry of any of the five survives a restart.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from highwater_runtime.log.checkpoints import read_whole
from highwater_runtime.log.errors import CorruptCheckpointError, InvalidProducerEpochError, OutOfOrderSequenceError
from highwater_runtime.log.names import SNAPSHOT, file_name, join
from highwater_runtime.log.records import NO_PRODUCER_EPOCH, BatchView, advance_sequence
from highwater_runtime.ports.disk import Disk

BATCHES_KEPT: Final = 5

_MAX_INT32: Final = 2**31 - 1
_SNAPSHOT_HEADER: Final = Struct(">hIi")
_SNAPSHOT_ROW: Final = Struct(">qhiqiqiq")
_SNAPSHOT_VERSION: Final = 1
_CRC_END: Final = 6
"""The CRC covers what follows version and CRC."""


class ProducerBatch(NamedTuple):
    """One batch that a producer wrote; bounds are inclusive, ``timestamp`` is its largest (ms)."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """One producer id: its epoch and its last batches, oldest first."""

    __slots__ = ("batches", "epoch", "last_timestamp")

    def __init__(self, epoch: int, last_timestamp: int) -> None:
        self.epoch = epoch
        self.batches: list[ProducerBatch] = []
        self.last_timestamp = last_timestamp


class ProducerStates:
    """The producers of one partition."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterable[tuple[int, ProducerEntry]]:
        """Each producer id, with what is known of it."""
        return self._entries.items()

    def get(self, producer_id: int) -> ProducerEntry | None:
        """What is known of a producer."""
        return self._entries.get(producer_id)

    def check(self, batch: BatchView) -> ProducerBatch | None:
        """Judge a client's batch before it is appended; the original where it is a duplicate.

        Raises:
            InvalidProducerEpochError: a newer epoch of this producer id has written here.
            OutOfOrderSequenceError: it does not follow the producer's last batch.
        """
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            return None
        epoch, base_sequence = batch.producer_epoch, batch.base_sequence
        if epoch < entry.epoch:
            raise InvalidProducerEpochError(
                f"producer {batch.producer_id} has epoch {epoch}, but epoch {entry.epoch} has written here"
            )
        if epoch > entry.epoch:
            if base_sequence != 0 and entry.epoch != NO_PRODUCER_EPOCH:
                raise OutOfOrderSequenceError(
                    f"producer {batch.producer_id} begins epoch {epoch} with sequence {base_sequence}, not 0"
                )
            return None
        last_sequence = batch.last_sequence
        for known in entry.batches:
            if known.base_sequence == base_sequence and known.last_sequence == last_sequence:
                return known
        if entry.batches:
            expected = advance_sequence(entry.batches[-1].last_sequence, 1)
            if base_sequence != expected:
                raise OutOfOrderSequenceError(
                    f"producer {batch.producer_id}, epoch {epoch}: sequence {base_sequence}, expected {expected}"
                )
        return None

    def update(self, batch: BatchView) -> None:
        """Take note of a batch that is now in the log, appended or replicated. Ignore batches without a producer id."""
        producer_id = batch.producer_id
        if producer_id < 0:
            return
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(batch.producer_epoch, batch.max_timestamp)
        elif entry.epoch != batch.producer_epoch:
            entry.epoch = batch.producer_epoch
            entry.batches.clear()
        entry.last_timestamp = batch.max_timestamp
        if batch.base_sequence < 0:
            return
        entry.batches.append(
            ProducerBatch(
                batch.base_sequence, batch.last_sequence, batch.base_offset, batch.last_offset, batch.max_timestamp
            )
        )
        if len(entry.batches) > BATCHES_KEPT:
            del entry.batches[0]

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers whose last batch is ``expiration_ms`` old or older; how many they were."""
        expired = [p for p, entry in self._entries.items() if now_ms - entry.last_timestamp >= expiration_ms]
        for producer_id in expired:
            del self._entries[producer_id]
        return len(expired)

    def clear(self) -> None:
        self._entries.clear()

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def encode(self) -> bytes:
        """The state as a snapshot file."""
        rows: list[bytes] = []
        for producer_id, entry in sorted(self._entries.items()):
            # A producer whose only batches had no sequence still has its epoch to be remembered: a row without one.
            batches = entry.batches or [ProducerBatch(-1, -1, -1, -1, entry.last_timestamp)]
            rows += (
                _SNAPSHOT_ROW.pack(
                    producer_id,
                    entry.epoch,
                    batch.last_sequence,
                    batch.last_offset,
                    batch.last_offset - batch.base_offset,
                    batch.timestamp,
                    -1,  # coordinator epoch
                    -1,  # first offset of an open transaction
                )
                for batch in batches
            )
        data = bytearray(_SNAPSHOT_HEADER.pack(_SNAPSHOT_VERSION, 0, len(rows)) + b"".join(rows))
        crc = crc32c(memoryview(data)[_CRC_END:])
        _SNAPSHOT_HEADER.pack_into(data, 0, _SNAPSHOT_VERSION, crc, len(rows))
        return bytes(data)

    @classmethod
    def decode(cls, data: bytes) -> ProducerStates:
        """Inverse of :meth:`encode`.

        Raises:
            CorruptCheckpointError: wrong version, size or CRC.
        """
        if len(data) < _SNAPSHOT_HEADER.size:
            raise CorruptCheckpointError(f"producer snapshot of {len(data)} bytes")
        version, crc, count = _SNAPSHOT_HEADER.unpack_from(data)
        if version != _SNAPSHOT_VERSION or len(data) != _SNAPSHOT_HEADER.size + count * _SNAPSHOT_ROW.size:
            raise CorruptCheckpointError(f"producer snapshot of version {version}, {count} rows, {len(data)} bytes")
        if crc != crc32c(memoryview(data)[_CRC_END:]):
            raise CorruptCheckpointError("producer snapshot with a wrong CRC")
        states = cls()
        for row in _SNAPSHOT_ROW.iter_unpack(memoryview(data)[_SNAPSHOT_HEADER.size :]):
            producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, _, _ = row
            entry = states._entries.setdefault(producer_id, ProducerEntry(epoch, timestamp))
            entry.last_timestamp = timestamp
            if last_sequence >= 0:
                base_sequence = last_sequence - offset_delta
                if base_sequence < 0:
                    base_sequence += _MAX_INT32 + 1
                entry.batches.append(
                    ProducerBatch(base_sequence, last_sequence, last_offset - offset_delta, last_offset, timestamp)
                )
        return states


def write_snapshot(disk: Disk, directory: str, offset: int, states: ProducerStates) -> str:
    """Write the state as of ``offset``, in the page cache; returns the file's path.

    Torn files are found out by their CRC, so no rename is needed.
    """
    path = join(directory, file_name(offset, SNAPSHOT))
    file = disk.open(path, create=True)
    try:
        file.truncate(0)
        file.append(states.encode())
    finally:
        file.close()
    return path


def latest_snapshot(disk: Disk, directory: str, offsets: Iterable[int]) -> tuple[int, ProducerStates] | None:
    """The newest readable snapshot among those at ``offsets``; unreadable ones are removed on the way."""
    for offset in sorted(offsets, reverse=True):
        path = join(directory, file_name(offset, SNAPSHOT))
        try:
            return offset, ProducerStates.decode(read_whole(disk, path) or b"")
        except CorruptCheckpointError:
            disk.unlink(path)
    return None
