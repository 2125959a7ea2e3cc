"""``highwater scenarios``: the experiments that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from highwater_chaos.backends import make_backend
from highwater_chaos.cli.choices import BackendHere
from highwater_chaos.cli.output import print_table
from highwater_chaos.cli.shipped import scenario_folder
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.schedule.capability import missing_capabilities


def scenarios(
    backend: Annotated[
        BackendHere | None,
        typer.Option(show_default=False, help="Say for each whether it can run there, on this machine."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the shipped experiments.

    Prints what each shows and what is expected of it.
    """
    folder = scenario_folder()
    found = [(path, load_experiment(path)) for path in sorted(folder.rglob("*.yaml"))]
    rows = [(path, _row(path, experiment, backend)) for path, experiment in found]
    if as_json:
        print(json.dumps([row for _, row in rows], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    headings = ["NAME", "FILE", "SHOWS", "EXPECTED", *([] if backend is None else [f"ON {backend.upper()}"])]
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "NAME")
    for path, row in rows:
        expected = "; ".join(_expectation_text(entry) for entry in row["expect"]) or "pass"
        cells = [str(row["name"]), _display(path), str(row["description"]), expected]
        if backend is not None:
            cells.append("; ".join(row["refused"]) or "yes")
        table.add_row(*cells)
    print_table(table)


def _row(path: Path, experiment: ChaosExperiment, backend: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": experiment.metadata.name,
        "file": str(path),
        "description": experiment.metadata.description,
        "expect": [entry.model_dump(mode="json", by_alias=True) for entry in experiment.spec.expect],
    }
    return row if backend is None else {**row, "refused": missing_capabilities(experiment, make_backend(backend))}


def _expectation_text(entry: dict[str, Any]) -> str:
    switches = " ".join(f"{name}={value}" for name, value in entry["when"].items())
    return f"{switches}: {entry['verdict']}" if switches else f"{entry['verdict']}"


def _display(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
