"""Which stories find which mutants: each experiment once without a bug, then once with each mutant that it reaches.

    python -m highwater_lab.benchmarks.mutants EXPERIMENT... [--only MUTANT ...] [--tries 6]

Runs each file at its own seed. Prints one line for each mutant that an experiment reached: found by which checks, or
not. A mutant is over when it is found, or when ``--tries`` experiments reached it and passed. A file that does not pass
without a mutant finds none: it is named and left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from highwater_chaos.campaign.plan import series_of_file
from highwater_chaos.campaign.seed import SeedJob, prepare_process, run_seed_job
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_lab.mutants import CATALOGUE, watching
from highwater_lab.mutated import run_mutated, series_of_mutant


def bugs() -> list[str]:
    """The names of the mutants that are not harmless."""
    return [name for name, mutant in CATALOGUE.items() if not mutant.harmless]


def tried(experiment: ChaosExperiment, names: list[str]) -> list[tuple[str, tuple[str, ...], float]]:
    """Each mutant that the experiment reaches, the checks that fail, none if it passes, and seconds of processor time.

    Raises:
        ValueError: the experiment does not pass without a mutant.
    """
    series = series_of_file(experiment, {}, until_failure=True)
    seed = experiment.spec.seed
    with watching(CATALOGUE.values()) as reached:
        without = run_seed_job(SeedJob(series.experiment, seed, series.text))
    if without.verdict != "pass":
        raise ValueError(f"{without.verdict} without a mutant: {without.anomalies} {without.reasons}")
    found = []
    for name in names:
        mutated = series_of_mutant(series, CATALOGUE[name])
        if name in reached and mutated is not None:
            outcome = run_mutated(SeedJob(series.experiment, seed, series.text, variant=name, mode=mutated.mode))
            failing = outcome.anomalies if outcome.verdict == "fail" else ()
            if outcome.verdict in ("error", "inconclusive"):
                print(f"# {name}: {outcome.verdict} in {series.experiment}: {outcome.reasons}", flush=True)
            found.append((name, failing, outcome.cpu_seconds))
    return found


def main() -> None:
    """Print a line for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="EXPERIMENT")
    parser.add_argument("--only", nargs="+", default=bugs(), choices=list(CATALOGUE), metavar="MUTANT")
    parser.add_argument("--tries", type=int, default=6)
    given = parser.parse_args()
    prepare_process()
    left = dict.fromkeys(given.only, given.tries)
    for file in given.files:
        experiment = load_experiment(file)
        try:
            pairs = tried(experiment, [name for name, tries in left.items() if tries])
        except ValueError as error:
            print(f"# {file}: {error}", flush=True)
            continue
        print(f"# {file}: reached {len(pairs)}", flush=True)
        for name, checks, seconds in pairs:
            verdict = ", ".join(checks) or "passed"
            print(f"{name}\t{file.stem}\t{experiment.spec.seed}\t{verdict}\t{seconds:.1f}", flush=True)
            left[name] = 0 if checks else left[name] - 1


if __name__ == "__main__":
    main()
