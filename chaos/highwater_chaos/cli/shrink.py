"""``highwater shrink``: from a failing run to a small experiment file that fails the same way."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.output import check_output, writing
from highwater_chaos.cli.progress import Progress
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.experiment import load_experiment
from highwater_chaos.shrink import LEAST_RUNS, Shrunk, file_text
from highwater_chaos.shrink import shrink as find_smallest
from highwater_pipeline.anomalies import BY_WEIGHT

_NAME: Final = "shrunk.yaml"


def shrink(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory of a simulated run that failed.")],
    anomaly: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Keep this anomaly; by default the gravest of the run."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Write here; by default to shrunk.yaml in RUN."),
    ] = None,
    runs: Annotated[int, typer.Option(min=LEAST_RUNS, metavar="N", help="Try at most this many experiments.")] = 600,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Find a small experiment that fails as a recorded run did.

    Writes out the faults that 'random' drew, then removes steps, nodes, partitions, clients and properties as long as
    the anomaly stays. The same run gives the same file. Exits 0 if the file was written.
    """
    out = out or run / _NAME
    check_output(out.parent, "--out")
    recorded = recorded_verdict(run)
    if recorded["backend"] != "sim":
        raise UsageError(f"{run}: was run on {recorded['backend']!r}; only simulated runs can be shrunk")
    anomaly = _anomaly(run, recorded, anomaly)
    experiment = load_experiment(run / "experiment.yaml")
    began = time.monotonic()
    with Progress(f"shrink {experiment.metadata.name}") as progress:
        shrunk = find_smallest(
            experiment,
            anomaly,
            most_runs=runs,
            wire=recorded["wire"],
            progress=lambda count, size: progress(f"{count} runs: {size}"),
        )
    text = file_text(shrunk, f"{experiment.metadata.name} (seed {experiment.spec.seed})")
    with writing(out, "--out"):
        out.write_text(text, encoding="utf-8")
    seconds = time.monotonic() - began
    print(json.dumps(_row(shrunk, out, seconds), indent=2) if as_json else _summary(shrunk, out, seconds))
    return Exit.OK


def _anomaly(run: Path, recorded: dict[str, Any], wanted: str | None) -> str:
    found = [name for name in BY_WEIGHT if name in recorded.get("anomalies", {})]
    if wanted is not None and wanted not in found:
        raise UsageError(f"--anomaly {wanted}: {run} shows {', '.join(found) or 'no anomaly'}")
    if not found:
        raise UsageError(f"{run}: expected a run with an anomaly, found the verdict {recorded.get('verdict')!r}")
    return wanted or found[0]


def _summary(shrunk: Shrunk, out: Path, seconds: float) -> str:
    return (
        f"{shrunk.anomaly}: {shrunk.before} -> {shrunk.after}\n"
        f"  {shrunk.runs} runs in {seconds:.0f} s"
        + ("" if shrunk.finished else "; runs were used up: more of them (--runs) may make it smaller")
        + f"\n  highwater run {out}"
    )


def _row(shrunk: Shrunk, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "file": str(out),
        "anomaly": shrunk.anomaly,
        "before": shrunk.before._asdict(),
        "after": shrunk.after._asdict(),
        "runs": shrunk.runs,
        "seconds": round(seconds, 1),
        "finished": shrunk.finished,
    }
