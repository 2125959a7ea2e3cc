"""What is PromQL, what of it is evaluated here, and where a text stops being it."""

from __future__ import annotations

import pytest

from highwater_chaos.promql import PromqlError, is_never_empty, is_scalar, narrowed, parse, selectors, text_of


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
        (r"a{x=~'\\pL'}", "of label x is not supported here: bad escape"),
        ("a{x=~'('}", "illegal regex"),
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
