"""Runs of the simulator, recorded as a runner leaves them to a judging Job, and what judging in-process says."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from highwater_chaos.backends import make_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment, parse_experiment
from highwater_chaos.verdict.check import check_recordings, write_verdict
from highwater_chaos.verdict.checked_run import write_run

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Recorded:
    """``directory`` has no verdict; ``verdict`` is what judging it in the same process says."""

    directory: Path
    verdict: Any


def record(folder: Path, *, passes: bool) -> Recorded:
    """One run: a kill that loses nothing, or KAFKA-14139 with its switch off."""
    if passes:
        experiment = load_experiment(ROOT / "tests" / "tiny-experiment.yaml")
    else:
        text = (ROOT / "scenarios" / "kip-903" / "kafka-14139.yaml").read_text(encoding="utf-8")
        scenario = parse_experiment(text.replace("rate: 200/s", "rate: 40/s"), "kafka-14139.yaml")
        experiment = scenario.with_seed_and_switches(None, {"replica-epoch-check": "off"})
    directory = folder / "recorded"
    directory.mkdir()
    write_run(directory, experiment, run_experiment(experiment, make_backend("sim", wire=False)), wire=False)
    judged = folder / "judged"
    shutil.copytree(directory, judged)
    return Recorded(directory, write_verdict(judged, experiment, check_recordings(experiment, judged)))
