"""What follows if a process ends by itself: a finding, an inconclusive reason, or nothing."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final

from highwater_runtime.ports.trace import NodeCrashed

_OWN_SIGNALS: Final = frozenset(
    {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP}
)
"""Signals by which a process ends through its own doing; the others were sent (by the kernel, short of memory)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """One end of an incarnation that no fault brought about.

    ``status``: its exit status, negative: the signal. ``was_reported``: the node reported its crash itself.
    ``says_why``: its software would have. ``was_asked``: it was to stop, and did not do so cleanly. ``troubled``: its
    disk had been made to fail. ``has_been_up``: in this incarnation or an earlier one.
    """

    node: str
    incarnation: int
    status: int | None
    was_reported: bool
    says_why: bool
    was_asked: bool
    troubled: bool
    has_been_up: bool
    tail: str

    def finding(self) -> NodeCrashed | None:
        """Return the crash that the harness must report for the node; None if there is none or the node reported it."""
        if self.was_reported or self.troubled or self.was_asked or self.status is None:
            return None
        # Software that has never been up may refuse its configuration, or not find its port free.
        own = -self.status in _OWN_SIGNALS if self.status < 0 else not self.says_why and self.has_been_up
        return NodeCrashed(reason=f"ended by itself ({self._how})", stack=self.tail) if own else None

    def inconclusive_reason(self) -> str | None:
        """Why the run cannot be judged; None where the end is a finding, or a fault explains it."""
        if self.was_reported or self.troubled or self.finding() is not None:
            return None
        what = "did not stop cleanly" if self.was_asked else "ended by itself" if self.has_been_up else "did not start"
        return f"{self.node} {what} in incarnation {self.incarnation} ({self._how}); its log ends:\n{self.tail}"

    @property
    def _how(self) -> str:
        return f"signal {-self.status}" if self.status is not None and self.status < 0 else f"status {self.status}"
