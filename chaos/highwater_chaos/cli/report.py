"""``highwater report``: draw a run's report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.report import write_report


def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]) -> None:
    """Draw report.html of a run directory again, and print its path."""
    if not (run / "verdict.json").is_file():
        raise UsageError(f"{run}: no run directory (it has no verdict.json); runs are below 'runs/' or your --out")
    print(write_report(run))
