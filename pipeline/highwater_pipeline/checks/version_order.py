"""A partition's history as columns, and the *version order*: which values are at which offsets.

The version order has the records of every poll and of every send that must have committed: a send that was
acknowledged, or whose outcome is unknown and one of whose values was read. A send is evidence only if its record was
promised to stay where it was written (``checks.promises``): for each row, ``promised`` says :data:`YES`, :data:`NO` or
:data:`UNKNOWN`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from highwater_pipeline.checks.columns import WHO, bools, distinct, ints, representatives, who
from highwater_pipeline.micro_operations import FAIL, OK
from highwater_pipeline.view import Bools, Ints, View

Answers = npt.NDArray[np.int8]

NO: Final = 0
UNKNOWN: Final = 1
YES: Final = 2


class Seen:
    """The columns of a history (``micro_operations.MICRO_OPERATIONS``), each read when it is first asked for."""

    def __init__(self, partition: str, table: View) -> None:
        self.partition: Final = partition
        self.table: Final = table

    @cached_property
    def value(self) -> Ints:
        """Values of records."""
        return ints(self.table, "value", 0)

    @cached_property
    def offset(self) -> Ints:
        """Offsets; −1: not known."""
        return ints(self.table, "offset")

    @cached_property
    def row(self) -> Ints:
        """Rows of completions in the table of operations."""
        return ints(self.table, "row")

    @cached_property
    def process(self) -> Ints:
        """Processes."""
        return ints(self.table, "process")

    @cached_property
    def outcome(self) -> Ints:
        """``OK``, ``FAIL`` or ``INFO``."""
        return ints(self.table, "outcome")

    @cached_property
    def is_send(self) -> Bools:
        """Sends."""
        return bools(self.table, "is_send")

    @cached_property
    def is_poll(self) -> Bools:
        """Records of polls."""
        return bools(self.table, "is_poll")

    @cached_property
    def must_commit(self) -> Bools:
        """Sends that were acknowledged, or whose operation was seen."""
        return bools(self.table, "must_commit")

    @cached_property
    def acknowledged(self) -> Bools:
        """Sends that completed ok."""
        acknowledged: Bools = self.is_send & (self.outcome == OK)
        return acknowledged

    @cached_property
    def failed(self) -> Bools:
        """Sends that failed."""
        failed: Bools = self.is_send & (self.outcome == FAIL)
        return failed

    @cached_property
    def read_ok(self) -> Bools:
        """Records of polls that completed ok."""
        read: Bools = self.is_poll & (self.outcome == OK)
        return read

    @cached_property
    def read(self) -> Ints:
        """The distinct values that were read ok, ascending."""
        return distinct(self.value[self.read_ok])

    def first(self, where: Bools) -> int:
        """The first micro-operation that ``where`` holds for; −1 if none does."""
        position = int(np.argmax(where)) if len(where) else -1
        return position if position >= 0 and where[position] else -1

    def row_at(self, position: int) -> int:
        """The row of its completion in the table of operations; −1 for none."""
        return int(self.row[position]) if position >= 0 else -1

    def who(self, position: int) -> str:
        """``producer-0 (operation 17)``."""
        return who(self.table.row(position, *WHO))


class VersionOrder:
    """Offsets with the values that are there, seen by all polls and by some sends.

    By value: ``values`` in ascending order, with the ``first`` and ``last`` offset of each and how many offsets it has
    (``places``). By offset: ``offsets`` in ascending order, and how many values each has (``versions``). A part of a
    history has of the first what it has all rows of a value of, of the second what it has all rows of an offset of.
    """

    def __init__(self, seen: Seen, sends: Bools) -> None:
        known = (seen.offset >= 0) & (seen.is_poll | sends)
        self._offset: Final = seen.offset[known]
        self._value: Final = seen.value[known]

    @cached_property
    def _by_value(self) -> tuple[Ints, Ints, Ints, Ints]:
        return _grouped(self._value, self._offset)

    @cached_property
    def _by_offset(self) -> tuple[Ints, Ints, Ints, Ints]:
        return _grouped(self._offset, self._value)

    @property
    def values(self) -> Ints:
        """The values."""
        return self._by_value[0]

    @property
    def first(self) -> Ints:
        """The first offset of each value."""
        return self._by_value[1]

    @property
    def last(self) -> Ints:
        """The last offset of each value."""
        return self._by_value[2]

    @property
    def places(self) -> Ints:
        """How many offsets each value has."""
        return self._by_value[3]

    @property
    def offsets(self) -> Ints:
        """The offsets."""
        return self._by_offset[0]

    @property
    def versions(self) -> Ints:
        """How many values stand at each offset."""
        return self._by_offset[3]

    def offsets_of(self, value: int) -> Ints:
        """The offsets at which a value stands, ascending."""
        return distinct(self._offset[self._value == value])

    def values_at(self, offset: int) -> Ints:
        """The values that stand at an offset, ascending."""
        return distinct(self._value[self._offset == offset])

    def has(self, values: Ints) -> tuple[Ints, Bools]:
        """For every value: its position in ``values`` (any, if it has none), and whether it has one."""
        if not len(self.values):
            return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
        at = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return at, self.values[at] == values

    def between(self, after: Ints, before: Ints) -> Bools:
        """Whether some record stands at an offset above ``after`` and below ``before``."""
        there: Bools = np.searchsorted(self.offsets, after, "right") < np.searchsorted(self.offsets, before, "left")
        return there


def _grouped(keys: Ints, of: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The distinct keys, ascending, with the least, the greatest and the number of distinct ``of`` of each."""
    of_each, chosen = representatives(keys)
    least, greatest, count = of[chosen], of[chosen], np.ones(len(chosen), np.int64)
    found = keys[chosen]
    several = distinct(keys[of[of_each] != of])
    if len(several):  # few
        rows = np.flatnonzero(np.isin(keys, several))
        for key, group in zip(several.tolist(), np.searchsorted(found, several).tolist(), strict=True):
            mine = np.unique(of[rows[keys[rows] == key]])
            least[group], greatest[group], count[group] = mine[0], mine[-1], len(mine)
    return found, least, greatest, count
