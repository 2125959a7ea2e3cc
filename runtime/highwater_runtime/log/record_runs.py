"""Runs of records of one shape, compared column by column instead of walked one by one.

Many producers send records of one size. Such records differ in timestamp, offset delta, key and value alone, and each
begins a fixed number of bytes behind the one before: the first bytes of all of them are one slice with a step, and so
are the second ones. To compare such a slice costs a nanosecond for each record, where a walk costs hundreds. Records
that are not like the one before are left to the walk, which knows what is wrong with them, if anything is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_runtime.log.varint import read_varint

LEAST_RUN: Final = 16
"""Fewer records are not worth the comparison."""
_ONE_BYTE: Final = 64
_TWO_BYTES: Final = 8192
"""Offset deltas below which they take one byte, and two, as zigzag varints."""
_DELTAS: Final = bytes(2 * delta for delta in range(_ONE_BYTE))
_LOW: Final = bytes(2 * delta & 0x7F | 0x80 for delta in range(_TWO_BYTES))
_HIGH: Final = bytes(2 * delta >> 7 for delta in range(_TWO_BYTES))
_EVEN: Final = bytes(range(0, 256, 2))
_EVEN_AND_MORE: Final = bytes(range(128, 256, 2))
"""First bytes of a varint of two bytes that is not negative."""


class Run(NamedTuple):
    """So many records, and the largest of their timestamp deltas, zigzag; −1 if all are that of the record before."""

    length: int
    latest: int


_NO_RUN: Final = Run(0, -1)


def run_behind(data: bytes, begin: int, record_end: int, index: int, count: int) -> Run:
    """Return how many records behind a valid one, which is at ``data[begin:record_end]``, are valid and of its shape.

    It is number ``index`` of ``count`` records. Those of the run are numbered on, have the same
    lengths, and neither attributes nor headers. Their timestamp deltas are equal to its own, or not negative and of its
    length, which is at most two bytes.
    """
    timestamp = read_varint(data, begin)[1] + 1
    offset = read_varint(data, timestamp)[1]
    key_length = read_varint(data, offset)[1]
    key_size, key = read_varint(data, key_length)
    value_length = key + max(key_size, 0)
    value_size, value = read_varint(data, value_length)
    number, size = index + 1, record_end - begin
    limit, width = (_ONE_BYTE, 1) if number < _ONE_BYTE else (_TWO_BYTES, 2)
    if value + max(value_size, 0) + 1 != record_end or key_length - offset != width:
        return _NO_RUN  # it has headers, or a number of another width
    equal = (*range(begin, timestamp), *range(key_length, key), *range(value_length, value), record_end - 1)
    most = min(limit, count) - number
    while most >= LEAST_RUN:
        last = record_end + most * size
        if _are_numbered(data, offset + size, last, size, number, most) and _are_equal(data, equal, last, size, most):
            latest = _latest(data, timestamp, offset, last, size, most)
            if latest is not None:
                return Run(most, latest)
        most //= 2
    return _NO_RUN


def _are_numbered(data: bytes, at: int, end: int, size: int, number: int, count: int) -> bool:
    """Whether the offset deltas from ``at`` on, one each ``size`` bytes, are ``number`` and the following ones."""
    if number < _ONE_BYTE:
        return data[at:end:size] == _DELTAS[number : number + count]
    return (
        data[at:end:size] == _LOW[number : number + count]
        and data[at + 1 : end : size] == _HIGH[number : number + count]
    )


def _are_equal(data: bytes, columns: tuple[int, ...], end: int, size: int, count: int) -> bool:
    """Whether the ``count`` records behind the one with ``columns`` have the same bytes there."""
    return all(data[at + size : end : size] == data[at : at + 1] * count for at in columns)


def _latest(data: bytes, at: int, behind: int, end: int, size: int, count: int) -> int | None:
    """The largest timestamp delta of the ``count`` records behind the one whose delta is at ``at``; −1: all are equal
    to it. None if that takes a walk."""
    if _are_equal(data, tuple(range(at, behind)), end, size, count):
        return -1
    last = data[behind - 1 + size : end : size]
    if not last.isascii():
        return None
    if behind - at == 1:
        return None if last.translate(None, _EVEN) else max(last)
    low = data[at + size : end : size]
    if behind - at > 2 or low.translate(None, _EVEN_AND_MORE):
        return None
    high_bits, low_bits = max(zip(last, low, strict=True))
    return low_bits & 0x7F | high_bits << 7
