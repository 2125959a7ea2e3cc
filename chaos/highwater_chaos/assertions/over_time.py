"""What an assertion compares, over the whole run: to look at. Nothing is judged by it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from highwater_chaos.assertions.judge import Source
from highwater_chaos.assertions.phases import Span, read_phases
from highwater_chaos.assertions.prometheus import AnswersError, asked_of, read_answers
from highwater_chaos.assertions.recorded import read_samples
from highwater_chaos.experiment import Assertion, ExperimentSpec
from highwater_chaos.promql import (
    Binary,
    EvaluationError,
    Expression,
    Number,
    holds,
    is_comparison,
    parse,
    selectors,
    show,
    text_of,
)

_INSTANTS: Final = 240
"""At how many instants of the run values are looked up."""
_SERIES: Final = 8
_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Values:
    """One series: ``points`` are (ns of run time, value)."""

    name: str
    points: list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class OverTime:
    """An assertion's values. ``bound``: the number that they are compared with, if it is one; ``within``: its phase in
    ns of run time; ``broken``: the instants of the phase at which the condition was not as it must be."""

    name: str
    during: str
    bound: float | None
    within: tuple[int, int] | None
    series: list[Values] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)


def assertions_over_time(spec: ExperimentSpec, directory: Path) -> list[OverTime]:
    """The values of each assertion of the run in ``directory``, in their order; none where nothing can be read."""
    if not spec.assertions:
        return []
    parsed = [
        parse(one.promql) if spec.prometheus is None else asked_of(spec.prometheus, one) for one in spec.assertions
    ]
    try:
        phases = read_phases(directory)
        source: Source = (
            read_samples(directory, _metrics(parsed)) if spec.prometheus is None else read_answers(directory)
        )
    except (OSError, ValueError):
        return []
    whole = spec.prometheus is None and phases
    run = (
        Span(min(one.start_ms for one in phases.values()), max(one.end_ms for one in phases.values()))
        if whole
        else None
    )
    return [
        _over_time(assertion, expression, phases.get(assertion.during), run, source)
        for assertion, expression in zip(spec.assertions, parsed, strict=True)
    ]


def _metrics(expressions: Sequence[Expression]) -> frozenset[str] | None:
    """The metrics that the expressions name; None if one does not say which it means."""
    names = set()
    for selector in (one for expression in expressions for one in selectors(expression)):
        exact = [one.value for one in selector.matchers if one.name == "__name__" and one.op == "="]
        if not exact:
            return None
        names.update(exact)
    return frozenset(names)


def _over_time(
    assertion: Assertion, expression: Expression, phase: Span | None, run: Span | None, source: Source
) -> OverTime:
    compared = list(_compared(expression))
    bounds = {bound for _, bound in compared if bound is not None}
    made = OverTime(
        assertion.name,
        assertion.during,
        bounds.pop() if len(bounds) == 1 else None,
        None if phase is None else (phase.start_ms * _NS, (phase.end_ms + 1) * _NS),
    )
    points: dict[str, list[tuple[int, float]]] = {}
    span = run or phase
    if span is None:
        return made
    try:
        instants = source.instants(expression, span)
        for at in instants[:: max(1, -(-len(instants) // _INSTANTS))]:
            _look(made, points, assertion, expression, compared, phase, source, span, at)
    except (EvaluationError, AnswersError):
        pass  # what could be looked up is drawn
    made.series.extend(Values(name, found) for name, found in list(points.items())[:_SERIES])
    return made


def _look(
    made: OverTime,
    points: dict[str, list[tuple[int, float]]],
    assertion: Assertion,
    expression: Expression,
    compared: Sequence[tuple[Expression, float | None]],
    phase: Span | None,
    source: Source,
    span: Span,
    at: int,
) -> None:
    for side, _ in compared:
        result = source.at(side, span, at)
        found = (
            [("", result)]
            if isinstance(result, float)
            else [(show(one.labels) if one.labels else "", one.value) for one in result]
        )
        for labels, value in found:
            if math.isfinite(value):
                points.setdefault(labels or text_of(side), []).append((at * _NS, value))
    inside = phase is not None and phase.start_ms <= at <= phase.end_ms
    if inside and assertion.eventually is None and holds(source.at(expression, span, at)) == bool(assertion.never):
        made.broken.append(at * _NS)


def _compared(expression: Expression) -> Iterator[tuple[Expression, float | None]]:
    """Each side of each comparison that is not a number, and the number that it is compared with."""
    match expression:
        case Binary(op="and" | "or" | "unless", left=left, right=right):
            yield from _compared(left)
            yield from _compared(right)
        case Binary(left=left, right=right) if is_comparison(expression.op):
            sides = left, right
            bound = next((side.value for side in sides if isinstance(side, Number)), None)
            yield from ((side, bound) for side in sides if not isinstance(side, Number))
        case _:
            yield expression, None
