"""``highwater scenarios``: the experiments that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from highwater_chaos.backends import BACKENDS, ELSEWHERE, make_backend
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.engine import refusals
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.report import DESCRIPTION


def scenarios(
    backend: Annotated[
        str | None, typer.Option(help="Say for each whether it can run there, on this machine: sim or local.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """List the experiments that ship, with what each shows and what is expected of it."""
    if backend is not None and backend not in BACKENDS:
        why = "cannot be asked from here" if backend in ELSEWHERE else "is unknown"
        raise UsageError(f"backend {backend!r} {why}; available: {', '.join(BACKENDS)}")
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
        expected = "\n".join(_expectation_text(entry) for entry in row["expect"]) or "pass"
        cells = [str(row["name"]), _display(path), str(row["description"]), expected]
        if backend is not None:
            cells.append("; ".join(row["refused"]) or "yes")
        table.add_row(*cells)
    Console(width=None if Console().is_terminal else 160).print(table)


def scenario_folder() -> Path:
    """The folder of the shipped scenarios: the repository's, or the copy inside an installed package."""
    packaged = Path(__file__).parents[1] / "_scenarios"
    checkout = Path(__file__).parents[3] / "scenarios"
    for folder in (packaged, checkout):
        if folder.is_dir():
            return folder
    raise UsageError(f"no scenarios found: neither {packaged} nor {checkout} is a folder; reinstall highwater")


def _row(path: Path, experiment: ChaosExperiment, backend: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": experiment.metadata.name,
        "file": str(path),
        "description": experiment.metadata.annotations.get(DESCRIPTION, ""),
        "expect": [entry.model_dump(mode="json", by_alias=True) for entry in experiment.spec.expect],
    }
    return row if backend is None else {**row, "refused": refusals(experiment, make_backend(backend))}


def _expectation_text(entry: dict[str, Any]) -> str:
    switches = " ".join(f"{name}={value}" for name, value in entry["when"].items())
    return f"{switches}: {entry['verdict']}" if switches else f"{entry['verdict']}"


def _display(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
