"""``report.html``: one self-contained page from a run directory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from highwater_chaos.base.words import counted
from highwater_chaos.experiment import ChaosExperiment, parse_experiment
from highwater_chaos.experiment.software import software_text
from highwater_chaos.records.removed import removed_text
from highwater_chaos.report.asserted import series_of_assertions
from highwater_chaos.report.excerpts import excerpts
from highwater_chaos.report.explanation import Explained, explained
from highwater_chaos.report.files import Row, RunFiles
from highwater_chaos.report.headline import headline_of, meaning_of
from highwater_chaos.report.html import render_page
from highwater_chaos.report.timeline import fault_label, timeline_of
from highwater_chaos.report.tracks import draw
from highwater_chaos.run.load import Load
from highwater_chaos.run.manifest import UNVERIFIED
from highwater_pipeline.verdict import NOT_JUDGED


def write_report(directory: Path, shown_as: Path | None = None, known: Explained | None = None) -> Path:
    """Write ``report.html`` into a run directory from its other files; returns its path.

    ``shown_as`` is the directory's name in the commands that the page prints, where it is about to be renamed.
    ``known``: as for :func:`render`.
    """
    path = directory / "report.html"
    page = render(RunFiles.read(directory), shown_as or directory, known)
    # Under another name first: a link that stands in its place is replaced, and nothing is written through it.
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=directory, prefix=".report-", delete=False) as file:
        try:
            file.write(page)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink()
            raise
    return path


def render(run: RunFiles, directory: Path, known: Explained | None = None) -> str:
    """The page's HTML. ``known``: what :func:`explained` found of the run, if it was called before."""
    experiment = parse_experiment(run.experiment, "experiment.yaml")
    timeline = timeline_of(run)
    if run.directory is not None:
        timeline.assertions = series_of_assertions(experiment.spec, run.directory)
    known = explained(run) if known is None else known
    stories = known.stories
    verdict = run.verdict
    return render_page(
        "report.html.j2",
        name=experiment.metadata.name,
        description=experiment.metadata.description,
        verdict=verdict["verdict"],
        unverified=UNVERIFIED.capitalize() + "." if run.unverified else "",
        sentence=known.sentence or _sentence(run, sum(timeline.acked)),
        counts=_sentence(run, sum(timeline.acked)) if known.sentence else "",
        as_expected="as expected" if verdict["asExpected"] else f"NOT as expected: {verdict['expected']['whyNot']}",
        seed=verdict["seed"],
        backend=verdict["backend"],
        load=_load(verdict.get("load")),
        switches=sorted(experiment.cluster.switches.items()),
        inconclusive_reasons=verdict["inconclusiveReasons"],
        anomalies=list(_anomalies(verdict["anomalies"])),
        crashes=_crashes(run),
        headline=headline_of(run, known),
        stories=stories,
        timeline=draw(timeline),
        excerpts=excerpts(run, timeline, stories),
        environment=_environment(run, experiment),
        faults=[_fault(row) for row in run.faults],
        checks=[(name, _outcome(name, outcome)) for name, outcome in verdict["checks"].items()],
        assertions=[_assertion(one) for one in verdict["assertions"]],
        not_judged=[reason for reason in verdict["reasons"] if NOT_JUDGED in reason],
        replay=f"highwater replay {directory}\nhighwater run {directory}/experiment.yaml",
        experiment=run.experiment,
    )


