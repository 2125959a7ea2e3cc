"""What a leader knows of the other replicas, and what follows: the HW, check-quorum, the order of successors.

No clock is read: times are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from highwater_runtime.ports import SECOND

OBSERVER_SESSION_NS: Final = 300 * SECOND
"""An observer that has not fetched for so long is gone (Kafka's ``OBSERVER_SESSION_TIMEOUT_MS``)."""


@dataclass(slots=True)
class ReplicaProgress:
    """One other replica as seen from the leader.

    ``end_offset``: its durable end (−1 before it fetched in this epoch). ``heard_ns``: time of its last fetch (at
    first: begin of the epoch). ``sent_high_watermark``: the HW of the last response to it. ``caught_up_ns``: time at
    which it last had all records of the leader. ``leader_end``: end of the leader's log at its last fetch.
    """

    heard_ns: int
    end_offset: int = -1
    sent_high_watermark: int = -1
    caught_up_ns: int | None = None
    leader_end: int = -1

    def fetched(self, offset: int, leader_end: int, now_ns: int) -> None:
        """Record a fetch at ``offset`` while the leader's log ends at ``leader_end``. Set ``heard_ns`` later."""
        if offset >= leader_end:
            self.caught_up_ns = now_ns
        elif 0 <= self.leader_end <= offset:
            self.caught_up_ns = max(self.caught_up_ns or 0, self.heard_ns)
        self.end_offset = offset
        self.leader_end = leader_end


class LeaderProgress:
    """The progress of all replicas in one leader's epoch.

    ``others``: the other voters' ids, ascending; ``epoch_start``: the offset of the leader's LeaderChange record.
    """

    def __init__(self, others: tuple[int, ...], epoch_start: int, now_ns: int) -> None:
        self.epoch_start = epoch_start
        self.voters = {voter: ReplicaProgress(now_ns) for voter in others}
        self.observers: dict[int, ReplicaProgress] = {}
        self._majority = (len(others) + 1) // 2 + 1

    def of(self, replica_id: int, now_ns: int) -> ReplicaProgress:
        """Return the progress of a replica. A replica that is not a voter becomes an observer with its first fetch."""
        voter = self.voters.get(replica_id)
        if voter is not None:
            return voter
        return self.observers.setdefault(replica_id, ReplicaProgress(now_ns))

    def live_observers(self, now_ns: int) -> dict[int, ReplicaProgress]:
        """Return the observers by id, ascending. Forget those that are gone."""
        self.observers = {
            observer: progress
            for observer, progress in sorted(self.observers.items())
            if now_ns - progress.heard_ns < OBSERVER_SESSION_NS
        }
        return self.observers

    def high_watermark(self, own_flushed_end: int) -> int | None:
        """Return the offset up to which a majority of voters is durable, the leader included.

        Return None while that covers no record of this epoch, because then nothing counts as committed.
        """
        ends = sorted([own_flushed_end, *(progress.end_offset for progress in self.voters.values())], reverse=True)
        reached = ends[self._majority - 1]
        return reached if reached > self.epoch_start else None

    def majority_heard_ns(self) -> int | None:
        """Return the latest time (ns) since which a majority, leader included, has fetched. None for a single voter."""
        if self._majority == 1:
            return None
        heard = sorted((progress.heard_ns for progress in self.voters.values()), reverse=True)
        return heard[self._majority - 2]

    def successors(self) -> tuple[int, ...]:
        """Return the other voters, the most caught-up first, ties by id."""
        return tuple(sorted(self.voters, key=lambda voter: (-self.voters[voter].end_offset, voter)))
