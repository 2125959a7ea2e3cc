"""What a reader must see first: which promise was broken, where, and which faults took part in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.report.explanation import Explained
from highwater_chaos.report.files import RunFiles
from highwater_chaos.report.story import Step, Story
from highwater_chaos.report.timeline import fault_label
from highwater_chaos.run.exercised import exercised_text, warning_texts
from highwater_pipeline.anomalies import MEANINGS

_ANOMALIES: Final = 4
_FAULTS: Final = 6
_FOUND_FIRST: Final = ("lost-write", "committed-loss", "unseen")
"""What matters most to those who wrote records."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: a term and what there is to say of it. ``time_ns``: when, if that is one instant; ``weight``: of a
    story's step; ``name``: what it is about."""

    term: str
    text: str
    time_ns: int | None = None
    weight: str = "plain"
    name: str = ""


def meaning_of(check: str) -> str:
    """Return what it means that a check found something."""
    return MEANINGS.get(check, "failed")


def headline_of(run: RunFiles, known: Explained) -> list[Fact]:
    """Return what stands below the sentence at the top of the page, in order."""
    facts = [*_broken(run), *_steps(known.stories), *_took_part(known)]
    return [*(facts or _held(run)), *_exercised(run)]


def _broken(run: RunFiles) -> Iterator[Fact]:
    anomalies = run.verdict["anomalies"]
    order = sorted(anomalies, key=lambda name: (name not in _FOUND_FIRST, list(anomalies).index(name)))
    for name in order[:_ANOMALIES]:
        found = anomalies[name]
        where = list(dict.fromkeys(one["partition"] for one in found["examples"] if one.get("partition")))
        at = f", in {', '.join(where[:3])}{' and more' if len(where) > 3 else ''}" if where else ""
        yield Fact("Broken promise", f"{meaning_of(name)} ({found['count']:,} found{at})", None, "bad", name)
    if len(order) > _ANOMALIES:
        yield Fact("Also found", ", ".join(order[_ANOMALIES:]))
    for row in run.verdict["assertions"]:
        if row["holds"] is False:
            time_ns = None if row["example"] is None else row["example"]["time_ns"]
            yield Fact("Assertion", f"did not hold: {row['promql']}", time_ns, "bad", row["name"])


def _steps(stories: Sequence[Story]) -> Iterator[Fact]:
    for story in stories:
        for weight, term in (("cause", "The wrong decision"), ("bad", "The loss")):
            step = _first(story, weight)
            if step is not None:
                yield Fact(term, f"{step.who}: {step.text}", step.time_ns, weight)


def _first(story: Story, weight: str) -> Step | None:
    return next((step for step in story.steps if step.weight == weight), None)


def _took_part(known: Explained) -> Iterator[Fact]:
    for fault in known.faults[:_FAULTS]:
        start = fault["started_ns"] if fault["injected_ns"] is None else fault["injected_ns"]
        until = "" if fault["healed_ns"] is None else f", until {_time(fault['healed_ns'])}"
        yield Fact("Fault that took part", f"{fault_label(fault)}{until}", start, "fault")


def _held(run: RunFiles) -> list[Fact]:
    outcomes = list(run.verdict["checks"].values())
    facts = []
    if outcomes:
        others = len(outcomes) - outcomes.count("ok")
        text = f"{outcomes.count('ok')} checks found nothing" + (f"; {others} were not judged" if others else "")
        facts.append(Fact("Promises", text, weight="good"))
    if assertions := run.verdict["assertions"]:
        held = sum(row["holds"] is True for row in assertions)
        facts.append(Fact("Assertions", f"{held} of {len(assertions)} held", weight="good"))
    return facts


def _exercised(run: RunFiles) -> Iterator[Fact]:
    found = run.verdict.get("exercised")
    if found is not None:
        yield Fact("Exercised", exercised_text(found))
    for text in warning_texts(found):
        yield Fact("Warning", text, weight="warning")


def _time(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f} s"
