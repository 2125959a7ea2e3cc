"""The proxy before nodes of Apache Kafka (:mod:`highwater_runtime.host.proxy`).

    python -m highwater_lab.benchmarks.proxy cost [--seconds 5] [--rounds 7] [--brokers 3] [--warm 30]
    python -m highwater_lab.benchmarks.proxy soak [--minutes 30] [--seed N] [--out DIR]

``cost``: two clusters of Apache Kafka on loopback, alive all the time and loaded in turns, one behind proxies. Every
request of producers and followers goes through them. The loads have acks=all and ten records of 100 B a request: 5,000
records/s, one request at a time (rate, p50 and p99 from when each was due); and as much as goes through with 8
requests in flight. A figure is the median over rounds of the ratio with to without, of two loads that follow each
other. On a machine that does much else, the processor time that the leader's proxy takes for one request of the
producer, and for the followers' fetches that go with it, says more.

``soak``: an experiment with random rules about messages and kills on the backend ``local``. Prints the memory of the
proxies over time. Exits with 1 if the verdict is not ``pass``, or if the proxies that live at the end, which have been
there for a minute, have on average half as much again as after the first minute.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil

from highwater_chaos.backends.local.apache_kafka.proxying import behind_proxy, launched_by_proxy
from highwater_chaos.backends.local.layout import free_ports
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace
from highwater_lab.benchmarks.broker.load import Produced, ProduceLoad, create_topic, leader_of, produce, produce_at
from highwater_lab.benchmarks.clusters import RunningCluster, Software, apache_kafka, running
from highwater_lab.benchmarks.connection import Connection, LoadError
from highwater_lab.benchmarks.proxy.soak import soak

RECORDS: Final = 10
RATE: Final = 5_000
IN_FLIGHT: Final = 8
_PROCESSOR: Final = f"processor time of the leader's proxy in µs a request at {RATE} records/s"

Load = Callable[[Connection, ProduceLoad], Produced]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The proxy before nodes of Apache Kafka: its cost, and its memory.")
    commands = parser.add_subparsers(dest="command", required=True)
    of_cost = commands.add_parser("cost", help="rate and latency with the proxy and without")
    of_cost.add_argument("--seconds", type=float, default=5.0, help="how long each load lasts")
    of_cost.add_argument("--rounds", type=int, default=7)
    of_cost.add_argument("--brokers", type=int, default=3)
    of_cost.add_argument("--warm", type=float, default=30.0, help="seconds of each load before")
    of_soak = commands.add_parser("soak", help="random rules and kills, and memory over time")
    of_soak.add_argument("--minutes", type=float, default=30.0)
    of_soak.add_argument("--seed", type=int, default=1)
    of_soak.add_argument("--out", type=Path, default=Path("runs"))
    arguments = parser.parse_args()
    if arguments.command == "soak":
        sys.exit(soak(arguments.minutes, arguments.seed, arguments.out))
    cost(arguments.seconds, arguments.rounds, arguments.brokers, arguments.warm)


def cost(seconds: float, rounds: int, brokers: int, warm: float) -> None:
    """Print each round's figures and the medians of the ratios."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="highwater-benchmark-")))
        plain = apache_kafka()
        pair = [
            stack.enter_context(running(software, home, brokers=brokers)) for software in (plain, behind_proxies(plain))
        ]
        for cluster in pair:
            print(f"warming {cluster.name}", file=sys.stderr)
            measure(cluster, "warm-up", warm)
        ratios: dict[str, list[float]] = {}
        for number in range(rounds):
            # The first of a pair finds the machine as the last of the pair before left it: take turns.
            order = pair if number % 2 == 0 else pair[::-1]
            figures = {cluster.name: measure(cluster, f"round-{number}", seconds) for cluster in order}
            without, through = (figures[cluster.name] for cluster in pair)
            print(f"round {number + 1}: {_PROCESSOR}: {through.pop(_PROCESSOR):.0f}")
            without.pop(_PROCESSOR)
            for name, figure in without.items():
                ratios.setdefault(name, []).append(through[name] / figure)
                print(f"round {number + 1}: {name}: {figure:.2f} without, {through[name]:.2f} with")
    for name, found in ratios.items():
        print(
            f"{name}: with the proxy {statistics.median(found):.3f} of without ({min(found):.2f} to {max(found):.2f})"
        )


def measure(cluster: RunningCluster, tag: str, seconds: float) -> dict[str, float]:
    """Figures by what they are."""
    at_rate: Load = partial(produce_at, seconds=seconds, rate=RATE / RECORDS)
    at_most: Load = partial(produce, seconds=seconds, in_flight=IN_FLIGHT)
    steady, spent_s = _loaded(cluster, f"{tag}-steady", at_rate)
    most, _ = _loaded(cluster, f"{tag}-most", at_most)
    return {
        f"records/s of {RATE} offered": steady.requests * RECORDS / steady.seconds,
        f"p50 in ms at {RATE} records/s": steady.quantile_ms(0.5),
        f"p99 in ms at {RATE} records/s": steady.quantile_ms(0.99),
        f"records/s with {IN_FLIGHT} requests in flight": most.requests * RECORDS / most.seconds,
        _PROCESSOR: spent_s / steady.requests * 1e6,
    }


def behind_proxies(plain: Software) -> Software:
    """The same software with a proxy before each node."""

    def command(plan: ClusterPlan, place: NodePlace, incarnation: int) -> tuple[str, ...]:
        fronted = replace(place, peer_ports=tuple(free_ports(1)))
        inner = replace(fronted, bind=behind_proxy(fronted))
        return launched_by_proxy(plan, fronted, plain.command(plan, inner, incarnation))

    return Software(f"{plain.name} behind proxies", command)


def _loaded(cluster: RunningCluster, topic: str, run: Load) -> tuple[Produced, float]:
    """What came of the load, and seconds of processor time that the first process of the leader has taken."""
    create_topic(cluster.bootstrap, topic, [one.node_id for one in cluster.brokers])
    with Connection(cluster.bootstrap) as any_broker:
        found = leader_of(any_broker, topic)
    if found is None:
        raise LoadError(f"{topic} has no leader")
    load = ProduceLoad(topic, RECORDS, 100, -1)
    with Connection(found[1]) as connection:
        # Followers ask for a new partition once the fetch ends that they have under way.
        produce_at(connection, ProduceLoad(topic, 1, 100, -1), seconds=0.01, rate=100)
        leader = psutil.Process(cluster.pids[found[0]])
        before = leader.cpu_times()
        done = run(connection, load)
        after = leader.cpu_times()
    return done, after.user + after.system - before.user - before.system


if __name__ == "__main__":
    main()
