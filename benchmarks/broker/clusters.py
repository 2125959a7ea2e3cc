"""Clusters to measure: some brokers and one controller as plain processes on loopback, ours or Apache Kafka's.

They are started by the same programs as in experiments, but for what experiments need and measurements must not have
(event files, control sockets, a JVM kept small).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.broker.load import Connection, LoadError

from highwater_chaos.backends.local.apache_kafka import installation
from highwater_chaos.backends.local.apache_kafka.disks import format_disk
from highwater_chaos.backends.local.apache_kafka.node_config import jvm_options
from highwater_chaos.backends.local.apache_kafka.node_config import node_properties as kafka_properties
from highwater_chaos.backends.local.highwater_program import node_properties
from highwater_chaos.backends.local.layout import loopback_endpoints
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace, Role
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.backends.protocol import node_id
from highwater_chaos.experiment import Cluster
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.messages.metadata_request import MetadataRequest

CLUSTER_ID: Final = "highwater-benchmark-00"
HEAP_MB: Final = 1024
_UP_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 30.0
_NOT_MEASURED: Final = ("highwater.trace.path", "highwater.control.path")

Command = Callable[[ClusterPlan, NodePlace], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """A cluster that answers. ``pids`` by broker id."""

    name: str
    bootstrap: Endpoint
    pids: Mapping[int, int]


@contextmanager
def highwater_cluster(home: Path, *, brokers: int = 3, event_loop: str = "asyncio") -> Iterator[RunningCluster]:
    """Our own, on the event loop of that name."""

    def command(plan: ClusterPlan, place: NodePlace) -> tuple[str, ...]:
        properties = node_properties(plan, place, 1)
        for name in _NOT_MEASURED:
            del properties[name]
        properties["highwater.event.loop"] = event_loop
        config = place.files / "node.properties"
        config.write_text(render_properties(properties), encoding="utf-8")
        return (sys.executable, "-m", "highwater_runtime.host.main", str(config))

    with _running("highwater", home, brokers, command) as cluster:
        yield cluster


@contextmanager
def apache_kafka_cluster(home: Path, *, brokers: int = 3) -> Iterator[RunningCluster]:
    """Apache Kafka with the JVM options of its own scripts, and a heap of 1 GiB."""
    installed = installation.install()

    def command(plan: ClusterPlan, place: NodePlace) -> tuple[str, ...]:
        format_disk(place.data, plan.cluster_id, place.node_id, installed.bootstrap_checkpoint(None))
        config = place.files / "server.properties"
        properties = kafka_properties(
            role=place.role,
            node_id=place.node_id,
            bind=place.bind,
            advertised=place.advertised,
            voters=[(one.node_id, one.advertised) for one in plan.of_role("controller")],
            data=place.data,
            brokers=plan.cluster.brokers,
            config=plan.cluster.config,
        )
        config.write_text(render_properties(properties), encoding="utf-8")
        options = jvm_options(place.files / "kafka.log", heap_mb=HEAP_MB, compile_fully=True)
        return installed.command("kafka.Kafka", str(config), options=options)

    with _running("apache-kafka", home, brokers, command) as cluster:
        yield cluster


@contextmanager
def _running(name: str, home: Path, brokers: int, command: Command) -> Iterator[RunningCluster]:
    shape = Cluster(brokers=brokers, controllers=1, config={"min.insync.replicas": 1})
    places = tuple(_place(home, node, endpoint) for node, endpoint in loopback_endpoints(shape).items())
    plan = ClusterPlan(shape, CLUSTER_ID, 1, places)
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for place in places:
            with (place.files / "output.log").open("wb") as log:
                processes[place.name] = subprocess.Popen(
                    command(plan, place), stdout=log, stderr=log, start_new_session=True
                )
        started = plan.of_role("broker")
        _await_brokers(started, processes)
        yield RunningCluster(name, started[0].advertised, {one.node_id: processes[one.name].pid for one in started})
    finally:
        for process in reversed(processes.values()):
            process.terminate()
        for process in processes.values():
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _place(home: Path, name: str, endpoint: Endpoint) -> NodePlace:
    data, files = home / name / "data", home / name / "files"
    data.mkdir(parents=True)
    files.mkdir(parents=True)
    role: Role = "broker" if name.startswith("broker") else "controller"
    return NodePlace(name, node_id(name), role, endpoint, endpoint, data, files, files / "events.jsonl")


def _await_brokers(brokers: tuple[NodePlace, ...], processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
    """Until the first broker's metadata names all of them."""
    deadline = time.monotonic() + _UP_SECONDS
    found = 0
    while found < len(brokers):
        for place in brokers:
            if processes[place.name].poll() is not None:
                said = (place.files / "output.log").read_text(errors="replace")[-2000:]
                raise LoadError(f"{place.name} did not start:\n{said}")
        if time.monotonic() > deadline:
            raise LoadError(f"{found} of {len(brokers)} brokers were up after {_UP_SECONDS:.0f} s")
        try:
            with Connection(brokers[0].advertised) as connection:
                found = len(connection.call(MetadataRequest(topics=[]), 9).brokers)
        except (OSError, LoadError):
            found = 0
        time.sleep(0.1)


__all__ = ["RunningCluster", "apache_kafka_cluster", "highwater_cluster"]
