"""Durations (``"500ms"``, ``"1m30s"``) and rates (``"200/s"``) as an experiment file writes them.

In memory a duration is integer nanoseconds and a rate is events a second; both are written back in the file's form.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$"
_DURATION: Final = re.compile(_DURATION_PATTERN)
_PART: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?(ns|us|ms|s|m|h)")
_RATE_PATTERN: Final = r"^[0-9]+(\.[0-9]+)?/(s|m)$"
_RATE: Final = re.compile(r"^([0-9]+(?:\.[0-9]+)?)/(s|m)$")

_LONGEST_TEXT: Final = 40
_LONGEST_NS: Final = 8760 * _UNITS["h"]
_HIGHEST_RATE: Final = 1_000_000


def parse_duration(text: object) -> int:
    """Nanoseconds of a duration such as ``"1m30s"`` or ``"2.5s"``; raises ``ValueError`` on anything else."""
    if isinstance(text, int) and not isinstance(text, bool) and text == 0:
        return 0
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT or not _DURATION.match(text):
        raise ValueError("expected a duration such as 500ms, 20s or 1m30s (units: ns, us, ms, s, m, h)")
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        scale = _UNITS[unit]
        total += int(whole) * scale
        if fraction:
            total += int(fraction) * scale // 10 ** len(fraction)
    if total > _LONGEST_NS:
        raise ValueError(f"expected a duration of at most {format_duration(_LONGEST_NS)}")
    return total


def format_duration(ns: int) -> str:
    """The shortest exact text of a duration: ``90_000_000_000`` is ``"1m30s"``."""
    if ns == 0:
        return "0s"
    parts: list[str] = []
    for unit in ("h", "m", "s", "ms", "us", "ns"):
        count, ns = divmod(ns, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def parse_signed_duration(text: object) -> int:
    """As :func:`parse_duration`, also of ``"-2s"``."""
    if isinstance(text, str) and text.startswith("-"):
        return -parse_duration(text[1:])
    return parse_duration(text)


def format_signed_duration(ns: int) -> str:
    """As :func:`format_duration`, with a minus sign before one that is negative."""
    return f"-{format_duration(-ns)}" if ns < 0 else format_duration(ns)


def _duration(found: object) -> int:
    # A model that is validated again (a copy with another seed, say) already holds nanoseconds.
    if isinstance(found, Nanoseconds):
        return found
    return Nanoseconds(parse_duration(found))


class Nanoseconds(int):
    """An ``int`` that has been parsed as a duration, so that it is not mistaken for a bare number in a file."""


Duration = Annotated[
    int,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": _DURATION_PATTERN,
                    "maxLength": _LONGEST_TEXT,
                    "description": "a duration such as 500ms, 20s or 1m30s (or 0)",
                },
                {"type": "integer", "const": 0},
            ]
        }
    ),
]
"""Integer nanoseconds, ≥ 0; written as ``"1m30s"``, or a bare 0."""


class EventsPerSecond(float):
    """A ``float`` that has been parsed as a rate."""


def parse_rate(text: object) -> float:
    """Events a second of a rate such as ``"200/s"`` or ``"30/m"``; raises ``ValueError`` on anything else."""
    found = _RATE.match(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("expected a rate such as 200/s or 30/m")
    value = float(found[1]) / (60 if found[2] == "m" else 1)
    if value <= 0:
        raise ValueError("expected a rate above zero, such as 200/s; leave producers at 0 for no writes")
    if value > _HIGHEST_RATE:
        raise ValueError(f"expected a rate of at most {_HIGHEST_RATE}/s")
    return value


def _rate(found: object) -> float:
    if isinstance(found, EventsPerSecond):
        return found
    return EventsPerSecond(parse_rate(found))


def _format_rate(rate: float) -> str:
    # All digits, and no exponent: what is written is read again, as the same rate.
    return f"{Decimal(repr(float(rate))).normalize():f}/s"


Rate = Annotated[
    float,
    BeforeValidator(_rate),
    PlainSerializer(_format_rate, return_type=str),
    WithJsonSchema({"type": "string", "pattern": _RATE_PATTERN, "maxLength": 20}),
]
"""Events a second, > 0; written as ``"200/s"``."""
