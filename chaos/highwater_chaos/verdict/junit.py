"""JUnit XML, so that CI systems show runs as tests: one case a run.

CI systems know a test by its name from one build to the next. So a name has nothing that changes between builds: it is
the experiment, and the switches and versions that were asked for. Seed, all switches and counts are properties.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree  # we only write

from highwater_chaos.records.removed import removed_text
from highwater_chaos.run.exercised import exercised_counts, warning_texts
from highwater_runtime.switches import SWITCHES

_EXAMPLES: Final = 3
"""Examples of an anomaly that are told."""
_LONGEST: Final = 2_000
"""Characters of one story."""
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may have: logs and exceptions of nodes may have any."""


def junit_xml(verdicts: Sequence[dict[str, Any]], names: Sequence[str] | None = None) -> bytes:
    """A test suite with one case for each verdict (the content of ``verdict.json``).

    A run that came out as expected is a pass, an inconclusive one that was not expected is an error, any other
    a failure. ``names``: of the cases; by default the experiment's with the switches that are not as they are by
    default.
    """
    suite = ElementTree.Element("testsuite", name="highwater", tests=str(len(verdicts)))
    counts = {"failures": 0, "errors": 0}
    for verdict, name in zip(verdicts, _distinct(names or [*map(_name, verdicts)]), strict=True):
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"highwater.{verdict['backend']}",
            name=name,
            time=f"{verdict['timing']['wallSeconds']:.3f}",
        )
        if not verdict["asExpected"]:
            inconclusive = verdict["verdict"] == "inconclusive"
            counts["errors" if inconclusive else "failures"] += 1
            message = verdict.get("explanation") or verdict["expected"]["whyNot"]
            problem = ElementTree.SubElement(
                case,
                "error" if inconclusive else "failure",
                message=message,
            )
            why = [verdict["expected"]["whyNot"]] if verdict.get("explanation") else []
            problem.text = "\n".join([*why, *verdict["reasons"], *_anomalies(verdict), *_crashes(verdict)])
        switches = " ".join(f"{switch}={value}" for switch, value in verdict["switches"].items())
        counts_of = {name: str(verdict[name]) for name in ("acknowledged", "lost") if verdict.get(name) is not None}
        found = verdict.get("exercised")
        reached = [] if found is None else [(f"exercised.{key}", value) for key, value in exercised_counts(found)]
        warned = [("warning", text) for text in warning_texts(found)]
        said = {name: verdict[name] for name in ("verdict", "explanation") if verdict.get(name)}
        of_run = {**said, "seed": str(verdict["seed"]), "switches": switches, **counts_of}
        of_run["removed"] = removed_text(verdict)
        add_properties(case, [*of_run.items(), *reached, *warned])
        _add_assertions(case, verdict["assertions"])
    return as_bytes(suite, counts)


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """The names; of those that are equal each but the first with its number."""
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def _name(verdict: Mapping[str, Any]) -> str:
    turned = [f"{name}={value}" for name, value in verdict["switches"].items() if SWITCHES[name].default != value]
    return " ".join([verdict["name"], *turned])


def add_properties(case: ElementTree.Element, properties: Iterable[tuple[str, str]]) -> None:
    """Give a case its properties: name and value."""
    of_case = ElementTree.SubElement(case, "properties")
    for key, value in properties:
        ElementTree.SubElement(of_case, "property", name=key, value=value)


def as_bytes(suite: ElementTree.Element, counts: Mapping[str, int]) -> bytes:
    """The document of a suite with so many ``failures`` and ``errors``; no text in it can make it invalid."""
    for name, count in counts.items():
        suite.set(name, str(count))
    for element in suite.iter():
        element.text = None if element.text is None else _as_xml(element.text)
        element.attrib.update({name: _as_xml(value) for name, value in element.attrib.items()})
    ElementTree.indent(suite)
    xml: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return xml


def _as_xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _anomalies(verdict: dict[str, Any]) -> list[str]:
    """Each anomaly, how often it was found, and what happened in its first examples."""
    lines: list[str] = []
    for name, found in verdict["anomalies"].items():
        lines.append(f"{name}: {found['count']}")
        if name != "node-crash":
            stories = [str(example.get("story") or "")[:_LONGEST] for example in found["examples"][:_EXAMPLES]]
            lines += [f"  {story}" for story in stories if story]
    return lines


def _crashes(verdict: dict[str, Any]) -> list[str]:
    """Each crash of a node, with its stack, so that the test report suffices without the run directory."""
    examples = verdict["anomalies"].get("node-crash", {}).get("examples", ())
    return [f"\n{example['story']}\n{example.get('stack') or ''}".rstrip() for example in examples]


def _add_assertions(case: ElementTree.Element, assertions: Sequence[dict[str, Any]]) -> None:
    """What became of each assertion, as output: a test case has only one result."""
    if not assertions:
        return
    outcomes = {True: "held", False: "failed", None: "not judged"}
    lines = [f"{one['name']}: {outcomes[one['holds']]}" for one in assertions]
    ElementTree.SubElement(case, "system-out").text = "\n".join(["assertions", *lines])


def write_junit(path: Path, verdicts: Sequence[dict[str, Any]], names: Sequence[str] | None = None) -> None:
    """Write :func:`junit_xml` to ``path``, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(junit_xml(verdicts, names))
