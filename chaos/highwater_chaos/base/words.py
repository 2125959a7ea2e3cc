"""Counts in sentences."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """``1 seed``, ``2,300 seeds``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
