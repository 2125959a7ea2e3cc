"""Every tiny history shows the anomalies that it must show, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from highwater_pipeline.anomalies import CHECKS, GROUP_CHECKS, LOOKUP_CHECKS, RUN_CHECKS
from highwater_pipeline.in_process import check_run


def test_story(case: Any) -> None:
    """All that is to be found and no more; an example proves itself by rows that exist, and says what happened."""
    # Most stories are sketches: they leave out the steps between those that matter, which the specification misses.
    checks = [name for name in CHECKS if name != "model-step" or name in case.anomalies or case.is_whole]
    if any(operation.f == "commit" for operation in case.build().operations):
        checks += GROUP_CHECKS
    if any(operation.f == "lookup" for operation in case.build().operations):
        checks += LOOKUP_CHECKS
    tables = case.build().tables()
    run_verdict = check_run(tables, checks)
    found = {name: report.count for name, report in run_verdict.anomalies.items()}
    assert (run_verdict.verdict, found) == (case.verdict, case.anomalies), case.why
    rows = {"operations": tables.operations, "node_event": tables.node_events, "replica_log": tables.replica_log}
    for report in run_verdict.anomalies.values():
        assert len(report.examples) == min(report.count, 10) or report.examples
        for example in report.examples:
            assert example["rows"], example
            assert example["story"].endswith("."), example
            for row in example["rows"]:
                assert 0 <= row["index"] < rows[row["table"]].num_rows


def test_every_check_has_a_story_that_fails_it_and_one_that_passes(all_stories: list[Any]) -> None:
    """Which is what makes the stories a test of the checks."""
    failing = {name for case in all_stories for name in case.anomalies}
    assert failing == {*CHECKS, *RUN_CHECKS}
    passing = {
        name
        for case in all_stories
        if case.verdict == "pass"
        for name, state in check_run(case.build().tables()).checks.items()
        if state == "ok"
    }
    assert passing == {*CHECKS, *RUN_CHECKS}


def test_the_table_of_histories_in_the_docs(all_stories: list[Any]) -> None:
    """Each anomaly is shown by a history that there is, with all that must be found in it and the reason."""
    text = (Path(__file__).parents[2] / "docs" / "checks.md").read_text(encoding="utf-8")
    lines = text.partition("## One history for each anomaly\n")[2].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    assert [row[0].strip("`") for row in rows] == list(CHECKS)
    told = {(" ".join(case.why.split()), tuple(sorted(case.anomalies.items()))) for case in all_stories}
    for name, found, why in rows:
        counts = re.findall(r"`([a-z-]+)`(?: \((\d+)\))?", found)
        assert name.strip("`") in dict(counts)
        assert (why, tuple(sorted((one, int(count or 1)) for one, count in counts))) in told, name
