"""``highwater-node``: one broker or controller, in a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from highwater_runtime.config import ConfigError
from highwater_runtime.host.config.file import NodeSettings, read_settings
from highwater_runtime.host.logs import NodeLog, configure
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.host.process.node_process import run_process
from highwater_runtime.host.process.waiting import wait_to_begin
from highwater_runtime.host.security import node_security

_EPILOGUE: Final = """\
the configuration file has Java's properties format and Kafka's names. A minimal file for a broker:

  process.roles=broker
  node.id=0
  cluster.id=highwater-cluster-0001
  controller.quorum.voters=1000@127.0.0.1:9093
  listeners=PLAINTEXT://127.0.0.1:9092
  log.dirs=/var/lib/highwater/broker-0

in ZooKeeper mode, zookeeper.connect=127.0.0.1:2181 stands in the place of controller.quorum.voters
(and needs pip install 'highwater-chaos[zookeeper]')

signals:
  SIGTERM, SIGINT   stop cleanly: move leaderships, flush, exit. A second signal: exit at once

exit status:
  0   stopped cleanly
  1   disk failure, halt, bug, address or data directory in use, or a second signal; the log says which
  2   the configuration cannot be used; standard error has one line for each error
"""


def run_node(arguments: Sequence[str] | None = None) -> int:
    """Run a node; returns the exit status of the process."""
    parser = argparse.ArgumentParser(
        prog="highwater-node",
        description="Run one Highwater broker or controller.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("config", metavar="CONFIG", type=Path, help="the configuration file")
    parser.add_argument("--check", action="store_true", help="check the configuration and exit")
    parser.add_argument(
        "--wait-for",
        metavar="DIRECTORY",
        type=Path,
        help="start when this directory exists: another process mounts it",
    )
    parser.add_argument(
        "--hold-files",
        metavar="PREFIX",
        type=Path,
        help="start when no file has a path with this prefix: such a file keeps the node down",
    )
    parser.add_argument(
        "--log-level",
        default="INFO",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
        help="the lowest level that is logged (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        settings = read_settings(options.config)
        security = node_security(settings)
        loop_factory = _loop_factory(settings)
        _check_kazoo(settings)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return ExitStatus.BAD_CONFIG
    if options.check:
        return ExitStatus.STOPPED
    configure(settings.log_format, level=options.log_level)
    log = NodeLog(settings.name)
    if not wait_to_begin(log, options.hold_files, options.wait_for):
        return ExitStatus.STOPPED
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(run_process(settings, security))
    except OSError as error:
        log.error("cannot run", why=str(error))
        return ExitStatus.CRASHED


def _loop_factory(settings: NodeSettings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if settings.event_loop == "asyncio":
        return None
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        raise ConfigError(
            "highwater.event.loop=uvloop: expected uvloop to be installed; pip install 'highwater-chaos[uvloop]'"
        ) from None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _check_kazoo(settings: NodeSettings) -> None:
    if settings.zookeepers and importlib.util.find_spec("kazoo") is None:
        raise ConfigError("zookeeper.connect: expected kazoo to be installed; pip install 'highwater-chaos[zookeeper]'")


def main() -> None:
    """Entry point of the process. Does not wait for an fsync that hangs in a thread: the disk's fate is the disk's."""
    status = run_node()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
