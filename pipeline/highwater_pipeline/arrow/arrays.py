"""The arrays that columns become, and sets of their numbers.

NumPy's own set functions are not used on columns (ruff refuses them): since NumPy 2.3 ``np.unique`` makes a hash table,
which takes ten times as long as sorting for a million numbers, and ``np.isin`` and ``np.union1d`` call it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def distinct(values: Ints) -> Ints:
    """The distinct values, ascending."""
    if not len(values):
        return np.empty(0, np.int64)
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span <= 4 * len(values) + 1000:
        there = np.zeros(span, np.bool_)
        there[values - low] = True
        return np.flatnonzero(there) + low
    ascending = np.sort(values) if (values[1:] < values[:-1]).any() else values
    different: Ints = ascending[np.append(True, ascending[1:] != ascending[:-1])]
    return different


def distinct_first(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values, ascending, and the position of the first of each."""
    if (values[1:] > values[:-1]).all():
        return values, np.arange(len(values))
    found, first = np.unique(values, return_index=True)
    return found, first


def ranked_values(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values, ascending, and for each of ``values`` its position among them."""
    found, rank = np.unique(values, return_inverse=True)
    return found, rank


def is_in(values: Ints, among: Ints) -> Bools:
    """For each value, whether ``among`` has it."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    span = int(among.max()) - int(among.min()) + 1
    if span <= 4 * (len(among) + len(values)) + 1000:
        return np.isin(values, among, kind="table")
    known = distinct(among)
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    found: Bools = known[at] == values
    return found
