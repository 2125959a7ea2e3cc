"""``highwater replay``: run a run again and see that it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from highwater_chaos.backends import BACKENDS, make_backend
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.output import check_output
from highwater_chaos.cli.progress import Progress
from highwater_chaos.cli.recorded import recorded_files, recorded_verdict
from highwater_chaos.cli.run import exit_status, print_run
from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_chaos.verdict.checked_run import run_and_check

_COMPARED: Final = {
    "jsonl": ("history/operations.jsonl", "events/nodes.jsonl", "dumps/replica_log.jsonl", "faults.jsonl"),
    "parquet": ("history/operations.parquet", "events/nodes.parquet", "dumps/replica_log.parquet", "faults.jsonl"),
}
"""What equal runs have in common to the byte, by how they have their tables."""


def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write the new run directory below this one.")] = Path(
        "runs"
    ),
) -> int:
    """Run a recorded experiment again and compare.

    Takes the experiment, seed and switches of a run directory. A simulated run must come out the same, byte for byte.
    If it does not, the simulator is at fault, and the exit status is 255. No two runs on real processes are equal, so
    only their verdicts are compared. Otherwise exits as 'highwater run' does.
    """
    check_output(out, "--out")
    recorded = recorded_verdict(run)
    tables: TableFormat = "parquet" if (run / _COMPARED["parquet"][0]).exists() else "jsonl"
    compared = _COMPARED[tables]
    before = recorded_files(run, compared)
    if recorded["backend"] not in BACKENDS:
        raise UsageError(
            f"{run}: was run on {recorded['backend']!r}; only runs of {', '.join(BACKENDS)} can be replayed"
        )
    experiment = load_experiment(run / "experiment.yaml")
    if problems := missing_capabilities(experiment, make_backend(recorded["backend"])):
        raise UsageError("\n".join(f"{run}: {problem}" for problem in problems))
    with Progress(f"replay {experiment.metadata.name}") as progress:
        done = run_and_check(
            experiment,
            recorded["backend"],
            out,
            progress,
            varied={},
            wire=recorded["wire"],
            on_turn=progress.on_turn,
            tables=tables,
        )
    print_run(done, experiment.metadata.name)
    if recorded["backend"] != "sim":
        same = done.verdict["verdict"] == recorded.get("verdict")
        before_it = recorded.get("verdict")
        print(f"  {run} had {'the same verdict, ' if same else ''}{before_it}; no two real runs are equal")
        return exit_status([done.verdict])
    after = recorded_files(done.directory, compared)
    differing = [name for name in compared if before[name] != after[name]]
    if done.verdict["traceDigest"] != recorded["traceDigest"]:
        differing.append("trace digest")
    if differing:
        print(f"  NOT the same as {run}: {', '.join(differing)} differ (recorded by another version?)")
        return Exit.HARNESS
    found, before_it = done.verdict["verdict"], recorded.get("verdict")
    again = {"fail": "it fails again: ", "inconclusive": "it is inconclusive again: "}.get(found, "")
    print(
        f"  {again if found == before_it else ''}the recordings are the same as in {run}, byte for byte"
        f" (trace {recorded['traceDigest']})"
    )
    if found != before_it:
        print(f"  NOT the same verdict: {run} says {before_it}, and it is {found} (judged by another version?)")
    return exit_status([done.verdict])
