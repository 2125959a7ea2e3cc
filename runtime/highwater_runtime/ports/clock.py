"""Time and timers, in integer nanoseconds so that simulated arithmetic is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

MS: Final = 1_000_000
"""Nanoseconds in a millisecond."""

SECOND: Final = 1_000_000_000
"""Nanoseconds in a second."""


class Timer(Protocol):
    """A pending call."""

    def cancel(self) -> None:
        """Prevent the call. Idempotent. Does nothing if the callback has run."""


class Clock(Protocol):
    """One node's view of time. In the simulator it may run fast, slow or offset (``clockSkew``)."""

    def now_ns(self) -> int:
        """Return the monotonic time of this node in nanoseconds. Only differences have a meaning."""

    def wall_ms(self) -> int:
        """Return milliseconds since the Unix epoch by this node's wall clock, for record timestamps. May jump."""

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        """Run ``callback`` once, ``delay_ns`` nanoseconds of this node's time from now (0: after this event).

        Timers due at the same instant run in the order in which they were set. A timer dies with its node.
        """
