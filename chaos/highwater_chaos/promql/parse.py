"""From PromQL's text to the tree of :mod:`~highwater_chaos.promql.language`, or to an error that says what is wrong."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Final, Literal

import promql_parser as grammar
import re2

from highwater_chaos.promql.language import (
    AGGREGATIONS,
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    NAME,
    SETS,
    SUPPORTED,
    Aggregate,
    Binary,
    Call,
    Expression,
    Matcher,
    Matching,
    Negated,
    Number,
    PromqlError,
    Range,
    Selector,
)
from highwater_chaos.promql.syntax import complaint, tree_of

_OPS: Final[dict[Any, Literal["=", "!=", "=~", "!~"]]] = {
    "Equal": "=",
    "NotEqual": "!=",
    "Re": "=~",
    "NotRe": "!~",
}
_PATTERN: Final = re.compile(r"""(=~|!~)(\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)""", re.DOTALL)
_HIDDEN: Final = "\ue000"
"""Marks a pattern that the parser was not shown; the rest is its UTF-8 in hexadecimal."""
_QUIET: Final = re2.Options()
_QUIET.log_errors = False


def parse(text: str) -> Expression:
    """The expression that ``text`` is.

    Raises:
        PromqlError: no PromQL (with the place where it stops being), of wrong types, a range or a string, or with
            something in it that is not evaluated here.
    """
    try:
        tree = tree_of(text)
    except ValueError as error:
        if not str(error).startswith("illegal regex"):
            raise PromqlError(complaint(text, str(error))) from None
        tree = tree_of(_PATTERN.sub(_hidden, text))
    if isinstance(tree, grammar.MatrixSelector):
        raise PromqlError("expected a vector or a number, found a range of samples; put rate(…) or the like around it")
    return _expression(tree)


def _hidden(pattern: re.Match[str]) -> str:
    """A matcher that the parser accepts: it knows other regular expressions than Prometheus."""
    value: str = tree_of(f"{{x={pattern[3]}}}").matchers.matchers[0].value
    return f'{pattern[1]}{pattern[2]}"{_HIDDEN}{value.encode().hex()}"'


def _expression(node: Any) -> Expression:
    match node:
        case grammar.ParenExpr():
            return _expression(node.expr)
        case grammar.NumberLiteral():
            return Number(float(node.val))
        case grammar.VectorSelector():
            return _selector(node)
        case grammar.UnaryExpr():
            return Negated(_expression(node.expr))
        case grammar.AggregateExpr():
            return _aggregate(node)
        case grammar.Call():
            return _call(node)
        case grammar.BinaryExpr():
            return _binary(node)
        case grammar.StringLiteral():
            raise PromqlError(f"expected a vector or a number, found the string {node}")
        case grammar.SubqueryExpr():
            raise _unsupported(f"the subquery {node}")
        case _:
            raise _unsupported(str(node))


def _unsupported(what: str) -> PromqlError:
    return PromqlError(f"{what} is not supported here; supported: {SUPPORTED}")


def _selector(node: Any) -> Selector:
    if node.at is not None:
        raise _unsupported(f"the modifier @ of {node}")
    if node.matchers.or_matchers:
        raise _unsupported(f"'or' between the matchers of {node}")
    matchers = [] if node.name is None else [Matcher(NAME, "=", node.name)]
    for one in node.matchers.matchers:
        op, value = _OPS[str(one.op).rpartition(".")[2]], one.value
        if op in ("=~", "!~") and value.startswith(_HIDDEN):
            value = bytes.fromhex(value[1:]).decode()
        matchers.append(Matcher(one.name, op, value, _pattern(one.name, value) if op in ("=~", "!~") else None))
    offset = node.offset or timedelta(0)
    return Selector(tuple(matchers), _milliseconds(offset))


def _pattern(label: str, value: str) -> Any:
    """The pattern as Prometheus 2 has it: of RE2, for the whole value."""
    try:
        return re2.compile(value, _QUIET)
    except re2.error as error:
        (reason,) = error.args
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise PromqlError(f"the pattern {value!r} of label {label} is no regular expression of RE2: {text}") from None


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def _aggregate(node: Any) -> Aggregate:
    op = str(node.op)
    if op not in AGGREGATIONS:
        raise _unsupported(f"aggregation {op}")
    labels: tuple[str, ...] = ()
    without = False
    if node.modifier is not None:
        labels = tuple(node.modifier.labels)
        without = node.modifier.type == grammar.AggModifierType.Without
    return Aggregate(op, _expression(node.expr), labels, without)


def _call(node: Any) -> Call:
    name = node.func.name
    if name not in FUNCTIONS:
        raise PromqlError(
            f"function {name!r} is not supported here; supported functions: {', '.join(sorted(FUNCTIONS))}"
        )
    (argument,) = node.args
    while isinstance(argument, grammar.ParenExpr):
        argument = argument.expr
    if isinstance(argument, grammar.MatrixSelector):
        length = _milliseconds(argument.range)
        return Call(name, Range(_selector(argument.vector_selector), length))
    return Call(name, _expression(argument))


def _binary(node: Any) -> Binary:
    op = str(node.op)
    if op not in ARITHMETIC | COMPARISONS | SETS:
        raise _unsupported(f"operator {op}")
    modifier, matching = node.modifier, Matching()
    if modifier is not None:
        if modifier.fill_values.lhs is not None or modifier.fill_values.rhs is not None:
            raise _unsupported("the modifier fill")
        cards: dict[Any, Literal["left", "right"]] = {"ManyToOne": "left", "OneToMany": "right"}
        matching = Matching(
            on=modifier.matching is not None and modifier.matching.type == grammar.LabelModifierType.Include,
            labels=tuple(modifier.matching.labels) if modifier.matching is not None else (),
            many=cards.get(str(modifier.card).rpartition(".")[2], "neither"),
            include=tuple(modifier.group_labels or ()),
        )
    return_bool = modifier is not None and modifier.return_bool
    return Binary(op, _expression(node.lhs), _expression(node.rhs), matching, return_bool)
