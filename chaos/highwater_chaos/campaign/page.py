"""``campaign.html``: one self-contained page on a whole campaign."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from highwater_chaos.base.words import counted
from highwater_chaos.campaign.dimensions import Drawn
from highwater_chaos.campaign.examples import Example
from highwater_chaos.campaign.rows import Row, seeds_needed
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.campaign.store import PAGE
from highwater_chaos.report.html import render_page
from highwater_pipeline.transitions import CATALOGUE, unreached

_QUESTIONS: Final = 30
_REASON: Final = 400
"""Characters of a reason that are shown: the end, where a traceback says what happened."""


def write_page(
    campaign: Path,
    title: str,
    command: str,
    rows: Sequence[Row],
    outcomes: Sequence[Outcome],
    examples: Sequence[tuple[Example, Outcome]],
    drawn: Sequence[Drawn] = (),
    remark: str = "",
    *,
    is_simulated: bool = True,
) -> Path:
    """Write the page into the campaign's directory; returns its path. ``remark``: see :func:`sentence_of`."""
    reached = Counter(name for one in outcomes for name in one.transitions)
    missing = unreached(reached)
    questions = [one for one in outcomes if one.verdict in ("error", "inconclusive")]
    wrong = [row for row in rows if not row.as_expected]
    text = render_page(
        "campaign.html.j2",
        package="highwater_chaos.campaign",
        folder=".",
        title=title,
        verdict="pass" if not wrong else next((row.verdict for row in wrong if row.verdict != "pass"), "fail"),
        sentence=sentence_of(rows, remark),
        facts=facts_of(outcomes, is_simulated=is_simulated),
        variants=rows[0].variant_is if any(row.variant for row in rows) else "",
        figures=list(rows[0].figures) if rows else [],
        rows=[_shown_row(row) for row in rows],
        examples=[_shown_example(example, outcome, campaign) for example, outcome in examples],
        questions=[
            {"experiment": one.experiment, "seed": one.seed, "verdict": one.verdict, "why": why_of(one)}
            for one in questions[:_QUESTIONS]
        ],
        more=max(0, len(questions) - _QUESTIONS),
        coverage=f"{len(CATALOGUE) - len(missing)} of {len(CATALOGUE)} transitions of the protocol were reached."
        if is_simulated
        else "",
        never=[name for name in CATALOGUE if not reached[name]],
        transitions=[
            {
                "name": name,
                "meaning": row.meaning,
                "seeds": reached[name],
                "percent": round(100 * reached[name] / max(1, len(outcomes)), 1),
            }
            for name, row in CATALOGUE.items()
        ],
        drawn=[{**one.to_dict(), "percent": round(100 * one.seeds / max(1, one.of), 1)} for one in drawn],
        command=command,
    )
    unfinished = campaign / f".{PAGE}"
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, campaign / PAGE)  # noqa: PTH105 - atomic, as its name says
    return campaign / PAGE


def sentence_of(rows: Sequence[Row], remark: str = "") -> str:
    """The campaign in a sentence. ``remark``: what else is said of bugs that were looked for."""
    wrong = [row for row in rows if not row.as_expected]
    expected_fail = [row for row in rows if row.expected == "fail"]
    text = ""
    if expected_fail:
        found = sum(row.found for row in expected_fail)
        text = f"{found} of {len(expected_fail)} bugs were found."
    others = [row for row in rows if row.expected != "fail"]
    if others or not expected_fail:
        failing = sum(len(row.failing) for row in others)
        what = f"{counted(failing, 'seed') if failing else 'No seeds'} of {sum(row.seeds for row in others)} failed"
        text += f" {what} elsewhere." if expected_fail else f"{what}."
    text += remark
    unclear = sum(len(row.errors) + len(row.inconclusive) for row in wrong)
    return text + (f" {counted(unclear, 'seed')} came to no verdict." if unclear else "")


def facts_of(outcomes: Sequence[Outcome], *, is_simulated: bool = True) -> str:
    """Sizes and costs of all seeds together."""
    cpu, ran = sum(one.cpu_seconds for one in outcomes), sum(one.run_seconds for one in outcomes)
    return (
        f"{counted(len(outcomes), 'seed')}, {counted(sum(one.faults for one in outcomes), 'fault')},"
        f" {counted(sum(one.acknowledged for one in outcomes), 'record')} acknowledged, "
    ) + (
        f"{ran:.0f} s simulated in {cpu:.0f} s of processor time ({cpu / max(1, len(outcomes)):.2f} s a seed)"
        if is_simulated
        else f"{ran:.0f} s of runs in real time"
    )


def why_of(outcome: Outcome) -> str:
    """What is wrong with a seed, in short; a traceback by its end."""
    text = "; ".join(outcome.anomalies) or "; ".join(reason.strip() for reason in outcome.reasons)
    return text if len(text) <= _REASON else "…" + text[-_REASON:]


def _outcome(row: Row) -> str:
    if not row.seeds:
        return "not run"
    return "found" if row.found else "not found" if row.expected == "fail" else row.verdict


def _shown_row(row: Row) -> dict[str, Any]:
    needed = seeds_needed(len(row.failing), row.seeds)
    return {
        "experiment": row.experiment,
        "variant": row.variant,
        "note": row.note,
        "expected": row.expected,
        "verdict": row.verdict,
        "as_expected": row.as_expected,
        "badge": "pass" if row.as_expected else "fail" if row.found or row.verdict == "pass" else row.verdict,
        "outcome": _outcome(row),
        "seeds": row.seeds,
        "figures": list(row.figures.values()),
        "failed": len(row.failing),
        "lost": "" if row.lost is None else f"{row.lost:,}",
        "until": "" if row.until_found is None else f"{row.until_found} (seed {row.first_failing})",
        "seconds": f"{row.seconds if row.seconds_until_found is None else row.seconds_until_found:.1f}",
        "needed": _interval(needed.estimate, needed.least, needed.most),
        "checks": ", ".join(f"{name} {count}" for name, count in row.anomalies.items()),
    }


def _interval(estimate: float, least: float, most: float) -> str:
    if not math.isfinite(estimate):
        return f"> {least:.0f}"
    return f"{estimate:.1f} ({least:.1f} to {most:.0f})"


def _shown_example(example: Example, outcome: Outcome, campaign: Path) -> dict[str, Any]:
    def link(path: Path) -> str:
        return quote(path.relative_to(campaign).as_posix())

    return {
        "experiment": outcome.experiment,
        "seed": outcome.seed,
        "lost": "" if outcome.lost is None else f"{outcome.lost:,}",
        "explanation": example.explanation,
        "what": ", ".join([*([outcome.variant + ":"] if outcome.variant else []), *outcome.anomalies]),
        "run": link(example.directory),
        "name": example.directory.name,
        "same": example.same,
        "shrunk": "" if example.shrunk is None else link(example.shrunk),
        "sizes": example.sizes,
    }
