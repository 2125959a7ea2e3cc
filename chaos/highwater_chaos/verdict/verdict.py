"""Combine checks, faults and invariants into one verdict, and compare it with the expected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.assertions import Outcome, changed_verdict, reasons_of
from highwater_chaos.base.machine_record import EXPLAINED
from highwater_chaos.experiment import ChaosExperiment, Expectation, ExperimentSpec
from highwater_chaos.experiment.software import VERSIONS, matches, software_of
from highwater_chaos.run.summary import RunSummary
from highwater_chaos.verdict.logged import Logged, find_lines
from highwater_pipeline.anomalies import AVAILABILITY, MEANINGS, ON_REQUEST, QUORUM_INVARIANTS, STATE_INVARIANTS
from highwater_pipeline.verdict import NO_CHECKS, RunVerdict
from highwater_runtime.switches import SWITCHES

_EXAMPLES: Final = 10


def switches_in_force(given: Mapping[str, str]) -> dict[str, str]:
    """Every switch with its value: the given ones, and the defaults of the others."""
    return {name: given.get(name, switch.default) for name, switch in SWITCHES.items()}


def without_run(experiment: ChaosExperiment, backend: str, reason: str) -> dict[str, Any]:
    """What stands where others have the content of their ``verdict.json`` for a run that left no directory."""
    cluster = experiment.spec.cluster  # none if it is on a cluster that is there
    return {
        "name": experiment.metadata.name,
        "seed": experiment.spec.seed,
        "backend": backend,
        "software": {"runtime": "highwater" if cluster is None else cluster.runtime},
        "switches": {} if cluster is None else switches_in_force(cluster.switches),
        "verdict": "inconclusive",
        "asExpected": False,
        "expected": {"whyNot": reason},
        "reasons": [reason],
        "anomalies": {},
        "assertions": [],
        "acknowledged": None,
        "lost": None,
        "load": None,
        "timing": {"runSeconds": None, "wallSeconds": 0.0},
    }


def expectation_for(spec: ExperimentSpec, given: Mapping[str, str]) -> Expectation:
    """The first entry of ``expect`` whose ``when`` matches the switches in force and the versions of the cluster; a
    pass where none does."""
    in_force = switches_in_force(given)

    def holds(name: str, value: str) -> bool:
        if name in VERSIONS:
            return spec.cluster is not None and matches(name, value, spec.cluster)
        return in_force[name] == value

    for entry in spec.expect:
        if all(holds(name, value) for name, value in entry.when.items()):
            return entry
    return Expectation(verdict="pass")


def why_not_as_expected(
    expected: Expectation,
    verdict: str,
    anomalies: Sequence[str],
    assertions: Sequence[str] = (),
    lines: Sequence[Logged] = (),
) -> str:
    """How a verdict differs from the expected one; empty where it does not. ``assertions``: those that failed;
    ``lines``: those that nodes should have logged.

    A fail may show more anomalies than those expected: one loss is often seen by several checks.
    """
    if verdict != expected.verdict:
        wrong = [*anomalies, *(f"assertion {name}" for name in assertions)]
        found = f" ({', '.join(wrong)})" if wrong else ""
        return f"expected {expected.verdict}, found {verdict}{found}"
    missing = [name for name in expected.anomalies if name not in anomalies]
    if missing:
        return f"expected {', '.join(missing)} among the anomalies, found {', '.join(anomalies) or 'none'}"
    held = [name for name in expected.assertions if name not in assertions]
    if held:
        return f"expected {', '.join(held)} among the failed assertions, found {', '.join(assertions) or 'none'}"
    unlogged = [one.asked for one in lines if one.found is None]
    if unlogged:
        return f"expected {', '.join(unlogged)} in the nodes' logs; found no such line"
    return ""


def verdict_of(
    experiment: ChaosExperiment,
    run: RunSummary,
    run_verdict: RunVerdict,
    assertions: Sequence[Outcome] = (),
    troubles: Sequence[str] = (),
    new_disks: Sequence[str] = (),
    directory: Path | None = None,
) -> dict[str, Any]:
    """The content of ``verdict.json``. ``troubles``: limits that the machines exceeded. A fail for which they may be
    the whole cause is inconclusive. ``new_disks``: nodes that got a new disk which the experiment did not order. They
    may be the cause of any fail. ``directory``: of the run, for what nodes logged; None: it has no logs.

    A found anomaly, or an assertion that did not hold, is a fail, inconclusive reasons or not; without it such a
    reason makes a pass inconclusive.
    """
    missing = _missing_operations(run, run_verdict)
    if missing:
        run_verdict = _without_sends(run_verdict)
    anomalies = {
        name: {"count": report.count, "examples": report.examples} for name, report in run_verdict.anomalies.items()
    }
    checks: dict[str, str] = dict(run_verdict.checks)
    _add_violations(experiment.spec, run, anomalies, checks)
    broken = [
        f"{name}: {MEANINGS.get(name, 'broken')} ({anomaly['count']} found)"
        for name, anomaly in anomalies.items()
        if name not in run_verdict.anomalies
    ]
    reasons_of_run = [*run.inconclusive_reasons, *missing]
    verdict: str = run_verdict.verdict
    judged = run_verdict.reasons
    if judged == [NO_CHECKS]:  # only invariants were asked for
        verdict, judged = "pass", []
    if anomalies:
        verdict = "fail"
    elif reasons_of_run and verdict == "pass":
        verdict = "inconclusive"
    verdict = changed_verdict(verdict, assertions)
    failed = [one.name for one in assertions if one.holds is False]
    excused = [*new_disks, *(troubles if anomalies.keys() <= EXPLAINED else ())] if verdict == "fail" else []
    if excused:
        verdict = "inconclusive"
    unjudged = reasons_of(assertions, None)
    expected = expectation_for(experiment.spec, experiment.cluster.switches)
    lines = find_lines(directory, expected.logged)
    why_not = why_not_as_expected(expected, verdict, list(anomalies), failed, lines)
    return {
        "runId": run.run_id,
        "name": run.name,
        "verdict": verdict,
        "asExpected": not why_not,
        "expected": {
            "verdict": expected.verdict,
            "anomalies": expected.anomalies,
            "assertions": expected.assertions,
            "logged": [one.to_dict() for one in lines],
            "whyNot": why_not,
        },
        "reasons": [*excused, *broken, *reasons_of(assertions, False), *reasons_of_run, *judged, *unjudged],
        "inconclusiveReasons": [
            *excused,
            *reasons_of_run,
            *(judged if run_verdict.verdict == "inconclusive" else []),
            *unjudged,
        ],
        "anomalies": anomalies,
        "assertions": [one.to_dict() for one in assertions],
        "checks": checks,
        "features": {name: msgspec.to_builtins(feature) for name, feature in sorted(run.features.items())},
        "faults": run.faults,
        "seed": run.seed,
        "backend": run.backend,
        "switches": switches_in_force(run.switches),
        "software": run.software or software_of(experiment.cluster),
        "acknowledged": run.acknowledged,
        "lost": run_verdict.lost,
        "removed": run_verdict.removed,
        "excuses": excused,
        "newDisks": list(new_disks),
        "load": None if run.load is None else run.load.to_dict(),
        "timing": {
            "wallSeconds": round(run.wall_seconds, 3),
            "runSeconds": run.run_ns / 1e9,
            "phases": [
                {"name": phase.name, "startSeconds": phase.start_ns / 1e9, "endSeconds": phase.end_ns / 1e9}
                for phase in run.phases
            ],
        },
        "wire": run.wire,
        "traceDigest": run.trace_digest,
    }


def _missing_operations(run: RunSummary, run_verdict: RunVerdict) -> list[str]:
    """A sentence if the history has fewer acknowledgements than clients reported: they write each down before they
    report it, and what is missing fails no check."""
    recorded = run_verdict.stats.get("acknowledged", run.acknowledged)
    if recorded >= run.acknowledged:
        return []
    reported = f"clients reported {run.acknowledged} acknowledged records"
    return [f"{reported}, and the history has {recorded}: a part is missing"]


def _without_sends(run_verdict: RunVerdict) -> RunVerdict:
    """The verdict where the history lacks sends: a record of one of them looks as if nobody had sent it."""
    if "never-sent" not in run_verdict.anomalies:
        return run_verdict
    anomalies = {name: report for name, report in run_verdict.anomalies.items() if name != "never-sent"}
    return msgspec.structs.replace(
        run_verdict,
        verdict="fail" if anomalies else "inconclusive",
        reasons=[reason for reason in run_verdict.reasons if not reason.startswith("never-sent: ")],
        anomalies=anomalies,
        checks={**run_verdict.checks, "never-sent": "not-available"},
    )


def is_judged(invariant: str, spec: ExperimentSpec) -> bool:
    """Whether it is an anomaly if this invariant is broken: of those on request only where the experiment names it."""
    return invariant in spec.checks or ("all" in spec.checks and invariant not in ON_REQUEST)


def _add_violations(
    spec: ExperimentSpec, run: RunSummary, anomalies: dict[str, dict[str, Any]], checks: dict[str, str]
) -> None:
    """Broken invariants that no check reports (those of the quorum, or what a check did not see)."""
    named = (*QUORUM_INVARIANTS, *STATE_INVARIANTS, *ON_REQUEST)
    checks.update({name: "ok" for name in named if name in spec.checks})
    recovered = run.features.get("recovery")
    judged = recovered is not None and recovered.state == "ok"
    checks.update({name: "ok" if judged else "not-available" for name in AVAILABILITY if name in spec.checks})
    seen = dict.fromkeys(violation.name for violation in run.violations)
    for name in seen:
        if name in anomalies or not is_judged(name, spec):
            continue
        found = [violation for violation in run.violations if violation.name == name]
        anomalies[name] = {
            "count": len(found),
            "examples": [
                {"partition": one.subject, "time_ns": one.time_ns, "story": one.what, "rows": []}
                for one in found[:_EXAMPLES]
            ],
        }
        checks[name] = "failed"
