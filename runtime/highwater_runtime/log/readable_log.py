"""What can be asked of a log, and what can be read from it.

The state of a log is declared here; :class:`.log.Log` changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from highwater_runtime.log.compaction import without_joined_before
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.epoch_cache import EpochEnd
from highwater_runtime.log.errors import CorruptRecordError, LogOfflineError, OffsetOutOfRangeError
from highwater_runtime.log.flush import Flushes
from highwater_runtime.log.producer_state import ProducerStates
from highwater_runtime.log.records import BatchView
from highwater_runtime.log.recovery import Loader, Recovery
from highwater_runtime.log.results import BatchMark, TimestampOffset
from highwater_runtime.log.segments import SegmentChain
from highwater_runtime.ports.clock import Clock
from highwater_runtime.ports.disk import Disk, FileRange
from highwater_runtime.ports.trace import Trace, TransitionTaken


class ReadableLog:
    """``log_start_offset`` and ``log_end_offset`` (exclusive) bound what can be read.

    ``partition`` is the directory's name, ``recovery`` says how the log was found when it was opened.

    A disk error, or files that do not hold what was written to them, takes the log offline until the node restarts
    (``failure`` says why, ``failed_by`` is the error): that call and every later one raises ``LogOfflineError``.
    ``on_failure`` runs once, in the event in which the log failed, perhaps deep inside of a call: it only notes that.
    """

    __slots__ = (
        "_chain",
        "_clock",
        "_directory",
        "_disk",
        "_epochs",
        "_flushes",
        "_offline",
        "_producers",
        "_trace",
        "_trace_appends",
        "config",
        "failed_by",
        "failure",
        "log_end_offset",
        "log_start_offset",
        "on_failure",
        "on_start_moved",
        "partition",
        "recovery",
        "topic_id",
    )

    def __init__(self, loader: Loader, recovery: Recovery, clock: Clock, topic_id: UUID | None) -> None:
        self._disk: Disk = loader.disk
        self._directory: str = loader.directory
        self._clock = clock
        self._chain = SegmentChain(
            loader.disk,
            loader.directory,
            clock,
            loader.config,
            loader.segments,
            directory_changed=loader.directory_changed,
        )
        self._epochs = loader.epochs
        self._producers = loader.producers
        self._flushes = Flushes(loader.recovery_point)
        self._offline: str | None = None
        self.failure: str | None = None
        self.failed_by: Exception | None = None
        self.on_failure: Callable[[], None] | None = None
        self.on_start_moved: Callable[[], None] | None = None
        """Called when the log start has moved forward, by retention or by request."""
        self._chain.on_error = self._go_offline
        self._trace: Trace | None = None
        self._trace_appends = False
        self.config: LogConfig = loader.config
        self.partition: str = loader.directory.rpartition("/")[2]
        self.topic_id = topic_id
        self.recovery = recovery
        self.log_start_offset: int = loader.log_start_offset
        self.log_end_offset: int = self._chain.end_offset

    @property
    def recovery_point(self) -> int:
        """The offset below which everything is known to be durable."""
        return self._flushes.recovery_point

    @property
    def latest_epoch(self) -> int:
        """The last leader epoch this log knows of (a follower's "last fetched epoch"); −1: none."""
        return self._epochs.latest_epoch

    @property
    def epoch_entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset) of every leader epoch known, ascending."""
        return self._epochs.entries

    @property
    def producers(self) -> ProducerStates:
        """What idempotent producers have written. Not to be changed."""
        return self._producers

    def extents(self, from_offset: int, to_offset: int) -> list[tuple[str, int]]:
        """Where the batches of [``from_offset``, ``to_offset``) are: each file's path, and the byte behind the last."""
        return self._chain.extents(from_offset, to_offset)

    def headers(self, from_offset: int) -> Iterator[BatchView]:
        """The headers of all batches from ``from_offset`` on. For an observer: an error has no consequence for the log.

        Raises:
            CorruptRecordError: the files do not hold what was written to them.
        """
        return self._chain.headers(from_offset)

    def batches(self, from_offset: int) -> Iterator[BatchView]:
        """As :meth:`headers`, each batch with its bytes. Raises ``LogOfflineError`` as well."""
        return self._chain.batches_between(from_offset, self.log_end_offset)

    @property
    def files(self) -> list[str]:
        """The paths of the files of all segments: log and indexes."""
        return [path for segment in self._chain.segments for path in segment.paths]

    @property
    def segment_bases(self) -> list[int]:
        """The first offset of each segment, the active one last."""
        return [segment.base_offset for segment in self._chain.segments]

    @property
    def size_in_bytes(self) -> int:
        return self._chain.size_in_bytes

    @property
    def segment_count(self) -> int:
        """Number of segments, the active one included."""
        return len(self._chain.segments)

    @property
    def directory(self) -> str:
        """Path of the log's directory."""
        return self._directory

    @property
    def is_online(self) -> bool:
        """Whether the log can still be used: it has not failed, and was not closed."""
        return self._offline is None

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, *, max_offset: int | None = None, min_one_batch: bool = True) -> bytes:
        """Whole batches from the one that holds ``offset`` on, all of one segment, at most ``max_bytes`` of them.

        Batches that hold ``max_offset`` or more are left out (the HW, for consumers). A first batch larger than
        ``max_bytes`` is given nevertheless under ``min_one_batch``. Empty at the log end offset.

        Raises:
            OffsetOutOfRangeError: ``offset`` is below the log start offset or above the log end offset.
            LogOfflineError: an earlier disk error, or closed.
        """
        if self._is_nothing_from(offset, max_offset):
            return b""
        try:
            data = self._chain.read(offset, max_bytes, max_offset, min_one_batch=min_one_batch)
            return without_joined_before(data, offset)
        except (OSError, CorruptRecordError, LogOfflineError) as error:
            raise self._go_offline(error) from error

    def lend(self, offset: int, max_bytes: int, *, max_offset: int, min_one_batch: bool) -> bytes | FileRange:
        """As :meth:`read`, or a range of a segment's file in its place.

        For bytes that are not expected to be cut off: a truncation below what was lent copies the segment.
        """
        if self._is_nothing_from(offset, max_offset):
            return b""
        try:
            lent = self._chain.lend(offset, max_bytes, max_offset, min_one_batch=min_one_batch)
            data = without_joined_before(lent, offset)
        except (OSError, CorruptRecordError, LogOfflineError) as error:
            raise self._go_offline(error) from error
        if not isinstance(data, bytes):
            data.on_failure = self._go_offline
        return data

    def _is_nothing_from(self, offset: int, max_offset: int | None) -> bool:
        end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRangeError(
                f"{self.partition}: offset {offset} is not in [{self.log_start_offset}, {end_offset}]"
            )
        self._ensure_online()
        return offset == end_offset or (max_offset is not None and max_offset <= offset)

    def batches_between(self, from_offset: int, to_offset: int) -> Iterator[BatchView]:
        """The batches that hold any offset of [``from_offset``, ``to_offset``), each with its bytes.

        Raises:
            OffsetOutOfRangeError: ``from_offset`` is below the log start offset.
            LogOfflineError: an earlier disk error, or closed.
        """
        self._ensure_readable(from_offset, to_offset)
        return self._guarded(self._chain.batches_between(from_offset, min(to_offset, self.log_end_offset)))

    def _guarded(self, batches: Iterator[BatchView]) -> Iterator[BatchView]:
        # Not by _failures_end_it: a manager made for each call costs as much as to read a batch.
        try:
            yield from batches
        except (OSError, CorruptRecordError, LogOfflineError) as error:
            raise self._go_offline(error) from error

    def batch_marks(self, from_offset: int, to_offset: int) -> list[BatchMark]:
        """As :meth:`batches_between`, from the headers alone."""
        self._ensure_readable(from_offset, to_offset)
        if from_offset >= to_offset:
            return []
        with self._failures_end_it():
            return self._chain.marks_between(from_offset, min(to_offset, self.log_end_offset))

    def _ensure_readable(self, from_offset: int, to_offset: int) -> None:
        if from_offset < self.log_start_offset and from_offset < to_offset:
            raise OffsetOutOfRangeError(f"{self.partition}: offset {from_offset} is below {self.log_start_offset}")
        self._ensure_online()

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Return the first record not earlier than ``timestamp`` (ms since the epoch); None if all are earlier.

        For a compressed batch, whose records are not read here, returns the batch's first offset.
        """
        self._ensure_online()
        with self._failures_end_it():
            return self._chain.first_not_earlier(timestamp, self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp of all (ListOffsets −3); None where no record has one."""
        largest = self._chain.max_timestamp
        return self.offset_for_timestamp(largest) if largest >= 0 else None

    # --- leader epochs -----------------------------------------------------------------------------------------------

    def epoch_end_offset(self, epoch: int) -> EpochEnd:
        """Where ``epoch`` ends in this log (KIP-101, KIP-279); (−1, −1) where that is not known."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch in force at ``offset``; −1 where that is not known."""
        return self._epochs.epoch_of(offset)

    # --- its end -----------------------------------------------------------------------------------------------------

    def _go_offline(self, error: Exception) -> LogOfflineError:
        """The log failed: nothing is known about its files any more. Returns what to raise."""
        if self._offline is None:
            self._offline = self.failure = f"disk error: {error}"
            self.failed_by = error
            if self._trace is not None:
                self._trace.emit(TransitionTaken(reason="log-offline", partition=self.partition))
            if self.on_failure is not None:
                self.on_failure()
        return LogOfflineError(f"{self.partition} is offline: {self._offline}")

    @contextmanager
    def _failures_end_it(self) -> Iterator[None]:
        """Around what touches the files: whatever is wrong with them takes the log offline."""
        try:
            yield
        except (OSError, CorruptRecordError, LogOfflineError) as error:
            raise self._go_offline(error) from error

    def _ensure_online(self) -> None:
        if self._offline is not None:
            raise LogOfflineError(f"{self.partition} is offline: {self._offline}")
