"""The recovery point: below which offset a log is known to be durable, while flushes and truncations overlap.

A flush covers what was written before it began and ends as an event of its own, later. A truncation in between takes
back what the flush would have vouched for: offsets that are written anew after it are other bytes. A truncation alone,
too, is durable only by a flush.
"""

from __future__ import annotations

from collections.abc import Callable

from highwater_runtime.ports.disk import DiskFile

FlushDone = Callable[[OSError | None], None]


class _Flush:
    __slots__ = ("cuts", "error", "on_done", "target", "waiting")

    def __init__(self, target: int, cuts: int, waiting: int, on_done: FlushDone) -> None:
        self.target = target
        self.cuts = cuts
        self.waiting = waiting
        self.on_done = on_done
        self.error: OSError | None = None


class Flushes:
    """``recovery_point`` and what is in flight. ``error``: a flush failed, nothing is known of the files any more."""

    __slots__ = ("_cuts", "_cuts_flushed", "_in_flight", "error", "recovery_point")

    def __init__(self, recovery_point: int) -> None:
        self.recovery_point = recovery_point
        self.error: OSError | None = None
        self._cuts = 0
        self._cuts_flushed = 0
        self._in_flight: list[_Flush] = []

    @property
    def has_unflushed_cut(self) -> bool:
        """Whether a truncation may not be durable yet."""
        return self._cuts != self._cuts_flushed

    def now(self, files: list[DiskFile], target: int) -> None:
        """Make ``files`` durable before returning: all below ``target`` is in them.

        Raises:
            OSError: the disk failed.
        """
        try:
            for file in files:
                file.fsync()
        except OSError as error:
            self.error = error
            raise
        self._done(target, self._cuts)

    def later(self, files: list[DiskFile], target: int, on_done: FlushDone) -> None:
        """As :meth:`now` (``files`` not empty), without blocking; ``on_done`` gets the first error or None."""
        flush = _Flush(target, self._cuts, len(files), on_done)
        self._in_flight.append(flush)

        def done(error: OSError | None) -> None:
            flush.error = flush.error or error
            flush.waiting -= 1
            if flush.waiting == 0:
                self._in_flight.remove(flush)
                if flush.error is None:
                    self._done(flush.target, flush.cuts)
                else:
                    self.error = flush.error
                flush.on_done(flush.error)

        for file in files:
            file.fsync_later(done)

    def _done(self, target: int, cuts: int) -> None:
        self.recovery_point = max(self.recovery_point, target)
        self._cuts_flushed = max(self._cuts_flushed, cuts)

    def cut_to(self, offset: int) -> bool:
        """The log now ends at ``offset``; whether the recovery point had to move back."""
        self._cuts += 1
        for flush in self._in_flight:
            flush.target = min(flush.target, offset)
        if offset >= self.recovery_point:
            return False
        self.recovery_point = offset
        return True
