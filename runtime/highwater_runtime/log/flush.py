"""The recovery point: below which offset a log is known to be durable, while flushes and truncations overlap.

A flush covers what was written before it began and ends as an event of its own, later. A truncation in between takes
back what the flush would have vouched for: offsets that are written again after it are other bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from highwater_runtime.ports.disk import DiskFile

FlushDone = Callable[[OSError | None], None]


class _Flush:
    __slots__ = ("error", "on_done", "target", "waiting")

    def __init__(self, target: int, waiting: int, on_done: FlushDone) -> None:
        self.target = target
        self.waiting = waiting
        self.on_done = on_done
        self.error: OSError | None = None


class Flushes:
    """``recovery_point`` and what is in flight."""

    __slots__ = ("_in_flight", "_when_idle", "on_advance", "recovery_point")

    def __init__(self, recovery_point: int) -> None:
        self.recovery_point = recovery_point
        self.on_advance: Callable[[int], None] | None = None
        """Called with the recovery point when a flush has moved it."""
        self._in_flight: list[_Flush] = []
        self._when_idle: list[Callable[[], None]] = []

    def now(self, files: list[DiskFile], target: int) -> None:
        """Make ``files`` durable before returning: all below ``target`` is in them.

        Raises:
            OSError: the disk failed.
        """
        for file in files:
            file.fsync()
        self._advance(target)

    def _advance(self, target: int) -> None:
        if target > self.recovery_point:
            self.recovery_point = target
            if self.on_advance is not None:
                self.on_advance(target)

    def later(self, files: list[DiskFile], target: int, on_done: FlushDone) -> None:
        """As :meth:`now` (``files`` not empty), without blocking; ``on_done`` gets the first error or None."""
        done = self.begin(target, len(files), on_done)
        for file in files:
            file.fsync_later(done)

    def begin(self, target: int, parts: int, on_done: FlushDone) -> FlushDone:
        """A flush of all below ``target`` begins; what this returns is to be called at the end of each of its parts."""
        flush = _Flush(target, parts, on_done)
        self._in_flight.append(flush)

        def done(error: OSError | None) -> None:
            flush.error = flush.error or error
            flush.waiting -= 1
            if flush.waiting == 0:
                self._in_flight.remove(flush)
                if flush.error is None:
                    self._advance(flush.target)
                flush.on_done(flush.error)
                if not self._in_flight:
                    waiting, self._when_idle = self._when_idle, []
                    for action in waiting:
                        action()

        return done

    def when_idle(self, action: Callable[[], None]) -> None:
        """Call ``action`` once no flush is in flight, which may be now."""
        if self._in_flight:
            self._when_idle.append(action)
        else:
            action()

    def cut_to(self, offset: int) -> None:
        """The log ends at ``offset``, or is about to."""
        for flush in self._in_flight:
            flush.target = min(flush.target, offset)
        self.recovery_point = min(self.recovery_point, offset)
