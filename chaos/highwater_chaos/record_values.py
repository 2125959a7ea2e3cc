"""What the bytes of a record mean. The value is a number: our producers write decimal digits, and pad them with spaces.
The key follows from the value, so that whoever knows one knows the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

_WRITTEN: Final = b"0123456789 "
_MOST: Final = 2**63 - 1
"""What a table of a run can hold, in its column ``value``."""


def key_of(value: int, keys: int) -> bytes | None:
    """The key of the record with this value, if records have so many keys; 0: they have none."""
    return b"%d" % (value % keys) if keys else None


def value_of(data: bytes | None) -> int:
    """The value of a record on the wire; one that no producer of ours can have written becomes a negative number that
    depends on its bytes alone, so that it shows as a value that was never sent."""
    numbers = _numbers([data or b""])
    return numbers[0] if numbers else -1 - crc32(data or b"")


def values_of(data: Sequence[bytes | None]) -> list[int]:
    """The values of many records: for each what :func:`value_of` says."""
    return _numbers(data) or list(map(value_of, data))


def _numbers(data: Sequence[bytes | None]) -> list[int]:
    """All values, if producers of ours can have written all of them; otherwise nothing."""
    try:
        # int() takes an underscore, a sign and any white space as well.
        if b"".join(data).translate(None, _WRITTEN):  # type: ignore[arg-type]  # None is a TypeError
            return []
        numbers = list(map(int, data))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    return numbers if max(numbers, default=0) <= _MOST else []
