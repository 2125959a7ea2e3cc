"""What being watched costs: figures, never a timed test.

    python -m highwater_lab.benchmarks.watching

1. A scrape of the harness with three brokers of 1,000 partitions each, above and below the limit of series.
2. A run with and without ``--metrics`` and a scrape each second, in pairs: processor time and the acknowledged rate.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from highwater_chaos.backends.local.layout import free_ports
from highwater_chaos.backends.protocol import MetricRow, NodeState
from highwater_chaos.monitoring import RunMetrics
from highwater_runtime.broker.metrics import COUNTERS, GAUGES, PARTITION_GAUGES

_TIMES = 20


def samples(partitions: int, *, with_series: bool, changed: int = 0) -> list[MetricRow]:
    """What three brokers say. A third of the metrics of partitions have ``changed`` as their value, the others 1."""
    rows = []
    for broker in range(3):
        node = f"broker-{broker}"
        rows += [MetricRow(0, node, 1, name, {}, 1.0) for name in (*COUNTERS, *GAUGES)]
        rows += [
            MetricRow(
                0,
                node,
                1,
                name,
                {"topic": "orders", "partition": str(index)},
                1.0 if at % 3 else float(changed + index),
            )
            for at, name in enumerate(PARTITION_GAUGES if with_series else ())
            for index in range(partitions)
        ]
    return rows


def scrapes() -> None:
    """Processor time of the first scrape of a run, of one of the next sample, and of another one of the same."""
    for partitions, with_series in ((1_000, False), (500, True), (1_000, True)):
        spent: dict[str, list[float]] = {"first scrape": [], "next sample": [], "again": []}
        lines = 0
        for _ in range(_TIMES):
            metrics, run = RunMetrics(), fake_run(samples(partitions, with_series=with_series))
            later = samples(partitions, with_series=with_series, changed=1)
            for name, took in spent.items():
                if name == "next sample":
                    run.latest = tuple(later)
                    metrics._look(run)
                elif name == "first scrape":
                    metrics.turn(run)
                began = time.thread_time()
                lines = metrics.exposition().count(b"\n")
                took.append(time.thread_time() - began)
        series = "with" if with_series else "without"
        print(
            f"3 brokers, {partitions} partitions {series} series of their own: {lines} lines, "
            + ", ".join(f"{name} {statistics.median(took) * 1e3:.1f} ms" for name, took in spent.items())
        )


def fake_run(rows: list[MetricRow]) -> Any:
    """A run at one moment: only what is read of it."""
    return SimpleNamespace(
        experiment=SimpleNamespace(metadata=SimpleNamespace(name="bench")),
        backend="local",
        phase="fault",
        faults=(),
        latest=tuple(rows),
        node_state=lambda _: NodeState.UP,
        clients=lambda: SimpleNamespace(acknowledged=1, open=0),
    )


EXPERIMENT = {
    "apiVersion": "highwater.dev/v1alpha1",
    "kind": "ChaosExperiment",
    "metadata": {"name": "bench"},
    "spec": {
        "timeout": "2m",
        "cluster": {"brokers": 3, "topics": [{"name": "orders", "partitions": 4, "replicationFactor": 3}]},
        "workload": {"producers": 4, "rate": "20000/s", "consumers": 1},
        "schedule": [{"wait": "8s"}],
    },
}


def one_run(folder: Path, watched: bool) -> tuple[float, float]:
    """The acknowledged rate and the processor seconds, of the harness and its nodes, of one run."""
    (port,) = free_ports(1)
    over = threading.Event()
    scraper = threading.Thread(target=scrape, args=(f"http://127.0.0.1:{port}/metrics", over), daemon=True)
    before = os.times()
    option = ["--metrics", f"127.0.0.1:{port}"] if watched else []
    if watched:
        scraper.start()
    code = "import sys; from highwater_chaos.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "bench.yaml", "--backend", "local", "--json", *option],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    over.set()
    after = os.times()
    found = json.loads((folder / json.loads(done.stdout)["runs"][0]["dir"] / "verdict.json").read_text())
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return found["load"]["acknowledgedPerSecond"], spent


def scrape(url: str, over: threading.Event) -> None:
    """Once a second, as a Prometheus would."""
    while not over.wait(1):
        with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            answer.read()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs; 0: scrapes only (default: %(default)s)")
    pairs = parser.parse_args().pairs
    scrapes()
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.yaml").write_text(yaml.safe_dump(EXPERIMENT))
        for pair in range(pairs):
            found = {watched: one_run(folder, watched) for watched in ((False, True) if pair % 2 else (True, False))}
            ratios.append(found[True][0] / found[False][0])
            for watched in (False, True):
                rate, spent = found[watched]
                print(
                    f"pair {pair + 1}, {'watched' if watched else 'alone'}: {rate:.0f}/s, {spent:.1f} s of processors"
                )
    if ratios:
        print(f"acknowledged rate, watched / alone: median {statistics.median(ratios):.3f} of {ratios}")


if __name__ == "__main__":
    main()
