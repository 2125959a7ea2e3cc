"""How cost grows with what exists: ours beside Apache Kafka, in one run.

    python -m highwater_lab.benchmarks.scale partitions [--partitions 10,3000] [--minutes 5] [--without-apache-kafka]
    python -m highwater_lab.benchmarks.scale members|producer-ids|connections|controller-records [--sizes 10,100,1000]
    python -m highwater_lab.benchmarks.scale simulator [--partitions 10,100,1000]
    python -m highwater_lab.benchmarks.scale COMMAND --help

Every command prints one table: a line for each size, ours, Apache Kafka's and their ratio, then the exponent with
which the figure grows (0: it does not; 1: as the size does). Processor times are those of the nodes in user and kernel
mode: on a machine that others use as well they say more than times do.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final, NoReturn

from highwater_lab.benchmarks.clusters import Software, apache_kafka, highwater
from highwater_lab.benchmarks.connection import LoadError
from highwater_lab.benchmarks.scale import partitions, simulated, things
from highwater_lab.benchmarks.scale.partitions import say
from highwater_lab.benchmarks.scale.table import Table, save

QUICK: Final = (10, 100, 1000)


def main() -> int:
    """Measure, print, write."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    arguments = _arguments()
    began = time.monotonic()
    table: Table = arguments.table()
    software = _software(arguments)
    failed = False
    try:
        failed = arguments.run(arguments, software, table)
    except KeyboardInterrupt:
        print("interrupted: what was measured until then", file=sys.stderr)
        failed = True
    finally:
        machine = (
            f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the end, Python"
            f" {platform.python_version()}, {time.strftime('%Y-%m-%d')}, {time.monotonic() - began:.0f} s"
        )
        print(machine)
        print("\n".join(table.lines([one.name for one in software])))
        if arguments.json is not None:
            save(arguments.json, machine, [table])
    return 1 if failed else 0


def _partitions(arguments: Any, software: Sequence[Software], table: Table) -> bool:
    failed = False
    for size in arguments.partitions:
        for one in software:
            plan = partitions.Plan(
                stable=arguments.minutes * 60,
                warm=_warm(arguments, one),
                idle=arguments.idle,
                rate=arguments.rate,
                patience=arguments.patience,
                brokers=arguments.brokers,
                topics=arguments.topics,
                session=arguments.session,
                failures=not arguments.without_failures,
            )
            with TemporaryDirectory(prefix="highwater-scale-", dir=arguments.directory) as home:
                try:
                    partitions.measure(one, Path(home), size, plan, table)
                except (LoadError, OSError) as error:
                    say(f"{one.name}, {size} partitions: given up: {error}")
                    failed = True
    return failed


def _warm(arguments: Any, software: Software) -> float:
    """A JVM needs a minute to compile what is hot."""
    seconds: float = arguments.warm
    return seconds if software.name == "apache-kafka" else min(seconds, 5.0)


def _things(arguments: Any, software: Sequence[Software], table: Table) -> bool:
    failed = False
    for size in arguments.sizes:
        for one in software:
            with TemporaryDirectory(prefix="highwater-scale-", dir=arguments.directory) as home:
                try:
                    things.measure(
                        things.KINDS[arguments.command],
                        one,
                        Path(home),
                        size,
                        table,
                        things.Times(_warm(arguments, one), arguments.idle, arguments.patience),
                    )
                except (LoadError, OSError) as error:  # a timeout is an OSError
                    say(f"{one.name}, {size} {table.of_what}: given up: {error or type(error).__name__}")
                    failed = True
    return failed


def _simulator(arguments: Any, software: Sequence[Software], table: Table) -> bool:
    del software
    return simulated.measure(arguments.partitions, arguments.codec, table)


def _software(arguments: Any) -> list[Software]:
    if arguments.command == "simulator":
        return [Software("simulator", lambda _plan, _place, _incarnation: ())]
    found = [highwater(arguments.event_loop)]
    if not arguments.without_apache_kafka:
        found.append(apache_kafka())
    return found


def _arguments() -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m highwater_lab.benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)

    of_partitions = _command(commands, "partitions", partitions.__doc__)
    of_partitions.set_defaults(run=_partitions, table=lambda: Table("partitions"))
    _sizes(of_partitions, "how many partitions, one cluster for each number")
    of_partitions.add_argument("--minutes", type=float, default=5.0, help="how long the cluster has to stay as it is")
    of_partitions.add_argument("--rate", type=float, default=1000.0, help="records a second meanwhile, acks=all")
    of_partitions.add_argument("--idle", type=float, default=20.0, help="seconds to measure without a load")
    of_partitions.add_argument("--topics", type=int, default=1, help="divide the partitions among so many topics")
    of_partitions.add_argument("--brokers", type=int, default=3, help="as many replicas, too")
    of_partitions.add_argument("--session", type=float, default=9.0, help="seconds of broker.session.timeout.ms")
    of_partitions.add_argument("--without-failures", action="store_true", help="do not kill, do not restart")
    _of_clusters(of_partitions)

    for name, kind in things.KINDS.items():
        of_things = _command(commands, name, f"{kind.about}\n\n{things.__doc__}")
        of_things.set_defaults(run=_things, table=partial(Table, name))
        of_things.add_argument("--sizes", type=_numbers, default=kind.sizes, metavar="N,N", help="how many of them")
        of_things.add_argument("--idle", type=float, default=10.0, help="seconds in which nothing new happens")
        _of_clusters(of_things)

    of_simulator = _command(commands, "simulator", simulated.__doc__)
    of_simulator.set_defaults(run=_simulator, table=lambda: Table("partitions"))
    _sizes(of_simulator, "how many partitions, one experiment for each number")
    of_simulator.add_argument("--codec", choices=("some", "all"), default="some", help="which messages are encoded")
    return parser.parse_args()


def _command(commands: Any, name: str, text: str | None) -> Any:
    assert text is not None
    command = commands.add_parser(
        name,
        help=text.partition("\n")[0],
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--json", type=Path, help="write every figure to this file, too")
    return command


def _sizes(command: Any, what: str) -> None:
    command.add_argument("--partitions", type=_numbers, default=QUICK, metavar="N,N", help=what)


def _of_clusters(command: Any) -> None:
    command.add_argument("--without-apache-kafka", action="store_true", help="ours alone")
    command.add_argument("--event-loop", choices=("asyncio", "uvloop"), default="asyncio", help="of our nodes")
    command.add_argument(
        "--warm", type=float, default=60.0, help="seconds of load before, to warm up; ours gets 5 of them at most"
    )
    command.add_argument("--patience", type=float, default=120.0, help="seconds after which a wait is given up")
    command.add_argument("--directory", type=Path, help="where nodes keep their data (a new directory in it)")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(word.replace("_", "")) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"expected positive numbers with commas between them, found {text!r}")
    return found


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
