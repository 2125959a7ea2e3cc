"""What the bytes of a record's value mean: a number, which our producers write in decimal digits."""

from __future__ import annotations

from zlib import crc32


def value_of(data: bytes | None) -> int:
    """The value of a record on the wire; one that no producer of ours can have written becomes a negative number that
    depends on its bytes alone, so that it shows as a value that was never sent."""
    try:
        return int((data or b"").decode("ascii"))
    except ValueError:
        return -1 - crc32(data or b"")
