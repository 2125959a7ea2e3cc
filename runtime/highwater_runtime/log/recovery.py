"""Opening a log: what may be trusted after which kind of stop, and what is dropped.

After a clean stop everything was flushed and closed: indexes are read as they are, the chain of segments is checked
(each begins where the one before it ends), and only the batches behind the last index entry are looked at. After any
other stop that holds for the segments that end at or below the recovery point; the others are read from their first
byte. There the log ends before the first batch that

* is cut off by the end of the file (``short-batch``), has an impossible size (``bad-size``: zero-filled pages too) or
  magic (``bad-magic``), or whose bytes do not match its CRC (``bad-crc``);
* does not begin where the one before it ended (``gap``: also a segment that vanished);
* has a smaller leader epoch than the one before it (``epoch-regression``: a truncation that was lost, behind newer
  batches that were not).

What is behind it goes, in this segment and in all later ones. Indexes, epoch cache and producer state are made
again from the batches that stay, and whatever of them points past the end is cut too. Every loss is a :class:`Cut`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.epoch_cache import EpochCache
from highwater_runtime.log.names import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    SNAPSHOT,
    TEMPORARY,
    TIME_INDEX,
    file_name,
    join,
    offset_of,
    offsets_in,
)
from highwater_runtime.log.producer_state import ProducerStates, latest_snapshot
from highwater_runtime.log.records import HEADER_SIZE, BatchView
from highwater_runtime.log.segment import Segment
from highwater_runtime.ports.disk import Disk

_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Cut:
    """Something that was lost: ``dropped`` bytes, which leaves the log ending at ``end_offset``."""

    reason: str
    dropped: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """How the log was found: ``reason`` ``created``, ``clean`` or ``recovered``; and what it has lost.
    ``producer_snapshot``: the producers' state began with a snapshot that knew some."""

    reason: str
    cuts: tuple[Cut, ...] = ()
    producer_snapshot: bool = False


