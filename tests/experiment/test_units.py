from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from highwater_chaos.base.quantities import Rate, format_duration, parse_duration, parse_rate


@given(st.integers(min_value=0, max_value=8760 * 3600 * 10**9))
def test_a_duration_survives_being_written(ns: int) -> None:
    assert parse_duration(format_duration(ns)) == ns


@pytest.mark.parametrize(("text", "ns"), [("500ms", 5 * 10**8), ("1m30s", 90 * 10**9), ("2.5s", 25 * 10**8), (0, 0)])
def test_durations(text: object, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "5", 5, True, "-1s", "1 s", "1d", "s", None, [1], "8761h", "9" * 5000 + "s"])
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


def test_rates() -> None:
    assert parse_rate("200/s") == 200
    assert parse_rate("30/m") == 0.5
    for bad in ("200", 200, "0/s", "-1/s", "1/h", "1000001/s", "9" * 400 + "/s"):
        with pytest.raises(ValueError, match="expected a rate"):
            parse_rate(bad)


@given(st.integers(min_value=1, max_value=10**6), st.integers(min_value=0, max_value=4), st.sampled_from("sm"))
def test_a_rate_survives_being_written(digits: int, places: int, unit: str) -> None:
    text = f"{digits / 10**places:.4f}/{unit}"
    rate = TypeAdapter(Rate).validate_python(text)
    assert parse_rate(TypeAdapter(Rate).dump_python(rate)) == rate
