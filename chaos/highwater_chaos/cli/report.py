"""``highwater report``: draw a run's report again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.on_kubernetes import cluster_commands
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.report.files import BadRunFileError
from highwater_chaos.report.page import write_report
from highwater_chaos.run.manifest import update_manifest
from highwater_pipeline.tables.recordings import RUN_FILE

REPORT: Final = "report.html"


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run directory, or cx/NAME: an experiment of a Kubernetes cluster.")
    ],
    namespace: Annotated[str | None, typer.Option(metavar="NS", help="The namespace of cx/NAME.")] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="The context of the kubeconfig in which to look for cx/NAME.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write the run directory of cx/NAME below this one.")] = Path(
        "runs"
    ),
) -> int:
    """Draw the report of a recorded run.

    Prints the path of report.html. Prints the run directory if the run was never judged: 'highwater check' judges it.
    """
    if run.parent == Path("cx"):
        cluster = cluster_commands("report cx/NAME")
        run = cluster.fetch_run(run.name, namespace, context, out)
    if (run / RUN_FILE).is_file() and not (run / "verdict.json").exists():
        print(run)
        print(f"recorded, but not judged: highwater check {run}", file=sys.stderr)
        return Exit.INCONCLUSIVE
    recorded_verdict(run, written_anew=(REPORT,))
    try:
        path = write_report(run)
        update_manifest(run, (REPORT,))
        print(path)
    except (BadRunFileError, OSError) as error:
        raise UsageError(str(error)) from error
    return Exit.OK
