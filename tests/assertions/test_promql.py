"""What is PromQL, what of it is evaluated here, and where a text stops being it."""

from __future__ import annotations

import math

import pytest

from highwater_chaos.promql.evaluate import Evaluator
from highwater_chaos.promql.language import PromqlError, is_never_empty, is_scalar, selectors
from highwater_chaos.promql.narrowing import narrowed
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.series import Series, SeriesStore
from highwater_chaos.promql.text import text_of


@pytest.mark.parametrize(
    ("promql", "message"),
    [
        ("", "expected an expression, found nothing"),
        ("  \n", "expected an expression, found nothing"),
        ("a +", "syntax error at line 1, column 4: something is missing at the end"),
        ("a == == b", "syntax error at line 1, column 6, at '=='"),
        ("sum(a) by x", "syntax error at line 1, column 11, at 'x'"),
        ("a\n  > > 1", "syntax error at line 2, column 5, at '>'"),
        ("sum by (a,,b) (c)", "syntax error at line 1, column 11, at ','"),
        ("a )", "syntax error at line 1, column 3, at ')'"),
        ("sum(a", "syntax error at line 1, column 6: something is missing at the end: unclosed left parenthesis"),
        ("a{x=1}", "syntax error at line 1, column 5, at '1'"),
        ("a b", "syntax error at line 1, column 3, at 'b'"),
        ('a{x="b', "syntax error at line 1, column 5"),
        ("nonsense(a)", "unknown function 'nonsense'; supported functions: abs, absent,"),
        ("histogram_quantile(0.9, a)", "function 'histogram_quantile' is not supported here; supported functions: abs"),
        ("topk(1, a)", "aggregation topk is not supported here; supported: selectors"),
        ("a atan2 b", "operator atan2 is not supported here"),
        ("a @ 12", "the modifier @ of"),
        ("max_over_time(rate(a[1m])[5m:1m])", "the subquery"),
        ("{a='b' or c='d'}", "'or' between the matchers"),
        ("a + on(x) fill(0) b", "the modifier fill"),
        ("a[5m]", "expected a vector or a number, found a range of samples; put rate(…)"),
        ("'text'", "expected a vector or a number, found the string"),
        ("a{x=~'('}", "the pattern '(' of label x is no regular expression of RE2: missing ): ("),
        (
            r"a{x=~`(?=a)`}",
            "the pattern '(?=a)' of label x is no regular expression of RE2: invalid perl operator: (?=",
        ),
        ("a{x=~'a**'}", "no regular expression of RE2: bad repetition operator"),
        ("rate(a)", "expected type matrix in call to function 'rate', got vector"),
        ("1 == 1", "comparisons between scalars must use BOOL modifier"),
    ],
)
def test_refused(promql: str, message: str) -> None:
    with pytest.raises(PromqlError) as refused:
        parse(promql)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("promql", "again"),
    [
        ("(a)", "a"),
        ("a{}", "a"),
        ("{__name__='a', x!='b'}", 'a{x!="b"}'),
        ("{__name__=~'a.*'}", '{__name__=~"a.*"}'),
        (r"""a{x='"\\'}""", r'a{x="\"\\"}'),
        ("sum(a) by (x)", "sum by (x) (a)"),
        ("max without () (a)", "max without () (a)"),
        ("a - (b - c)", "a - (b - c)"),
        ("a + b * c", "a + (b * c)"),
        ("-a ^ 2", "-(a ^ 2)"),
        ("rate(a{x='1'}[90s] offset 1m)", 'rate(a{x="1"}[90s] offset 60s)'),
        ("a offset -1500ms", "a offset -1500ms"),
        ("a == bool on(x) group_left(y) b", "a == bool on (x) group_left (y) b"),
        ("a * ignoring() group_right b", "a * ignoring () group_right () b"),
        ("a > Inf", "a > +Inf"),
        ("a > 0.1", "a > 0.1"),
        ("a > 1e20", "a > 1e+20"),
    ],
)
def test_written_again(promql: str, again: str) -> None:
    assert text_of(parse(promql)) == again
    assert parse(again) == parse(promql)


