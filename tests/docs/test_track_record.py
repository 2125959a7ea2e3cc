"""The tables of bugs are what the files of the track record say: there is no second list."""

from __future__ import annotations

from pathlib import Path

import yaml

from highwater_lab.track_record import bugs_in, page_table, readme_table


def test_the_page_and_the_readme_have_the_tables_of_the_files(root: Path) -> None:
    """``python -m highwater_lab track-record --page`` prints them."""
    bugs = bugs_in()
    assert page_table(bugs) in (root / "docs" / "track-record.md").read_text(encoding="utf-8")
    assert readme_table(bugs) in (root / "README.md").read_text(encoding="utf-8")


def test_every_night_all_of_it_is_run(root: Path) -> None:
    jobs = yaml.safe_load((root / ".github/workflows/thorough.yaml").read_text(encoding="utf-8"))["jobs"]
    steps = [step.get("run", "") for step in jobs["track-record"]["steps"]]
    assert any("make track-record" in step and "BUG" not in step for step in steps)
    assert any("build/track-record/track-record.md" in step for step in steps)
