"""A number of each of many events, as if it were one number: how the machine takes many events as one step.

A comparison of :class:`Many` numbers is true if it is so for each event, and false if it is so for none. Otherwise it
raises :class:`MixedError`. So code that runs to its end has taken the same way for each of the events.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

import numpy as np

from highwater_pipeline.arrow.arrays import Ints

_SAFE: Final = 1 << 62
"""Numbers of a lower amount do not overflow when two are added."""


class MixedError(Exception):
    """Something differs between events that are to be one step."""


class Many:
    """The numbers of several events in their order; made when they are first looked at, if they are given as a
    function."""

    __slots__ = ("_made",)

    def __init__(self, made: Ints | Callable[[], Ints]) -> None:
        self._made = made

    @property
    def values(self) -> Ints:
        """The numbers."""
        if callable(self._made):
            self._made = self._made()
        return self._made

    @property
    def last(self) -> int:
        """The number of the last event."""
        return int(self.values[-1])

    def _holds(self, compare: Callable[[Any, Any], Any], other: object) -> bool:
        if other is None:
            return compare is ne
        which = compare(self.values, other.values if isinstance(other, Many) else other)
        if np.all(which):
            return True
        if np.any(which):
            raise MixedError
        return False

    def __hash__(self) -> int:
        raise MixedError  # whether a set or a dictionary has it is no comparison

    def __bool__(self) -> bool:
        return self._holds(ne, 0)

    def __eq__(self, other: object) -> bool:
        return self._holds(eq, other)

    def __ne__(self, other: object) -> bool:
        return self._holds(ne, other)

    def __lt__(self, other: object) -> bool:
        return self._holds(lt, other)

    def __le__(self, other: object) -> bool:
        return self._holds(le, other)

    def __gt__(self, other: object) -> bool:
        return self._holds(gt, other)

    def __ge__(self, other: object) -> bool:
        return self._holds(ge, other)

    def __add__(self, other: int) -> Many:
        return Many(self._summand() + other)

    def __sub__(self, other: int) -> Many:
        return Many(self._summand() - other)

    def _summand(self) -> Ints:
        if bool((self >= _SAFE) or (self <= -_SAFE)):
            raise MixedError
        return self.values
