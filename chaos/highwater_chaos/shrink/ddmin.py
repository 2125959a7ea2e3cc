"""Delta debugging: find the pieces that a failure needs (the removing half of Zeller's ddmin).

Halves are removed first, then quarters, and so on down to single pieces. After a removal the search continues at the
same place, so each piece is tried once for each size.

If every superset of a failing set fails too, the result is exactly the ``k`` pieces that are needed, after at most
``2 * k * ceil(log2(n))`` attempts for ``n`` pieces: chunks of one size are at most twice as many as the chunks of the
size before that were kept, and each of those held a piece that is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def fewest(pieces: Sequence[T], first: Callable[[Iterator[list[T]], int], int | None]) -> list[T]:
    """The pieces that are left when no chunk can be removed; the order is kept.

    ``first`` gets selections of the pieces, each smaller by that many, and returns the number of the first one that
    still fails, or None. All of one call may be tried ahead.
    """
    left = list(pieces)
    size = -(-len(left) // 2)
    while left:
        at = 0
        while at < len(left):
            number = first(_without_a_chunk(left, at, size), size)
            if number is None:
                break
            at += number * size
            left = left[:at] + left[at + size :]
        if size == 1:
            break
        size = -(-size // 2)
    return left


def _without_a_chunk(left: list[T], at: int, size: int) -> Iterator[list[T]]:
    for start in range(at, len(left), size):
        yield left[:start] + left[start + size :]
