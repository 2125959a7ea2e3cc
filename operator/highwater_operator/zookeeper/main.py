"""``highwater-zookeeper``: a real ZooKeeper server in a pod (:mod:`highwater_operator.java_server`).

It writes the server's ``myid`` first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from highwater_operator.java_server import Facts, NotServingError, Watch, add_arguments, run_server
from highwater_operator.zookeeper import java
from highwater_operator.zookeeper.four_letter_words import Monitored, monitored
from highwater_operator.zookeeper.identity import server_of, write_identity
from highwater_operator.zookeeper.metrics import exposition
from highwater_runtime.host.config.properties import read_properties
from highwater_runtime.host.config.values import http_endpoint
from highwater_runtime.host.logs import NodeLog, configure
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.host.process.waiting import wait_to_begin
from highwater_runtime.ports import Endpoint

_ANSWERS_WITHIN_S: Final = 2.0
_DESCRIPTION: Final = (
    "Run a ZooKeeper server of a LogCluster until SIGTERM. Exit status: 0 stopped; 1 the server ended by itself, or"
    " cannot run; 2 the configuration cannot be used."
)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="highwater-zookeeper", description=_DESCRIPTION)
    parser.add_argument("config", metavar="CONFIG", type=Path, help="ZooKeeper's configuration file")
    parser.add_argument("--pod", required=True, metavar="NAME", help="the pod's name, such as demo-zookeeper-0")
    add_arguments(parser)
    return parser.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """Run a server; returns the exit status of the process."""
    given = _arguments(argv)
    try:
        name, index = server_of(given.pod)
        data_dir, port = _places(given.config)
        facts = Facts(
            name=name,
            role="zookeeper",
            command=java.command(given.config),
            trace=given.trace,
            admin=None if given.admin is None else http_endpoint(given.admin),
        )
    except (ValueError, OSError) as error:
        sys.stderr.write(f"highwater-zookeeper: {error}\n")
        return ExitStatus.BAD_CONFIG
    configure(given.log_format, component="zookeeper")
    log = NodeLog(facts.name)
    if not wait_to_begin(log, given.hold_files, given.wait_for):
        return ExitStatus.STOPPED
    try:
        write_identity(data_dir, index)
        return asyncio.run(run_server(facts, _watch(port), log))
    except OSError as error:
        log.error("cannot run", why=str(error))
        return ExitStatus.CRASHED


def _places(config: Path) -> tuple[Path, int]:
    """The data directory and the clients' port."""
    properties = read_properties(config)
    absent = [key for key in ("dataDir", "clientPort") if key not in properties]
    if absent:
        raise ValueError(f"{config}: expected {' and '.join(absent)}")
    if absent := java.missing():
        raise ValueError(
            f"expected the packages libzookeeper-java and default-jre-headless; {', '.join(absent)} missing"
        )
    return Path(properties["dataDir"].value), int(properties["clientPort"].value)


def _watch(port: int) -> Watch[Monitored]:
    async def look() -> Monitored:
        try:
            return await monitored(Endpoint("127.0.0.1", port), _ANSWERS_WITHIN_S)
        except NotServingError as error:
            raise NotServingError(f"the server is not part of a quorum: {error}") from error

    return Watch(look, every_s=0.5, fresh_s=5.0, exposition=exposition)


def main() -> None:
    """Entry point of the process."""
    status = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
