"""The life of processes that this program starts."""

from __future__ import annotations

import ctypes
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """Have the kernel send SIGKILL to this process when the thread that started it has ended.

    A parent that had ended before this call is not noticed. Nothing happens on systems other than Linux.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


def how_it_ended(exit_code: int | None) -> str:
    """Return a process's exit status, or the signal that ended it, in words; None: it has not ended."""
    if exit_code is None:
        return "it stopped answering"
    return f"signal {signal.Signals(-exit_code).name}" if exit_code < 0 else f"exit status {exit_code}"
