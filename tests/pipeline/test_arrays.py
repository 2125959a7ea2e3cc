"""Sets of numbers are NumPy's, whatever their size and order, also where NumPy would make a hash table."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from highwater_pipeline.arrow.arrays import distinct, distinct_first, is_in, ranked_values

_NUMBERS = st.one_of(st.integers(-5, 50), st.integers(-(2**63), 2**63 - 1))
_COLUMNS = st.lists(_NUMBERS, max_size=40).flatmap(lambda some: st.sampled_from([some, sorted(some)]))


@given(_COLUMNS)
def test_distinct_values_with_their_first_position_and_their_rank(column: list[int]) -> None:
    values = np.array(column, np.int64)
    expected, first, rank = np.unique(values, return_index=True, return_inverse=True)
    assert distinct(values).tolist() == expected.tolist()
    assert [found.tolist() for found in distinct_first(values)] == [expected.tolist(), first.tolist()]
    assert [found.tolist() for found in ranked_values(values)] == [expected.tolist(), rank.tolist()]


@given(_COLUMNS, _COLUMNS)
def test_membership(column: list[int], among: list[int]) -> None:
    values, known = np.array(column, np.int64), np.array(among, np.int64)
    assert is_in(values, known).tolist() == [one in set(among) for one in column]
