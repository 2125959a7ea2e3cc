"""Verdicts, and how what units found becomes one: counts add up, examples stay few, order does not matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from highwater_pipeline.anomalies import (
    AVAILABILITY,
    CHECKS,
    CLIENT_CHECKS,
    NEEDED_EVENTS,
    NEEDS,
    ON_REQUEST,
    QUORUM_INVARIANTS,
)
from highwater_pipeline.units import RunFacts

NOT_JUDGED: Final = ": not judged on "
"""In the reason why some checks are not available, between what is missing and their names."""

MAX_EXAMPLES: Final = 10
"""Examples kept of one anomaly, in a unit and in a verdict alike."""

Verdict = Literal["pass", "fail", "inconclusive"]
CheckState = Literal["ok", "failed", "unknown", "not-available"]
Example = dict[str, Any]
"""One instance of an anomaly, as JSON: ``partition``, ``story`` (one sentence), ``rows`` (``[{"table", "index"}]``: the
rows that prove it, counted from 0), and what the check names besides (offsets, epochs, nodes, values)."""


class Finding(msgspec.Struct, frozen=True):
    """What one check found in one unit: how many instances, and the first few of them."""

    count: int
    examples: list[Example]


class UnitFindings(msgspec.Struct, frozen=True):
    """What the checks found in one unit; checks that found nothing are not named."""

    run_id: str
    partition: str
    findings: dict[str, Finding]


class AnomalyReport(msgspec.Struct, frozen=True):
    """One anomaly of a run: ``count`` instances, at most :data:`MAX_EXAMPLES` of them told."""

    count: int
    examples: list[Example]


class Judgement(msgspec.Struct, frozen=True):
    """What the checks say of one run.

    ``checks`` says of every check asked for: ``ok`` (done, found nothing), ``failed``, ``unknown`` (the history does
    not allow an answer) or ``not-available`` (the tables it needs were not recorded). ``reasons`` are sentences.
    """

    run_id: str
    verdict: Verdict
    reasons: list[str]
    anomalies: dict[str, AnomalyReport]
    checks: dict[str, CheckState]

    def to_json(self) -> bytes:
        """Canonical JSON: equal judgements are equal bytes."""
        return msgspec.json.encode(self)


def selected(checks: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the checks asked for, in the order of reports; None or ``["all"]``: every one. Invariants, which whoever
    ran it has looked after, may be named too and are left out.

    Raises ``ValueError`` for a name that is not a check's.
    """
    if checks is None or "all" in checks:
        return tuple(CHECKS)
    for name in checks:
        if name not in {*CHECKS, *QUORUM_INVARIANTS, *ON_REQUEST, *AVAILABILITY}:
            raise ValueError(f"expected a check ({', '.join(CHECKS)}), found {name!r}")
    return tuple(name for name in CHECKS if name in checks)


def can_tell(name: str, facts: RunFacts) -> bool:
    """Whether the events that a check judges by were recorded, if any of that run were: some software tells only some
    of them, and from half of the events nothing follows, neither a pass nor a fail."""
    told = facts.recorded_events
    return told is None or all(kind in told for kind in NEEDED_EVENTS.get(name, ()))


def merge(facts: RunFacts, units: Iterable[UnitFindings], checks: Sequence[str] | None = None) -> Judgement:
    """One judgement from what was found in a run's units, in whatever order they come."""
    ordered = sorted(units, key=lambda unit: unit.partition)
    anomalies: dict[str, AnomalyReport] = {}
    states: dict[str, CheckState] = {}
    names = selected(checks)
    if facts.crashes:
        anomalies["node-crash"] = AnomalyReport(facts.crashes, list(facts.crash_examples))
        states["node-crash"] = "failed"  # whatever was asked for: what such a run withstood, nobody knows
    for name in names:
        if name in states:
            continue
        found = [unit.findings[name] for unit in ordered if name in unit.findings]
        examples = [example for finding in found for example in finding.examples][:MAX_EXAMPLES]
        count = sum(finding.count for finding in found)
        if count:
            anomalies[name] = AnomalyReport(count, examples)
        states[name] = "failed" if count else _state_without_anomaly(name, facts)
    reasons = _reasons(facts, anomalies, states)
    return Judgement(facts.run_id, _verdict(facts, states), reasons, anomalies, states)


def _state_without_anomaly(name: str, facts: RunFacts) -> CheckState:
    if name in CLIENT_CHECKS:
        unknown = facts.acknowledged == 0 or (name == "unseen" and not facts.drained)
        return "unknown" if unknown else "ok"
    if not can_tell(name, facts):
        return "not-available"
    recorded = {"events": facts.has_events, "replica-log": facts.has_replica_log, "history": True}
    recorded["dump-marks"] = facts.has_dump_marks
    return "ok" if all(recorded[need] for need in NEEDS[name]) else "not-available"


def _verdict(facts: RunFacts, states: Mapping[str, CheckState]) -> Verdict:
    if "failed" in states.values():
        return "fail"  # what was found was found, whatever else is in doubt
    if facts.doubts or "unknown" in states.values() or all(state == "not-available" for state in states.values()):
        return "inconclusive"
    return "pass"


def _reasons(facts: RunFacts, anomalies: Mapping[str, AnomalyReport], states: Mapping[str, CheckState]) -> list[str]:
    reasons = [f"{name}: {CHECKS[name]} ({report.count} found)" for name, report in anomalies.items()]
    reasons += facts.doubts
    unknown = [name for name, state in states.items() if state == "unknown"]
    if unknown:
        if facts.operations == 0:
            why = "the history has no operations"
        elif facts.acknowledged == 0:
            why = f"none of {facts.operations} operations acknowledged a record"
        else:
            why = "no poll began after the last acknowledged send, so the final reads are missing"
        reasons.append(f"{why}: nothing can be said on {', '.join(unknown)}")
    missing = [name for name, state in states.items() if state == "not-available"]
    untold = [name for name in missing if not can_tell(name, facts)]
    if untold:
        reasons.append(f"{facts.why_not_recorded}{NOT_JUDGED}{', '.join(untold)}")
        missing = [name for name in missing if name not in untold]
    if missing:
        what = " and ".join(
            what
            for what, recorded in (
                ("node events", facts.has_events),
                ("replica dumps", facts.has_replica_log),
                ("marks in the replica dumps", facts.has_dump_marks or not facts.has_replica_log),
            )
            if not recorded
        )
        reasons.append(f"no {what} recorded{NOT_JUDGED}{', '.join(missing)}")
    return reasons
