"""Deadlines on this machine's clocks."""

from __future__ import annotations

import time


def remaining_ns(until_ns: int | None) -> int | None:
    """From a moment of CLOCK_MONOTONIC to nanoseconds from now (at least one); None: no deadline."""
    return None if until_ns is None else max(1, until_ns - time.monotonic_ns())
