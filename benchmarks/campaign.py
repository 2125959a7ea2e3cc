"""What a campaign costs beside its seeds: processor time a seed, of seeds that do nothing.

    python benchmarks/campaign.py [--seeds 400]

Counts driver, workers and Spark's JVM, without their start. Compare with a second or so that a seed takes.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import psutil

from highwater_chaos.campaign.on_spark import BATCH, on_spark
from highwater_chaos.campaign.processes import on_processes
from highwater_chaos.campaign.seed import Outcome, Unit
from highwater_pipeline.spark import open_session

JOBS = 2


def nothing(unit: Unit) -> Outcome:
    """A seed that costs nothing."""
    return Outcome(unit.experiment, unit.seed, unit.mutant, "pass")


def processor_seconds() -> float:
    """Of this process and all below it, those that have ended included."""
    total = 0.0
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4] if process == me else process.cpu_times()[:2])
    return total


def measured(name: str, run: Callable[[Iterable[Unit]], Iterator[Any]], seeds: int) -> None:
    """Print what a seed costs between the first quarter of them and the end."""
    outcomes = run(Unit("nothing", seed) for seed in range(seeds))
    before = seeds // 4
    for _ in itertools.islice(outcomes, before):
        pass
    began = processor_seconds()
    left = 0
    for _ in outcomes:
        left += 1
        if left == seeds - before:
            break
    print(f"{name}: {(processor_seconds() - began) / left * 1000:.2f} ms of processor time a seed")


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=400)
    seeds = parser.parse_args().seeds
    with multiprocessing.get_context("fork").Pool(JOBS) as pool:
        measured("multiprocessing.Pool", lambda units: pool.imap_unordered(nothing, units), seeds)
    measured("on_processes", lambda units: on_processes(units, JOBS, nothing), seeds)
    with open_session(f"local[{JOBS}]") as spark:
        measured(f"on_spark, {BATCH} seeds a task", lambda units: on_spark(units, spark, BATCH, nothing), seeds)


if __name__ == "__main__":
    main()
