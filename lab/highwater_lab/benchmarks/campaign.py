"""What a campaign costs beside its seeds: processor time a seed, of seeds that do nothing, or of real ones.

    python -m highwater_lab.benchmarks.campaign [--seeds 400] [EXPERIMENT]

Counts driver, workers and Spark's JVM, without their start. With EXPERIMENT the same seeds of it are run in turns by
``multiprocessing.Pool``, by our processes and by Spark, and what matters is the ratio: other work on the machine slows
all three down.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from highwater_chaos.campaign.on_spark import BATCH, batch_size, on_spark
from highwater_chaos.campaign.processes import on_processes
from highwater_chaos.campaign.seed import Outcome, SeedJob, prepare_process, run_seed_job
from highwater_pipeline.spark import open_session

JOBS = 2


def nothing(unit: SeedJob) -> Outcome:
    """A seed that costs nothing."""
    return Outcome(unit.experiment, unit.seed, unit.variant, "pass")


def processor_seconds() -> float:
    """Of this process and all below it, those that have ended included."""
    total = 0.0
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4] if process == me else process.cpu_times()[:2])
    return total


def in_turns(
    engines: dict[str, Callable[[Iterable[SeedJob]], Iterator[Any]]], text: str, seeds: int, turns: int
) -> None:
    """Print the processor and wall time of the same seeds on each engine, and how much more than the first it is."""
    spent = dict.fromkeys(engines, (0.0, 0.0))
    for turn in range(-1, turns):
        for name, run in engines.items():
            first = (turn + 1) * seeds // turns
            units = [SeedJob("timed", seed, text) for seed in range(first, first + max(1, seeds // turns))]
            began, began_wall = processor_seconds(), time.monotonic()
            outcomes = list(run(units))
            assert len(outcomes) == len(units)
            if turn >= 0:  # the first one imports and warms up
                cpu, wall = spent[name]
                spent[name] = cpu + processor_seconds() - began, wall + time.monotonic() - began_wall
    (plain, plain_wall), *_ = spent.values()
    for name, (cpu, wall) in spent.items():
        print(
            f"{name}: {cpu / seeds * 1000:.0f} ms of processor time a seed ({(cpu / plain - 1) * 100:+.1f} %),"
            f" {seeds / wall * 60:.0f} seeds a minute ({(plain_wall / wall - 1) * 100:+.1f} %)"
        )


def measured(name: str, run: Callable[[Iterable[SeedJob]], Iterator[Any]], seeds: int) -> None:
    """Print what a seed costs between the first quarter of them and the end."""
    outcomes = run(SeedJob("nothing", seed) for seed in range(seeds))
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
    parser.add_argument("experiment", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--turns", type=int, default=1, help="our processes start anew in each")
    given = parser.parse_args()
    text = given.experiment.read_text(encoding="utf-8") if given.experiment else ""
    run = run_seed_job if text else nothing
    with (
        multiprocessing.get_context("fork").Pool(JOBS, prepare_process) as pool,
        open_session(f"local[{JOBS}]") as spark,
    ):
        engines: dict[str, Callable[[Iterable[SeedJob]], Iterator[Any]]] = {
            "multiprocessing.Pool": lambda units: pool.imap_unordered(run, units),
            "on_processes": lambda units: on_processes(units, JOBS, run),
            "on_spark": lambda units: on_spark(
                units, spark, batch_size(given.seeds // given.turns, JOBS) if text else BATCH, run
            ),
        }
        if text:
            in_turns(engines, text, given.seeds, given.turns)
            return
        for name, engine in engines.items():
            measured(name, engine, given.seeds)


if __name__ == "__main__":
    main()
