"""``highwater scenarios``: the experiments that ship."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from highwater_chaos.backends import make_backend
from highwater_chaos.cli.choices import BackendHere
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.refusals import refusals

_NAME: Final = re.compile(r"^  name: (\S+)$", re.MULTILINE)
"""metadata.name, as every shipped file writes it (a test compares it with what the reader finds)."""


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


def files_of(given: Sequence[str]) -> list[Path]:
    """The experiment file that each argument names: a path, or the name of an experiment that ships.

    Raises:
        UsageError: for each that is neither.
    """
    found: list[Path] = []
    errors: list[str] = []
    names = None
    for text in given:
        path = Path(text)
        if path.suffix in (".yaml", ".yml") or len(path.parts) > 1 or path.exists():
            found.append(path)
            continue
        names = names or shipped()
        if text in names:
            found.append(names[text])
            continue
        near = get_close_matches(text, names, n=1)
        advice = f"did you mean {near[0]!r}?" if near else "'highwater scenarios' lists the shipped ones"
        errors.append(f"{text!r} is neither a file nor a shipped experiment; {advice}")
    if errors:
        raise UsageError("\n".join(errors))
    return found


def shipped() -> dict[str, Path]:
    """Experiments that ship, by name."""
    found: dict[str, Path] = {}
    for path in sorted(scenario_folder().rglob("*.yaml")):
        name = _NAME.search(path.read_text(encoding="utf-8"))
        if name is not None:
            found[name[1]] = path
    return found


def shipped_names_beginning(incomplete: str) -> list[str]:
    """For the shell's completion."""
    return [name for name in shipped() if name.startswith(incomplete)]


Experiments = Annotated[
    list[str],
    typer.Argument(
        metavar="EXPERIMENT",
        autocompletion=shipped_names_beginning,
        help="Experiment files, or names of shipped experiments ('highwater scenarios' lists them).",
    ),
]
"""The argument of commands that take experiments; see :func:`files_of`."""


def _row(path: Path, experiment: ChaosExperiment, backend: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": experiment.metadata.name,
        "file": str(path),
        "description": experiment.metadata.description,
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
