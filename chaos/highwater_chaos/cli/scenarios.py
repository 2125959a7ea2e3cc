"""``highwater scenarios``: the experiments that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.report import DESCRIPTION


def scenarios(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """List the experiments that ship, with what each shows and what is expected of it."""
    folder = scenario_folder()
    found = [(path, load_experiment(path)) for path in sorted(folder.rglob("*.yaml"))]
    if as_json:
        print(json.dumps([_row(path, experiment) for path, experiment in found], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("NAME", "FILE", "SHOWS", "EXPECTED"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "NAME")
    for path, experiment in found:
        row = _row(path, experiment)
        expected = "\n".join(_expectation_text(entry) for entry in row["expect"]) or "pass"
        table.add_row(str(row["name"]), _display(path), str(row["description"]), expected)
    Console(width=None if Console().is_terminal else 160).print(table)


def scenario_folder() -> Path:
    """The folder of the shipped scenarios: the repository's, or the copy inside an installed package."""
    packaged = Path(__file__).parents[1] / "_scenarios"
    checkout = Path(__file__).parents[3] / "scenarios"
    for folder in (packaged, checkout):
        if folder.is_dir():
            return folder
    raise UsageError(f"no scenarios found: neither {packaged} nor {checkout} is a folder; reinstall highwater")


def _row(path: Path, experiment: ChaosExperiment) -> dict[str, Any]:
    return {
        "name": experiment.metadata.name,
        "file": str(path),
        "description": experiment.metadata.annotations.get(DESCRIPTION, ""),
        "expect": [entry.model_dump(mode="json", by_alias=True) for entry in experiment.spec.expect],
    }


def _expectation_text(entry: dict[str, Any]) -> str:
    switches = " ".join(f"{name}={value}" for name, value in entry["when"].items())
    return f"{switches}: {entry['verdict']}" if switches else f"{entry['verdict']}"


def _display(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
