"""What the brokers do: the table of goals measured, and the same load against Apache Kafka in the same run.

    python -m benchmarks.broker [--seconds 3] [--rounds 3] [--without-apache-kafka] [--event-loop asyncio|uvloop]

Three brokers and one controller of ours, then as many of Apache Kafka, as plain processes on loopback, both alive all
the time and loaded in turns; the load generator shares the machine with them. Rows:

* one record a request (acks=1, acks=all), 64 requests in flight: requests/s, and the leader's processor time for each;
* ten records a request, acks=all;
* bulk: batches of 64 KiB, records of 100 B and of 1 KiB, 8 in flight; then reading it all back;
* latency: acks=all, 500 requests/s of one record, one at a time;
* memory: resident set of a broker at the end of all that.

Each figure is the median of ``--rounds`` rounds; ours and Apache Kafka's alternate within a round, so that the ratio
compares like with like. Processor time is that of the leader's process in user and kernel mode.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil
from benchmarks.broker.clusters import RunningCluster, apache_kafka_cluster, highwater_cluster
from benchmarks.broker.load import (
    Connection,
    LoadError,
    Produced,
    ProduceLoad,
    consume,
    create_topic,
    leader_of,
    produce,
    produce_at,
)

from highwater_runtime.ports import Endpoint

BULK_BYTES: Final = 64 * 1024


@dataclass(slots=True)
class Row:
    """One line of the table: the figures of each cluster, by its name."""

    what: str
    unit: str
    goal: str
    figures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, cluster: str, figure: float) -> None:
        """One more round."""
        self.figures.setdefault(cluster, []).append(figure)

    def line(self, clusters: Sequence[str]) -> str:
        """The row as text, with the ratio of the first to the second cluster where there are two."""
        medians = [statistics.median(self.figures[name]) for name in clusters]
        cells = "".join(f"{median:>14,.{0 if median >= 100 else 2}f}" for median in medians)
        ratio = f"{medians[0] / medians[1]:>9.2f}x" if len(medians) > 1 and medians[1] else " " * 10
        return f"{self.what:<44}{cells}{ratio}  {self.unit:<12}{self.goal}"


class Table:
    """Rows in the order in which they were first measured."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, cluster: str, what: str, figure: float, unit: str, goal: str = "") -> None:
        """One figure of one round."""
        self._rows.setdefault(what, Row(what, unit, goal)).add(cluster, figure)

    def show(self, clusters: Sequence[str]) -> None:
        """Print everything."""
        heads = "".join(f"{name:>14}" for name in clusters)
        print(f"{'':<44}{heads}{'ratio':>10}  {'unit':<12}goal")
        for row in self._rows.values():
            print(row.line(clusters))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Brokers under load, beside Apache Kafka.")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each load lasts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-apache-kafka", action="store_true")
    parser.add_argument("--event-loop", choices=["asyncio", "uvloop"], default="asyncio")
    arguments = parser.parse_args()
    table = Table()
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="highwater-benchmark-")))
        clusters = [stack.enter_context(highwater_cluster(home / "highwater", event_loop=arguments.event_loop))]
        if not arguments.without_apache_kafka:
            clusters.append(stack.enter_context(apache_kafka_cluster(home / "apache-kafka")))
        for cluster in clusters:
            # Warm both up: Java compiles what is hot, Python specialises it.
            _measure(cluster, Table(), "warm-up", arguments.seconds)
        for number in range(arguments.rounds):
            for cluster in clusters:
                print(f"round {number + 1} of {arguments.rounds}: {cluster.name}", file=sys.stderr)
                _measure(cluster, table, f"round-{number}", arguments.seconds)
        for cluster in clusters:
            for broker, pid in cluster.pids.items():
                megabytes = psutil.Process(pid).memory_info().rss / 2**20
                table.add(cluster.name, f"memory of broker {broker}, resident", megabytes, "MiB")
        table.show([cluster.name for cluster in clusters])


