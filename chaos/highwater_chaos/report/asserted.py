"""What assertions look at, over their phases: the sides of their conditions, the bounds, and when they did not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from highwater_chaos.assertions.check import Source
from highwater_chaos.assertions.found import looked_into
from highwater_chaos.assertions.phases import Span as Phase
from highwater_chaos.assertions.phases import read_phases
from highwater_chaos.assertions.prometheus import AnswersError, asked_of, read_answers
from highwater_chaos.assertions.recorded import read_samples
from highwater_chaos.experiment import Assertion, ExperimentSpec
from highwater_chaos.promql.evaluate import Result, holds
from highwater_chaos.promql.language import Binary, Expression, Number, Selector, selectors
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.text import text_of
from highwater_chaos.promql.vectors import EvaluationError, show
from highwater_chaos.report.timeline import Series, Span

_MS: Final = 1_000_000
_LINES: Final = 8
"""Lines of one assertion, at most."""
_INSTANTS: Final = 800
"""Instants of one phase that are drawn, at most: of more, every second, third, …"""
_COMPARED: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})
_JOINED: Final = _COMPARED | {"and", "or", "unless"}


def series_of_assertions(spec: ExperimentSpec, directory: Path) -> list[Series]:
    """Return what can be drawn of the assertions of a run, in their order; those whose data is missing are left out."""
    if not spec.assertions:
        return []
    expressions = [
        parse(one.promql) if spec.prometheus is None else asked_of(spec.prometheus, one) for one in spec.assertions
    ]
    try:
        phases = read_phases(directory)
        source: Source
        if spec.prometheus is None:
            names = {_name(one) for expression in expressions for one in selectors(expression)}
            source = read_samples(directory, None if None in names else [name for name in names if name is not None])
        else:
            source = read_answers(directory)
    except (OSError, ValueError):
        return []
    drawn = []
    for assertion, expression in zip(spec.assertions, expressions, strict=True):
        phase = phases.get(assertion.during)
        try:
            if phase is not None and (series := _series(assertion, expression, phase, source)) is not None:
                drawn.append(series)
        except (EvaluationError, AnswersError):
            continue  # the verdict says that it was not judged
    return drawn


def _name(selector: Selector) -> str | None:
    """The metric that a selector is about; None: it may be any."""
    return next((one.value for one in selector.matchers if one.name == "__name__" and one.op == "="), None)


def _series(assertion: Assertion, expression: Expression, phase: Phase, source: Source) -> Series | None:
    every = source.instants(expression, phase)
    instants = every[:: max(1, -(-len(every) // _INSTANTS))]
    if not instants:
        return None
    lines: dict[str, list[tuple[int, float | None]]] = {}
    for looked_at in dict.fromkeys(_sides(expression)):
        for at in instants:
            for name, value in _values(looked_at, source.at(looked_at, phase, at)):
                if name in lines or len(lines) < _LINES:
                    lines.setdefault(name, []).append((at * _MS, value))
    for steps in lines.values():
        steps.append((phase.end_ms * _MS, None))  # nothing was looked at after that
    ok = [holds(source.at(expression, phase, at)) != bool(assertion.never) for at in instants]
    within_ns = assertion.eventually
    broken = tuple(_stretches(instants, ok, phase.end_ms)) if within_ns is None else ()
    bounds = tuple(dict.fromkeys(_bounds(expression)))
    must = "never" if assertion.never else "always" if within_ns is None else f"within {within_ns / 1e9:g} s"
    summary = f"{text_of(expression)}, {must} in phase {assertion.during}"
    if within_ns is not None:
        limit_ms = phase.start_ms + within_ns // _MS
        first = next((at for at, held in zip(instants, ok, strict=True) if held and at <= limit_ms), None)
        summary += f"; it held first at {first / 1000:.3f} s" if first is not None else "; it did not hold in time"
        if first is None:
            broken = ((phase.start_ms * _MS, min(limit_ms, phase.end_ms) * _MS),)
    else:
        summary += f"; broken for {sum(end - start for start, end in broken) / 1e9:.1f} s"
    looked = Span(phase.start_ms * _MS, phase.end_ms * _MS, f"looked at in phase {assertion.during}", "phase")
    return Series(assertion.name, lines, bounds, broken, (looked,), must, summary)


def _sides(expression: Expression) -> Iterator[Expression]:
    """What is compared, without the numbers; the whole, if it compares nothing."""
    found = [one for one in looked_into(expression) if not isinstance(one, Binary) or one.op not in _JOINED]
    yield from found or [expression]


def _bounds(expression: Expression) -> Iterator[float]:
    for one in looked_into(expression):
        if isinstance(one, Binary) and one.op in _COMPARED:
            yield from (side.value for side in (one.left, one.right) if isinstance(side, Number))


def _values(expression: Expression, result: Result) -> list[tuple[str, float]]:
    text = text_of(expression)
    if isinstance(result, float):
        return [(text, result)]
    return [(show(one.labels) if one.labels else text, one.value) for one in result]


def _stretches(instants: Sequence[int], ok: Sequence[bool], end_ms: int) -> Iterator[tuple[int, int]]:
    """When a condition did not hold: from the first such instant to the next one at which it did."""
    start: int | None = None
    for at, held in zip(instants, ok, strict=True):
        if not held and start is None:
            start = at
        if held and start is not None:
            yield start * _MS, at * _MS
            start = None
    if start is not None:
        yield start * _MS, max(end_ms, start + 1) * _MS
