"""A partition's history as columns, and the *version order*: which values stand at which offsets.

The version order has what every poll saw, and what every send says that must have committed: one that was acknowledged,
or whose outcome is unknown and one of whose values was read. A send is evidence only as far as its record was promised
to stay where it was written (``checks.promises``): for each row, ``promised`` says :data:`YES`, :data:`NO` or
:data:`UNKNOWN`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from highwater_pipeline.checks.columns import bools, ints, who
from highwater_pipeline.micro_operations import FAIL, OK
from highwater_pipeline.view import Bools, Ints, View

NO: Final = 0
UNKNOWN: Final = 1
YES: Final = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """The columns of a history (``micro_operations.MICRO_OPERATIONS``)."""

    partition: str
    table: View
    value: Ints
    offset: Ints
    row: Ints
    process: Ints
    outcome: Ints
    is_send: Bools
    is_poll: Bools
    must_commit: Bools

    @classmethod
    def of(cls, partition: str, history: View) -> Seen:
        """The columns of one partition's history."""
        return cls(
            partition,
            history,
            value=ints(history, "value", 0),
            offset=ints(history, "offset"),
            row=ints(history, "row"),
            process=ints(history, "process"),
            outcome=ints(history, "outcome"),
            is_send=bools(history, "is_send"),
            is_poll=bools(history, "is_poll"),
            must_commit=bools(history, "must_commit"),
        )

    @property
    def acknowledged(self) -> Bools:
        """Sends that completed ok."""
        acknowledged: Bools = self.is_send & (self.outcome == OK)
        return acknowledged

    @property
    def failed(self) -> Bools:
        """Sends that failed."""
        failed: Bools = self.is_send & (self.outcome == FAIL)
        return failed

    @property
    def read_ok(self) -> Bools:
        """Records of polls that completed ok."""
        read: Bools = self.is_poll & (self.outcome == OK)
        return read

    def first(self, where: Bools) -> int:
        """The first micro-operation that ``where`` holds for; −1 if none does."""
        position = int(np.argmax(where)) if len(where) else -1
        return position if position >= 0 and where[position] else -1

    def row_at(self, position: int) -> int:
        """The row of its completion in the table of operations; −1 for none."""
        return int(self.row[position]) if position >= 0 else -1

    def who(self, position: int) -> str:
        """``producer-0 (operation 17)``."""
        return who(self.table.row(position))


@dataclass(frozen=True, slots=True)
class VersionOrder:
    """Distinct (offset, value) pairs by offset. ``values`` are the distinct values in ascending order, with their
    ``first`` and ``last`` offset and how many offsets they have (``places``)."""

    offset: Ints
    value: Ints
    values: Ints
    first: Ints
    last: Ints
    places: Ints

    @classmethod
    def of(cls, seen: Seen, sends: Bools) -> VersionOrder:
        """The version order by all polls and by ``sends``."""
        known = (seen.offset >= 0) & (seen.is_poll | sends)
        offset, value = seen.offset[known], seen.value[known]
        order = np.lexsort((value, offset))
        offset, value = offset[order], value[order]
        fresh = np.ones(len(offset), np.bool_)
        fresh[1:] = (offset[1:] != offset[:-1]) | (value[1:] != value[:-1])
        offset, value = offset[fresh], value[fresh]
        by_value = np.argsort(value, kind="stable")  # stable: within a value, offsets still ascend
        values, starts, places = np.unique(value[by_value], return_index=True, return_counts=True)
        ascending = offset[by_value]
        return cls(offset, value, values, ascending[starts], ascending[starts + places - 1], places)

    def has(self, values: Ints) -> tuple[Ints, Bools]:
        """For every value: its position in ``values`` (any, if it has none), and whether it has one."""
        if not len(self.values):
            return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
        at = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return at, self.values[at] == values

    def between(self, after: Ints, before: Ints) -> Bools:
        """Whether some record stands at an offset above ``after`` and below ``before``."""
        there: Bools = np.searchsorted(self.offset, after, "right") < np.searchsorted(self.offset, before, "left")
        return there