@pytest.mark.parametrize(
    ("promql", "narrow"),
    [
        ("a", 'a{cluster="x", namespace="y"}'),
        ("a{cluster=~'.*'}", 'a{cluster=~".*", namespace="y"}'),
        ("sum(rate(a[5s])) > scalar(b) - 1", None),
        ("-abs(a) unless absent(b{namespace!='z', cluster='w'})", None),
    ],
)
def test_narrowed_to_labels(promql: str, narrow: str | None) -> None:
    asked = narrowed(parse(promql), {"namespace": "y", "cluster": "x"})
    if narrow is not None:
        assert text_of(asked) == narrow
    for before, after in zip(selectors(parse(promql)), selectors(asked), strict=True):
        assert {one.name for one in after.matchers} >= {"cluster", "namespace"}
        assert after.matchers[: len(before.matchers)] == before.matchers
    assert narrowed(asked, {"namespace": "other"}) == asked
    assert text_of(parse(text_of(asked))) == text_of(asked)


def test_what_an_expression_is() -> None:
    assert is_scalar(parse("scalar(a) + 1"))
    assert not is_scalar(parse("a + 1"))
    assert is_never_empty(parse("sum(a) == bool 1"))
    assert is_never_empty(parse("(a == bool b)"))
    assert not is_never_empty(parse("scalar(a) == bool 1")), "a number holds unless it is 0"
    assert not is_never_empty(parse("(a == bool 1) > 0"))
    assert [text_of(one) for one in selectors(parse("sum(rate(a[1m])) / b > absent(c)"))] == ["a", "b", "c"]


def _over(function: str, values: list[float], range_: str = "1m", step_s: int = 10) -> float:
    times = [n * step_s * 1000 for n in range(len(values))]
    store = SeriesStore([Series((("__name__", "m"),), times, list(values))])
    (found,) = Evaluator(store).at(parse(f"{function}(m[{range_}])"), times[-1])
    return found.value


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_sums_lose_nothing_to_rounding_and_means_do_not_overflow(function: str) -> None:
    """As of Prometheus 2.55; an older server, which other tests may compare with, adds without compensation."""
    big = 1e308
    for values, total in (
        ([1.0, 1e100, 1.0, -1e100], 2.0),
        ([1e100, 10.0, -1e100], 10.0),
        ([math.inf, 1.0, 2.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
    ):
        expected = total if function == "sum" else total / len(values)
        found = _over(f"{function}_over_time", values)
        store = SeriesStore([Series((("__name__", "m"), ("n", str(n))), [0], [v]) for n, v in enumerate(values)])
        (over_series,) = Evaluator(store).at(parse(f"{function}(m)"), 0)
        for value in (found, over_series.value):
            assert value == expected or (math.isnan(value) and math.isnan(expected))
    if function == "avg":
        assert _over("avg_over_time", [big, big, big, -big]) == pytest.approx(big / 2)
        assert _over("avg_over_time", [-big, -big]) == -big
        assert _over("avg_over_time", [big, big, -math.inf, 1.0]) == -math.inf


@pytest.mark.parametrize(
    ("values", "range_", "grown"),
    [
        ([100.0, 200.0, 300.0], "20s", 200),  # both ends are there
        ([100.0, 200.0, 300.0], "25s", 250),  # up to the start: it is less than 1.1 times 10 s away
        ([100.0, 200.0, 300.0], "60s", 250),  # far from the start: half of 10 s
        ([60.0, 160.0, 260.0], "60s", 250),  # its 0 would be 6 s before, which is further than half of 10 s
        ([40.0, 140.0, 240.0], "60s", 240),  # not below its 0, 4 s before
        ([0.0, 100.0, 200.0], "60s", 200),
        ([100.0, 0.0, 100.0], "60s", 125),  # a reset
    ],
)
def test_how_far_a_counter_is_taken_back(values: list[float], range_: str, grown: float) -> None:
    """As of Prometheus 2.55: first how far the range's start is away, then that no counter is below 0."""
    assert _over("increase", values, range_) == pytest.approx(grown)
