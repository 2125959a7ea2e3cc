"""Exit statuses of every command (a contract: CI jobs branch on them)."""

from __future__ import annotations

from enum import IntEnum

from highwater_chaos.base.user_error import UserError


class Exit(IntEnum):
    """0 as expected · 1 fail or not as expected · 2 inconclusive · 254 bad usage or file · 255 harness error."""

    OK = 0
    FAIL = 1
    INCONCLUSIVE = 2
    USAGE = 254
    HARNESS = 255


class UsageError(UserError):
    """What the user asked for cannot be done as asked; the message says why and what to do. Exits 254."""
