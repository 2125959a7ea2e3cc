"""What becomes of an assertion, by what was sampled in its phase: held, failed with figures, or not judged."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.assertions import changed_verdict
from highwater_chaos.assertions.check import Outcome, judge
from highwater_chaos.assertions.phases import Span
from highwater_chaos.assertions.recorded import RecordedSamples
from highwater_chaos.experiment import Assertion
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.series import Series, SeriesStore

SECONDS = range(1, 21)
PHASE = Span(5_000, 14_999)


def samples(**series: dict[str, list[float | None]]) -> RecordedSamples:
    """``name={node: values from the first second on}``; None: no sample, which ends the series."""
    made = [
        Series(
            (("__name__", name), ("node", node)),
            [second * 1000 for second, _ in zip(SECONDS, values, strict=False)],
            [None if value is None else float(value) for value in values],
        )
        for name, nodes in series.items()
        for node, values in nodes.items()
    ]
    return RecordedSamples(SeriesStore(made), [second * 1000 for second in SECONDS])


def outcome(source: RecordedSamples, promql: str, span: Span | None = PHASE, **must: Any) -> Outcome:
    return judge(Assertion(name="it", promql=promql, during="fault", **must), parse(promql), span, source)


ACTIVE = samples(active={"c0": [1] * 9 + [0] * 11, "c1": [0] * 10 + [1] * 10}, odd={"c0": [3] * 20})


def test_always_holds_at_every_instant_or_fails_at_the_first_where_it_does_not() -> None:
    held = outcome(ACTIVE, "sum(active) <= 1")
    assert (held.holds, held.instants, held.must, held.reason) == (True, 10, "always", "")

    failed = outcome(ACTIVE, "sum(active) == 1")
    assert (failed.holds, failed.time_ns, failed.found) == (False, 10_000_000_000, (("sum(active)", 0.0),))
    assert failed.reason == (
        "assertion it: sum(active) == 1 did not hold in phase fault at 10.000 s: sum(active) was 0"
    )
    assert outcome(ACTIVE, "sum(active) == 1", always=True) == failed


def test_never_fails_at_the_first_instant_where_it_holds() -> None:
    assert outcome(ACTIVE, "sum(active) > 1", never=True).holds is True
    failed = outcome(ACTIVE, "active == 1", never=True)
    assert failed.found == (('active{node="c0"}', 1.0),)
    assert failed.reason == (
        'assertion it: active == 1 held in phase fault at 5.000 s, where it never may: active{node="c0"} was 1'
    )


def test_eventually_is_from_the_beginning_of_the_phase() -> None:
    held = outcome(ACTIVE, 'active{node="c1"} == 1', eventually="6s")
    assert (held.holds, held.time_ns, held.must) == (True, 11_000_000_000, "eventually 6s")

    failed = outcome(ACTIVE, 'active{node="c1"} == 1', eventually="5s")
    assert (failed.holds, failed.instants) == (False, 6)
    assert failed.reason == (
        'assertion it: active{node="c1"} == 1 did not hold within 5s of phase fault; at 10.000 s: '
        'active{node="c1"} was 0'
    )

    short = outcome(ACTIVE, "sum(active) == 7", eventually="30s")
    assert short.holds is None, "the phase ended before the time was over"
    assert short.reason == (
        "assertion it could not be judged: it had not held when phase fault was over after 9.999 s, before its 30s were"
    )


@pytest.mark.parametrize(
    ("promql", "why"),
    [
        ("sum(actve) == 0", "no sample of actve in phase fault (did you mean active?)"),
        ("active{node='c9'} == 0", 'no sample of active{node="c9"} in phase fault'),
        ("active{node!~'.*'} == 0", None),
        ("count(nothing{node!~'.*'}) > 0", "no sample of nothing in phase fault"),
        ("sum(rate(nothing[5s])) > 0", "no sample of nothing in phase fault"),
        ("active == 0 or nothing == 1", None),
        ("nothing or nowhere", "no sample of nowhere in phase fault"),
        ("active unless nothing", None),
        ("nothing unless active", "no sample of nothing in phase fault"),
        ("absent(nothing)", None),
        ("active + on() odd > 0", "multiple matches for labels {}: many-to-one matching must be explicit"),
    ],
)
def test_without_samples_of_what_it_needs_nothing_follows(promql: str, why: str | None) -> None:
    for must in ({}, {"never": True}, {"eventually": "5s"}):
        found = outcome(ACTIVE, promql, **must)
        assert (found.holds is None) == (why is not None)
        assert found.reason.startswith(f"assertion it could not be judged: {why}") == (why is not None)


def test_a_phase_that_did_not_take_place_or_was_not_sampled_is_not_judged() -> None:
    assert outcome(ACTIVE, "active", None).reason.endswith("the run did not come to phase fault")
    assert outcome(ACTIVE, "active", Span(100, 900)).holds is None
    assert outcome(ACTIVE, "absent(active)", Span(100, 900)).reason.endswith("nothing was sampled in phase fault")


def test_numbers_and_what_is_missing() -> None:
    assert outcome(ACTIVE, "scalar(odd) > bool 2").holds is True
    assert outcome(ACTIVE, "scalar(odd) - 3").holds is False
    assert outcome(ACTIVE, "scalar(active) == bool 1").holds is False, (
        "not one element but two: NaN is equal to nothing"
    )
    gone = samples(up={"b0": [1] * 20, "b1": [1] * 8 + [None] * 12})
    failed = outcome(gone, "count(up) == 2")
    assert (failed.time_ns, failed.found) == (9_000_000_000, (("count(up)", 1.0),))
    failed = outcome(samples(up={"b0": [1] * 8 + [None] * 12}), "count(up) == 2")
    assert failed.found == (("count(up)", 1.0),)
    failed = outcome(samples(up={"b0": [1] * 8 + [None] * 12}), "sum(up) == 1")
    assert failed.reason.endswith("in phase fault at 9.000 s: its result was empty")


def test_the_sides_that_did_not_come_out_are_named() -> None:
    both = samples(a={"x": [1] * 20}, b={"x": [2] * 20})
    assert outcome(both, "a == b").found == (('a{node="x"}', 1.0), ('b{node="x"}', 2.0))
    assert outcome(both, "a == 1 and b == 1").found == (('b{node="x"}', 2.0),)
    assert outcome(both, "a == 2 or b == 1").found == (('a{node="x"}', 1.0), ('b{node="x"}', 2.0))
    assert outcome(both, "a unless b == 2").found == (('b{node="x"}', 2.0),)


def test_json_has_no_infinities() -> None:
    found = outcome(samples(a={"x": [1] * 20}), "a / 0 < 5").to_dict()["example"]
    assert found == {"time_ns": 5_000_000_000, "found": [{"what": '{node="x"}', "value": "+Inf"}]}


@pytest.mark.parametrize(
    ("verdict", "held", "becomes"),
    [
        ("pass", [True, True], "pass"),
        ("pass", [True, None], "inconclusive"),
        ("pass", [None, False], "fail"),
        ("inconclusive", [True], "inconclusive"),
        ("inconclusive", [False], "fail"),
        ("fail", [None], "fail"),
        ("pass", [], "pass"),
    ],
)
def test_verdicts(verdict: str, held: list[bool | None], becomes: str) -> None:
    outcomes = [Outcome("a", "b", "fault", "always", one, "", "samples") for one in held]
    assert changed_verdict(verdict, outcomes) == becomes


def test_what_may_have_come_true_when_nothing_was_sampled_is_not_judged() -> None:
    """Nodes could be looked at in the first seconds only; it has seven more to hold."""
    early = RecordedSamples(ACTIVE.store, [second * 1000 for second in range(1, 9)])
    found = outcome(early, "sum(active) == 7", eventually="9s")
    assert found.holds is None
    assert found.reason == (
        "assertion it could not be judged: nothing was sampled between 8.000 s and the end of its 9s, at 14.000 s"
    )
    assert outcome(early, "sum(active) == 7", eventually="8s").holds is False, "five seconds are believed"
    assert outcome(early, "sum(active) == 1", eventually="9s").holds is True
    seldom = RecordedSamples(ACTIVE.store, list(range(0, 100_000, 8000)))
    assert outcome(seldom, "sum(active) == 7", Span(0, 100_000), eventually="15s").holds is False, "as often as ever"
