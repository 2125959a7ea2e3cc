"""Notify the listener of commits and of leaders, in an order on which it can rely.

The order: the loss of leadership before any further commit, every commit in offset order, the gain of leadership
after the commit of the leader's own LeaderChange record. A snapshot takes the place of all commits below its end.

A node that starts replays the whole log. One event delivers a bounded part of it, so requests and heartbeats are
handled in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from highwater_runtime.ports import Trace
from highwater_runtime.raft.errors import halt
from highwater_runtime.raft.listener import RaftListener
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.snapshotting import Snapshot

MOST_AT_ONCE: Final = 1000
"""Records that one event delivers. It also delivers the rest of the last batch."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads what. ``claim_from`` is set where this replica does: the offset of its LeaderChange record."""

    leader_id: int | None
    epoch: int
    claim_from: int | None = None


class CommitFeed:
    """The position of the listener in the log: :attr:`next_offset` is the end of the batches that it got."""

    def __init__(
        self,
        log: MetadataLog,
        listener: RaftListener,
        leadership: Callable[[], Leadership],
        on_loaded: Callable[[Snapshot], None],
        trace: Trace,
    ) -> None:
        self._log = log
        self._listener = listener
        self._leadership = leadership
        self._on_loaded = on_loaded
        self._trace = trace
        self._notified: tuple[int | None, int] = (None, 0)
        self._snapshot: Snapshot | None = None
        self.next_offset = 0

    def jump_to(self, snapshot: Snapshot) -> None:
        """Load ``snapshot`` before the next commit."""
        self._snapshot = snapshot

    def notify(self, high_watermark: int, most: int) -> tuple[bool, int]:
        """Bring the listener up to date, with ``most`` records or few more. Return whether there was anything new, and
        how many records.

        The listener may append or resign in a call, so the leader is compared before and after every batch.
        """
        is_news = self._notify_leadership()
        if self._snapshot is not None:
            self._load(self._snapshot)
            is_news = True
        begin = self.next_offset
        if begin < high_watermark and most > 0:
            for batch in self._log.batches_between(begin, high_watermark):
                assert batch.base_offset == self.next_offset, (
                    f"expected the batch at {self.next_offset}, found {batch.base_offset}"
                )
                if batch.last_offset >= high_watermark:
                    what = f"the HW {high_watermark} lies inside of the batch at {batch.base_offset}"
                    raise halt(self._trace, "raft-committed-data", batch.leader_epoch, None, what)
                self.next_offset = batch.last_offset + 1
                values = [] if batch.is_control else [value or b"" for value in batch.offsets_and_values()[1]]
                self._listener.on_commit(batch.base_offset, batch.leader_epoch, values, batch.last_offset)
                self._notify_leadership()
                if self.next_offset - begin >= most:
                    break
            else:
                assert self.next_offset == high_watermark, f"the log ends at {self.next_offset}, below {high_watermark}"
            is_news = True
        return is_news, self.next_offset - begin

    def _load(self, snapshot: Snapshot) -> None:
        assert self._leadership().claim_from is None, f"a leader never loads a snapshot: {snapshot.id}"
        assert self.next_offset < snapshot.id.end_offset, f"a snapshot above {self.next_offset}, found {snapshot.id}"
        self._snapshot = None
        self.next_offset = snapshot.id.end_offset
        self._on_loaded(snapshot)
        self._listener.on_load_snapshot(snapshot.id.end_offset, snapshot.id.epoch, snapshot.records)

    def _notify_leadership(self) -> bool:
        now = self._leadership()
        news: tuple[int | None, int] = (now.leader_id, now.epoch)
        if now.claim_from is not None and self.next_offset <= now.claim_from:
            if self._notified[0] is None:
                return False  # not complete yet: for the listener there is no leader
            news = (None, now.epoch)
        if news == self._notified:
            return False
        assert news[1] >= self._notified[1], f"expected an epoch of {self._notified} or later, found {news}"
        self._notified = news
        self._listener.on_leader_change(*news)
        return True
