"""``highwater compare``: two recorded runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.output import check_output, writing
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.experiment import ExperimentError
from highwater_chaos.report.comparison import Comparison, render
from highwater_chaos.report.comparison import compare as compare_runs
from highwater_chaos.report.files import BadRunFileError


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another one.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="Write a page with both timelines, too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show two recorded runs side by side.

    For example with a switch off and on, or on our brokers and on Apache Kafka. Exits 0, whatever their verdicts are.
    """
    if out is not None:
        check_output(out.parent, "--out")
        if out.is_dir():
            raise UsageError(f"--out {out}: is a directory; expected a file to write")
    for run in (first, second):
        recorded_verdict(run)
    if first.resolve() == second.resolve():
        raise UsageError(f"{first} and {second} are the same run; expected two")
    try:
        found = compare_runs(first, second)
    except (BadRunFileError, ExperimentError) as error:
        raise UsageError(str(error)) from error
    if out is not None:
        with writing(out, "--out"):
            out.write_text(render(found), encoding="utf-8")
    if as_json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        print_comparison(found)
        if out is not None:
            print(f"page {out}")
    return Exit.OK


def print_comparison(found: Comparison) -> None:
    """A sentence and a table on stdout."""
    console = Console(highlight=False)
    console.print(Text(found.sentence))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in found.names:
        table.add_column(Text(name), overflow="fold")
    for line in found.lines:
        table.add_row(Text(line.label), Text(line.first), Text(line.second), style="" if line.differs else "dim")
    console.print(table)
