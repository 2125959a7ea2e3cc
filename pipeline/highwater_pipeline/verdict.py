"""Verdicts, merged from the findings of units: counts are added, a few examples are kept, order does not matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from highwater_pipeline.anomalies import (
    AVAILABILITY,
    BY_FEWER,
    CHECKS,
    CLIENT_CHECKS,
    CLIENT_CHECKS_ON_REQUEST,
    GROUP_CHECKS,
    LOOKUP_CHECKS,
    NEEDED_EVENTS,
    NEEDS,
    OF_ACKNOWLEDGED,
    OF_LOGS,
    ON_REQUEST,
    QUORUM_INVARIANTS,
    RUN_CHECKS,
    STATE_INVARIANTS,
)

if TYPE_CHECKING:
    from highwater_pipeline.partitions.partition_tables import RunFacts

NOT_JUDGED: Final = ": not judged on "
"""In the reason why some checks are not available, between what is missing and their names."""

NO_CHECKS: Final = "none of the checks that were asked for is about what was recorded"
"""The reason if only invariants were asked for, which the program that ran it has looked after."""

OF_PRODUCERS: Final = ("sequence-gap", "producer-id-reused")
"""Checks that judge by the producer ids of dumped records."""

_LESS: Final = {
    "committed-loss": "is judged by offsets and leader epochs alone",
    "min-isr": "judges only what was acknowledged while no leader knew of enough in-sync replicas",
    "retention-too-greedy": "does not judge how far DeleteRecords may go",
    "model-step": "judges neither flushes nor acknowledgements, nor min.insync.replicas",
}
"""How checks judge that judge less."""

REMOVALS: Final = ("retention", "deleteRecords", "compaction")
"""What removes acknowledged records by design."""

MAX_EXAMPLES: Final = 10
"""Examples kept of one anomaly, in a unit and in a verdict alike."""

Verdict = Literal["pass", "fail", "inconclusive"]
CheckState = Literal["ok", "failed", "unknown", "not-available"]
Example = dict[str, Any]
"""One instance of an anomaly, as JSON: ``partition``, ``story`` (one sentence), ``rows`` (``[{"table", "index"}]``: the
rows that prove it, counted from 0), and what the check names besides (offsets, epochs, nodes, values)."""


class Finding(msgspec.Struct, frozen=True):
    """What one check found in one unit: how many instances, and the first few of them. ``unknown``: how many more there
    would be if something was promised that is not known, and ``why`` it is not known."""

    count: int
    examples: list[Example]
    unknown: int = 0
    why: str = ""


def together(findings: Sequence[Finding]) -> Finding:
    """The findings of several parts of a unit as one."""
    examples = [example for finding in findings for example in finding.examples]
    whys = dict.fromkeys(finding.why for finding in findings if finding.unknown)
    return Finding(
        sum(finding.count for finding in findings),
        examples[:MAX_EXAMPLES],
        sum(finding.unknown for finding in findings),
        "; ".join(whys),
    )


class PartitionFindings(msgspec.Struct, frozen=True):
    """What the checks found in one unit; checks that found nothing are not named. ``removed`` counts the acknowledged
    records that the log removed by itself, by what took them; ``lost`` those that it lost (None: not
    known)."""

    run_id: str
    partition: str
    findings: dict[str, Finding]
    removed: dict[str, int] = {}
    lost: int | None = 0


class AnomalyReport(msgspec.Struct, frozen=True):
    """One anomaly of a run: ``count`` instances and at most :data:`MAX_EXAMPLES` examples."""

    count: int
    examples: list[Example]


class RunVerdict(msgspec.Struct, frozen=True):
    """What the checks say of one run.

    ``checks`` says of every check asked for: ``ok`` (done, found nothing), ``failed``, ``unknown`` (the history does
    not allow an answer) or ``not-available`` (the tables it needs were not recorded). ``reasons`` are sentences.
    ``stats`` counts operations on logs, and records that were acknowledged and read. ``removed`` counts acknowledged
    records that the log removed by itself: ``retention``, ``deleteRecords``, ``compaction``; None: not known, as nodes
    did not report it. ``lost`` counts acknowledged records that are in no replica and in no final read, though nothing
    removed them by design; None: not known. Whether they were owed to anybody is another question.
    """

    run_id: str
    verdict: Verdict
    reasons: list[str]
    anomalies: dict[str, AnomalyReport]
    checks: dict[str, CheckState]
    stats: dict[str, int] = {}
    removed: dict[str, int | None] = {}
    lost: int | None = None

    def to_json(self) -> bytes:
        """Canonical JSON: equal verdicts are equal bytes."""
        return msgspec.json.encode(self)


def selected(checks: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the checks asked for, in the order of reports; None or ``["all"]``: every one, but for
    those of whole runs, which depend on what clients did. Invariants, which the
    program that ran it has looked after, may be named too and are left out.

    Raises ``ValueError`` for a name that is not a check's.
    """
    known = {**CHECKS, **RUN_CHECKS, **CLIENT_CHECKS_ON_REQUEST}
    if checks is None:
        return tuple(CHECKS)
    for name in checks:
        if name not in {*known, *QUORUM_INVARIANTS, *STATE_INVARIANTS, *ON_REQUEST, *AVAILABILITY, "all"}:
            raise ValueError(f"expected a check ({', '.join(known)}), found {name!r}")
    return tuple(name for name in known if name in checks or ("all" in checks and name in CHECKS))


