"""A process imports what its command needs, and help says the same as when everything was imported."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from highwater_chaos.cli import COMMANDS, GROUPS

HEAVY = ("numpy", "pyarrow", "pydantic", "yaml", "jinja2", "highwater_runtime.broker", "highwater_pipeline")
JUDGES = ("numpy", "pyarrow", "highwater_pipeline.checks", "highwater_pipeline.partitions.partition_tables")
DRAWS = ("highwater_chaos.report.page", "jinja2")
READS = ("highwater_chaos.experiment.model", "yaml")
RUNS = (
    "highwater_chaos.engine",
    "highwater_chaos.workload.clients",
    "highwater_runtime.nodes",
    "highwater_runtime.log",
)


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


def test_validate_neither_runs_nor_judges_nor_draws():
    loaded = loaded_by("validate", "scenarios/kip-903/late-fetch.yaml")
    assert "highwater_chaos.experiment.load" in loaded
    assert loaded.isdisjoint((*RUNS, *JUDGES, *DRAWS, "rich"))


def test_the_list_of_scenarios_neither_runs_nor_judges():
    loaded = loaded_by("scenarios")
    assert "highwater_chaos.experiment.load" in loaded
    assert loaded.isdisjoint((*RUNS, *JUDGES, "highwater_chaos.report"))


def test_heal_imports_the_machine_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(tmp_path))
    loaded = loaded_by("heal")
    assert "highwater_chaos.machine.runs.heal" in loaded
    assert loaded.isdisjoint((*RUNS, *JUDGES, *DRAWS, *READS, "rich"))


def test_the_status_of_a_cluster_takes_neither_experiments_nor_what_starts_nodes():
    loaded = loaded_by("cluster", "status", "--name", "there-is-none")
    assert "highwater_chaos.local_cluster.status" in loaded
    assert loaded.isdisjoint((*RUNS, *JUDGES, *DRAWS, *READS, "highwater_runtime.host"))


@pytest.mark.thorough
def test_a_run_is_judged_again_without_what_runs_and_draws(tiny_run):
    loaded = loaded_by("check", str(tiny_run))
    assert "highwater_pipeline.checks" in loaded
    assert loaded.isdisjoint((*RUNS, *DRAWS, "rich"))


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


def test_models_are_built_when_an_experiment_is_read():
    code = "from highwater_chaos.experiment import ChaosExperiment as e; print(e.__pydantic_complete__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_command_that_ends_does_not_look_for_garbage_in_what_it_imported():
    code = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))
from highwater_chaos.cli import main
main(["--help"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frozen, others = map(int, done.stdout.splitlines()[-1].split())
    assert frozen > 100 * others
