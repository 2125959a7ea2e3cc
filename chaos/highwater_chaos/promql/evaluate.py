"""What an expression is at an instant."""

from __future__ import annotations

import math
from typing import Final, TypeAlias, cast

from highwater_chaos.promql.functions import AGGREGATORS, OVER_RANGE
from highwater_chaos.promql.language import (
    NAME,
    SETS,
    Aggregate,
    Binary,
    Call,
    Expression,
    Labels,
    Negated,
    Number,
    Range,
    Selector,
)
from highwater_chaos.promql.operators import apply, combine, combine_sets, compare_with_number
from highwater_chaos.promql.series import SeriesStore
from highwater_chaos.promql.vectors import Sample, Vector, distinct, grouped, without_name

Result: TypeAlias = "float | Vector"

PROMETHEUS_LOOKBACK_MS: Final = 300_000


class Evaluator:
    """Evaluates expressions over the series of one store.

    Args:
        store: the series.
        lookback_ms: how old a sample may be that an instant still sees.
    """

    def __init__(self, store: SeriesStore, lookback_ms: int = PROMETHEUS_LOOKBACK_MS) -> None:
        self._store = store
        self._lookback_ms = lookback_ms

    def at(self, expression: Expression, time_ms: int) -> Result:
        """A number, or the elements of a vector, by labels.

        Raises:
            EvaluationError: where Prometheus would have none either.
        """
        found = self._value(expression, time_ms)
        return sorted(found) if isinstance(found, list) else found

    def _value(self, expression: Expression, time_ms: int) -> Result:
        match expression:
            case Number(value=value):
                return value
            case Selector():
                return self._select(expression, time_ms)
            case Negated(inner=inner):
                found = self._value(inner, time_ms)
                if isinstance(found, float):
                    return -found
                return distinct([Sample(without_name(one.labels), -one.value) for one in found])
            case Aggregate():
                groups = grouped(
                    self._vector(expression.inner, time_ms), expression.labels, leave_out=expression.without
                )
                how = AGGREGATORS[expression.op]
                return [Sample(labels, how(values)) for labels, values in groups.items()]
            case Call():
                return self._call(expression, time_ms)
            case Binary():
                return self._binary(expression, time_ms)

    def _vector(self, expression: Expression, time_ms: int) -> Vector:
        found = self._value(expression, time_ms)
        assert isinstance(found, list), "the parser has checked types"
        return found

    def _select(self, selector: Selector, time_ms: int) -> Vector:
        at = time_ms - selector.offset_ms
        return [
            Sample(series.labels, value)
            for series in self._store.select(selector.matchers)
            if (value := series.at(at, self._lookback_ms)) is not None
        ]

    def _call(self, call: Call, time_ms: int) -> Result:
        if isinstance(call.argument, Range):
            return self._over_range(call.function, call.argument, time_ms)
        if call.function == "vector":
            return [Sample((), cast(float, self._value(call.argument, time_ms)))]
        vector = self._vector(call.argument, time_ms)
        match call.function:
            case "abs":
                return distinct([Sample(without_name(one.labels), abs(one.value)) for one in vector])
            case "scalar":
                return vector[0].value if len(vector) == 1 else math.nan
            case _:
                assert call.function == "absent"
                return [] if vector else [Sample(_absent_labels(call.argument), 1.0)]

    def _over_range(self, function: str, argument: Range, time_ms: int) -> Vector:
        end = time_ms - argument.selector.offset_ms
        start = end - argument.range_ms
        vector: Vector = []
        for series in self._store.select(argument.selector.matchers):
            times, values = series.between(start, end)
            if times and (value := OVER_RANGE[function](times, values, start, end)) is not None:
                labels = series.labels if function == "last_over_time" else without_name(series.labels)
                vector.append(Sample(labels, value))
        return distinct(vector)

    def _binary(self, binary: Binary, time_ms: int) -> Result:
        left, right = self._value(binary.left, time_ms), self._value(binary.right, time_ms)
        if isinstance(left, float) and isinstance(right, float):
            return apply(binary.op, left, right)
        if isinstance(left, list) and isinstance(right, list):
            if binary.op in SETS:
                return distinct(combine_sets(binary.op, left, right, binary.matching))
            return distinct(combine(binary, left, right))
        return distinct(compare_with_number(binary, left, right))


def holds(result: Result) -> bool:
    """Whether a condition holds, as alerts have it: a vector that is not empty, a number that is neither 0 nor NaN."""
    return bool(result) if isinstance(result, list) else result != 0 and not math.isnan(result)


def _absent_labels(expression: Expression) -> Labels:
    """What is known of the series that are not there: labels that had to be equal to something, if named but once."""
    if not isinstance(expression, Selector):
        return ()
    known: dict[str, str] = {}
    seen: set[str] = set()
    for matcher in expression.matchers:
        if matcher.name == NAME:
            continue
        if matcher.op == "=" and matcher.name not in seen:
            seen.add(matcher.name)
            known[matcher.name] = matcher.value
        else:
            known.pop(matcher.name, None)
    return tuple(sorted((name, value) for name, value in known.items() if value))
