"""Durations and rates as experiment files write them; in :mod:`highwater_chaos.units`, because agents read them too."""

from __future__ import annotations

from highwater_chaos.units import (
    Duration,
    EventsPerSecond,
    Nanoseconds,
    Rate,
    format_duration,
    parse_duration,
    parse_rate,
)

__all__ = ["Duration", "EventsPerSecond", "Nanoseconds", "Rate", "format_duration", "parse_duration", "parse_rate"]