@dataclass(slots=True, kw_only=True)
class Loader:
    """Opens the log in ``directory``; after :meth:`load` or :meth:`begin_empty` its fields are that log's state."""

    disk: Disk
    directory: str
    config: LogConfig
    now_ms: int
    clean: bool
    recovery_point: int
    log_start_offset: int
    segments: list[Segment] = field(default_factory=list)
    producers: ProducerStates = field(default_factory=ProducerStates)
    epochs: EpochCache = field(init=False)
    directory_changed: bool = True
    """Whether names in the directory may not be durable: before anything in it counts as such they have to be."""
    _cuts: list[Cut] = field(default_factory=list)
    _scanned_from: int | None = None
    _last_epoch: int = -1

    def __post_init__(self) -> None:
        self.epochs = EpochCache(self.disk, self.directory)

    def load(self) -> Recovery:
        """Read, check and repair. The directory must exist."""
        names = self.disk.list(self.directory)
        self._remove_leftovers(names)
        epochs_known = self.epochs.load()
        self._load_segments(offsets_in(names, LOG), epochs_known=epochs_known)
        self._fit_start_offset()
        end_offset = self.segments[-1].end_offset
        if self.recovery_point > end_offset and not self._cuts:
            self._cuts.append(Cut("short-log", 0, end_offset))
        self.epochs.truncate_from_end(end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)
        trusted_end = end_offset if self._scanned_from is None else self._scanned_from
        self.producers, from_snapshot = load_producers(self.disk, self.directory, self.segments, trusted_end)
        if self._cuts:
            # Before anything is written where it was: a file that came back would go on where the new bytes end.
            self.disk.fsync_dir(self.directory)
        clean = self.clean and not self._cuts
        self.directory_changed = not clean
        if self._scanned_from is None and clean:
            self.recovery_point = end_offset
        else:  # what was scanned has new indexes, which a flush has to make durable
            self.recovery_point = min(self.recovery_point, trusted_end)
        return Recovery("clean" if clean else "recovered", tuple(self._cuts), from_snapshot)

    def begin_empty(self) -> None:
        """Make the first segment of a log in a directory where nothing is."""
        self.segments.append(self.open_segment(self.log_start_offset, create=True))
        self.recovery_point = self.log_start_offset
        self.directory_changed = False

    def open_segment(self, base_offset: int, *, create: bool = False) -> Segment:
        """A segment's files, not yet loaded."""
        interval = self.config.index_interval_bytes
        return Segment(self.disk, self.directory, base_offset, interval, self.now_ms, create=create)

    def _remove_leftovers(self, names: list[str]) -> None:
        logs = frozenset(offsets_in(names, LOG))
        for name in names:
            index_of = next((o for s in (OFFSET_INDEX, TIME_INDEX) if (o := offset_of(name, s)) is not None), None)
            if name.endswith((DELETED, TEMPORARY)) or (index_of is not None and index_of not in logs):
                self.disk.unlink(join(self.directory, name))

    # --- segments ----------------------------------------------------------------------------------------------------

    def _load_segments(self, bases: list[int], *, epochs_known: bool) -> None:
        trust = True
        for base, following in zip(bases, [*bases[1:], None], strict=False):
            if self.segments and base != self.segments[-1].end_offset:
                self._drop("gap", 0, base)
                return
            segment = self.open_segment(base)
            self.segments.append(segment)
            trust = trust and (self.clean or (following is not None and following <= self.recovery_point))
            trust = trust and self._load_as_it_is(segment, following, epochs_known=epochs_known)
            if trust:
                continue
            valid, reason = self._scan(segment)
            if reason is not None:
                dropped = segment.size - valid
                segment.cut_at(valid)
                segment.file.fsync()
                self._drop(reason, dropped, following)
                return

    def _load_as_it_is(self, segment: Segment, following: int | None, *, epochs_known: bool) -> bool:
        """Whether the segment holds together, by its indexes and the batches behind their last entry."""
        epoch = segment.load()
        if epoch is None or following not in (None, segment.end_offset):
            return False
        self._last_epoch = max(self._last_epoch, epoch)
        if not epochs_known:
            for _, batch in segment.headers(0):
                self._note_epoch(batch)
        return True

    def _note_epoch(self, batch: BatchView) -> None:
        if batch.leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(batch.leader_epoch, batch.base_offset)

    def _scan(self, segment: Segment) -> tuple[int, str | None]:
        """Check every batch; (bytes that are valid, why it ends there or None)."""
        if self._scanned_from is None:
            self._scanned_from = segment.base_offset
            self.epochs.truncate_from_end(segment.base_offset)
        segment.begin_recovery()
        position, data, start = 0, b"", 0
        while position < segment.size:
            if position + HEADER_SIZE > start + len(data):
                data, start = segment.file.read(position, _READ_BYTES), position
                if len(data) < HEADER_SIZE:
                    return position, "short-batch"
            batch = BatchView(data, position - start)
            size = batch.size_in_bytes
            reason = judge_header(batch, segment.end_offset, self._last_epoch, segment.size - position)
            if reason is not None:
                return position, reason
            if position + size > start + len(data):
                data, start = segment.file.read(position, max(size, _READ_BYTES)), position
                if len(data) < size:
                    return position, "short-batch"
                batch = BatchView(data, 0)
            if batch.computed_crc() != batch.crc:
                return position, "bad-crc"
            segment.recovered(batch, position)
            self._note_epoch(batch)
            self._last_epoch = max(self._last_epoch, batch.leader_epoch)
            position += size
        return position, None

    def _drop(self, reason: str, dropped: int, from_base: int | None) -> None:
        """Note a cut; the segments from ``from_base`` on go as well."""
        if from_base is not None:
            for base in offsets_in(self.disk.list(self.directory), LOG):
                if base >= from_base:
                    segment = self.open_segment(base)
                    dropped += segment.size
                    segment.remove()
        self._cuts.append(Cut(reason, dropped, self.segments[-1].end_offset))

    def _fit_start_offset(self) -> None:
        """The log begins where its first segment does, or later where a checkpoint says so; never behind its end."""
        if self.segments:
            self.log_start_offset = max(self.log_start_offset, self.segments[0].base_offset)
            if self.log_start_offset <= self.segments[-1].end_offset:
                return
            dropped = sum(segment.size for segment in self.segments)
            for segment in self.segments:
                segment.remove()
            self.segments.clear()
            self.epochs.clear()
            self._cuts.append(Cut("behind-log-start", dropped, self.log_start_offset))
        self.segments.append(self.open_segment(self.log_start_offset, create=True))


def judge_header(batch: BatchView, expected_offset: int, last_epoch: int, available: int) -> str | None:
    """Why the log must end before this batch, going by its header alone; None: it may stay."""
    if batch.size_in_bytes < HEADER_SIZE:
        return "bad-size"
    if batch.magic != 2:
        return "bad-magic"
    if batch.size_in_bytes > available:
        return "short-batch"
    if batch.base_offset != expected_offset or batch.last_offset < batch.base_offset:
        return "gap"
    if 0 <= batch.leader_epoch < last_epoch:
        return "epoch-regression"
    return None


def load_producers(
    disk: Disk, directory: str, segments: list[Segment], trusted_end: int
) -> tuple[ProducerStates, bool]:
    """The producers' state at the end of ``segments``: the newest snapshot that can be trusted, and what follows it.

    Returns the state, and whether it began with a snapshot in which there was any producer.

    Snapshots above ``trusted_end`` are removed: they may tell of batches that are no longer in the log. So are those
    below its beginning (what followed them is gone) and, save the newest, those that no segment begins with.
    """
    bases = {segment.base_offset for segment in segments}
    offsets = offsets_in(disk.list(directory), SNAPSHOT)
    usable = [offset for offset in offsets if segments[0].base_offset <= offset <= trusted_end]
    newest = latest_snapshot(disk, directory, usable)
    begin, states = newest or (segments[0].base_offset, ProducerStates())
    from_snapshot = len(states) > 0
    for offset in offsets:
        if offset != begin and (offset not in bases or offset > begin):
            path = join(directory, file_name(offset, SNAPSHOT))
            if disk.exists(path):
                disk.unlink(path)
    for segment in segments:
        if segment.end_offset > begin:
            for _, batch in segment.headers(segment.position_of(max(begin, segment.base_offset))):
                states.update(batch)
    return states, from_snapshot
