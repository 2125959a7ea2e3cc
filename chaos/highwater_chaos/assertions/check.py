"""Whether assertions held: pure over what is known of the phases and what a source of answers says.

An assertion is judged only by data. Where no sample of a metric that it needs was taken in its phase, or the phase did
not last as long as was asked for, nothing follows, neither that it held nor that it did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from highwater_chaos.assertions.defaults import COUNTER, NAME, allows_unclean_elections, first_unclean_election
from highwater_chaos.assertions.found import explain, shown
from highwater_chaos.assertions.outcome import Outcome
from highwater_chaos.assertions.phases import Span, read_phases
from highwater_chaos.assertions.prometheus import AnswersError, asked_of, read_answers
from highwater_chaos.assertions.recorded import LOOKBACK_MS, read_samples
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.experiment import Assertion, ExperimentSpec
from highwater_chaos.promql.evaluate import Result, holds
from highwater_chaos.promql.language import Binary, Call, Expression, Range, Selector, parts
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.text import text_of
from highwater_chaos.promql.vectors import EvaluationError

_MS: Final = 1_000_000


class Source(Protocol):
    """Whom to ask for results."""

    @property
    def name(self) -> str:
        """Return the name of the source of the series."""

    def instants(self, expression: Expression, span: Span) -> Sequence[int]:
        """When to look in a phase, in milliseconds of run time, ascending. Raises :class:`AnswersError`."""

    def at(self, expression: Expression, span: Span, time_ms: int) -> Result:
        """The result at one of those instants. Raises ``EvaluationError``, :class:`AnswersError`."""

    def has_samples(self, selector: Selector, span: Span) -> bool:
        """Whether anything that the selector means was sampled in the phase. Raises :class:`AnswersError`."""

    def metric_names(self) -> Sequence[str]:
        """Return the names of the known metrics; empty if they cannot be listed."""


def check_assertions(spec: ExperimentSpec, directory: Path) -> list[Outcome]:
    """What became of the assertions of the run in ``directory``, in their order; then the default one, if it failed."""
    return [*_judge_given(spec, directory), *_judge_default(spec, directory)]


def _judge_default(spec: ExperimentSpec, directory: Path) -> list[Outcome]:
    if not spec.default_assertions or allows_unclean_elections(spec):
        return []
    try:
        found = first_unclean_election(directory)
    except (OSError, ValueError):
        return []  # recordings that are torn are found by those who need them
    if found is None:
        return []
    time_ns, node, value = found
    promql = f"{COUNTER} > 0"
    reason = (
        f"assertion {NAME}: {promql} held at {time_ns / 1e9:.3f} s, where it never may: {node} had counted {value:g}"
        " (on by default; spec.defaultAssertions: false turns it off)"
    )
    return [Outcome(NAME, promql, "run", "never", False, reason, "samples", 1, time_ns, ((node, value),))]


def _judge_given(spec: ExperimentSpec, directory: Path) -> list[Outcome]:
    if not spec.assertions:
        return []
    try:
        phases = read_phases(directory)
        source: Source = read_samples(directory) if spec.prometheus is None else read_answers(directory)
    except (OSError, ValueError) as error:
        return [
            _unjudged(assertion, f"what was recorded cannot be read: {error}", "none") for assertion in spec.assertions
        ]
    return [
        judge(
            assertion,
            parse(assertion.promql) if spec.prometheus is None else asked_of(spec.prometheus, assertion),
            phases.get(assertion.during),
            source,
        )
        for assertion in spec.assertions
    ]


def judge(assertion: Assertion, expression: Expression, span: Span | None, source: Source) -> Outcome:
    """What became of one assertion; ``expression``: its condition as ``source`` is asked; ``span``: its phase, None
    where the run did not come to it."""
    if span is None:
        return _unjudged(assertion, f"the run did not come to phase {assertion.during}", source.name)
    try:
        if (missing := _missing(expression, span, source)) is not None:
            near = get_close_matches(_metric(missing), source.metric_names(), n=1)
            hint = f" (did you mean {near[0]}?)" if near and near[0] != _metric(missing) else ""
            return _unjudged(
                assertion, f"no sample of {text_of(missing)} in phase {assertion.during}{hint}", source.name
            )
        instants = source.instants(expression, span)
        if not instants:
            return _unjudged(assertion, f"nothing was sampled in phase {assertion.during}", source.name)
        if assertion.eventually is not None:
            return _eventually(assertion, assertion.eventually, expression, span, source, instants)
        return _throughout(assertion, expression, span, source, instants)
    except (EvaluationError, AnswersError) as error:
        return _unjudged(assertion, str(error), source.name)


def _throughout(
    assertion: Assertion, expression: Expression, span: Span, source: Source, instants: Sequence[int]
) -> Outcome:
    never = bool(assertion.never)
    for at in instants:
        result = source.at(expression, span, at)
        if holds(result) == never:
            where = f"in phase {assertion.during} at {at / 1000:.3f} s"
            if never:
                found, finding = shown(expression, result), f"held {where}, where it never may"
            else:
                found, finding = explain(expression, partial(_ask, source, span, at)), f"did not hold {where}"
            return _judged(assertion, False, finding, source, len(instants), at, found)
    return _judged(assertion, True, "", source, len(instants))


def _ask(source: Source, span: Span, at: int, expression: Expression) -> Result:
    return source.at(expression, span, at)


def _eventually(
    assertion: Assertion, within_ns: int, expression: Expression, span: Span, source: Source, instants: Sequence[int]
) -> Outcome:
    limit = span.start_ms + within_ns // _MS
    looked_at = [at for at in instants if at <= limit]
    for at in looked_at:
        result = source.at(expression, span, at)
        if holds(result):
            return _judged(assertion, True, "", source, len(looked_at), at, shown(expression, result))
    within = format_duration(within_ns)
    if span.end_ms < limit:
        lasted = (span.end_ms - span.start_ms) / 1000
        return _unjudged(
            assertion,
            f"it had not held when phase {assertion.during} was over after {lasted:.3f} s, before its {within} were",
            source.name,
        )
    if not looked_at:
        return _unjudged(assertion, f"nothing was sampled within {within} of phase {assertion.during}", source.name)
    at = looked_at[-1]
    if limit - at > max(LOOKBACK_MS, 2 * (instants[-1] - instants[0]) // len(instants)):
        why = f"nothing was sampled between {at / 1000:.3f} s and the end of its {within}, at {limit / 1000:.3f} s"
        return _unjudged(assertion, why, source.name)
    found = explain(expression, partial(_ask, source, span, at))
    finding = f"did not hold within {within} of phase {assertion.during}; at {at / 1000:.3f} s"
    return _judged(assertion, False, finding, source, len(looked_at), at, found)


def _judged(
    assertion: Assertion,
    holds_: bool,
    finding: str,
    source: Source,
    instants: int,
    at: int | None = None,
    found: Sequence[tuple[str, float]] = (),
) -> Outcome:
    values = ", ".join(f"{what} was {value:g}" for what, value in found[:3]) or "its result was empty"
    if len(found) > 3:
        values += f" and {len(found) - 3} more"
    return Outcome(
        assertion.name,
        assertion.promql,
        assertion.during,
        assertion.must,
        holds_,
        "" if holds_ else f"assertion {assertion.name}: {assertion.promql} {finding}: {values}",
        source.name,
        instants,
        None if at is None else at * _MS,
        tuple(found),
    )


def _unjudged(assertion: Assertion, why: str, source: str) -> Outcome:
    reason = f"assertion {assertion.name} could not be judged: {why}"
    return Outcome(assertion.name, assertion.promql, assertion.during, assertion.must, None, reason, source)


def _missing(expression: Expression | Range, span: Span, source: Source) -> Selector | None:
    """A selector without whose samples the expression says nothing, though it had none in the phase.

    What is asked to be absent may be; of two sides of ``or`` one is enough, and what is taken off by ``unless`` need
    not be there. ``!=`` and ``!~`` may leave nothing over, which is no misspelt name.
    """
    match expression:
        case Selector():
            meant = expression.without_exclusions()
            return None if source.has_samples(expression, span) or source.has_samples(meant, span) else meant
        case Range(selector=selector):
            return _missing(selector, span, source)
        case Call(function="absent"):
            return None
        case Binary(op="or", left=left, right=right):
            return _missing(left, span, source) and _missing(right, span, source)
        case Binary(op="unless", left=left):
            return _missing(left, span, source)
        case _:
            found = (_missing(part, span, source) for part in parts(expression))
            return next((one for one in found if one is not None), None)


def _metric(selector: Selector) -> str:
    return next((one.value for one in selector.matchers if one.name == "__name__"), "")
