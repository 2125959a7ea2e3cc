"""How far one clock is ahead of another one, though a process may stop running between two readings.

To read one clock and then the other is not enough: a process that was preempted for 13 ms in between had its events 13
ms off. So one clock is read before and after the other, and the narrowest of several such readings counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

_TRIES: Final = 8
_NARROW_NS: Final = 20_000
"""A reading as narrow as this is good enough."""


class Ahead(NamedTuple):
    """``by_ns``: one clock minus another; ``error_ns``: how far that may be off."""

    by_ns: int
    error_ns: int


def how_far_ahead(clock: Callable[[], int], of: Callable[[], int]) -> Ahead:
    """Return how far ``clock`` is ahead of the clock ``of``. Both return nanoseconds.

    >>> how_far_ahead(lambda: 105, of=iter([0, 8]).__next__)
    Ahead(by_ns=101, error_ns=4)
    """
    best: Ahead | None = None
    for _ in range(_TRIES):
        before = of()
        at = clock()
        after = of()
        width = after - before
        error = (width + 1) // 2
        if best is None or error < best.error_ns:
            best = Ahead(at - before - width // 2, error)
        if best.error_ns <= _NARROW_NS:
            break
    assert best is not None
    return best
