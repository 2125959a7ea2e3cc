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

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import WHO, Numbering, bools, ints, who
from highwater_pipeline.tables.micro_operations import FAIL, OK

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
    def values(self) -> Numbering:
        """Numbers for the values."""
        return Numbering.of(self.value)

    @cached_property
    def read(self) -> Ints:
        """The distinct values that were read ok, ascending."""
        return self.values.keys(self.values.has(self.read_ok))

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

    A part of a history says of a value what is true of all of it if it has all rows of the value, and likewise of an
    offset.
    """

    def __init__(self, seen: Seen, sends: Bools) -> None:
        self._seen: Final = seen
        known = (seen.offset >= 0) & (seen.is_poll | sends)
        self._known: Final = None if known.all() else np.flatnonzero(known)

    def _of_known(self, column: Ints) -> Ints:
        """The rows of a column at which a value is known to be at an offset; all of them are not copied."""
        return column if self._known is None else column[self._known]

    @cached_property
    def _offset(self) -> Ints:
        return self._of_known(self._seen.offset)

    @cached_property
    def _value(self) -> Ints:
        return self._of_known(self._seen.value)

    @cached_property
    def _places(self) -> tuple[Ints, Ints, Ints, Ints]:
        at, offset = self._of_known(self._seen.values.at), self._offset
        first = np.full(self._seen.values.size, -1)
        first[at] = offset
        last, is_doubled = first, np.zeros(len(first), np.bool_)
        is_doubled[at[first[at] != offset]] = True
        rows = np.flatnonzero(is_doubled[at])
        if not len(rows):
            return first, last, rows, rows
        order = rows[np.lexsort((offset[rows], at[rows]))]
        at, offset = at[order], offset[order]
        begins = np.flatnonzero(np.diff(at, prepend=-1))
        is_other = np.ones(len(at), np.int64)
        is_other[1:] = (at[1:] != at[:-1]) | (offset[1:] != offset[:-1])
        last = first.copy()
        first[at[begins]], last[at[begins]] = offset[begins], np.maximum.reduceat(offset, begins)
        return first, last, self._seen.values.keys(is_doubled), np.add.reduceat(is_other, begins)

    @property
    def first(self) -> Ints:
        """The first offset of each value, by its number in ``Seen.values``; −1: none is known."""
        return self._places[0]

    @property
    def last(self) -> Ints:
        """The last offset of each value, by its number."""
        return self._places[1]

    @property
    def doubled(self) -> Ints:
        """The values that stand at two or more offsets, ascending."""
        return self._places[2]

    @property
    def places(self) -> Ints:
        """At how many offsets each of ``doubled`` stands."""
        return self._places[3]

    @cached_property
    def offsets(self) -> Ints:
        """The offsets, ascending."""
        return distinct(self._offset)

    @cached_property
    def inconsistent(self) -> Ints:
        """The offsets at which two or more values stand, ascending."""
        return distinct(self._offset[Numbering.of(self._offset).unlike(self._value)])

    def offsets_of(self, value: int) -> Ints:
        """The offsets at which a value stands, ascending."""
        return distinct(self._offset[self._value == value])

    def values_at(self, offset: int) -> Ints:
        """The values that stand at an offset, ascending."""
        return distinct(self._value[self._offset == offset])

    def between(self, after: Ints, before: Ints) -> Bools:
        """Whether some record stands at an offset above ``after`` and below ``before``."""
        there: Bools = np.searchsorted(self.offsets, after, "right") < np.searchsorted(self.offsets, before, "left")
        return there
