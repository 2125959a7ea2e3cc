"""Durations and rates as experiment files write them; they are in :mod:`highwater_chaos.base` for agents' sake."""

from __future__ import annotations

from highwater_chaos.base.quantities import (
    Duration,
    EventsPerSecond,
    Nanoseconds,
    Rate,
    format_duration,
    parse_duration,
    parse_rate,
)

__all__ = ["Duration", "EventsPerSecond", "Nanoseconds", "Rate", "format_duration", "parse_duration", "parse_rate"]