def _measure(cluster: RunningCluster, table: Table, tag: str, seconds: float) -> None:
    """Every load once, each on a topic of its own."""
    name = cluster.name
    for acks, replicas, goal in ((1, [0], "≤ 20 µs"), (-1, [0, 1, 2], "≤ 25 µs")):
        said = f"acks={'all' if acks < 0 else acks}, {len(replicas)} replica{'s' if len(replicas) > 1 else ''}"
        load = ProduceLoad(f"{tag}-single-{len(replicas)}", 1, 100, acks)
        done, cpu = _loaded(cluster, load, replicas, lambda c, p: produce(c, p, seconds=seconds, in_flight=64))
        table.add(name, f"1 record a request, {said}", done.requests / done.seconds, "records/s", _rate_goal(acks))
        table.add(name, f"  leader's CPU for each, {said}", cpu / done.requests * 1e6, "µs", goal)
    load = ProduceLoad(f"{tag}-ten", 10, 100, -1)
    done, _ = _loaded(cluster, load, [0, 1, 2], lambda c, p: produce(c, p, seconds=seconds, in_flight=64))
    table.add(
        name, "10 records a request, acks=all, 3 replicas", done.requests * 10 / done.seconds, "records/s", "≥ 150,000"
    )
    for size in (100, 1024):
        for acks, replicas in ((1, [0]), (-1, [0, 1, 2])):
            said = f"acks={'all' if acks < 0 else acks}, {len(replicas)} replica{'s' if len(replicas) > 1 else ''}"
            load = ProduceLoad(f"{tag}-bulk-{size}-{len(replicas)}", BULK_BYTES // size, size, acks)
            done, _ = _loaded(cluster, load, replicas, lambda c, p: produce(c, p, seconds=seconds, in_flight=8))
            records = done.requests * load.records / done.seconds
            if size == 100:
                goal = "≥ 1,000,000" if acks == 1 else "≥ 600,000"
                table.add(name, f"bulk, {size} B, {said}", records, "records/s", goal)
            else:
                goal = "≥ 300" if acks == 1 else "≥ 70"
                table.add(name, f"bulk, 1 KiB, {said}", records * size / 1e6, "MB/s", goal)
                with Connection(_leader(cluster, load.topic)[1]) as connection:
                    read, took = consume(connection, load.topic, max_bytes=8 << 20)
                table.add(name, f"  read back, {said}", read / took / 1e6, "MB/s", "≥ 600")
    load = ProduceLoad(f"{tag}-paced", 1, 100, -1)
    done, _ = _loaded(cluster, load, [0, 1, 2], lambda c, p: produce_at(c, p, seconds=seconds, rate=500.0))
    table.add(name, "latency at 500/s, acks=all, 3 replicas, p50", done.quantile_ms(0.5), "ms", "≤ 0.8")
    table.add(name, "latency at 500/s, acks=all, 3 replicas, p99", done.quantile_ms(0.99), "ms", "≤ 10")


def _rate_goal(acks: int) -> str:
    return "≥ 20,000" if acks < 0 else ""


def _leader(cluster: RunningCluster, topic: str) -> tuple[int, Endpoint]:
    with Connection(cluster.bootstrap) as any_broker:
        found = leader_of(any_broker, topic)
    if found is None:
        raise LoadError(f"{topic} has lost its leader")
    return found[0], found[1]


def _loaded(
    cluster: RunningCluster,
    load: ProduceLoad,
    replicas: list[int],
    run: Callable[[Connection, ProduceLoad], Produced],
) -> tuple[Produced, float]:
    """The load's outcome, and the leader's processor time meanwhile in seconds."""
    create_topic(cluster.bootstrap, load.topic, replicas)
    broker, endpoint = _leader(cluster, load.topic)
    process = psutil.Process(cluster.pids[broker])
    with Connection(endpoint) as connection:
        before = process.cpu_times()
        done = run(connection, load)
        after = process.cpu_times()
    return done, (after.user + after.system) - (before.user + before.system)


if __name__ == "__main__":
    main()
