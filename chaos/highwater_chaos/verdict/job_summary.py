"""Verdicts as Markdown for a CI job's page: ``highwater run --summary "$GITHUB_STEP_SUMMARY"``.

It is appended to the file, as GitHub expects: steps of a job share the page. GitHub shows at most 1 MiB of a step, so
what is written is bounded.
"""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from highwater_chaos.base.words import counted
from highwater_chaos.records.removed import removed_text
from highwater_chaos.run.exercised import exercised_text, warning_texts

_ROWS: Final = 500
_TOLD: Final = 20
"""Runs that are told at length: those that did not come out as expected come first."""
_EXAMPLES: Final = 3
_LONGEST: Final = 2_000
"""Characters of one text."""


def job_summary(runs: Sequence[tuple[Mapping[str, Any], Path | None]]) -> str:
    """Return the summary of runs, each the content of its ``verdict.json`` and its directory, if it left one."""
    wrong = [one for one in runs if not one[0]["asExpected"]]
    outcome = f"{len(wrong)} not as expected" if wrong else "all as expected" if runs else "none had finished"
    lines = [
        f"## Highwater: {counted(len(runs), 'run')}, {outcome}",
        "",
        "| | run | backend | seed | verdict | anomalies | acknowledged | lost | removed by design |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(*one) for one in [*wrong, *(one for one in runs if one[0]["asExpected"])][:_ROWS]),
        "",
    ]
    if len(runs) > _ROWS:
        lines += [f"{len(runs) - _ROWS} further runs are not listed.", ""]
    told = [one for one in runs if not one[0]["asExpected"] or one[0]["anomalies"] or _notes(one[0])]
    told.sort(key=lambda one: bool(one[0]["asExpected"]))
    for verdict, directory in told[:_TOLD]:
        lines += _told(verdict, directory)
    return "\n".join(lines) + "\n"


def append_summary(path: Path, runs: Sequence[tuple[Mapping[str, Any], Path | None]]) -> None:
    """Append :func:`job_summary` to ``path``, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(job_summary(runs))


def stories_of(verdict: Mapping[str, Any]) -> Iterator[tuple[str, int, list[str]]]:
    """Each anomaly, how often it was found, and the stories of the first examples."""
    for name, found in verdict["anomalies"].items():
        stories = [str(example.get("story") or "") for example in found["examples"][:_EXAMPLES]]
        yield name, found["count"], [cut(story) for story in stories if story]


def _row(verdict: Mapping[str, Any], directory: Path | None) -> str:
    anomalies = ", ".join(f"{name} {found['count']}" for name, found in verdict["anomalies"].items())
    cells = (
        "✅" if verdict["asExpected"] else "❌",
        _called(verdict, directory),
        verdict["backend"],
        str(verdict["seed"]),
        verdict["verdict"],
        anomalies,
        "not known" if verdict["acknowledged"] is None else str(verdict["acknowledged"]),
        "not known" if verdict.get("lost") is None else str(verdict["lost"]),
        removed_text(verdict).removeprefix("removed "),
    )
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def _called(verdict: Mapping[str, Any], directory: Path | None) -> str:
    return str(verdict["name"]) if directory is None else directory.name


def _told(verdict: Mapping[str, Any], directory: Path | None) -> Iterator[str]:
    expected = "as expected" if verdict["asExpected"] else verdict["expected"]["whyNot"]
    title = f"{_called(verdict, directory)} seed {verdict['seed']}: {verdict['verdict']}, {expected}"
    yield f"<details{'' if verdict['asExpected'] else ' open'}><summary>{escaped(title)}</summary>"
    yield ""
    if explanation := verdict.get("explanation"):
        yield f"**{escaped(cut(explanation))}**"
        yield ""
    if (exercised := verdict.get("exercised")) is not None:
        yield f"- exercised: {escaped(exercised_text(exercised))}"
    for warning in warning_texts(exercised):
        yield f"- ⚠️ warning: {escaped(cut(warning))}"
    for reason in verdict["reasons"][:_EXAMPLES]:
        yield f"- {escaped(cut(reason))}"
    for name, count, stories in stories_of(verdict):
        yield f"- **{escaped(name)}** {count}"
        for story in stories:
            yield f"  - {escaped(story)}"
    yield ""
    if directory is not None:
        again = f"highwater replay {shlex.quote(str(directory))}"
        yield f"Report: {escaped(str(directory / 'report.html'))}. Again: {escaped(again)}"
    yield "</details>"
    yield ""


def _notes(verdict: Mapping[str, Any]) -> bool:
    return bool(verdict.get("explanation") or warning_texts(verdict.get("exercised")))


def cut(text: str) -> str:
    """At most as much of a text as a summary has of one."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def escaped(text: str) -> str:
    """What a cell or a list item shows as it is: neither markup, nor columns or lines of its own."""
    shown = "".join(one if one.isprintable() or one.isspace() else "\ufffd" for one in text)
    escaped = html.escape(shown, quote=False)
    for character in r"\`*_[]~|":
        escaped = escaped.replace(character, f"&#{ord(character)};")
    return " ".join(escaped.split())
