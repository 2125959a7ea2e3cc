"""Columns that stay in memory come back as they were, and never take more than they may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_pipeline.arrow import view
from highwater_pipeline.arrow.column_cache import ALL, ColumnCache, Packed, Place
from highwater_pipeline.in_process import check_run, check_stored
from highwater_pipeline.partitions import store
from highwater_pipeline.partitions.store import stored_runs, write_units

near = st.integers(-5, 5) | st.integers(0, 70_000) | st.integers(-(2**63), 2**63 - 1)
COLUMNS = st.one_of(
    st.lists(near, max_size=20).map(lambda values: pa.array(values, pa.int64())),
    st.lists(st.none() | near, max_size=20).map(lambda values: pa.array(values, pa.int64())),
    st.lists(st.none() | st.integers(-5, 5), max_size=20).map(lambda values: pa.array(values, pa.int64())),
    st.lists(st.integers(-128, 127), max_size=20).map(lambda values: pa.array(values, pa.int8())),
    st.lists(st.none() | st.booleans(), max_size=20).map(lambda values: pa.array(values, pa.bool_())),
    st.lists(st.none() | st.sampled_from("abc"), max_size=20).map(
        lambda words: pa.array(words, pa.string()).dictionary_encode()
    ),
    st.lists(st.sampled_from("abc"), max_size=20).map(lambda words: pa.array(words, pa.string()).dictionary_encode()),
)


@given(COLUMNS, st.data())
def test_a_column_comes_back_as_it_was(column: pa.Array, data: st.DataObject) -> None:
    kept = ColumnCache(1 << 20)
    put = kept.put(Place("history", 0, "value"), column)
    found = kept.get(Place("history", 0, "value"))
    assert found is put
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(column)), st.integers(0, len(column)))))
    rows = np.array([row for row in range(len(column)) if data.draw(st.booleans())], np.int64)
    for packed in (put, Packed.raw(column)):
        for which, expected in (
            (ALL, column),
            (slice(start, end), column[start:end]),
            (rows, column.take(pa.array(rows))),
            (slice(0, len(column), 3), column.take(pa.array(np.arange(0, len(column), 3)))),
        ):
            if not isinstance(which, slice) or which.step is None:
                assert packed.column(which).type == column.type
                assert packed.column(which).to_pylist() == expected.to_pylist()
            if not pa.types.is_dictionary(column.type):
                missing: int | bool = False if pa.types.is_boolean(column.type) else -9
                array = np.empty(len(expected), type(missing))
                packed.fill(array, which, missing)
                assert array.tolist() == [missing if value is None else value for value in expected.to_pylist()]


@given(st.integers(0, 5), st.sampled_from([(pa.int64(), 7), (pa.int8(), -1), (pa.bool_(), True), (pa.string(), "a")]))
def test_a_column_with_the_same_in_all_rows(length: int, kind: tuple[pa.DataType, Any]) -> None:
    of, value = kind
    of = pa.dictionary(pa.int32(), of) if isinstance(value, str) else of
    for same in (value, None):
        packed = Packed.same(length, of, same)
        assert packed.column() == pa.array([same] * length, of)
        assert packed.column(slice(0, length // 2)) == pa.array([same] * (length // 2), of)
        if not isinstance(value, str):
            array = np.empty(length, np.bool_ if of == pa.bool_() else np.int64)
            packed.fill(array, ALL, missing=0)
            assert array.tolist() == [same or 0] * length


def test_numbers_that_lie_close_together_take_few_bytes() -> None:
    kept = ColumnCache(1 << 20)
    kept.put(Place("history", 0, "row"), pa.array(range(10**12, 10**12 + 1000)))
    assert kept.nbytes == 2 * 1000
    kept.put(Place("history", 0, "assignment"), pa.array([7] * 1000))
    assert kept.nbytes == 2 * 1000


@given(st.lists(st.tuples(st.sampled_from(["history", "events"]), st.integers(0, 9), st.integers(1, 60))))
def test_no_more_is_kept_than_may_be(puts: list[tuple[str, int, int]]) -> None:
    kept = ColumnCache(100)
    there: dict[Place, pa.Array] = {}
    for table, group, rows in puts:
        place = Place(table, group, "row")
        if place not in there:
            there[place] = pa.array(range(rows))
        if kept.get(place) is None:
            kept.put(place, there[place])
        found = [len(column) for one, column in there.items() if kept.get(one) is not None]
        assert sum(rows for rows in found if rows > 1) == kept.nbytes <= 100


def test_when_there_is_no_room_other_tables_have_to_go() -> None:
    kept = ColumnCache(250)
    history, more, log = (Place("history", 0, "row"), Place("history", 1, "row"), Place("replica_log", 0, "row"))
    column = pa.array(range(100))
    for place in (history, log, more):
        kept.put(place, column)
    assert [kept.get(place) is not None for place in (history, more, log)] == [True, True, False]
    # Columns of the same table stay: the first are the first that are read again.
    kept.put(Place("history", 2, "row"), column)
    assert [kept.get(Place("history", group, "row")) is not None for group in range(3)] == [True, True, False]
    kept.put(log, column)
    kept.put(history, column)
    assert [kept.get(place) is not None for place in (history, more, log)] == [True, False, True]


@pytest.mark.parametrize("limit", [0, 400])
def test_a_unit_that_is_judged_keeps_no_more_than_it_may(
    story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Of all its tables together; and the verdict does not depend on it."""
    for value in range(200):
        story.send(value, at=value)
    story.poll(*((value, value) for value in range(199)))
    tables = story.tables()
    made: list[ColumnCache] = []

    class Watched(ColumnCache):
        def __init__(self, limit: int) -> None:
            super().__init__(limit)
            made.append(self)
            self.most = 0

        def put(self, place: Place, column: pa.Array | Packed) -> Packed:
            packed = super().put(place, column)
            self.most = max(self.most, sum(packed.nbytes for packed in self._columns.values()))
            return packed

    monkeypatch.setattr(store, "LARGE", -1)
    monkeypatch.setattr(store, "GROUP", 50)
    monkeypatch.setattr(view, "CHUNK", 100)
    monkeypatch.setattr(store, "KEPT", limit)
    monkeypatch.setattr(store, "ColumnCache", Watched)
    write_units(tables, tmp_path)
    (run,) = stored_runs(tmp_path)
    made.clear()
    assert check_stored(run).to_json() == check_run(tables).to_json()
    kept = made[0]
    assert isinstance(kept, Watched)
    assert limit / 2 <= kept.most <= limit
