"""Errors of a machine. Each message says what to do."""

from __future__ import annotations


class MachineError(Exception):
    """The machine did not do what was asked. The message has the attempt, the machine's answer, and what to do."""


class RunGoneError(MachineError):
    """The run was healed by another process (``highwater heal --all``, its guardian) and must not be used any more."""


class PlaceError(MachineError):
    """No run can be kept in the state directory, or none in it may be obeyed. Nothing was begun."""
