"""Waiting until something has come about, on a machine with other worries: a condition, never a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str, seconds: float = 90) -> Found:
    """Return the first result of ``condition`` that is true. What takes long, to ask or to come about, is asked less
    often: whoever it waits for needs the processor more.

    Raises:
        AssertionError: there was none within these seconds.
    """
    began = time.monotonic()
    while True:
        asked = time.monotonic()
        if found := condition():
            return found
        now = time.monotonic()
        assert now < began + seconds, f"waited {seconds:g} s for {what}"
        time.sleep(min(0.5, max(0.02, 4 * (now - asked), (now - began) / 50)))
