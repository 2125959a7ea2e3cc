"""``run --summary FILE``: verdicts as Markdown, appended; and stories in JUnit's failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from highwater_chaos.verdict.job_summary import job_summary


def test_what_was_lost_is_told_in_summary_and_junit(highwater: Any, kafka_14139: str) -> None:
    without = kafka_14139[: kafka_14139.index("  expect:")]
    file = highwater.write("lost.yaml", without + "  expect: [{verdict: pass}]\n")
    summary = highwater.folder / "ci" / "summary.md"
    summary.parent.mkdir()
    summary.write_text("# Of another step\n")
    arguments = ("--switch", "replica-epoch-check=off,on", "--summary", summary, "--junit", "junit.xml")
    done = highwater("run", file, *arguments)
    assert done.status == 1, "the status is that of the verdicts"
    page = summary.read_text()
    assert page.startswith("# Of another step\n## Highwater: 2 runs, 1 not as expected\n")
    rows = [line for line in page.splitlines() if line.startswith(("| ✅", "| ❌"))]
    assert [row[2] for row in rows] == ["❌", "✅"], "what went wrong comes first"
    assert "replica-epoch-check=off" in rows[0]
    assert "| fail | lost-write " in rows[0]
    assert page.count("<details open>") == page.count("</details>") == 1
    story = "Value 1, acknowledged to producer-0"
    assert story in page
    assert "highwater replay runs/" in page
    (failed, _) = ElementTree.fromstring((highwater.folder / "junit.xml").read_bytes())
    assert story in (failed[0].text or "")
    assert "lost-write: " in (failed[0].text or "")


def test_text_of_a_run_is_no_markup() -> None:
    verdict = {
        "asExpected": False,
        "expected": {"whyNot": "a | b\n# c"},
        "anomalies": {"x": {"count": 1, "examples": [{"story": "<script>`*[l](http://a)" + "y" * 5_000}]}},
        "reasons": ["</details>"],
        "name": "n",
        "seed": 1,
        "backend": "sim",
        "verdict": "fail",
        "acknowledged": 3,
    }
    page = job_summary([(verdict, Path("runs/n"))] * 600)
    assert len(page.encode()) < 1_000_000, "GitHub shows nothing of a larger one"
    assert "100 further runs are not listed" in page
    assert "<script" not in page
    assert "`" not in page
    assert "[l]" not in page
    assert "\n# c" not in page
    assert page.count("</details>") == page.count("<details open>") == 20
