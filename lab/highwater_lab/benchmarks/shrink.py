"""What becomes of each switch's first failing seed when it is shrunk: a table of the laboratory's page.

    python -m highwater_lab.benchmarks.shrink [SWITCH=VALUE ...] [--seeds 200] [--runs 200] [--out DIR]

Runs the seeds of the file that is made for the switch until one fails, then shrinks that seed. Prints one line of the
table a switch. ``--out`` keeps the small experiments; each is run once more, which must fail in the same way.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from highwater_chaos.campaign.plan import Plan, series_of_file
from highwater_chaos.campaign.seed import Outcome, experiment_of, run_seed_job
from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.result import RunResult
from highwater_chaos.shrink import CannotShrinkError, Shrunk, Size, file_text, shrink
from highwater_chaos.shrink.trial import run_quietly
from highwater_pipeline.anomalies import BY_WEIGHT

SCENARIOS = Path(__file__).parents[3] / "scenarios/random"
FILES = {
    "replica-epoch-check=off": "late-messages",
    "stale-fetch-check=off": "late-fetches",
    "refusal-moves-epoch=off": "refused-proposals",
    "proposal-kept=off": "isr-proposals",
    "pre-vote=off": "quorum-of-five",
    "quorum-state-sync=off": "quorum-of-five",
    "read-offset=unconfirmed": "metadata-reads",
    "truncation-sync=off": "truncation-and-power",
    "init-leaderless-isr=on": "zookeeper-holes",
    "unclean-leader-election=on": "zookeeper-holes",
    "isr-expansion-rule=as-printed": "zookeeper-holes",
    "stray-cleanup=off": "zookeeper-topics",
    "controller-epoch-fencing=off": "zookeeper-late-commands",
    "stale-command-check=off": "zookeeper-late-copies",
    "truncation=to-high-watermark": "zookeeper-leaders-to-and-fro",
    "truncation=by-leader-epoch": "zookeeper-leaders-to-and-fro",
    "truncation=by-exact-leader-epoch": "zookeeper-leaders-to-and-fro",
}

COLUMNS = (
    "switch",
    "file, first failing seed",
    "anomaly",
    "steps",
    "nodes",
    "partitions",
    "records",
    "simulated seconds",
    "runs",
    "seconds to find",
    "seconds to shrink",
)


def first_failing(name: str, value: str, file: str, seeds: int) -> tuple[Plan, Outcome | None, int]:
    """The first failing seed, if there is one, and how many seeds were run."""
    experiment = load_experiment(SCENARIOS / f"{file}.yaml")
    series = series_of_file(experiment, {name: value}, until_failure=True)
    plan = Plan((series,), range(1, seeds + 1), ((name, value),))
    for seed in plan.seeds:
        outcome = run_seed_job(plan.unit(series, seed))
        if outcome.verdict == "fail":
            return plan, outcome, seed
    return plan, None, seeds


def processor_seconds() -> float:
    """Of this process and those that it has waited for."""
    return sum(os.times()[:4])


def line_of(switch: str, seeds: int, runs: int, out: Path | None) -> str:
    """The line of one switch."""
    name, _, value = switch.partition("=")
    file, began = FILES[switch], processor_seconds()
    plan, outcome, tried = first_failing(name, value, file, seeds)
    searched = processor_seconds() - began
    head = f"| `{switch}` | `{file}`"
    if outcome is None:
        return f"{head}, none of {tried} failed | | | | | | {searched:.0f} |"
    anomaly = next(one for one in BY_WEIGHT if one in outcome.anomalies)
    experiment = experiment_of(plan.unit(plan.series[0], outcome.seed))
    before, _ = run_quietly(experiment, wire=False)
    began = processor_seconds()
    try:
        shrunk = shrink(experiment, anomaly, most_runs=runs, wire=False, jobs=1, progress=partial(report, switch))
    except CannotShrinkError as error:
        return f"{head}, {outcome.seed} | {anomaly} | not shrunk: {error} | | | | {searched:.0f} |"
    took = processor_seconds() - began
    after, found = run_quietly(shrunk.experiment, wire=False)
    assert anomaly in found, f"{switch}: the small experiment does not show {anomaly} a second time"
    if out is not None:
        text = file_text(shrunk, f"{file} (seed {outcome.seed}, {switch})")
        (out / f"{switch}.yaml").write_text(text, encoding="utf-8")
    return f"{head}, {outcome.seed} | `{anomaly}` | {sizes(shrunk, before, after)} | {searched:.0f} | {took:.0f} |"


def report(switch: str, runs: int, size: Size) -> None:
    """Print how far it is, where it does not disturb the table."""
    print(f"{switch}: {runs} runs, {size}", file=sys.stderr, flush=True)


def sizes(shrunk: Shrunk, before: RunResult, after: RunResult) -> str:
    """The columns of what it was and what it is."""
    small, large = shrunk.after, shrunk.before
    runs = f"{shrunk.runs}{'' if shrunk.finished else ', all that were allowed'}"
    return (
        f"{large.steps} → {small.steps} | {large.nodes} → {small.nodes} | {large.partitions} → {small.partitions} |"
        f" {before.acknowledged} → {after.acknowledged} | {before.run_ns / 1e9:.0f} → {after.run_ns / 1e9:.0f} | {runs}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("switches", nargs="*", metavar="SWITCH=VALUE", help=f"by default {', '.join(FILES)}")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if unknown := [one for one in given.switches if one not in FILES]:
        parser.error(f"{unknown[0]!r}: expected one of {', '.join(FILES)}")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for switch in given.switches or FILES:
        print(line_of(switch, given.seeds, given.runs, given.out), flush=True)


if __name__ == "__main__":
    main()
