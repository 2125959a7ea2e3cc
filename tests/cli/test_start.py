"""A process imports what its command needs, and help says the same as when everything was imported."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from highwater_chaos.cli import COMMANDS, GROUPS

HEAVY = ("numpy", "pyarrow", "pydantic", "yaml", "jinja2", "highwater_runtime.broker", "highwater_pipeline")
JUDGES = ("numpy", "pyarrow", "highwater_pipeline.checks", "highwater_pipeline.units")
DRAWS = ("highwater_chaos.report", "jinja2")


@pytest.mark.parametrize(("name", "summary"), COMMANDS.items(), ids=COMMANDS)
def test_the_summary_is_how_the_commands_own_help_begins(name, summary):
    function = getattr(import_module(f"highwater_chaos.cli.{name}"), name)
    assert " ".join(function.__doc__.split()).startswith(summary)


def test_the_summary_of_a_group_is_its_help():
    for name, summary in GROUPS.items():
        assert getattr(import_module(f"highwater_chaos.cli.{name}"), f"{name}_app").info.help == summary


def loaded_by(*arguments):
    code = "import sys; from highwater_chaos.cli import execute; execute(sys.argv[1:]); print('*', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("*")[2].split())


def test_help_imports_nothing_of_weight():
    assert loaded_by("--help").isdisjoint(HEAVY)


@pytest.mark.parametrize(("command", "besides"), [("validate", ()), ("scenarios", ("highwater_chaos.engine",))])
def test_a_command_that_runs_nothing_imports_nothing_that_judges_or_draws(command, besides):
    loaded = loaded_by(command, *(["scenarios/kip-903/late-fetch.yaml"] if command == "validate" else []))
    assert f"highwater_chaos.cli.{command}" in loaded
    assert loaded.isdisjoint((*JUDGES, *DRAWS, *besides))


@pytest.mark.parametrize(
    "module", ["highwater_chaos.campaign.seed", "highwater_chaos.experiment", "highwater_chaos.engine"]
)
def test_what_judges_is_imported_when_the_first_run_is_judged(module):
    code = f"import {module}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert module in loaded
    assert loaded.isdisjoint((*JUDGES, *DRAWS, "typer", "rich", "http.client"))


def test_a_simulated_run_imports_nothing_of_the_other_backends():
    loaded = loaded_by("run", "--help")
    assert "highwater_chaos.cli.run" in loaded
    assert not [
        name for name in loaded if name.startswith(("highwater_chaos.backends.local", "highwater_runtime.host"))
    ]