def has_needed_events(name: str, facts: RunFacts) -> bool:
    """Return whether all kinds of events that a check needs were recorded. Some software reports only some kinds. A
    check without all of its events can reach neither a pass nor a fail."""
    recorded = facts.recorded_events
    if recorded is None or all(kind in recorded for kind in NEEDED_EVENTS.get(name, ())):
        return True
    return judges_less(name, facts)


def judges_less(name: str, facts: RunFacts) -> bool:
    """Return whether a check judges less than of our own nodes: of other software, which does not report its
    transitions (:data:`~highwater_pipeline.anomalies.BY_FEWER`)."""
    recorded = facts.recorded_events
    if name not in BY_FEWER or recorded is None:
        return False
    if {"batch-committed", "transition"} & {*recorded, *facts.missing_events}:
        return False
    return all(kind in recorded for kind in BY_FEWER[name])


def has_log_events(facts: RunFacts) -> bool:
    """Return whether events show which logs brokers have."""
    if facts.recorded_events is None:
        return not any(kind in facts.absent_events for kind in OF_LOGS)
    return all(kind in facts.recorded_events for kind in OF_LOGS)


def _absent_events(name: str, facts: RunFacts) -> list[str]:
    """The kinds of events that a check needs and of which it is not known whether they were recorded: the recording has
    none and does not say. What the check finds all the same counts."""
    return [kind for kind in NEEDED_EVENTS.get(name, ()) if kind in facts.absent_events]


def _is_not_whole(name: str, facts: RunFacts) -> bool:
    """Whether a check needs kinds of events of which some are missing, though the recording says that it has them."""
    return any(kind in facts.missing_events for kind in NEEDED_EVENTS.get(name, ()))


def has_sends(facts: RunFacts) -> bool:
    """Return whether the history has the sends by which ``never-sent`` judges: some, and none is missing."""
    return facts.sent != 0 and not facts.settings.unrecorded_sends


def has_headers(facts: RunFacts) -> bool:
    """Return whether each record says what was sent, by which ``altered`` judges: every client that writes is ours."""
    return facts.settings.headers and not facts.settings.unrecorded_sends


def has_producer_ids(facts: RunFacts) -> bool:
    """Return whether the history has sends, and their producers have ids, as far as is known."""
    return facts.sent != 0 and facts.settings.idempotence is not False


def _lacks_producers(facts: RunFacts) -> bool:
    """Whether the dumps have no producer's id, though there were idempotent producers."""
    return facts.settings.idempotence is True and facts.acknowledged > 0 and not facts.producers_dumped


def merge(facts: RunFacts, units: Iterable[PartitionFindings], checks: Sequence[str] | None = None) -> RunVerdict:
    """One verdict from what was found in a run's units, in whatever order they come."""
    ordered = sorted(units, key=lambda unit: unit.partition)
    anomalies: dict[str, AnomalyReport] = {}
    states: dict[str, CheckState] = {}
    undecided: list[str] = []
    if facts.crashes:
        anomalies["node-crash"] = AnomalyReport(facts.crashes, list(facts.crash_examples))
        states["node-crash"] = "failed"  # whichever checks were chosen: it is not known what such a run withstood
    names = selected(checks)
    if checks is None or "all" in checks:
        of_groups = () if facts.commits is None else GROUP_CHECKS
        of_lookups = () if facts.lookups is None else LOOKUP_CHECKS
        names = tuple(dict.fromkeys([*names, *of_groups, *of_lookups]))
    for name in names:
        if name in states:
            continue
        if name in GROUP_CHECKS:
            found = _of_commits(facts)
        elif name in LOOKUP_CHECKS:
            found = _of_lookups(facts)
        else:
            found = together([unit.findings[name] for unit in ordered if name in unit.findings])
        if found.count:
            anomalies[name] = AnomalyReport(found.count, found.examples)
            states[name] = "failed"
        elif found.unknown:
            states[name] = "unknown"
            undecided.append(f"{name}: {found.unknown} possible, but {found.why}")
        else:
            states[name] = _state_without_anomaly(name, facts)
    reasons = [*_reasons(facts, anomalies, states), *undecided]
    stats = {"operations": facts.operations, "acknowledged": facts.acknowledged, "read": facts.read}
    removed = _removed(facts, ordered)
    return RunVerdict(
        facts.run_id, _verdict(facts, states), reasons, anomalies, states, stats, removed, _lost(ordered, states)
    )


