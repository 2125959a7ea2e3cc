"""The small partitions of a run, all at once: what checks look at before they look at one partition after the other.

Most partitions of a run with thousands of them show nothing. To prove that takes each check a few passes over the rows
of all partitions together. The events of the cluster are there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, ranked_values
from highwater_pipeline.arrow.view import View


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows of several partitions, one partition behind the other, each in the run's order. ``number``: the number of
    each row's partition, ascending."""

    view: View
    number: Ints

    def where(self, which: Bools) -> Grouped:
        """The rows for which ``which`` is true."""
        return Grouped(self.view.where(which), self.number[which])

    def of_kind(self, *kinds: str) -> Grouped:
        """The events of these kinds."""
        return self.where(self.view.is_any("kind", kinds))

    def ints(self, *names: str, missing: int = -1) -> list[Ints]:
        """Columns of integers; ``missing`` stands for null."""
        return [self.view.ints(name, missing) for name in names]


@dataclass(frozen=True, slots=True)
class Partitions:
    """Several partitions by their numbers: places in ``names``. ``events`` belong to one partition each, ``of_cluster``
    to all of them."""

    names: Sequence[str]
    history: Grouped
    events: Grouped
    of_cluster: View
    replica_log: Grouped

    def those(self, numbers: Ints) -> Bools:
        """For each partition: whether its number is among ``numbers``."""
        there = np.zeros(len(self.names), np.bool_)
        there[numbers] = True
        return there

    def highest(self, rows: Grouped, column: Ints, otherwise: int) -> Ints:
        """For each partition: the highest number in a column of ``rows``, and at least ``otherwise``."""
        highest = np.full(len(self.names), otherwise)
        np.maximum.at(highest, rows.number, column)
        return highest


def ranked(*keys: Ints) -> tuple[Ints, Bools]:
    """The positions in the order of the first key, then of the second, and so on, rows with the same keys in their
    order; and for each place in that order, whether its keys are not those of the place before."""
    order = np.lexsort(keys[::-1])
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = False
    for key in keys:
        in_order = key[order]
        fresh[1:] |= in_order[1:] != in_order[:-1]
    return order, fresh


def occur(some: tuple[Ints, ...], others: tuple[Ints, ...]) -> Bools:
    """For each of ``some`` rows, given by their columns: whether it is one of ``others``."""
    order, fresh = ranked(*(np.concatenate(pair) for pair in zip(some, others, strict=True)))
    row = np.cumsum(fresh) - 1
    count = len(some[0])
    there = np.zeros(len(order), np.bool_)
    there[row[order >= count]] = True
    found = np.empty(len(order), np.bool_)
    found[order] = there[row]
    return found[:count]


def repeated(*keys: Ints) -> Ints:
    """The positions of rows that have the same keys as an earlier row."""
    order, fresh = ranked(*keys)
    return order[~fresh]


def highest_so_far(number: Ints, values: Ints) -> Ints:
    """The highest value up to each row, within its partition; ``number`` ascends."""
    known, rank = ranked_values(values)
    steps = np.maximum.accumulate(number * len(known) + rank)
    found: Ints = known[steps - number * len(known)]
    return found


def latest(number: Ints, which: Bools) -> Ints:
    """For each row the last position up to it for which ``which`` is true, within its partition; −1: there is none."""
    position = np.arange(len(number))
    at = np.maximum.accumulate(np.where(which, position, -1)) if len(number) else position
    at[(at >= 0) & (number[at] != number)] = -1
    return at
