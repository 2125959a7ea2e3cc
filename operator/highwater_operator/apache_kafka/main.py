"""``highwater-kafka``: a node of Apache Kafka in a pod (:mod:`highwater_operator.java_server`).

It formats the disk of a new node, as ``kafka-storage format`` does (in ZooKeeper mode a broker does so itself), and
starts the JVM, behind a proxy that takes rules about messages (:mod:`highwater_runtime.host.proxy.main`). The proxy has
the port that others know, and the node listens on the loopback address. A node whose peers speak TLS has no proxy. What
the node logs for the harness is appended to the file of node events.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from highwater_chaos.apache_kafka.disks import format_disk, is_formatted
from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import Installation, exporter_jar, installed
from highwater_chaos.apache_kafka.node_config import jvm_options_of_pod
from highwater_chaos.apache_kafka.node_logging import OBSERVER, lines_known, log4j2_properties_of_pod
from highwater_chaos.apache_kafka.versions import Mode, default_metadata_version, why_not_in_pods
from highwater_operator.apache_kafka.metrics import RULES, metrics_of, why_unready
from highwater_operator.java_server import Facts, Watch, add_arguments, run_server
from highwater_pipeline.java import JavaNotFoundError
from highwater_runtime.host.config.properties import Property, bounded_bytes, read_properties
from highwater_runtime.host.config.values import http_endpoint
from highwater_runtime.host.logs import NodeLog, configure
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.host.process.waiting import wait_to_begin

_DESCRIPTION: Final = (
    "Run a node of Apache Kafka of a LogCluster until SIGTERM. Exit status: 0 stopped; 1 the node ended by itself, or"
    " cannot run; 2 the configuration cannot be used."
)
_POD: Final = re.compile(r".*-((broker|controller)-[0-9]{1,9})")
_NEEDED: Final[Mapping[Mode, Sequence[str]]] = {"kraft": ("node.id", "process.roles"), "zookeeper": ("broker.id",)}
_MOST_CREDENTIALS: Final = 4096
_MOST_BROKERS: Final = 100
_MOST_CONTROLLERS: Final = 5
_LOOK_EVERY_S: Final = 2.0
_FRESH_S: Final = 10.0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="highwater-kafka", description=_DESCRIPTION)
    parser.add_argument("config", metavar="CONFIG", type=Path, help="the node's server.properties")
    parser.add_argument("--pod", required=True, metavar="NAME", help="the pod's name, such as demo-broker-0")
    parser.add_argument("--release", required=True, metavar="RELEASE", help="of Apache Kafka, such as 3.4.1")
    parser.add_argument(
        "--cluster-id", metavar="ID", help="what a new disk is formatted for; not in ZooKeeper mode, which keeps it"
    )
    parser.add_argument("--metadata-version", metavar="VERSION", help="that a new cluster begins with")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="where peers and clients connect, to a proxy that takes rules about messages; absent: to the node itself,"
        " as with TLS, which no proxy can read",
    )
    parser.add_argument("--control", metavar="PATH", help="with --listen: the socket for rules about messages")
    parser.add_argument(
        "--credentials", metavar="FILE", type=Path, help="a user of SCRAM that a new cluster begins with"
    )
    add_arguments(parser)
    return parser.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """Run a node; returns the exit status of the process."""
    given = _arguments(argv)
    try:
        name, role = _node(given.pod)
        properties = read_properties(given.config)
        mode = _mode(given, properties)
        installation, exporter = installed(given.release), exporter_jar()
        admin = None if given.admin is None else http_endpoint(given.admin)
    except (ValueError, OSError, ApacheKafkaUnavailableError, JavaNotFoundError) as error:
        sys.stderr.write(f"highwater-kafka: {error}\n")
        return ExitStatus.BAD_CONFIG
    configure(given.log_format, component="kafka")
    log = NodeLog(name)
    if not wait_to_begin(log, given.hold_files, given.wait_for):
        return ExitStatus.STOPPED
    with tempfile.TemporaryDirectory(prefix="highwater-kafka-") as scratch:
        try:
            port = _free_port()
            if mode == "kraft":
                _format(installation, given, properties, Path(scratch), log)
            options = _options(Path(scratch), role, mode, given, (exporter, port))
            node = installation.command("kafka.Kafka", str(given.config), options=options)
            command = node if given.listen is None else (*_proxy(name, given, properties), "--", *node)
            watch = Watch(
                lambda: metrics_of(port),
                _LOOK_EVERY_S,
                _FRESH_S,
                lambda metrics: metrics or b"",
                lambda metrics: why_unready(role, metrics),
            )
            return asyncio.run(run_server(Facts(name, role, command, given.trace, admin), watch, log))
        except (OSError, ApacheKafkaUnavailableError) as error:
            log.error("cannot run", why=str(error))
            return ExitStatus.CRASHED


def _node(pod: str) -> tuple[str, Literal["broker", "controller"]]:
    found = _POD.fullmatch(pod)
    if found is None:
        raise ValueError(f"expected the name of a pod, such as demo-broker-0; found {pod!r}")
    return found[1], "broker" if found[2] == "broker" else "controller"


def _mode(given: argparse.Namespace, properties: Mapping[str, Property]) -> Mode:
    """That of the node's properties. Raises ``ValueError``: they are not whole, or the release does not have it."""
    mode: Mode = "zookeeper" if "zookeeper.connect" in properties else "kraft"
    absent = [key for key in (*_NEEDED[mode], "log.dirs", "listeners") if key not in properties]
    if absent:
        raise ValueError(f"{given.config}: expected {' and '.join(absent)}")
    if (given.listen is None) != (given.control is None):
        raise ValueError("expected --listen and --control, or neither")
    if mode == "kraft" and given.cluster_id is None:
        raise ValueError("expected --cluster-id, which a new disk is formatted for in mode kraft")
    if why := why_not_in_pods(given.release, mode):
        raise ValueError(why)
    return mode


