"""The same checks by Highwater, by DuckDB and by Polars, on the same files, in one run.

    python -m highwater_lab.benchmarks.comparison [--operations 100000 1000000] [--partitions 8]
                                [--master 'local[2]'] [--threads 2]

The histories are those of :mod:`.histories`, with anomalies planted. Five checks are compared: lost writes,
duplicates, reordered sends, divergence of three replicas, order of consumers. ``all checks`` are all of ours. Each
engine is a process of its own, so that its processor time and its peak of memory are its own; start and imports are in
it. Every engine must find what was planted, no more and no less; else the comparison ends with an error.

DuckDB and Polars are not dependencies: ``pip install duckdb polars``. What is missing is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from highwater_lab.benchmarks.comparison_engine import FIVE
from highwater_lab.benchmarks.histories import EXPECTED, write_store

ENGINES = (
    "highwater, five checks",
    "duckdb",
    "polars",
    "highwater on Spark, five checks",
    "highwater, all checks",
    "highwater on Spark, all checks",
)


@dataclass(frozen=True)
class Measured:
    """``memory``: the highest of all processes together (bytes); ``processor``: of all of them together (seconds). The
    processes of an engine are looked at ten times a second."""

    seconds: float
    processor: float
    memory: int


def main() -> None:
    """Write histories, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--planted", type=int, default=5, help="of each kind, in each partition")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--threads", type=int, default=2, help="of DuckDB and Polars, and processes of ours")
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--directory", type=Path, default=None, help="where the histories lie meanwhile")
    options = parser.parse_args()
    earlier: dict[str, tuple[int, float]] = {}
    for operations in options.operations:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            store = Path(directory) / "store"
            count = write_store(store, operations, partitions=options.partitions, planted=options.planted)
            size = sum(file.stat().st_size for file in store.rglob("*.parquet"))
            print(
                f"{count:,} operations in {options.partitions} partitions, {size / 2**20:,.0f} MiB,"
                f" load {os.getloadavg()[0]:.0f}",
                flush=True,
            )
            for engine in options.engines:
                if engine in ("duckdb", "polars") and importlib.util.find_spec(engine) is None:
                    print(f"  {engine:33s} is not installed")
                    continue
                found = _measure(engine, store, options)
                before = earlier.get(engine)
                growth = "" if before is None else f", grows as n^{_exponent(before, (count, found.processor)):.2f}"
                earlier[engine] = (count, found.processor)
                print(
                    f"  {engine:33s} {found.seconds:8.1f} s {count / found.seconds:11,.0f} operations/s;"
                    f" processor {found.processor:8.1f} s; memory {found.memory / 2**20:7,.0f} MiB{growth}",
                    flush=True,
                )


def _exponent(before: tuple[int, float], now: tuple[int, float]) -> float:
    return math.log(now[1] / before[1]) / math.log(now[0] / before[0])


def _measure(engine: str, store: Path, options: argparse.Namespace) -> Measured:
    about = {
        "engine": engine,
        "store": str(store),
        "master": options.master,
        "threads": options.threads,
    }
    environment = {**os.environ, "POLARS_MAX_THREADS": str(options.threads)}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "highwater_lab.benchmarks.comparison_engine", json.dumps(about)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    peak: list[int] = [0]
    used: dict[int, float] = {}
    watcher = threading.Thread(target=_watch, args=(process, peak, used))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - began
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{engine} ended with status {process.returncode}")
    counts = json.loads(output.decode().strip().splitlines()[-1])
    expected = expected_counts(options.planted * options.partitions, only=None if "all" in engine else FIVE)
    if counts != expected:
        raise SystemExit(f"{engine} found {counts}, expected {expected}")
    return Measured(seconds, sum(used.values()), peak[0])


def expected_counts(planted: int, only: tuple[str, ...] | None = None) -> dict[str, int]:
    """What must be found where each kind of anomaly was planted so often."""
    found = {name: sum(kinds.values()) * planted for name, kinds in EXPECTED.items()}
    return {name: count for name, count in found.items() if only is None or name in only}


def _watch(process: subprocess.Popen[bytes], peak: list[int], used: dict[int, float]) -> None:
    """Note the peak of memory, and the processor time of each process by its id."""
    while process.poll() is None:
        memory = 0
        try:
            for one in [(parent := psutil.Process(process.pid)), *parent.children(recursive=True)]:
                memory += one.memory_info().rss
                times = one.cpu_times()
                used[one.pid] = times.user + times.system
        except psutil.NoSuchProcess:
            pass
        peak[0] = max(peak[0], memory)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