def _lost(units: Sequence[PartitionFindings], states: Mapping[str, CheckState]) -> int | None:
    """How many acknowledged records are lost. Where nothing was found, ``unseen`` says that none is."""
    counts = [unit.lost for unit in units]
    if None in counts:
        return None
    total = sum(count for count in counts if count is not None)
    return total if total or states.get("unseen") in ("ok", "failed") else None


def _removed(facts: RunFacts, units: Sequence[PartitionFindings]) -> dict[str, int | None]:
    """How many acknowledged records are gone by each of :data:`REMOVALS`."""
    counts: dict[str, int | None] = {what: sum(unit.removed.get(what, 0) for unit in units) for what in REMOVALS}
    settings = facts.settings
    kinds = facts.recorded_events
    moves_known = facts.has_events and (kinds is None or "log-start-moved" in kinds)
    if settings.retention != () and not moves_known:
        counts["retention"] = counts["deleteRecords"] = None
    if settings.compaction != () and not facts.has_replica_log:
        counts["compaction"] = None
    return counts


def _of_commits(facts: RunFacts) -> Finding:
    """The finding of ``lost-commit``, which is of runs."""
    found = facts.commits
    if found is None:
        return Finding(0, [])
    return Finding(found.lost, list(found.examples), found.unknown, found.why)


def _of_lookups(facts: RunFacts) -> Finding:
    """The finding of ``wrong-lookup``, which is of runs."""
    found = facts.lookups
    return Finding(0, []) if found is None else Finding(found.wrong, list(found.examples))


def _has_commits(facts: RunFacts) -> bool:
    """Whether commits were acknowledged, and committed offsets fetched."""
    return facts.commits is not None and facts.commits.acknowledged > 0 and facts.commits.fetched > 0


def _state_without_anomaly(name: str, facts: RunFacts) -> CheckState:
    if name in GROUP_CHECKS:
        return "ok" if _has_commits(facts) else "not-available"
    if name in LOOKUP_CHECKS:
        return "not-available" if facts.lookups is None else "ok"
    if name in CLIENT_CHECKS or name in CLIENT_CHECKS_ON_REQUEST:
        if facts.settings.acks == "0" and name in OF_ACKNOWLEDGED:
            return "not-available"  # nothing is acknowledged
        judges = {"never-sent": has_sends, "altered": has_headers}.get(name)
        if judges is not None and not (judges(facts) and (facts.read or facts.has_replica_log)):
            return "not-available"
        return "unknown" if not _tried(name, facts) else "ok"
    if not has_needed_events(name, facts) or _absent_events(name, facts):
        return "not-available"
    if name == "producer-id-reused" and not has_producer_ids(facts):
        return "not-available"
    if name in OF_PRODUCERS and _lacks_producers(facts):
        return "not-available"
    recorded = {"events": facts.has_events, "replica-log": facts.has_replica_log, "history": True}
    recorded["dump-marks"] = facts.has_dump_marks
    if name == "stray-partition" and not has_log_events(facts) and not facts.has_dump_marks:
        return "not-available"
    return "ok" if all(recorded[need] for need in NEEDS[name]) else "not-available"


def _tried(name: str, facts: RunFacts) -> bool:
    """Whether a promise was tried by which a check on clients judges."""
    if facts.settings.acks == "0":
        return facts.read > 0
    return facts.acknowledged > 0 and (name != "unseen" or facts.drained)


def _verdict(facts: RunFacts, states: Mapping[str, CheckState]) -> Verdict:
    if "failed" in states.values():
        return "fail"  # a found anomaly counts, even if something else is inconclusive
    if (
        facts.inconclusive_reasons
        or "unknown" in states.values()
        or all(state == "not-available" for state in states.values())
        or any(state == "not-available" and _is_not_whole(name, facts) for name, state in states.items())
    ):
        return "inconclusive"
    return "pass"


