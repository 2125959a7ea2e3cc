"""The commands of the page work in their order, with the files that it shows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import execute

ELSEWHERE = ("--backend local", "campaign", "kafka-14139")
"""What other tests run (tests/local, tests/campaign, the README's commands)."""


@pytest.mark.thorough
def test_from_an_empty_file_to_a_campaign(
    root: Path, document_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = document_of("write-an-experiment")
    monkeypatch.chdir(tmp_path)
    for block in page.blocks("yaml"):
        (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block, "utf-8")
    lines = [line.removeprefix("$ highwater ") for block in page.blocks("console") for line in block.splitlines()]
    assert len(lines) == 8
    for line in lines:
        if not any(words in line for words in ELSEWHERE):
            assert execute(shlex.split(line)) == 0, line
    assert "PASS as expected: slow-follower" in capsys.readouterr().out
