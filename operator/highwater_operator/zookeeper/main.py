"""``highwater-zookeeper``: a real ZooKeeper server in a pod, started and watched by a process that is like a node.

ZooKeeper itself knows no hold files, waits for no volume, and writes no ``myid``. This process does that, starts the
server, writes the node event of its start, and answers ``/healthz``, ``/readyz`` and ``/metrics`` for it: so agents,
probes and runners find in this pod what they find in every other one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from highwater_operator.zookeeper import java
from highwater_operator.zookeeper.identity import server_of
from highwater_operator.zookeeper.process import Facts, run_server
from highwater_runtime.host.config.properties import read_properties
from highwater_runtime.host.config.values import http_endpoint
from highwater_runtime.host.logs import NodeLog, configure
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.host.process.waiting import wait_to_begin

_DESCRIPTION: Final = (
    "Run a ZooKeeper server of a LogCluster until SIGTERM. Exit status: 0 stopped; 1 the server ended by itself, or"
    " cannot run; 2 the configuration cannot be used."
)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="highwater-zookeeper", description=_DESCRIPTION)
    parser.add_argument("config", metavar="CONFIG", type=Path, help="ZooKeeper's configuration file")
    parser.add_argument("--pod", required=True, metavar="NAME", help="the pod's name, such as demo-zookeeper-0")
    parser.add_argument("--wait-for", metavar="DIRECTORY", type=Path, help="start when this directory exists")
    parser.add_argument(
        "--hold-files", metavar="PREFIX", type=Path, help="start when no file has a path with this prefix"
    )
    parser.add_argument("--trace", metavar="FILE", type=Path, help="where the node event of the start is written")
    parser.add_argument("--admin", metavar="URL", help="where to serve /metrics, /healthz and /readyz")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="default: %(default)s")
    return parser.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """Run a server; returns the exit status of the process."""
    given = _arguments(argv)
    try:
        facts = _facts(given)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"highwater-zookeeper: {error}\n")
        return ExitStatus.BAD_CONFIG
    configure(given.log_format, component="zookeeper")
    log = NodeLog(facts.name)
    if not wait_to_begin(log, given.hold_files, given.wait_for):
        return ExitStatus.STOPPED
    try:
        return asyncio.run(run_server(facts, log))
    except OSError as error:
        log.error("cannot run", why=str(error))
        return ExitStatus.CRASHED


def _facts(given: argparse.Namespace) -> Facts:
    name, index = server_of(given.pod)
    properties = read_properties(given.config)
    absent = [key for key in ("dataDir", "clientPort") if key not in properties]
    if absent:
        raise ValueError(f"{given.config}: expected {' and '.join(absent)}")
    if absent := java.missing():
        raise ValueError(
            f"expected the packages libzookeeper-java and default-jre-headless; {', '.join(absent)} missing"
        )
    return Facts(
        name=name,
        index=index,
        config=given.config,
        data_dir=Path(properties["dataDir"].value),
        client_port=int(properties["clientPort"].value),
        trace=given.trace,
        admin=None if given.admin is None else http_endpoint(given.admin),
    )


def main() -> None:
    """Entry point of the process."""
    status = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
