"""What the brokers do: the table of goals measured, and the same load against Apache Kafka in the same run.

    python -m highwater_lab.benchmarks.broker [--seconds 3] [--rounds 3] [--without-apache-kafka]
                                [--event-loop asyncio|uvloop] [--brokers 3] [--warm 60] [--json FILE]

Three brokers and one controller of ours, then as many of Apache Kafka, as plain processes on loopback, both alive all
the time and loaded in turns; the load generator shares the machine with them. Before that each load warms Apache Kafka
for ``--warm`` seconds, for Java to compile what is hot, and ours for five of them. Loads, each on a topic of its own:

* one record a request (acks=1 on one replica, acks=all on all of them), 64 requests in flight;
* ten records a request, acks=all;
* bulk: batches of 64 KiB, records of 100 B and of 1 KiB, 8 in flight; then reading the latter back;
* the first record of a new topic, acks=all; every load on a topic begins behind its first record;
* latency: acks=all, 500 requests/s of one record, one at a time, counted from when each was due;
* memory: resident set of each broker at the end of all that.

Each figure is the median of ``--rounds`` rounds; ours and Apache Kafka's alternate within a round, so that the ratio
(ours to theirs) compares like with like. Processor time is that of the leader's process in user and kernel mode: on a
machine that others use as well it says more than rates and latencies do, though their use of the caches shows in it.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil

from highwater_lab.benchmarks.broker.load import (
    Produced,
    ProduceLoad,
    consume,
    create_topic,
    delete_topic,
    leader_of,
    produce,
    produce_at,
)
from highwater_lab.benchmarks.broker.table import Table
from highwater_lab.benchmarks.clusters import RunningCluster, apache_kafka, highwater, running
from highwater_lab.benchmarks.connection import Connection, LoadError
from highwater_runtime.ports import Endpoint

BULK_BYTES: Final = 64 * 1024
READ_BYTES: Final = 8 << 20
LONGEST_BULK: Final = 15.0
"""Seconds. A bulk load writes some 200 MB a second to each replica."""
_WRITTEN: Final = 1e9
"""Bytes a second that a bulk load writes at most, all replicas together."""
_SOON: Final = {"log.segment.delete.delay.ms": 100}
_GONE_WITHIN: Final = 60.0
RATE: Final = 500.0

Run = Callable[[Connection, ProduceLoad], Produced]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Brokers under load, beside Apache Kafka.")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each load lasts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--brokers", type=int, default=3, help="and as many replicas under acks=all; goals are for 3")
    parser.add_argument("--without-apache-kafka", action="store_true")
    parser.add_argument("--event-loop", choices=["asyncio", "uvloop"], default="asyncio")
    parser.add_argument("--warm", type=float, default=60.0, help="seconds of each load before; ours: 5 of them")
    parser.add_argument("--json", type=Path, help="write every round's figures to this file, too")
    arguments = parser.parse_args()
    table = Table()
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="highwater-benchmark-")))
        software = [highwater(arguments.event_loop)]
        if not arguments.without_apache_kafka:
            software.append(apache_kafka())
        _ensure_room(home, max(arguments.seconds, arguments.warm))
        clusters = [
            stack.enter_context(running(one, home, brokers=arguments.brokers, config=_SOON)) for one in software
        ]
        for cluster in clusters:
            print(f"warming {cluster.name}", file=sys.stderr)
            seconds = arguments.warm if cluster.name == "apache-kafka" else min(arguments.warm, 5.0)
            measure(cluster, Table(), "warm-up", seconds)
        for number in range(arguments.rounds):
            for cluster in clusters:
                print(f"round {number + 1} of {arguments.rounds}: {cluster.name}", file=sys.stderr)
                measure(cluster, table, f"round-{number}", arguments.seconds)
        for cluster in clusters:
            for broker, pid in cluster.pids.items():
                megabytes = psutil.Process(pid).memory_info().rss / 2**20
                table.add(cluster.name, f"memory of broker {broker}, resident", megabytes, "MiB")
    machine = (
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the end, Python {platform.python_version()}"
        f", {arguments.event_loop}; median of {arguments.rounds} rounds of {arguments.seconds:g} s each"
        f", after {arguments.warm:g} s of each load"
    )
    print(machine)
    table.show([cluster.name for cluster in clusters])
    if arguments.json is not None:
        table.save(arguments.json, machine)


def _ensure_room(home: Path, seconds: float) -> None:
    """Say how much disk space the largest load takes, and end where there is less."""
    needed, free = int(min(seconds, LONGEST_BULK) * _WRITTEN), shutil.disk_usage(home).free
    print(f"needs up to {needed / 1e9:.0f} GB in {home.parent}, which has {free / 1e9:.0f} GB", file=sys.stderr)
    if free < needed:
        sys.exit(
            "expected that much free space; found less: set TMPDIR to a larger disk, or shorten --seconds and --warm"
        )


def measure(cluster: RunningCluster, table: Table, tag: str, seconds: float) -> None:
    """Every load once, each on a topic of its own whose name begins with ``tag``."""
    name, everywhere = cluster.name, sorted(cluster.pids)
    placements = ((1, everywhere[:1]), (-1, everywhere))

    def many(to: Connection, load: ProduceLoad) -> Produced:
        return produce(to, load, seconds=seconds, in_flight=64)

    def few(to: Connection, load: ProduceLoad) -> Produced:
        return produce(to, load, seconds=min(seconds, LONGEST_BULK), in_flight=8)

    for acks, replicas in placements:
        layout, all_of_them = _layout_name(acks, replicas), acks < 0
        load = ProduceLoad(f"{tag}-single-{len(replicas)}-{acks}", 1, 100, acks)
        with _topic(cluster, load, replicas):
            done, cpu = _loaded(cluster, load, many)
        rate = done.requests / done.seconds
        table.add(name, f"1 record a request, {layout}", rate, "records/s", "≥ 20,000" if all_of_them else "")
        each = cpu / done.requests * 1e6
        table.add(name, "  leader's processor time for each", each, "µs", "≤ 25" if all_of_them else "≤ 20", of=layout)
    layout = _layout_name(-1, everywhere)
    load = ProduceLoad(f"{tag}-ten", 10, 100, -1)
    with _topic(cluster, load, everywhere):
        done, _ = _loaded(cluster, load, many)
    table.add(name, f"10 records a request, {layout}", done.requests * 10 / done.seconds, "records/s", "≥ 150,000")
    for acks, replicas in placements:
        layout, goal = _layout_name(acks, replicas), "≥ 600,000" if acks < 0 else "≥ 1,000,000"
        load = ProduceLoad(f"{tag}-bulk-100-{len(replicas)}-{acks}", BULK_BYTES // 100, 100, acks)
        with _topic(cluster, load, replicas):
            done, _ = _loaded(cluster, load, few)
        table.add(name, f"bulk, 100 B, {layout}", done.requests * load.records / done.seconds, "records/s", goal)
    for acks, replicas in placements:
        layout, goal = _layout_name(acks, replicas), "≥ 70" if acks < 0 else "≥ 300"
        load = ProduceLoad(f"{tag}-bulk-1024-{len(replicas)}-{acks}", BULK_BYTES // 1024, 1024, acks)
        with _topic(cluster, load, replicas):
            done, cpu = _loaded(cluster, load, few)
            megabytes = done.requests * BULK_BYTES / 1e6
            table.add(name, f"bulk, 1 KiB, {layout}", megabytes / done.seconds, "MB/s", goal)
            table.add(name, "  leader's processor time for a MB", cpu / megabytes * 1e6, "µs", of=layout)
            _read_back(cluster, table, load, layout)
    layout = _layout_name(-1, everywhere)
    load = ProduceLoad(f"{tag}-first", 1, 100, -1)
    with _topic(cluster, load, everywhere), Connection(_leader(cluster, load)[1]) as connection:
        first = produce_at(connection, load, seconds=1 / RATE, rate=RATE).quantile_ms(1)
    table.add(name, f"first record of a new topic, {layout}", first, "ms")
    load = ProduceLoad(f"{tag}-paced", 1, 100, -1)
    with _topic(cluster, load, everywhere):
        done, _ = _loaded(cluster, load, lambda to, load: produce_at(to, load, seconds=seconds, rate=RATE))
    table.add(name, f"latency at {RATE:g}/s, {layout}, p50", done.quantile_ms(0.5), "ms", "≤ 0.8")
    table.add(name, f"latency at {RATE:g}/s, {layout}, p99", done.quantile_ms(0.99), "ms", "≤ 10")


def _layout_name(acks: int, replicas: list[int]) -> str:
    return f"acks={'all' if acks < 0 else acks}, {len(replicas)} replica{'' if len(replicas) == 1 else 's'}"


def _read_back(cluster: RunningCluster, table: Table, load: ProduceLoad, layout: str) -> None:
    broker, endpoint = _leader(cluster, load)
    with Connection(endpoint) as connection:
        before = _processor_seconds(cluster.pids[broker])
        read, took = consume(connection, load.topic, max_bytes=READ_BYTES)
        cpu = _processor_seconds(cluster.pids[broker]) - before
    table.add(cluster.name, "  read back", read / took / 1e6, "MB/s", "≥ 600", of=layout)
    table.add(cluster.name, "  leader's processor time for a MB read", cpu / read * 1e12, "µs", of=layout)


def _leader(cluster: RunningCluster, load: ProduceLoad) -> tuple[int, Endpoint]:
    with Connection(cluster.bootstrap) as any_broker:
        found = leader_of(any_broker, load.topic)
    if found is None:
        raise LoadError(f"{load.topic} has lost its leader")
    return found[0], found[1]


@contextmanager
def _topic(cluster: RunningCluster, load: ProduceLoad, replicas: list[int]) -> Iterator[None]:
    """A load's topic, whose bytes have gone from all disks when the block ends."""
    create_topic(cluster.bootstrap, load.topic, replicas)
    yield
    delete_topic(cluster.bootstrap, load.topic)
    until = time.monotonic() + _GONE_WITHIN
    while left := [one for place in cluster.brokers for one in place.data.glob(f"{load.topic}-0*")]:
        if time.monotonic() > until:
            raise LoadError(f"{left[0]} is there {_GONE_WITHIN:g} s after its topic was deleted")
        time.sleep(0.1)


def _loaded(cluster: RunningCluster, load: ProduceLoad, run: Run) -> tuple[Produced, float]:
    """The load's outcome, and the leader's processor time meanwhile in seconds.

    One record goes before the load. A follower asks for a new partition once the fetch ends that it has under way, and
    that one waits up to ``replica.fetch.max.wait.ms`` for other partitions, in Apache Kafka as in ours. A load that
    began with this wait would be behind its rate from the start.
    """
    broker, endpoint = _leader(cluster, load)
    with Connection(endpoint) as connection:
        produce_at(connection, ProduceLoad(load.topic, 1, 100, load.acks), seconds=1 / RATE, rate=RATE)
        before = _processor_seconds(cluster.pids[broker])
        done = run(connection, load)
        return done, _processor_seconds(cluster.pids[broker]) - before


def _processor_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
