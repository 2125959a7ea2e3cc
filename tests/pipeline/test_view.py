"""Views of a table say what Arrow says of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.arrow.view import View

SCHEMA = pa.schema(
    [("number", pa.int64()), ("word", pa.string()), ("flag", pa.bool_()), ("members", pa.list_(pa.int64()))]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "number": st.none() | st.integers(-2, 2**40),
            "word": st.none() | st.sampled_from(["a", "b", "c"]),
            "flag": st.booleans(),
            "members": st.none() | st.lists(st.integers(0, 3), max_size=3),
        }
    ),
    max_size=8,
)


@settings(deadline=None)
@given(st.lists(ROWS, max_size=3), st.data())
def test_a_view_of_any_rows_is_as_arrow_has_them(parts: list[list[dict[str, Any]]], data: st.DataObject) -> None:
    table = pa.concat_tables([SCHEMA.empty_table(), *(pa.Table.from_pylist(part, SCHEMA) for part in parts)])
    which = np.array([data.draw(st.booleans()) for _ in range(table.num_rows)], np.bool_)
    view = View.of(table).where(which)
    rows = table.filter(pa.array(which)).to_pylist()

    assert view.to_pylist() == rows == view.to_arrow().to_pylist()
    assert view == View.of(pa.Table.from_pylist(rows, SCHEMA))
    assert view.to_pylist("word", "number") == [{"word": row["word"], "number": row["number"]} for row in rows]
    assert view.ints("number", -7).tolist() == [-7 if row["number"] is None else row["number"] for row in rows]
    assert view.is_known("number").tolist() == [row["number"] is not None for row in rows]
    assert view.bools("flag").tolist() == [row["flag"] for row in rows]
    assert view.is_any("word", ("a", "c")).tolist() == [row["word"] in ("a", "c") for row in rows]
    assert view.numbers("word", {"a": 5, "c": 0}).tolist() == [{"a": 5, "c": 0}.get(row["word"], -1) for row in rows]
    numbers, words = view.codes("word")
    assert words == list(dict.fromkeys(row["word"] for row in rows if row["word"] is not None))
    assert [None if number < 0 else words[number] for number in numbers] == [row["word"] for row in rows]
    members, parents = view.lists("members")
    assert [*zip(members.tolist(), parents.tolist(), strict=True)] == [
        (member, at) for at, row in enumerate(rows) for member in row["members"] or []
    ]
    assert view.slice(1, 2).to_pylist() == rows[1:3]
    assert view.with_numbers("number", np.arange(len(rows))).to_pylist("number") == [
        {"number": at} for at in range(len(rows))
    ]


def test_nobody_can_write_to_what_all_views_share() -> None:
    view = View.of(pa.table({"number": pa.array([1, None])}))
    shared = view._columns.ints("number", -1)
    with pytest.raises(ValueError, match="read-only"):
        shared[0] = 2


@given(st.lists(st.booleans(), max_size=40) | st.lists(st.none() | st.booleans()), st.integers(0, 9))
def test_booleans_of_a_table_that_begins_in_the_middle_of_a_byte(values: list[bool | None], start: int) -> None:
    table = pa.table({"is_send": pa.array(values, pa.bool_())}).slice(start)
    assert View.of(table).bools("is_send").tolist() == [bool(value) for value in values[start:]]
