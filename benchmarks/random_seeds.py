"""How many seeds, and how many seconds, until a bug is found; and that none is found where there is none.

    python benchmarks/random_seeds.py --seeds 1..200
    python benchmarks/random_seeds.py --seeds 1..200 --switch replica-epoch-check=off

Runs one experiment (random power losses, kills, partitions and pauses) over a range of seeds on all cores, judges each
run with the checks and invariants of ``highwater run``, and prints what was found. Exits 1 if a run with every switch
at its default shows an anomaly, if one with a switch off never does, or if any run could not be judged.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from highwater_chaos.backends import make_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import judge_recordings
from highwater_chaos.run_directory import write_recordings
from highwater_chaos.run_summary import summary_of
from highwater_chaos.verdict import verdict_of
from highwater_runtime.sim.garbage import freeze_collector

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one seed came to."""

    seed: int
    verdict: str
    anomalies: tuple[str, ...]
    reasons: tuple[str, ...]
    run_seconds: float
    wall_seconds: float
    faults: int
    acknowledged: int


def run_seed(file: Path, seed: int, switches: dict[str, str], codec: str) -> Outcome:
    """Run and judge one seed in this process."""
    began = time.perf_counter()
    experiment = load_experiment(file).with_seed_and_switches(seed, switches)
    result = run_experiment(experiment, make_backend("sim", wire=codec == "all"))
    with tempfile.TemporaryDirectory() as directory:
        write_recordings(Path(directory), experiment, result)
        judgement = judge_recordings(experiment, Path(directory))
    verdict = verdict_of(experiment, summary_of(result, wire=codec == "all"), judgement)
    return Outcome(
        seed,
        verdict["verdict"],
        tuple(verdict["anomalies"]),
        tuple(verdict["doubts"]),
        result.run_ns / 1e9,
        time.perf_counter() - began,
        len(result.faults),
        result.acknowledged,
    )


def outcomes(arguments: argparse.Namespace, switches: dict[str, str]) -> Iterator[Outcome]:
    """Outcomes as they come, from one process a core."""
    first, last = arguments.seeds
    with ProcessPoolExecutor(arguments.jobs, initializer=freeze_collector) as pool:
        futures = [
            pool.submit(run_seed, arguments.file, seed, switches, arguments.codec) for seed in range(first, last + 1)
        ]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def seed_range(text: str) -> tuple[int, int]:
    """``1..200`` as (1, 200)."""
    first, _, last = text.partition("..")
    return int(first), int(last or first)


def main() -> int:
    """Run the range and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "scenarios" / "random" / "while-controllers-fail.yaml"
    parser.add_argument("--file", type=Path, default=default)
    parser.add_argument("--seeds", type=seed_range, default=(1, 200), metavar="A..B")
    parser.add_argument("--switch", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--codec", choices=("some", "all"), default="some")
    parser.add_argument("--until-failure", action="store_true")
    arguments = parser.parse_args()
    switches = dict(switch.split("=", 1) for switch in arguments.switch)
    began = time.perf_counter()
    done: list[Outcome] = []
    first_found: tuple[int, float] | None = None
    for outcome in outcomes(arguments, switches):
        done.append(outcome)
        if outcome.verdict != "pass":
            found = ", ".join(outcome.anomalies) or "; ".join(outcome.reasons)
            print(f"seed {outcome.seed}: {outcome.verdict}: {found}", flush=True)
        if outcome.anomalies and first_found is None:
            first_found = len(done), time.perf_counter() - began
            if arguments.until_failure:
                break
    seconds = time.perf_counter() - began
    failed = [outcome for outcome in done if outcome.verdict == "fail"]
    doubtful = [outcome for outcome in done if outcome.verdict == "inconclusive"]
    simulated = sum(outcome.run_seconds for outcome in done)
    print(
        f"{' '.join(arguments.switch) or 'every switch at its default'}: {len(done)} seeds in {seconds:.0f} s "
        f"({simulated:.0f} s simulated, {simulated / seconds:.0f}x; {sum(one.faults for one in done)} faults, "
        f"{sum(one.acknowledged for one in done)} records acknowledged)"
    )
    print(f"  fail {len(failed)}, inconclusive {len(doubtful)}, pass {len(done) - len(failed) - len(doubtful)}")
    if first_found is not None:
        print(f"  first found after {first_found[0]} seeds and {first_found[1]:.1f} s")
    expected = bool(failed) if switches else not failed
    return 0 if expected and not doubtful else 1


if __name__ == "__main__":
    sys.exit(main())
