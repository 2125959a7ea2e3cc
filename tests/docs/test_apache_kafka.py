"""docs/apache-kafka-reference.md says which releases were tested, as the code has it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.apache_kafka.versions import TESTED
from highwater_chaos.cli import execute

PAGE = Path(__file__).parents[2] / "docs" / "apache-kafka-reference.md"


def test_the_releases_are_those_that_were_tested() -> None:
    rows = re.findall(r"^\| `([\d.]+)` \| ([^|]+) \| ([^|]*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {release: (tuple(re.findall(r"`(\w+)`", modes)), text.strip(" `") or None) for release, modes, text in rows}
    assert shown == {release: (tested.modes, tested.metadata_version) for release, tested in TESTED.items()}


def test_the_experiment_of_the_task_page(
    document_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    (text,) = [block for block in document_of("apache-kafka").blocks("yaml") if "kind: ChaosExperiment" in block]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leader-is-killed.yaml").write_text(text, "utf-8")
    assert execute(["validate", "leader-is-killed.yaml", "--backend", "local"]) == 0
    if thorough and shutil.which("java") is not None:
        assert execute(["run", "leader-is-killed.yaml", "--backend", "local"]) == 0