def _errors(facts: RunFacts) -> str:
    """With what sends ended, as part of a sentence."""
    match facts.send_errors:
        case ():
            return ""
        case ((error, count),):
            return f" (every send that ended got {error}, {count:,} of them)"
        case several:
            return f" (sends ended with {', '.join(f'{error} {count:,} times' for error, count in several)})"


def _reasons(facts: RunFacts, anomalies: Mapping[str, AnomalyReport], states: Mapping[str, CheckState]) -> list[str]:
    meanings = {**CHECKS, **RUN_CHECKS, **CLIENT_CHECKS_ON_REQUEST}
    reasons = [f"{name}: {meanings[name]} ({report.count} found)" for name, report in anomalies.items()]
    reasons += facts.inconclusive_reasons
    unknown = [
        name
        for name, state in states.items()
        if state == "unknown" and name not in RUN_CHECKS and not _tried(name, facts)
    ]
    if unknown:
        if facts.operations == 0:
            why = "the history has no operations"
        elif facts.settings.acks == "0":
            why = "nothing was acknowledged (acks=0), and no record was read"
        elif facts.acknowledged == 0:
            why = f"none of {facts.operations} operations acknowledged a record{_errors(facts)}"
        elif facts.settings.final_reads_cut_short:
            why = "the final reads were cut short"
        else:
            why = "no poll began after the last acknowledged send, so the final reads are missing"
        reasons.append(f"{why}: nothing can be said on {', '.join(unknown)}")
    if not states:
        reasons.append(NO_CHECKS)
    for name, how in _LESS.items():
        if states.get(name, "not-available") != "not-available" and judges_less(name, facts):
            reasons.append(f"{facts.why_not_recorded}: {name} {how}")
    missing = [name for name, state in states.items() if state == "not-available"]
    unacknowledged = [name for name in missing if name in OF_ACKNOWLEDGED]
    if unacknowledged:
        reasons.append(f"acks=0 acknowledges nothing{NOT_JUDGED}{', '.join(unacknowledged)}")
        missing = [name for name in missing if name not in unacknowledged]
    if "never-sent" in missing:
        if facts.settings.unrecorded_sends:
            why = "some clients' sends were not recorded"
        else:
            why = "nothing was read or dumped" if has_sends(facts) else "no sends recorded"
        reasons.append(f"{why}{NOT_JUDGED}never-sent")
        missing.remove("never-sent")
    if "altered" in missing:
        why = "nothing was read or dumped" if has_headers(facts) else "nothing says what records were sent with"
        reasons.append(f"{why}{NOT_JUDGED}altered")
        missing.remove("altered")
    if "producer-id-reused" in missing and not has_producer_ids(facts):
        reasons.append(f"no sends of producers with ids recorded{NOT_JUDGED}producer-id-reused")
        missing.remove("producer-id-reused")
    without_ids = [name for name in missing if name in OF_PRODUCERS and _lacks_producers(facts)]
    if without_ids:
        reasons.append(f"no dumped record has the id of a producer{NOT_JUDGED}{', '.join(without_ids)}")
        missing = [name for name in missing if name not in without_ids]
    if "lost-commit" in missing:
        reasons.append(f"no commits of offsets acknowledged and fetched{NOT_JUDGED}lost-commit")
        missing.remove("lost-commit")
    if "wrong-lookup" in missing:
        reasons.append(f"no look-up by time stamp succeeded{NOT_JUDGED}wrong-lookup")
        missing.remove("wrong-lookup")
    is_known = facts.recorded_events is not None
    unavailable = [
        name for name in missing if not has_needed_events(name, facts) or (is_known and _absent_events(name, facts))
    ]
    if unavailable:
        reasons.append(f"{facts.why_not_recorded}{NOT_JUDGED}{', '.join(unavailable)}")
        missing = [name for name in missing if name not in unavailable]
    unsaid = {name: kinds for name in missing if (kinds := _absent_events(name, facts))}
    if unsaid:
        absent = ", ".join(sorted({kind for kinds in unsaid.values() for kind in kinds}))
        reasons.append(
            f"there are no events of the kinds {absent}, and nothing says that they were recorded{NOT_JUDGED}"
            f"{', '.join(unsaid)}"
        )
        missing = [name for name in missing if name not in unsaid]
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
