"""``highwater export``: a run directory with its large tables as JSON Lines, for tools that read no Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from highwater_chaos.base.user_error import UserError
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.output import check_output
from highwater_chaos.cli.recorded import ensure_unchanged
from highwater_chaos.run.manifest import BadSummaryError
from highwater_chaos.verdict.check import export_run
from highwater_pipeline.tables.files import BadTableError


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory with Parquet tables.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write the new run directory below this one.")] = Path(
        "exports"
    ),
) -> int:
    """Write a recorded run with JSON Lines in place of Parquet.

    The new run directory has the same name, and the same rows in the same order. Prints its path.
    """
    check_output(out, "--out")
    ensure_unchanged(run)
    try:
        print(export_run(run, out))
    except (BadSummaryError, BadTableError, UserError, OSError) as error:
        raise UsageError(str(error)) from error
    print("the same rows, as JSON Lines", file=sys.stderr)
    return Exit.OK
