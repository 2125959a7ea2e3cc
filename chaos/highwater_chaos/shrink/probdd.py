"""Probabilistic delta debugging: find the pieces that a failure needs (Wang et al., "Probabilistic Delta Debugging",
ESEC/FSE 2021).

Each piece has a probability of being needed. Each attempt removes those pieces of which most are expected to go: many
at first, and few, which have failed with others so far, later. If what is left does not fail, each piece that was
removed is more likely to be needed (Bayes).

An experiment without any piece that is needed may still pass, for its timing is another one. In which share of the
attempts it fails is learned from those made so far. The lower it is, the less does an attempt that passes tell, and the
more often are pieces tried again, in other company and with other timing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

_EXPECTED: Final = 4
"""How many pieces are needed, before anything is known."""
_AT_FIRST: Final = 0.3
"""The highest probability then: of a few pieces not one alone is tried first."""
_SURE: Final = 0.9
"""A piece that is needed with this probability is not tried any more."""


@dataclass(slots=True)
class Share:
    """In which share of the attempts without a needed piece the experiment fails (Laplace's rule of succession)."""

    failed: float = 1
    attempts: float = 2
    """Expected number of attempts that removed no needed piece."""

    @classmethod
    def certain(cls) -> Share:
        """It always fails: timing makes no difference."""
        return cls(math.inf, math.inf)

    @property
    def value(self) -> float:
        """The share, as far as is known."""
        return 1.0 if math.isinf(self.failed) else min(1.0, self.failed / self.attempts)


class _Attempt(NamedTuple):
    needed: list[float]
    """The probabilities before it."""
    gone: frozenset[int]
    all_needless: float
    """The probability that none of those that are gone is needed."""


def fewest(
    pieces: Sequence[T],
    first: Callable[[Iterator[list[T]]], int | None],
    share: Share,
    weights: Sequence[float] | None = None,
) -> list[T]:
    """The pieces that are left when each is needed, as far as is known; the order is kept.

    ``first`` gets selections of the pieces, each made as if those before it passed, and returns the number of the
    first one that still fails, or None. Several of one call may be tried ahead. ``share`` is updated.
    ``weights``: how likely the pieces are to be needed, compared with each other, before anything is known.
    """
    left = list(pieces)
    weights = weights or [1.0] * len(left)
    needed = [min(_AT_FIRST, _EXPECTED * weight / sum(weights)) for weight in weights]
    while left:
        made: list[_Attempt] = []
        number = first(_selections(left, needed, share, made))
        share.attempts += sum(one.all_needless for one in made[: None if number is None else number + 1])
        if number is None:
            break
        share.failed += 1
        needed, gone, _ = made[number]
        needed = [one for index, one in enumerate(needed) if index not in gone]
        left = [one for index, one in enumerate(left) if index not in gone]
    return left


def _selections(left: Sequence[T], needed: list[float], share: Share, made: list[_Attempt]) -> Iterator[list[T]]:
    now = Share(share.failed, share.attempts)
    while min(needed) < _SURE:
        attempt = _most_expected(needed)
        made.append(attempt)
        yield [one for index, one in enumerate(left) if index not in attempt.gone]
        passes = 1 - now.value * attempt.all_needless
        needed = [one / passes if index in attempt.gone else one for index, one in enumerate(needed)]
        now.attempts += attempt.all_needless


def _most_expected(needed: list[float]) -> _Attempt:
    """Without the pieces of which most are expected to go."""
    order = sorted(range(len(needed)), key=lambda index: needed[index])
    most, count, best, all_needless = 0.0, 0, 1.0, 1.0
    for number, index in enumerate(order, 1):
        all_needless *= 1 - needed[index]
        if number * all_needless > most:
            most, count, best = number * all_needless, number, all_needless
    return _Attempt(needed, frozenset(order[:count]), best)
