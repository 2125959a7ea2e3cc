"""Processor time of random seeds, run in the simulator and judged, and whether two source trees record the same.

    python -m highwater_lab.benchmarks.random_seeds [--seeds 1..3 | --failing] [--only NAME] [--digests FILE] [--wire]

Each seed of each experiment of ``scenarios/random`` is run and judged as a campaign does it, in this process, after one
seed that nobody counts (imports, generated codecs). One line a seed: processor time of the run, of writing its
recordings, and of judging them. The last line has the means.

``--failing`` runs shipped experiments instead: those that must fail, with the switches under which they must, and with
the seeds in their files.

``--digests`` writes a line for each run with a SHA-256 over everything that it left behind, ``run.json`` with the time
that it took excepted, the verdict's anomalies and reasons, and broken invariants; then the names of these. The files of
two source trees, or of two values of ``PYTHONHASHSEED``, must be equal: ``diff`` them.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends import make_backend
from highwater_chaos.campaign.seed import prepare_process
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run

SCENARIOS: Final = Path(__file__).parents[3] / "scenarios"
_HOLDS_WALL_TIME: Final = ("run.json", "manifest.json")


def main() -> None:
    """Print one line a run, then the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1..2", help="first and last, as 1..3")
    parser.add_argument("--failing", action="store_true", help="shipped experiments that must fail")
    parser.add_argument("--only", help="part of the experiment's name")
    parser.add_argument("--digests", type=Path)
    parser.add_argument("--wire", action="store_true", help="every message through the codec")
    arguments = parser.parse_args()
    runs = list(_failing() if arguments.failing else _random(arguments.seeds))
    runs = [(name, experiment) for name, experiment in runs if (arguments.only or "") in name]
    prepare_process()
    measure(runs[0][1], wire=arguments.wire)
    spent, digests = list[tuple[float, float, float]](), list[str]()
    for name, experiment in runs:
        took, digest = measure(experiment, wire=arguments.wire)
        spent.append(took)
        digests.append(f"{name} {experiment.spec.seed} {digest}\n")
        if arguments.digests is not None:
            arguments.digests.write_text("".join(digests), encoding="utf-8")
        print(f"{name:32} {experiment.spec.seed:4} {_line(took)}", flush=True)
    count = len(spent)
    means = (sum(t[0] for t in spent) / count, sum(t[1] for t in spent) / count, sum(t[2] for t in spent) / count)
    print(f"{'mean of ' + str(count):37} {_line(means)}")


def _random(seeds: str) -> Iterator[tuple[str, ChaosExperiment]]:
    first, _, last = seeds.partition("..")
    for path in sorted((SCENARIOS / "random").glob("*.yaml")):
        for seed in range(int(first), int(last or first) + 1):
            yield path.stem, load_experiment(path).with_seed_and_switches(seed, {})


def _failing() -> Iterator[tuple[str, ChaosExperiment]]:
    for path in sorted(set(SCENARIOS.rglob("*.yaml")) - set((SCENARIOS / "random").iterdir())):
        experiment = load_experiment(path)
        for expected in experiment.spec.expect:
            if expected.verdict == "fail" and experiment.cluster.runtime == "highwater":
                name = "-".join([path.stem, *(f"{switch}={value}" for switch, value in expected.when.items())])
                yield name, experiment.with_seed_and_switches(None, expected.when)


def _line(took: tuple[float, float, float]) -> str:
    run, written, judged = took
    return f"run {run:6.2f} s  written {written:5.2f} s  judged {judged:5.2f} s  in all {run + written + judged:6.2f} s"


def measure(experiment: ChaosExperiment, *, wire: bool) -> tuple[tuple[float, float, float], str]:
    """Run, write down and judge one experiment: processor seconds of each; a digest of what came of it."""
    began = time.process_time()
    result = run_experiment(experiment, make_backend("sim", wire=wire))
    ran = time.process_time()
    with tempfile.TemporaryDirectory(prefix="highwater-run-") as folder:
        directory = Path(folder)
        write_run(directory, experiment, result, wire=wire)
        written = time.process_time()
        run_verdict = check_recordings(experiment, directory)
        judged = time.process_time()
        digest = hashlib.sha256()
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            if path.name not in _HOLDS_WALL_TIME:
                digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
                digest.update(path.read_bytes())
        digest.update(result.trace_digest.encode())
        digest.update(msgspec.json.encode(run_verdict, enc_hook=repr))
        digest.update(repr(result.violations).encode())
    broken = sorted({violation.name for violation in result.violations})
    return (ran - began, written - ran, judged - written), " ".join([digest.hexdigest(), *broken])


if __name__ == "__main__":
    main()
