"""The same questions to Prometheus itself and to us, over the same samples: the same answers, or errors in both.

The server may be older than the version whose rules ours are (Debian 12 has 2.42). In one rule these differ: where a
counter is taken back to 0 (:func:`_grown_in_2_42`). What only this explains is no difference.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from highwater_chaos.promql.evaluate import Evaluator
from highwater_chaos.promql.functions import OVER_RANGE
from highwater_chaos.promql.language import PromqlError
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.series import Series, SeriesStore
from highwater_chaos.promql.text import text_of
from highwater_chaos.promql.vectors import EvaluationError

LOOKBACK_MS = 5_000
START_MS = 1_700_000_000_000
LASTS_S = 90


def _samples() -> list[Series]:
    """Gauges, counters with resets, gaps, ends (stale), NaN and infinities; some of it a second apart, some not."""
    random_ = random.Random(5)
    made: list[Series] = []
    for name in ("a", "b", "c_total", "d"):
        for x in ("1", "2", "3"):
            for y in ("p", "q"):
                if name == "b" and y == "q" and x != "1":
                    continue
                series = Series(
                    tuple(sorted({"__name__": name, "x": x, "y": y, **({"z": x} if name == "d" else {})}.items()))
                )
                value, gone = 0.0, False
                for second in range(LASTS_S):
                    if random_.random() < 0.04:
                        gone = not gone
                        if gone and random_.random() < 0.6:
                            series.times_ms.append(START_MS + second * 1000)
                            series.values.append(None)
                            continue
                    if gone:
                        continue
                    jitter = random_.randrange(900) if x == "3" else 0
                    if name == "c_total":
                        value = 0.0 if random_.random() < 0.05 else value + random_.choice((0, 1, 5, 0.25))
                    else:
                        value = random_.choice((0.0, 1.0, 2.0, -1.5, 3.0, value, value))
                        if x == "2" and random_.random() < 0.1:
                            value = random_.choice((math.nan, math.inf, -math.inf))
                    series.times_ms.append(START_MS + second * 1000 + jitter)
                    series.values.append(value)
                made.append(series)
    single = Series(
        (("__name__", "single"),), [START_MS + n * 1000 for n in range(LASTS_S)], [n % 7.0 for n in range(LASTS_S)]
    )
    return [*made, single]


@pytest.fixture(scope="module")
def both(start_prometheus: Callable[..., Any]) -> tuple[Any, Evaluator]:
    server = start_prometheus(lookback=f"{LOOKBACK_MS}ms")
    samples = _samples()
    server.write(samples)
    return server, Evaluator(SeriesStore(samples), LOOKBACK_MS)


def _grown_in_2_42(times: Sequence[int], values: Sequence[float], start: int, end: int) -> float | None:
    """What a counter grew by: here it is taken back to 0 before it is decided how far to take it back at all."""
    if len(times) < 2:
        return None
    grown = values[-1] - values[0] + sum(before for before, after in pairwise(values) if after < before)
    to_start, to_end, sampled = (times[0] - start) / 1000, (end - times[-1]) / 1000, (times[-1] - times[0]) / 1000
    if grown > 0 and values[0] >= 0:
        to_start = min(to_start, sampled * (values[0] / grown))
    apart = sampled / (len(times) - 1)
    covered = sampled + sum(distance if distance < apart * 1.1 else apart / 2 for distance in (to_start, to_end))
    return grown * (covered / sampled)


def _rate_in_2_42(times: Sequence[int], values: Sequence[float], start: int, end: int) -> float | None:
    grown = _grown_in_2_42(times, values, start, end)
    return None if grown is None else grown / ((end - start) / 1000)


def _agree(both: tuple[Any, Evaluator], same: Callable[[Any, Any], bool], promql: str, time_ms: int) -> bool:
    server, evaluator = both
    theirs, ours = server.query(promql, time_ms), _ours(evaluator, promql, time_ms)
    if same(theirs, ours) or (isinstance(theirs, str) and isinstance(ours, str)):
        return True
    with patch.dict(OVER_RANGE, rate=_rate_in_2_42, increase=_grown_in_2_42):
        ours = _ours(evaluator, promql, time_ms)
    return same(theirs, ours) or (isinstance(theirs, str) and isinstance(ours, str))


def _ours(evaluator: Evaluator, promql: str, time_ms: int) -> Any:
    try:
        found = evaluator.at(parse(promql), time_ms)
    except EvaluationError as error:
        return str(error)
    return {one.labels: one.value for one in found} if isinstance(found, list) else found


TABLE = [
    "a",
    "{__name__=~'a|b'}",
    "a{x!='1'}",
    "a{x=~'1|2', y!~'q.*'}",
    "a{missing=''}",
    "a{x=~'[[:digit:]]', y!~'[[:^alpha:]]+'}",
    r"a{x=~`\d`}",
    r"a{y=~'\\Qp\\E'}",
    r"a{y=~'\\pL', x!~'1{,3}'}",
    "a{x=~'1{1,3}|(?i:Q)|(?P<two>2)'}",
    "a offset 3s",
    "a offset -3s",
    "single == 3",
    "3 == single",
    "a == b",
    "a == bool b",
    "a > on(x, y) b",
    "a + ignoring(y) b",
    "a - on(x, y) group_left(z) d",
    "d * on(x, y) group_right(z) b",
    "a and b",
    "a or b",
    "a unless b",
    "a and on(x) b{x='1'}",
    "-a",
    "-{__name__=~'a|b'}",
    "a + 1",
    "1 / a",
    "a % 2",
    "a ^ 2",
    "a / 0",
    "1 + 2 * 3 ^ 2 ^ 1",
    "sum(a)",
    "sum by (x) (a)",
    "sum without (x) (a)",
    "avg by (y, missing) (a)",
    "max(a)",
    "min by (x) (a)",
    "count(a > 1)",
    "group by (x) (b)",
    "sum by (__name__) ({__name__=~'a|d'})",
    "rate(c_total[10s])",
    "increase(c_total[10s])",
    "delta(a[7s])",
    "rate(c_total[10s] offset 4s)",
    "changes(a[20s])",
    "resets(c_total[30s])",
    "max_over_time(a[5s])",
    "min_over_time(a[5s])",
    "avg_over_time(a[5s])",
    "sum_over_time(a[5s])",
    "count_over_time(a[5s])",
    "last_over_time(a[5s])",
    "rate({__name__=~'a|b'}[5s])",
    "abs(a)",
    "absent(a)",
    "absent(nothing{x='1', y=~'p', z='2', z='3'})",
    "absent(sum(nothing))",
    "scalar(single)",
    "scalar(a)",
    "vector(3)",
    "sum(nothing) or vector(0)",
    "sum(rate(c_total[15s])) by (x) > bool 0.5",
    "1 > bool 2",
    "(a > 1) == 2",
    "2 < a <= 3",
]


@pytest.mark.parametrize("promql", TABLE)
def test_a_table_of_questions(both: tuple[Any, Evaluator], same: Callable[[Any, Any], bool], promql: str) -> None:
    for second in range(0, LASTS_S + 8, 3):
        for ms in (0, 317):
            at = START_MS + second * 1000 + ms
            assert _agree(both, same, promql, at), (second, both[0].query(promql, at), _ours(both[1], promql, at))


def test_errors_say_what_prometheus_says(both: tuple[Any, Evaluator]) -> None:
    server, evaluator = both
    at = START_MS + 1000
    for promql in ("a + on(x) b", "b + on(x) a", "a + on(x) d", "-{__name__=~'a|b'}"):
        theirs, ours = server.query(promql, at), _ours(evaluator, promql, at)
        assert isinstance(theirs, str)
        assert isinstance(ours, str)
        shared = ("found duplicate series for the match group", "multiple matches for labels", "same labelset")
        assert any(phrase in theirs and phrase in ours for phrase in shared), (theirs, ours)


_LABELS = st.lists(st.sampled_from(["x", "y", "z"]), unique=True, max_size=2).map(", ".join)
_MATCHER = st.sampled_from(["", "{x='1'}", "{x!='2'}", "{y=~'p|q'}", "{y!~'p'}", "{z=''}", "{x=~'[12]', y='p'}"])
_SELECTOR = st.builds("{}{}".format, st.sampled_from(["a", "b", "c_total", "d", "single", "nothing"]), _MATCHER)
_RANGE = st.builds("{}[{}s]".format, _SELECTOR, st.integers(1, 20))
_OFFSET = st.sampled_from(["", "", " offset 2s", " offset -1s"])
_RANGED = st.builds(
    "{}({}{})".format,
    st.sampled_from(["rate", "increase", "delta", "changes", "resets"])
    | st.sampled_from(["max", "min", "avg", "sum", "count", "last"]).map("{}_over_time".format),
    _RANGE,
    _OFFSET,
)
_NUMBER = st.sampled_from(["0", "1", "2.5", "-1", "1e3", "Inf", "NaN"])
_MATCHING = st.one_of(
    st.just(""),
    st.builds("{}({})".format, st.sampled_from(["on", "ignoring"]), _LABELS),
    st.builds(
        "{}({}) group_{}({})".format,
        st.sampled_from(["on", "ignoring"]),
        _LABELS,
        st.sampled_from(["left", "right"]),
        st.sampled_from(["", "z", "y"]),
    ),
)
_OPERATOR = st.one_of(
    st.sampled_from(["+", "-", "*", "/", "%", "^"]),
    st.sampled_from(["==", "!=", ">", "<", ">=", "<="]).flatmap(lambda op: st.sampled_from([op, f"{op} bool"])),
    st.sampled_from(["and", "or", "unless"]),
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}) {} {} ({})".format, inner, _OPERATOR, _MATCHING, inner),
        st.builds("{} {} {}".format, inner, _OPERATOR, inner),
        st.builds("({}) {} {}".format, inner, _OPERATOR, _NUMBER),
        st.builds("{} {} ({})".format, _NUMBER, _OPERATOR, inner),
        st.builds(
            "{} {} ({}) ({})".format,
            st.sampled_from(["sum", "min", "max", "avg", "count", "group"]),
            st.sampled_from(["by", "without"]),
            _LABELS,
            inner,
        ),
        st.builds("{}({})".format, st.sampled_from(["sum", "abs", "absent", "scalar", "vector", "-", "count"]), inner),
    )


_EXPRESSION = st.recursive(_SELECTOR | _RANGED, _larger, max_leaves=4)


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(promql=_EXPRESSION, at=st.integers(0, LASTS_S * 1000 + 6000))
@pytest.mark.thorough
def test_whatever_is_asked(both: tuple[Any, Evaluator], same: Callable[[Any, Any], bool], promql: str, at: int) -> None:
    server, evaluator = both
    try:
        parsed = parse(promql)
    except PromqlError:
        assume(False)
    theirs = server.query(promql, START_MS + at)
    assert _agree(both, same, promql, START_MS + at), (theirs, _ours(evaluator, promql, START_MS + at))
    again = server.query(text_of(parsed), START_MS + at)
    assert same(theirs, again) or (isinstance(theirs, str) and isinstance(again, str)), (theirs, again)
