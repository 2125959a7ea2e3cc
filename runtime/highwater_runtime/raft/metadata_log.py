"""The metadata log as Raft sees it: what is on disk for sure, where two logs part, what was cut, where it begins.

Wraps :class:`highwater_runtime.log.Log` and adds the one number that Raft rests on, :attr:`MetadataLog.flushed_end`:
everything below it survives a power loss. Flushes run one at a time; an append during one starts the next when it is
done, so a burst of appends shares a flush.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from highwater_runtime.log.control import build_leader_change
from highwater_runtime.log.errors import LogOfflineError, RecordBatchTooLargeError
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import LOG, file_name, offsets_in, parent
from highwater_runtime.log.records import BatchView, build_batch, iter_batches
from highwater_runtime.log.results import AppendInfo
from highwater_runtime.ports import Clock, Disk, Trace
from highwater_runtime.ports.trace import RaftAppended, RaftTruncated
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.raft.errors import InvalidResponseError, halt
from highwater_runtime.raft.messages import MAX_FETCH_BYTES

MAX_BATCH_BYTES: Final = MAX_FETCH_BYTES
"""Most that the values of one batch hold. A batch is sent as a whole. If it were larger than a frame may be, no replica
could fetch it, and nothing would be committed again."""

_REWRITE_BYTES: Final = 1 << 20


@contextmanager
def _offline_means_disk_error() -> Iterator[None]:
    """A log that an earlier disk error (of a sealed segment's flush, say) took offline is one: the node must end."""
    try:
        yield
    except LogOfflineError as error:
        raise OSError(errno.EIO, str(error)) from error


def ensure_fits(records: list[bytes]) -> None:
    """Raise ``RecordBatchTooLargeError`` if these values are too large for one batch."""
    size = sum(map(len, records))
    if size > MAX_BATCH_BYTES:
        raise RecordBatchTooLargeError(
            f"{len(records)} records of {size} bytes; one batch holds at most {MAX_BATCH_BYTES}"
        )


def close_metadata_log(log: Log) -> None:
    """Close the log of a replica that has stopped. Raises ``OSError`` where the disk fails."""
    with _offline_means_disk_error():
        log.close()


def _rewrite(disk: Disk, path: str) -> None:
    file = disk.open(path)
    try:
        for position in range(0, file.size(), _REWRITE_BYTES):
            file.pwrite(position, file.read(position, _REWRITE_BYTES))
        file.fsync()
    finally:
        file.close()


class MetadataLog:
    """One replica's copy of the metadata log. Epochs are ≥ 1 in batches; 0 stands for the empty log's.

    Every method that touches the disk may raise ``OSError``.
    """

    def __init__(self, log: Log, clock: Clock, trace: Trace, on_flushed: Callable[[], None]) -> None:
        self.log = log
        self._clock = clock
        self._trace = trace
        self._on_flushed = on_flushed
        self._flushing_to: int | None = None
        self._is_closed = False
        self.flushed_end = log.log_start_offset
        self.base = LogEnd(0, 0)
        """Where the log begins, and the epoch of the record before that: those of the snapshot that stands for it."""

    @property
    def start_offset(self) -> int:
        """The first offset this log holds."""
        return self.log.log_start_offset

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.log.log_end_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 where there is none."""
        return max(self.log.latest_epoch, self.base.epoch) if self.end_offset > 0 else 0

    @property
    def end(self) -> LogEnd:
        """Last epoch and end offset: how complete this log is."""
        return LogEnd(self.last_epoch, self.end_offset)

    def make_durable(self, disk: Disk) -> None:
        """Make all that this replica reads in its log durable: it will tell others that it has it. After a restart.

        What a process left in the page cache when it died may not be on the disk, and a flush alone does not bring it
        there: if one has failed before, the kernel takes those pages for clean. So the bytes are written again.
        """
        directory = self.log.directory
        for base_offset in offsets_in(disk.list(directory), LOG):
            _rewrite(disk, f"{directory}/{file_name(base_offset, LOG)}")
        disk.fsync_dir(directory)
        disk.fsync_dir(parent(directory))
        with _offline_means_disk_error():
            self.log.flush()
        self.flushed_end = self.end_offset

    def append_leader_change(
        self, epoch: int, leader_id: int, voters: tuple[int, ...], granting: tuple[int, ...]
    ) -> int:
        """Begin a leader's epoch; returns the record's offset."""
        batch = build_leader_change(leader_id, voters, granting, leader_epoch=epoch, timestamp_ms=self._clock.wall_ms())
        return self._append_as_leader(batch, epoch)

    def append_records(self, records: list[bytes], epoch: int) -> int:
        """Append the values as one batch of ``epoch``; returns the last offset. Raises ``RecordBatchTooLargeError``."""
        assert records, "an empty batch has no offset"
        ensure_fits(records)
        return self._append_as_leader(
            build_batch(records, leader_epoch=epoch, timestamp_ms=self._clock.wall_ms()), epoch
        )

    def _append_as_leader(self, batch: bytes, epoch: int) -> int:
        assert epoch >= self.last_epoch, f"epochs in the log never go back: {self.last_epoch} to {epoch}"
        before = self.end_offset
        with _offline_means_disk_error():
            info = self.log.append_as_leader(batch, epoch, self._clock.wall_ms(), origin="raft")
        assert info.first_offset == before, f"appended at {info.first_offset}, expected {before}"
        assert info.last_offset == self.end_offset - 1
        self._report_appended(info)
        return info.last_offset

    def append_fetched(self, records: bytes, epoch: int) -> None:
        """Append the batches that the leader of ``epoch`` sent. Leave out a batch that is cut off at the end.

        Raises:
            InvalidResponseError: a batch is not at the log's end, or its epoch is out of order; nothing was appended.
            LogError: a batch is corrupt; nothing was appended.
        """
        whole, expected, last_epoch = 0, self.end_offset, self.last_epoch
        for batch in iter_batches(records):
            if batch.base_offset != expected:
                raise InvalidResponseError(f"expected a batch at offset {expected}, found one at {batch.base_offset}")
            if not last_epoch <= batch.leader_epoch <= epoch:
                raise InvalidResponseError(
                    f"batch at offset {expected}: expected an epoch from {last_epoch} to {epoch}, "
                    f"found {batch.leader_epoch}"
                )
            whole += batch.size_in_bytes
            expected, last_epoch = batch.last_offset + 1, batch.leader_epoch
        if whole == 0:
            return
        with _offline_means_disk_error():
            info = self.log.append_as_follower(records[:whole])
        assert self.end_offset == expected, f"log ends at {self.end_offset}, expected {expected}"
        self._report_appended(info)

    def _report_appended(self, info: AppendInfo) -> None:
        for mark in info.marks:
            self._trace.emit(
                RaftAppended(offset=mark.base_offset, end_offset=mark.end_offset, epoch=mark.epoch, crc=mark.crc)
            )

    def flush_soon(self) -> None:
        """Make everything appended so far durable; ``on_flushed`` is called when :attr:`flushed_end` has moved.

        A flush that fails raises its ``OSError`` in the event of its completion: what it covered may be lost, so the
        replica must not go on.
        """
        if self._flushing_to is None and self.flushed_end < self.end_offset:
            self._flushing_to = self.end_offset
            with _offline_means_disk_error():
                self.log.flush_later(self._flushed)

    def close(self) -> None:
        """The replica has stopped: a flush that is still under way has no effect."""
        self._is_closed = True

    def _flushed(self, error: OSError | None) -> None:
        if self._is_closed:
            return
        if error is not None:
            raise error
        assert self._flushing_to is not None
        assert self._flushing_to <= self.end_offset
        self.flushed_end = max(self.flushed_end, self._flushing_to)
        self._flushing_to = None
        self.flush_soon()
        self._on_flushed()

    def end_of_epoch(self, epoch: int) -> LogEnd:
        """The largest epoch of this log that is not above ``epoch``, and where it ends; the log's base if none is."""
        last_epoch = self.last_epoch
        if epoch >= last_epoch:
            return LogEnd(last_epoch, self.end_offset)
        found = self.log.epoch_end_offset(epoch)
        if found.epoch < 0 or found.end_offset <= self.start_offset:
            return self.base
        return LogEnd(found.epoch, found.end_offset)

    def is_behind(self, fetch_offset: int, last_fetched_epoch: int) -> bool:
        """Whether what such a log needs, to be compared with or continued from this one, is in a snapshot alone."""
        base = self.base
        return (
            fetch_offset < base.offset
            or last_fetched_epoch < base.epoch
            or (0 < fetch_offset == base.offset and last_fetched_epoch != base.epoch)
        )

    def begin_at(self, base: LogEnd) -> None:
        """Forget what is below ``base``: a durable snapshot stands for it."""
        assert base.offset >= self.base.offset
        assert base.offset <= self.end_offset, f"a log that ends at {self.end_offset} cannot begin at {base}"
        with _offline_means_disk_error():
            self.log.advance_log_start_offset(base.offset)
            self.log.delete_segments_below_start(self._clock.wall_ms())
        self.base = base

    def replace_by(self, base: LogEnd, epoch: int) -> None:
        """Forget everything: a durable snapshot that ends at ``base`` stands for all that is committed of it."""
        before = self.end_offset
        with _offline_means_disk_error():
            self.log.truncate_fully_and_start_at(base.offset)
        self.base = base
        self.flushed_end = base.offset
        if self._flushing_to is not None:
            self._flushing_to = min(self._flushing_to, base.offset)
        assert self.end == base, f"a log restarted at {base} ends at {self.end}"
        if before > base.offset:
            self._trace.emit(RaftTruncated(offset=base.offset, end_offset=before, epoch=epoch))

    def last_timestamp_below(self, offset: int) -> tuple[int, int]:
        """Epoch and largest timestamp (ms) of the batch that ends at ``offset``."""
        (batch,) = self.batches_between(offset - 1, offset)
        assert batch.end_offset == offset, f"offset {offset} cuts the batch at {batch.base_offset} in two"
        return batch.leader_epoch, batch.max_timestamp

    def diverging_epoch(self, fetch_offset: int, last_fetched_epoch: int) -> LogEnd | None:
        """Where a log that ends at ``fetch_offset`` with ``last_fetched_epoch`` parts from this one; None: nowhere.

        The other log cuts itself back to the end of the epoch named, or to its own end of it where that is less.
        """
        if fetch_offset == 0 and last_fetched_epoch == 0:
            return None
        assert not self.is_behind(fetch_offset, last_fetched_epoch)
        end = self.end_of_epoch(last_fetched_epoch)
        if end.epoch == last_fetched_epoch and fetch_offset <= end.offset:
            return None
        return end

    def truncate_to_diverging(self, diverging: LogEnd, high_watermark: int, epoch: int) -> None:
        """Truncate to the offset up to which this log and the leader's may agree.

        Raises:
            InvalidResponseError: ``diverging`` leaves nothing to truncate.
            QuorumBrokenError: the truncation would remove committed records.
        """
        own = self.end_of_epoch(diverging.epoch)
        target = min(own.offset, diverging.offset) if own.epoch == diverging.epoch else own.offset
        before = self.end_offset
        if not 0 <= target < before:
            raise InvalidResponseError(f"expected a diverging epoch below the log's end {self.end}, found {diverging}")
        if target < high_watermark:
            what = f"would cut the log to {target}, below the committed {high_watermark}"
            raise halt(self._trace, "raft-committed-data", epoch, None, what)
        with _offline_means_disk_error():
            self.log.truncate_to(target)
        assert self.end_offset <= target, f"cut to {target}, the log ends at {self.end_offset}"
        assert self.end_offset >= high_watermark
        self.flushed_end = min(self.flushed_end, self.end_offset)
        if self._flushing_to is not None:
            self._flushing_to = min(self._flushing_to, self.end_offset)
        self._trace.emit(RaftTruncated(offset=self.end_offset, end_offset=before, epoch=epoch))

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from ``offset`` on, at least one where there is any."""
        with _offline_means_disk_error():
            return self.log.read(offset, max_bytes)

    def batches_between(self, from_offset: int, to_offset: int) -> Iterator[BatchView]:
        """The batches of [``from_offset``, ``to_offset``)."""
        with _offline_means_disk_error():
            yield from self.log.batches_between(from_offset, to_offset)
