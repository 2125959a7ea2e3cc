"""Workflows cannot run here: what they call exists, and actions are pinned by hash."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from highwater_lab.command import command_line
from highwater_lab.mutants import SETS

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))
# Of ubuntu-24.04's image, and of POSIX.
ON_THE_RUNNER = {"cat", "docker", "echo", "gh", "grep", "helm", "jq", "kind", "kubectl", "make", "sudo"}
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_what_a_workflow_calls_exists(file: Path) -> None:
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    assert [step["uses"] for step in steps if "uses" in step and not PINNED.fullmatch(step["uses"])] == []
    for line in (line.strip() for step in steps for line in step.get("run", "").splitlines()):
        program = line.split()[0]
        if "=" in program or program.startswith(("-", ".venv/")):
            continue
        assert program in ON_THE_RUNNER or os.access(ROOT / program, os.X_OK), line
        for word in line.split():
            if word.startswith((".github/", "manifests/", "helm/", "images/", ".ci/", "scripts/")):
                assert (ROOT / word).exists(), line


def test_every_night_both_sets_of_mutants_are_run_and_their_rates_published() -> None:
    job = yaml.safe_load((ROOT / ".github/workflows/thorough.yaml").read_text(encoding="utf-8"))["jobs"]["mutants"]
    assert job["strategy"]["matrix"]["set"] == list(SETS)
    (script,) = [step["run"] for step in job["steps"] if "highwater_lab" in step.get("run", "")]
    command = script[script.index("-m highwater_lab campaign") :].partition(" >")[0].replace("\\\n", "")
    arguments = shlex.split(command.replace("$SET", "held-out"))[3:]
    laboratory: Any = typer.main.get_command(command_line())
    given = laboratory.commands["campaign"].make_context("campaign", arguments).params
    assert (given["mutants"], given["which"], given["as_json"]) == (True, "held-out", True)
    assert '--from-file .github/mutants.jq mutants.json >>"$GITHUB_STEP_SUMMARY"' in script


def test_python_versions_are_tested_that_are_claimed() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yaml").read_text(encoding="utf-8"))["jobs"]
    said = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tested = jobs["test"]["strategy"]["matrix"]["python"]
    assert (said[0], said[-1]) == (tested[0], tested[-1])
