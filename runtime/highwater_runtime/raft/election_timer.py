"""The election time-out of a voter, kept from one role to the next.

A candidate whose log is too short for every vote bumps the epoch again and again, and each time the others become
*unattached*. If that restarted their election time-out, voters that could win would never become candidates. So only
three events renew the deadline: a vote that was granted, a candidacy of this voter, and a leader.
"""

from __future__ import annotations

from random import Random

from highwater_runtime.ports import Clock
from highwater_runtime.raft.election import Timing


class ElectionTimer:
    """The deadline of one voter."""

    def __init__(self, timing: Timing, clock: Clock, random: Random) -> None:
        self._timing = timing
        self._clock = clock
        self._random = random
        self._deadline_ns: int | None = None

    def renew(self) -> int:
        """Start a new election time-out. Return it in nanoseconds."""
        timeout_ns = self._timing.election_timeout_ns(self._random)
        self._deadline_ns = self._clock.now_ns() + timeout_ns
        return timeout_ns

    def left_ns(self) -> int:
        """Return the rest of the current time-out in nanoseconds. Start a new one if there is none."""
        if self._deadline_ns is None:
            return self.renew()
        return max(self._deadline_ns - self._clock.now_ns(), 0)

    def stop(self) -> None:
        """Stop the time-out, because there is a leader."""
        self._deadline_ns = None
