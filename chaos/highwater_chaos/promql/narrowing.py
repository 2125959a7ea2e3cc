"""The same question of fewer series: where a store knows of more than is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from highwater_chaos.promql.language import (
    Aggregate,
    Binary,
    Call,
    Expression,
    Matcher,
    Negated,
    Number,
    Range,
    Selector,
)


def narrowed(expression: Expression, labels: Mapping[str, str]) -> Expression:
    """The expression with ``labels`` asked of every selector, except those that a selector says something of itself."""
    match expression:
        case Number():
            return expression
        case Selector():
            return _selector(expression, labels)
        case Call(argument=argument):
            if isinstance(argument, Range):
                return replace(expression, argument=replace(argument, selector=_selector(argument.selector, labels)))
            return replace(expression, argument=narrowed(argument, labels))
        case Aggregate(inner=inner) | Negated(inner=inner):
            return replace(expression, inner=narrowed(inner, labels))
        case Binary(left=left, right=right):
            return replace(expression, left=narrowed(left, labels), right=narrowed(right, labels))


def _selector(selector: Selector, labels: Mapping[str, str]) -> Selector:
    named = {matcher.name for matcher in selector.matchers}
    more = [Matcher(name, "=", value) for name, value in sorted(labels.items()) if name not in named]
    return replace(selector, matchers=(*selector.matchers, *more))
