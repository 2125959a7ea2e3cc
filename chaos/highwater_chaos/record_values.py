"""What the bytes of a record's value mean: a number, which our producers write in decimal digits."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32


def value_of(data: bytes | None) -> int:
    """The value of a record on the wire; one that no producer of ours can have written becomes a negative number that
    depends on its bytes alone, so that it shows as a value that was never sent."""
    try:
        return int((data or b"").decode("ascii"))
    except ValueError:
        return -1 - crc32(data or b"")


def values_of(data: Sequence[bytes | None]) -> list[int]:
    """The values of many records: for each what :func:`value_of` says."""
    try:
        return list(map(int, data))  # type: ignore[arg-type]  # None is a TypeError
    except (TypeError, ValueError):
        return list(map(value_of, data))
