"""A campaign's results for CI systems: JUnit XML with a case for each experiment, and Markdown for a job's page.

A case has the name of its experiment and the switches that were asked for, so that it is the same test from one build
to the next, whatever seeds were run and found.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree  # we only write

from highwater_chaos.base.words import counted
from highwater_chaos.campaign.examples import Example
from highwater_chaos.campaign.page import why_of
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.verdict.job_summary import cut, escaped
from highwater_chaos.verdict.junit import add_properties, as_bytes

_TOLD: Final = 20
"""Seeds of an experiment that are told of each kind."""
_ROWS: Final = 500

Counted = Sequence[tuple[Row, Sequence[Outcome]]]
"""Rows, each with the outcomes that it counts."""


def campaign_junit(rows: Counted, switches: Mapping[str, str], backend: str) -> bytes:
    """A test suite with a case for each experiment (and variant).

    One that came out as expected is a pass. One with a seed that failed though none may, or without one though one
    must, is a failure; one with seeds that came to no verdict, or with no seed at all, is an error.
    """
    suite = ElementTree.Element("testsuite", name="highwater campaign", tests=str(len(rows)))
    counts = {"failures": 0, "errors": 0}
    given = [f"{name}={value}" for name, value in switches.items()]
    for row, outcomes in rows:
        seconds = sum(one.wall_seconds for one in outcomes)
        attributes = {"classname": f"highwater.campaign.{backend}", "name": " ".join([row.name, *given])}
        case = ElementTree.SubElement(suite, "testcase", attributes, time=f"{seconds:.3f}")
        if not row.as_expected:
            not_found = row.expected == "fail" and not row.found and row.seeds > 0 and not row.errors
            failed = not_found or (row.expected == "pass" and row.found)
            counts["failures" if failed else "errors"] += 1
            unclear = "" if failed or not row.errors else f"{counted(len(row.errors), 'seed')} without a verdict: "
            message = f"{unclear}{row.line(outcomes)}"
            problem = ElementTree.SubElement(case, "failure" if failed else "error", message=message)
            problem.text = "\n".join(_wrong(outcomes))
        add_properties(case, _properties(row))
    return as_bytes(suite, counts)


def _properties(row: Row) -> Iterator[tuple[str, str]]:
    yield "seeds", str(row.seeds)
    yield from ((f"seeds.{verdict}", str(count)) for verdict, count in row.verdicts.items())
    yield from ((f"anomaly.{name}", str(count)) for name, count in row.anomalies.items())
    yield "cpuSeconds", f"{row.seconds:.2f}"


def _wrong(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The seeds that did not pass, the first of each verdict."""
    for verdict in ("fail", "error", "inconclusive"):
        of_kind = [one for one in outcomes if one.verdict == verdict]
        yield from (f"seed {one.seed}: {verdict}: {why_of(one)}" for one in of_kind[:_TOLD])
        if len(of_kind) > _TOLD:
            yield f"{len(of_kind) - _TOLD} further seeds: {verdict}"


def campaign_summary(
    title: str, sentence: str, facts: str, counted: Counted, examples: Sequence[tuple[Example, Outcome]], page: str
) -> str:
    """Markdown to be appended to a job's page: GitHub shows at most 1 MiB of a step, so it is bounded."""
    ordered = sorted(counted, key=lambda one: one[0].as_expected)
    lines = [
        f"## Highwater campaign {escaped(title)}: {escaped(sentence)}",
        "",
        escaped(facts),
        "",
        "| | experiment | expected | seeds | failed | no verdict | first failing seed | found by |",
        "|---|---|---|---|---|---|---|---|",
        *(_summary_row(row) for row, _ in ordered[:_ROWS]),
        "",
    ]
    if len(ordered) > _ROWS:
        lines += [f"{len(ordered) - _ROWS} further experiments are not listed.", ""]
    for example, outcome in examples[:_TOLD]:
        what = example.explanation or ", ".join(outcome.anomalies)
        lines.append(f"- {escaped(outcome.experiment)} seed {outcome.seed}: {escaped(cut(what))}")
        lines.append(f"  - again: {escaped(f'highwater replay {shlex.quote(str(example.directory))}')}")
    for row, outcomes in ordered[:_TOLD]:
        if not row.as_expected:
            lines += [f"- {escaped(row.name)} {escaped(cut(one))}" for one in _wrong(outcomes)]
    return "\n".join([*lines, "", f"Page: {escaped(page)}", ""]) + "\n"


def _summary_row(row: Row) -> str:
    cells = (
        "✅" if row.as_expected else "❌",
        row.name,
        row.expected,
        str(row.seeds),
        str(len(row.failing)),
        str(len(row.errors) + len(row.inconclusive)),
        "" if row.first_failing is None else str(row.first_failing),
        ", ".join(f"{name} {count}" for name, count in row.anomalies.items()),
    )
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"