def _format(
    installation: Installation,
    given: argparse.Namespace,
    properties: Mapping[str, Property],
    scratch: Path,
    log: NodeLog,
) -> None:
    data = Path(properties["log.dirs"].value)
    data.mkdir(parents=True, exist_ok=True)
    if is_formatted(data):
        return
    version: str | None = given.metadata_version
    if version == default_metadata_version(installation.release):
        version = None  # the image has it made
    users = None if given.credentials is None else bounded_bytes(given.credentials, _MOST_CREDENTIALS).decode().strip()
    files = installation.first_files(version, scratch, users)
    is_controller = properties["process.roles"].value == "controller"
    format_disk(data, given.cluster_id, int(properties["node.id"].value), files, is_controller=is_controller)
    log.info("formatted", directory=data, cluster=given.cluster_id)


def _proxy(name: str, given: argparse.Namespace, properties: Mapping[str, Property]) -> Sequence[str]:
    """The proxy's command line. Peers are told from each other by their client ids: a pod that comes back has another
    address. How many there are can change, so all that there can be are named."""
    Path(given.control).unlink(missing_ok=True)
    ids = {
        **{f"broker-{one}": one for one in range(_MOST_BROKERS)},
        **{f"controller-{one}": 1000 + one for one in range(9)},
    }
    largest = properties.get("socket.request.max.bytes")
    return (
        *(sys.executable, "-P", "-m", "highwater_runtime.host.proxy.main", "--node", name, "--listen", given.listen),
        *("--target", properties["listeners"].value.rpartition("//")[2], "--control", given.control),
        *("--spare", OBSERVER),
        *(() if largest is None else ("--largest-request", largest.value)),
        *(word for peer, number in ids.items() for word in ("--peer", f"{peer}={number}@pod")),
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _options(
    scratch: Path,
    role: Literal["broker", "controller"],
    mode: Mode,
    given: argparse.Namespace,
    exporter: tuple[Path, int],
) -> Sequence[str]:
    """Of the JVM. ``exporter``: the JMX exporter's jar, and the port that it has."""
    logging, rules = scratch / "log4j2.properties", scratch / "exporter.yaml"
    events = given.trace or scratch / "events.jsonl"
    known = lines_known(given.release, mode)
    logging.write_text(log4j2_properties_of_pod(events, role, known=known), encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    return (
        *jvm_options_of_pod(),
        f"-Djava.io.tmpdir={scratch}",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        f"-javaagent:{exporter[0]}=127.0.0.1:{exporter[1]}:{rules}",
    )


def main() -> None:
    """Entry point of the process."""
    status = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
