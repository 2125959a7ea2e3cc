"""``highwater report``: draw a run's report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.report import BadRunFile, write_report


def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]) -> None:
    """Draw report.html of a run directory again, and print its path."""
    recorded_verdict(run)
    try:
        print(write_report(run))
    except BadRunFile as error:
        raise UsageError(str(error)) from error
