"""When a voter without leader stands at the latest, from one role to the next.

A candidate with a log that nobody can vote for bumps the epoch again and again, and each time the others go to
*unattached* anew. If their election time-out began anew with it, those that could win would never stand. So the
deadline stays: it is renewed by a vote that was given, by standing oneself, and by a leader, by nothing else.
"""

from __future__ import annotations

from random import Random

from highwater_runtime.ports import Clock
from highwater_runtime.raft.election import Timing


class Patience:
    """One voter's deadline."""

    def __init__(self, timing: Timing, clock: Clock, random: Random) -> None:
        self._timing = timing
        self._clock = clock
        self._random = random
        self._deadline_ns: int | None = None

    def renew(self) -> int:
        """Begin a new election time-out; returns it."""
        timeout_ns = self._timing.election_timeout_ns(self._random)
        self._deadline_ns = self._clock.now_ns() + timeout_ns
        return timeout_ns

    def left_ns(self) -> int:
        """What is left of the time-out that runs; a new one where none does."""
        if self._deadline_ns is None:
            return self.renew()
        return max(self._deadline_ns - self._clock.now_ns(), 0)

    def forget(self) -> None:
        """There is a leader."""
        self._deadline_ns = None
