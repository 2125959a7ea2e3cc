"""What a process of a pod waits for before it begins: others hold it back, or have yet to mount its disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from highwater_runtime.host.logs import NodeLog

_LOOK_AGAIN_S: Final = 0.05


def wait_to_begin(log: NodeLog, hold: Path | None, volume: Path | None) -> bool:
    """Wait until no file has a path that begins with ``hold``, and until the directory ``volume`` exists. Return False
    if a signal asks the process to end before."""
    if hold is not None and (held_by := _with_prefix(hold)):
        held = partial(log.info, "held", files=" ".join(held_by))
        if not _wait_until(lambda: not _with_prefix(hold), held):
            return False
    if volume is not None and not volume.is_dir():
        waiting = partial(log.info, "waiting", directory=volume)
        if not _wait_until(volume.is_dir, waiting):
            return False
    return True


def _with_prefix(prefix: Path) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(prefix.parent) if entry.name.startswith(prefix.name))
    except FileNotFoundError:
        return []


def _wait_until(condition: Callable[[], bool], announce: Callable[[], None]) -> bool:
    """Announce the wait, then wait. Returns True when ``condition`` holds, False if SIGTERM or SIGINT comes before.
    From the announcement on, such a signal ends the wait cleanly. (A container's first process does not even get
    signals for which it has no handler.)"""
    signals = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        announce()
        while not condition():
            if signal.sigtimedwait(signals, _LOOK_AGAIN_S) is not None:
                return False
        return True
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
