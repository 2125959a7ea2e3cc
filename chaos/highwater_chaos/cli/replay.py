"""``highwater replay``: run a run again and see that it is the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from highwater_chaos.backends import BACKENDS
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.run import exit_status, print_run, progress_of
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import run_and_judge


def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the new run directory goes.")] = Path("runs"),
) -> int:
    """Run the experiment of a run directory again, with its seed and switches, and compare what happened.

    Exits as ``run`` does if history and trace are byte for byte the same, else 255: the simulator is at fault then.
    """
    if not (run / "verdict.json").is_file():
        raise UsageError(f"{run}: no run directory (it has no verdict.json); runs are below 'runs/' or your --out")
    recorded = json.loads((run / "verdict.json").read_text(encoding="utf-8"))
    if recorded["backend"] not in BACKENDS:
        raise UsageError(
            f"{run}: was run on {recorded['backend']!r}; only runs of {', '.join(BACKENDS)} can be replayed"
        )
    experiment = load_experiment(run / "experiment.yaml")
    with progress_of(f"replay {experiment.metadata.name}") as progress:
        done = run_and_judge(experiment, recorded["backend"], out, progress, varied={}, wire=recorded["wire"])
    print_run(done, experiment.metadata.name)
    differing = [
        name
        for name in ("history/operations.jsonl", "events/nodes.jsonl", "dumps/replica_log.jsonl", "faults.jsonl")
        if (run / name).read_bytes() != (done.directory / name).read_bytes()
    ]
    if done.verdict["traceDigest"] != recorded["traceDigest"]:
        differing.append("trace digest")
    if differing:
        print(f"  NOT the same as {run}: {', '.join(differing)} differ (recorded by another version?)")
        return Exit.HARNESS
    print(f"  the same as {run}, byte for byte (trace {recorded['traceDigest']})")
    return exit_status([done.verdict])
