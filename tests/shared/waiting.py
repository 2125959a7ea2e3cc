"""Waiting until something has come about, on a machine with other worries: a condition, never a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str, seconds: float = 90) -> Found:
    """Return the first result of ``condition`` that is true.

    Raises:
        AssertionError: there was none within these seconds.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.02)
    return found
