"""Compaction (``cleanup.policy`` ``compact``): of the records with one key only the last needs to stay.

One pass over a log first reads it and notes where each key occurs last; then it rewrites the sealed segments without
the records that a later one has replaced. Rules in words:

* Only what is committed, durable and in a sealed segment is looked at: a prefix of the log. What lies behind it may be
  lost with the power of all replicas, so it replaces nothing yet. (Apache Kafka never looks into the active segment.)
* Offsets stay as they are. A batch that loses records keeps its bounds, producer and sequence; runs of batches that
  lose all become one empty batch. So the log stays without a gap, for recovery and for followers.
* A tombstone (a record without value) stays for ``delete.retention.ms`` after the first pass over it, so that readers
  see it; then it goes too, if everything that it has replaced is gone. That pass writes the time at which it may go
  into the header of its batch (KIP-534, Apache Kafka 3.1), which replicas copy.
* What cannot be read (compressed batches) or is no client's (control batches) stays, and so do records without a key.
* The rewritten segment is made under temporary names and made durable; then the old indexes are removed, the log is
  renamed over the old one, and the new indexes follow, each step durable before the next. Wherever power fails, the log
  is the old one or the new one as a whole, with indexes of its own or with none, and those are rebuilt.

It is done in slices with other events between them. Segments are not merged: a log keeps one, if a small one, for each
that it ever filled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from highwater_runtime.log.names import TEMPORARY
from highwater_runtime.log.records import HEADER_SIZE, NO_TIMESTAMP, BatchView, Record, build_batch, iter_batches
from highwater_runtime.log.segment import Extract, Segment
from highwater_runtime.log.segments import SegmentChain
from highwater_runtime.ports.clock import Clock

SLICE_BYTES: Final = 64 * 1024
"""How much of a log is read or rewritten in one event: a few milliseconds of work."""

MOST_KEYS: Final = 1_000_000
"""How many keys are noted in one pass, which bounds its memory. Records of further keys stay for a later one."""


def kept_records(batch: BatchView, last_of: Mapping[bytes, int], now_ms: int) -> list[Record] | None:
    """The records of ``batch`` that stay; None where it must stay as it is.

    ``last_of``: key → offset of its last record. Tombstones go if their horizon is not after ``now_ms``.
    """
    if not is_readable(batch):
        return None
    horizon = batch.delete_horizon_ms
    kept = []
    for record in batch.records():
        last = None if record.key is None else last_of.get(record.key)
        replaced = last is not None and record.offset < last
        over = last == record.offset and record.value is None and horizon is not None and horizon <= now_ms
        if not replaced and not over:
            kept.append(record)
    return kept


def is_readable(batch: BatchView) -> bool:
    """Whether compaction may look into a batch."""
    return batch.codec == "none" and not batch.is_control


def without_joined_before(data: Extract, offset: int) -> Extract:
    """``data`` as read from ``offset`` on, with the first batch shortened to begin there if it holds no record.

    :class:`Rewriter` joins empty batches. A follower's log may end where one of them ended before, in the middle of the
    joined one; it takes batches only at its own end.
    """
    if not data:
        return data
    first = BatchView(data if isinstance(data, bytes) else data.read(0, HEADER_SIZE))
    if first.base_offset >= offset or first.record_count > 0:
        return data
    rest = build_batch(
        [],
        base_offset=offset,
        last_offset=first.last_offset,
        leader_epoch=first.leader_epoch,
        timestamp_ms=first.max_timestamp,
    )
    return rest + (data if isinstance(data, bytes) else data.read())[first.size_in_bytes :]


class Rewriter:
    """Makes the batches of one segment again; :meth:`take` what is ready."""

    def __init__(self, last_of: Mapping[bytes, int], now_ms: int, horizon_ms: int) -> None:
        """``horizon_ms``: when tombstones may go that no pass has seen yet."""
        self._last_of = last_of
        self._now_ms = now_ms
        self._horizon_ms = horizon_ms
        self.has_changed = False
        """Whether some batch is another one than before."""
        self._out = bytearray()
        self._empty: tuple[int, int, int, int] | None = None
        """Base offset, last offset, leader epoch and timestamp of the empty batch that is growing."""

    def add(self, batch: BatchView) -> None:
        """The next batch of the segment."""
        kept = kept_records(batch, self._last_of, self._now_ms)
        if kept is not None and not kept and batch.producer_id < 0:
            self.has_changed = self.has_changed or batch.record_count > 0 or self._empty is not None
            self._add_nothing(batch)
            return
        self._end_empty()
        if kept is None:
            self._out += batch.bytes_of()
            return
        horizon, timestamp = batch.delete_horizon_ms, batch.base_timestamp
        if horizon is not None:
            timestamp = NO_TIMESTAMP  # the base is the horizon; each record has its own
        elif any(record.value is None and record.key is not None for record in kept):
            horizon = self._horizon_ms
        if len(kept) == batch.record_count and horizon == batch.delete_horizon_ms:
            self._out += batch.bytes_of()
            return
        self.has_changed = True
        self._out += build_batch(
            kept,
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            leader_epoch=batch.leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            timestamp_ms=timestamp if kept else batch.max_timestamp,
            is_transactional=batch.is_transactional,
            is_log_append_time=batch.is_log_append_time,
            delete_horizon_ms=horizon if kept else None,
        )

    def _add_nothing(self, batch: BatchView) -> None:
        if self._empty is not None:
            base, _, epoch, timestamp = self._empty
            if epoch == batch.leader_epoch:
                self._empty = (base, batch.last_offset, epoch, max(timestamp, batch.max_timestamp))
                return
            self._end_empty()
        self._empty = (batch.base_offset, batch.last_offset, batch.leader_epoch, batch.max_timestamp)

    def _end_empty(self) -> None:
        if self._empty is not None:
            base, last, epoch, timestamp = self._empty
            self._empty = None
            self._out += build_batch([], base_offset=base, last_offset=last, leader_epoch=epoch, timestamp_ms=timestamp)

    def take(self, *, end: bool = False) -> bytes:
        """What is ready to be written; at the ``end`` all of it."""
        if end:
            self._end_empty()
        out, self._out = bytes(self._out), bytearray()
        return out


class Compaction:
    """One pass over a log's sealed segments below ``limit`` (exclusive); calls ``on_done`` unless it is aborted.

    Args:
        guard: runs one step of it, with the log's care for disk errors; it does nothing once the log is offline.
    """

    def __init__(
        self,
        chain: SegmentChain,
        clock: Clock,
        *,
        limit: int,
        delete_retention_ms: int,
        guard: Callable[[Callable[[], None]], None],
        on_done: Callable[[], None],
    ) -> None:
        self._chain = chain
        self._clock = clock
        self._guard = guard
        self._on_done = on_done
        self._limit = limit
        self._cuts = chain.cuts
        self._next = chain.base_offset
        self._last_of: dict[bytes, int] = {}
        self._all_read = True
        self._now_ms = clock.wall_ms()
        self._horizon_ms = self._now_ms + delete_retention_ms
        self._old: Segment | None = None
        self._new: Segment | None = None
        self._position = 0
        self._rewriter = Rewriter({}, 0, 0)
        self._aborted = False
        self._soon(self._note_keys)

    def abort(self) -> None:
        """Go no further; the segment that is being made is thrown away. A disk error there fails the log."""
        self._aborted = True
        new, self._new = self._new, None
        if new is not None:
            self._guard(new.remove)

    def _soon(self, step: Callable[[], None]) -> None:
        self._clock.call_later(0, lambda: self._step(step))

    def _step(self, step: Callable[[], None]) -> None:
        if self._aborted:
            return
        if self._chain.cuts != self._cuts:  # what was noted may not be there any more
            self._give_up()
        else:
            self._guard(step)

    def _give_up(self) -> None:
        self.abort()
        self._guard(self._on_done)

    # --- where each key is last -----------------------------------------------------------------------------------

    def _note_keys(self) -> None:
        data = b""
        if self._next < self._limit and len(self._last_of) < MOST_KEYS:
            data = self._chain.read(self._next, SLICE_BYTES, self._limit, min_one_batch=True)
        for batch in iter_batches(data):
            if not is_readable(batch):
                self._all_read = self._all_read and batch.is_control
            else:
                for record in batch.records():
                    if record.key is not None:
                        self._last_of[record.key] = record.offset
            self._next = batch.end_offset
        if data:
            self._soon(self._note_keys)
            return
        if not self._all_read:
            self._now_ms = -1  # a tombstone may stand against a record that cannot be read
        self._next = self._chain.base_offset
        self._soon(self._begin_segment)

    # --- one segment after the other --------------------------------------------------------------------------------

    def _begin_segment(self) -> None:
        self._next = max(self._next, self._chain.base_offset)  # retention may have taken what came first
        old = self._chain.holding(self._next)
        if old is self._chain.active or old.end_offset > self._limit:
            self._give_up()
            return
        self._old, self._position = old, 0
        self._new = self._chain.make_replacement(old, TEMPORARY)
        self._rewriter = Rewriter(self._last_of, self._now_ms, self._horizon_ms)
        self._rewrite()

    def _rewrite(self) -> None:
        old, new = self._old, self._new
        assert old is not None
        assert new is not None
        if old not in self._chain.segments:  # retention has taken it
            new.remove()
            self._new = None
            self._soon(self._begin_segment)
            return
        end = old.boundary_at_most(self._position, self._position + SLICE_BYTES)
        if end == self._position:
            end += old.batch_size_at(self._position)
        for batch in iter_batches(old.read(self._position, end)):
            self._rewriter.add(batch)
        self._position = end
        done = end >= old.size
        data = self._rewriter.take(end=done)
        if data:
            new.append(data, list(iter_batches(data)))
        if not done:
            self._soon(self._rewrite)
            return
        assert new.end_offset == old.end_offset, f"a rewritten segment ends at {new.end_offset}, not {old.end_offset}"
        self._next = old.end_offset
        if not self._rewriter.has_changed:
            new.remove()
            self._new = None
            self._soon(self._begin_segment)
        else:
            new.file.fsync_later(lambda error: self._step(lambda: self._swap(error)))

    def _swap(self, error: OSError | None) -> None:
        if error is not None:  # of a file that nobody needs: the log is as it was
            self._give_up()
            return
        old, new = self._old, self._new
        assert old is not None
        assert new is not None
        self._new = None
        if old in self._chain.segments:
            self._chain.replace(old, new)
        else:
            new.remove()
        self._soon(self._begin_segment)
