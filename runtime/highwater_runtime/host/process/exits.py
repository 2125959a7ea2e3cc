"""Exit statuses of ``highwater-node``."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What became of a node process."""

    STOPPED = 0
    """Asked to stop, and stopped cleanly."""
    CRASHED = 1
    """Its disk failed, it halted, a bug was found, it could not begin, or it was asked to stop at once."""
    BAD_CONFIG = 2
    """The configuration or the command line cannot be used; standard error says why."""
