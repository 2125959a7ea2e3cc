"""Processor time of random seeds, run in the simulator and judged, and whether two source trees record the same.

    python -m benchmarks.random_seeds [--seeds 1..3] [--only NAME] [--digests FILE] [--wire]

Each seed of each experiment of ``scenarios/random`` is run and judged as a campaign does it, in this process, after one
seed that nobody counts (imports, generated codecs). One line a seed: processor time of the run, of writing its
recordings, and of judging them. The last line has the means.

``--digests`` writes a line for each seed with a SHA-256 over everything that the run left behind, ``run.json`` with the
time that it took excepted, and the verdict's anomalies and reasons. The files of two source trees, or of two values of
``PYTHONHASHSEED``, must be equal: ``diff`` them.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends import make_backend
from highwater_chaos.campaign.seed import prepare_process
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.judged_run import judge_recordings, write_run

EXPERIMENTS: Final = Path(__file__).parent.parent / "scenarios" / "random"
_HOLDS_WALL_TIME: Final = "run.json"


def main() -> None:
    """Print one line a seed, then the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1..2", help="first and last, as 1..3")
    parser.add_argument("--only", help="part of the experiment's name")
    parser.add_argument("--digests", type=Path)
    parser.add_argument("--wire", action="store_true", help="every message through the codec")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("..")
    paths = [path for path in sorted(EXPERIMENTS.glob("*.yaml")) if (arguments.only or "") in path.stem]
    prepare_process()
    measure(_experiment(paths[0], int(first)), wire=arguments.wire)
    spent, digests = list[tuple[float, float, float]](), list[str]()
    for path in paths:
        for seed in range(int(first), int(last or first) + 1):
            took, digest = measure(_experiment(path, seed), wire=arguments.wire)
            spent.append(took)
            digests.append(f"{path.stem} {seed} {digest}\n")
            if arguments.digests is not None:
                arguments.digests.write_text("".join(digests), encoding="utf-8")
            print(f"{path.stem:32} {seed:4} {_line(took)}", flush=True)
    count = len(spent)
    means = (sum(t[0] for t in spent) / count, sum(t[1] for t in spent) / count, sum(t[2] for t in spent) / count)
    print(f"{'mean of ' + str(count):37} {_line(means)}")


def _experiment(path: Path, seed: int) -> ChaosExperiment:
    return load_experiment(path).with_seed_and_switches(seed, {})


def _line(took: tuple[float, float, float]) -> str:
    run, written, judged = took
    return f"run {run:6.2f} s  written {written:5.2f} s  judged {judged:5.2f} s  in all {run + written + judged:6.2f} s"


def measure(experiment: ChaosExperiment, *, wire: bool) -> tuple[tuple[float, float, float], str]:
    """Run, write down and judge one experiment: processor seconds of each, and the digest of what came of it."""
    began = time.process_time()
    result = run_experiment(experiment, make_backend("sim", wire=wire))
    ran = time.process_time()
    with tempfile.TemporaryDirectory(prefix="highwater-run-") as folder:
        directory = Path(folder)
        write_run(directory, experiment, result, wire=wire)
        written = time.process_time()
        judgement = judge_recordings(experiment, directory)
        judged = time.process_time()
        digest = hashlib.sha256()
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            if path.name != _HOLDS_WALL_TIME:
                digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
                digest.update(path.read_bytes())
        digest.update(result.trace_digest.encode())
        digest.update(msgspec.json.encode(judgement, enc_hook=repr))
    return (ran - began, written - ran, judged - written), digest.hexdigest()


if __name__ == "__main__":
    main()
