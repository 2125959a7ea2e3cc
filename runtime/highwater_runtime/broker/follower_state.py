"""What a leader knows of one follower, learned from its fetches alone (KIP-903, Kafka's ``ReplicaState``).

Rules in words:

* A fetch at offset *n* says: this replica has everything below *n*, that is, *n* is its LEO.
* A replica is *caught up* at the time of a fetch that reaches the leader's LEO of then; or, one fetch late, at the
  time of its previous fetch, if this one reaches the LEO that the leader had at that time. So a follower that keeps
  pace with a busy leader counts as caught up though it never sees the very end.
* The replica epoch is the broker epoch that the fetch carried (Fetch v15), not the one in the leader's metadata: it
  says which incarnation of the broker has these records.
* A new leader epoch forgets all of it: what joins the ISR must have fetched in this epoch.
* What left the ISR must fetch once more before it joins again. Its log may be lost, and then it never does.
* A request in a fetch session is a fetch of all its partitions, also of those that it does not name. One at the LEO, of
  which nobody has anything to tell, is not looked at for that: the session says when it was (:class:`QuietPartition`).
  Once the follower is heard of in any other way, by a fetch outside the session or in another one, the session looks
  at the partition again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

UNKNOWN_OFFSET: Final = -1
"""LEO of a follower that has not fetched in this leader epoch."""

UNKNOWN_EPOCH: Final = -1
"""Replica epoch that is unknown: the request has none (Fetch below v15), or there was no request yet."""


class QuietPartition(Protocol):
    """A partition of a fetch session: each request of the session is a fetch of it at the LEO."""

    @property
    def fetched_ns(self) -> int:
        """When the follower has asked last in the session, the full fetch that opened it left out."""

    def disturb(self) -> None:
        """Let the next request of the session look at it, and call :meth:`FollowerState.end_fetch_by_session`."""


@dataclass(slots=True)
class FollowerState:
    """One follower as its leader sees it. Times are the leader's ``now_ns``."""

    broker_id: int
    log_end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    replica_epoch: int = UNKNOWN_EPOCH
    last_fetch_ns: int = 0
    last_caught_up_ns: int = 0
    leader_end_offset_at_last_fetch: int = UNKNOWN_OFFSET
    left_isr: bool = False
    """Out of the ISR, and silent since."""
    _quiet: QuietPartition | None = None
    """Set while each request of a session is a fetch at the LEO, which has not moved since the first of them."""

    @classmethod
    def at_epoch_start(cls, broker_id: int, *, in_isr: bool, now_ns: int, lag_max_ns: int) -> FollowerState:
        """The state with which a leader epoch begins: a member of the ISR has its lag time from now on to show up.

        One outside the ISR counts as long lagging, so that nobody waits for it before it has fetched.
        """
        return cls(broker_id, last_caught_up_ns=now_ns if in_isr else now_ns - lag_max_ns - 1)

    @property
    def has_fetched(self) -> bool:
        """Whether it has fetched in this leader epoch, and since it left the ISR if it did."""
        return self.log_end_offset != UNKNOWN_OFFSET and not self.left_isr

    def fetched(
        self, offset: int, log_start_offset: int, replica_epoch: int, leader_end_offset: int, now_ns: int
    ) -> None:
        """Take in a fetch at ``offset`` that arrived at ``now_ns``, when the leader's LEO was ``leader_end_offset``."""
        self._leave_session()
        if offset >= leader_end_offset:
            self.last_caught_up_ns = max(self.last_caught_up_ns, now_ns)
        elif self.leader_end_offset_at_last_fetch != UNKNOWN_OFFSET and offset >= self.leader_end_offset_at_last_fetch:
            self.last_caught_up_ns = max(self.last_caught_up_ns, self.last_fetch_ns)
        self.left_isr = False
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.replica_epoch = replica_epoch
        self.leader_end_offset_at_last_fetch = leader_end_offset
        self.last_fetch_ns = now_ns

    def fetch_by_session(self, quiet: QuietPartition) -> None:
        """It has fetched at the LEO, and goes on to do so with each request of a session."""
        self._leave_session()
        self._quiet = quiet

    def _leave_session(self) -> None:
        """A session speaks for it no longer, and must look at the partition when it is asked again."""
        if self._quiet is not None:
            self._quiet.disturb()

    def end_fetch_by_session(self) -> None:
        """What the session asks next is no longer a fetch at the LEO."""
        if self._quiet is not None:
            self.last_fetch_ns = max(self.last_fetch_ns, self._quiet.fetched_ns)
            self.last_caught_up_ns = max(self.last_caught_up_ns, self._quiet.fetched_ns)
            self.leader_end_offset_at_last_fetch = self.log_end_offset
            self._quiet = None

    @property
    def fetched_ns(self) -> int:
        """When it has fetched last, in a session or outside of any."""
        return self.last_fetch_ns if self._quiet is None else max(self.last_fetch_ns, self._quiet.fetched_ns)

    def caught_up(self, leader_end_offset: int, now_ns: int, lag_max_ns: int) -> bool:
        """Whether it has everything now, or had it at most ``lag_max_ns`` ago."""
        if self.log_end_offset == leader_end_offset:
            return True
        last = self.last_caught_up_ns if self._quiet is None else max(self.last_caught_up_ns, self._quiet.fetched_ns)
        return now_ns - last <= lag_max_ns
