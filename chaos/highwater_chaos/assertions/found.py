"""What was found where a condition did or did not hold, in words and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from highwater_chaos.promql.evaluate import Result, holds
from highwater_chaos.promql.language import Binary, Expression, Number
from highwater_chaos.promql.text import text_of
from highwater_chaos.promql.vectors import show

Found = tuple[str, float]
"""What has the value, and the value."""


def shown(expression: Expression, result: Result) -> list[Found]:
    """The elements of a result; a vector's only one without labels is called as the expression is."""
    text = text_of(_looked_at(expression))
    if isinstance(result, float):
        return [(text, result)]
    return [(show(one.labels) if one.labels else text, one.value) for one in result]


def explain(expression: Expression, ask: Callable[[Expression], Result]) -> list[Found]:
    """Why a condition did not hold: what was compared, or the side that was missing."""
    match expression:
        case Binary(op="and", left=left, right=right):
            return [one for side in (left, right) if not holds(ask(side)) for one in explain(side, ask)]
        case Binary(op="or", left=left, right=right):
            return [*explain(left, ask), *explain(right, ask)]
        case Binary(op="unless", left=left, right=right):
            return shown(right, ask(right)) if holds(ask(left)) else explain(left, ask)
        case Binary(left=left, right=right) if not expression.return_bool:
            return [one for side in (left, right) if not isinstance(side, Number) for one in shown(side, ask(side))]
        case _:
            return shown(expression, ask(expression))


def looked_into(expression: Expression) -> Iterator[Expression]:
    """Every expression of which :func:`explain` may ask, the whole one first."""
    yield expression
    match expression:
        case Binary(op="and" | "or" | "unless", left=left, right=right):
            yield from looked_into(left)
            yield from looked_into(right)
        case Binary(left=left, right=right) if not expression.return_bool:
            yield from (side for side in (left, right) if not isinstance(side, Number))


def _looked_at(expression: Expression) -> Expression:
    """A comparison leaves the values of its left side, or of the side that is a vector."""
    if isinstance(expression, Binary) and expression.op in ("==", "!=", ">", "<", ">=", "<="):
        return expression.right if isinstance(expression.left, Number) else expression.left
    return expression