def _sentence(run: RunFiles, acked: int) -> str:
    counts = {name: found["count"] for name, found in run.verdict["anomalies"].items()}
    lost = run.verdict.get("lost") or counts.get("lost-write", 0)
    faults = len(run.faults)
    under = f"{acked:,} acknowledged records, {removed_text(run.verdict)}, {counted(faults, 'fault')}"
    match run.verdict["verdict"]:
        case "pass" if lost:
            return f"{lost:,} acknowledged record{' was' if lost == 1 else 's were'} lost, as nobody promised: {under}."
        case "pass":
            return f"Nothing that the log said was safe was lost: {under}."
        case "fail" if lost:
            return f"{lost:,} acknowledged record{' was' if lost == 1 else 's were'} lost: {under}."
        case "fail" if gone := counts.get("committed-loss", 0):
            return f"{counted(gone, 'record')} that had passed the high watermark did not stay: {under}."
        case "fail" if crashed := counts.get("node-crash", 0):
            return f"{'A node' if crashed == 1 else f'{crashed:,} nodes'} ended by an exception: {under}."
        case "fail" if counts:
            return f"The log broke a promise: {', '.join(counts)} ({under})."
        case "fail":
            failed = [one["name"] for one in run.verdict["assertions"] if one["holds"] is False]
            return f"Nothing was lost, but {', '.join(failed)} did not hold: {under}."
        case _:
            return f"This run decides nothing ({under})."


def _environment(run: RunFiles, experiment: ChaosExperiment) -> list[tuple[str, str]]:
    """What the run ran on and with, as far as it was written down."""
    cluster, verdict = experiment.cluster, run.verdict
    sizes = f"{cluster.brokers} brokers, {cluster.controllers} controllers, mode {cluster.mode}"
    rows = [("backend", verdict["backend"]), ("seed", str(verdict["seed"])), ("cluster", sizes)]
    rows += [("software", software_text(cluster))]
    if disks := verdict.get("newDisks"):
        rows.append(("new disks", "; ".join(disks)))
    switches = verdict.get("switches")
    if isinstance(switches, dict) and switches:
        rows.append(("switches", ", ".join(f"{name}={value}" for name, value in switches.items())))
    return [*rows, *((name, value) for name, value in run.environment.items() if isinstance(value, str))]


def _load(load: Row | None) -> str:
    """What was asked of producers and what came of it; empty if there were none, or if it was not written down."""
    return "" if load is None else Load.from_dict(load).sentence()


def _anomalies(anomalies: Mapping[str, Row]) -> Iterator[Mapping[str, Any]]:
    for name, found in anomalies.items():
        story = found["examples"][0].get("story", "") if found["examples"] else ""
        yield {"name": name, "count": f"{found['count']:,}", "story": story}


def _crashes(run: RunFiles) -> list[Row]:
    """Nodes that ended by an exception of their own, with their stacks."""
    examples: Sequence[Row] = run.verdict["anomalies"].get("node-crash", {}).get("examples", ())
    return [{"story": example["story"], "stack": example.get("stack") or ""} for example in examples]


def _fault(row: Row) -> Mapping[str, Any]:
    sides = [[item["what"] for item in row["evidence"][side]] for side in ("inject", "heal")]
    doubt = ""
    if not row["confirmed"]:
        # In a pass a rule may have met no message, and need not have.
        doubt = "met nothing to act upon: " if row.get("idle") is True and not row["error"] else "not confirmed: "
        sides = [[row["error"]]] if row["error"] else sides
    return {
        "injected": row["started_ns"] if row["injected_ns"] is None else row["injected_ns"],
        "healed": row["healed_ns"],
        "kind": fault_label({**row, "targets": []}),
        "name": row["name"] or "",
        "targets": row["targets"],
        "doubt": doubt,
        "evidence": [{"first": side[0], "more": side[1:]} for side in sides if side],
    }


def _assertion(row: Row) -> Mapping[str, Any]:
    outcome = {True: "held", False: "did not hold", None: "not judged"}[row["holds"]]
    example = row["example"]
    found = "" if example is None else ", ".join(f"{one['what']} = {one['value']}" for one in example["found"])
    return {
        "name": row["name"],
        "promql": row["promql"],
        "when": f"{row['must']}, {row['during']}",
        "outcome": outcome,
        "weight": {True: "pass", False: "fail", None: "inconclusive"}[row["holds"]],
        "at": None if example is None else example["time_ns"],
        "found": found or ("its result was empty" if row["holds"] is False else row["reason"]),
    }


def _outcome(name: str, outcome: str) -> str:
    return {"ok": "found nothing", "failed": meaning_of(name)}.get(outcome, outcome)
