"""Where the experiments that ship are, and what commands take: their names, or files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Final

import typer

from highwater_chaos.cli.exits import UsageError

_NAME: Final = re.compile(r"^  name: (\S+)$", re.MULTILINE)
"""metadata.name, as every shipped file writes it (a test compares it with what the reader finds)."""


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
        if path.suffix in (".yaml", ".yml") or path.exists():
            found.append(path)
            continue
        names = names or shipped()
        if text in names:
            found.append(names[text])
            continue
        near = get_close_matches(path.name, names, n=1)
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
