"""What can go wrong on a machine, said so that the reader knows what to do."""

from __future__ import annotations


class MachineError(Exception):
    """The machine did not do what was asked: what was tried, what it said, and what to do."""


class RunGoneError(MachineError):
    """The run was healed by another process (``highwater heal --all``, its guardian) and must not be used any more."""
