"""Clusters to measure: some brokers and one controller as plain processes on loopback, ours or Apache Kafka's.

They are started by the same programs as in experiments, but for what experiments need and measurements must not have
(event files, control sockets, a JVM kept small). Each runs in a session of its own, so that ^C reaches the benchmark
alone, and ends with it, however that ends (``setpriv --pdeathsig``, where there is one).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.apache_kafka import installation
from highwater_chaos.apache_kafka.disks import format_disk, is_formatted
from highwater_chaos.apache_kafka.node_config import jvm_options
from highwater_chaos.apache_kafka.node_config import node_properties as kafka_properties
from highwater_chaos.backends.local.highwater_program import node_properties
from highwater_chaos.backends.local.layout import LOOPBACK, loopback_endpoints
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace, Role
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import node_id
from highwater_lab.benchmarks.connection import Connection, LoadError
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.messages.metadata_request import MetadataRequest

CLUSTER_ID: Final = "highwater-benchmark-00"
HEAP_MB: Final = 1024
_UP_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 30.0
_NOT_MEASURED: Final = ("highwater.trace.path", "highwater.control.path")

Command = Callable[[ClusterPlan, NodePlace, int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Software:
    """What the nodes run. ``command`` writes a node's files and returns its command line; its last argument counts the
    starts of the node, from 1."""

    name: str
    command: Command


def highwater(event_loop: str = "asyncio", interpreter: tuple[str, ...] = ()) -> Software:
    """Our own nodes, on the event loop of that name. ``interpreter``: words before ``python`` (a profiler)."""

    def command(plan: ClusterPlan, place: NodePlace, incarnation: int) -> tuple[str, ...]:
        properties = node_properties(plan, place, incarnation)
        for name in _NOT_MEASURED:
            properties.pop(name, None)
        properties["highwater.event.loop"] = event_loop
        properties["highwater.admin.listener"] = f"http://{LOOPBACK}:0"
        config = place.files / "node.properties"
        config.write_text(render_properties(properties), encoding="utf-8")
        (place.files / "ready.json").unlink(missing_ok=True)
        return (*interpreter, sys.executable, "-m", "highwater_runtime.host.main", str(config))

    return Software("highwater", command)


def apache_kafka() -> Software:
    """Apache Kafka with the JVM options of its own scripts, and a heap of 1 GiB. Fetches it where need be."""
    installed = installation.install()

    def command(plan: ClusterPlan, place: NodePlace, incarnation: int) -> tuple[str, ...]:
        del incarnation
        if not is_formatted(place.data):
            is_controller = place.role == "controller"
            format_disk(
                place.data, plan.cluster_id, place.node_id, installed.first_files(), is_controller=is_controller
            )
        config = place.files / "server.properties"
        properties = kafka_properties(
            role="controller" if place.role == "controller" else "broker",
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

    return Software("apache-kafka", command)


class RunningCluster:
    """A cluster whose nodes are started, killed and stopped one by one. ``pids`` by broker id, those that run."""

    def __init__(self, software: Software, home: Path, *, brokers: int, config: Mapping[str, str | int | bool]) -> None:
        shape = Cluster(brokers=brokers, controllers=1, config={"min.insync.replicas": 1, **config})
        places = tuple(_place(home, node, endpoint) for node, endpoint in loopback_endpoints(shape).items())
        self.name = software.name
        self.plan = ClusterPlan(shape, CLUSTER_ID, 1, places)
        self.brokers = self.plan.of_role("broker")
        self.controller = self.plan.of_role("controller")[0]
        self.bootstrap = self.brokers[0].advertised
        self._software = software
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._starts: Counter[str] = Counter()

    @property
    def pids(self) -> dict[int, int]:
        """The process of each broker that was started, by the broker's id."""
        return {one.node_id: self._processes[one.name].pid for one in self.brokers if one.name in self._processes}

    @property
    def processes(self) -> dict[str, int]:
        """The process of each node that was started, by the node's name."""
        return {name: process.pid for name, process in self._processes.items()}

    def start(self, *places: NodePlace) -> None:
        """Start nodes (all of them, where none is named), the controller first. Does not wait."""
        for place in places or self.plan.places:
            self._starts[place.name] += 1
            with (place.files / "output.log").open("ab") as log:
                self._processes[place.name] = subprocess.Popen(
                    (*end_with_us(), *self._software.command(self.plan, place, self._starts[place.name])),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def signal(self, number: signal.Signals, places: Iterable[NodePlace]) -> None:
        """Send a signal to nodes, one after the other."""
        for place in places:
            self._processes[place.name].send_signal(number)

    def wait_ended(self, places: Iterable[NodePlace], seconds: float) -> list[str]:
        """Wait until nodes have ended; returns those that had to be killed after ``seconds``."""
        killed = []
        deadline = time.monotonic() + seconds
        for place in places:
            process = self._processes.pop(place.name)
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed.append(place.name)
        return killed

    def await_brokers(self, seconds: float = _UP_SECONDS) -> None:
        """Wait until the metadata of every broker names all of them.

        Raises:
            LoadError: a node has ended, or the brokers are not up in time.
        """
        deadline = time.monotonic() + seconds
        waiting = list(self.brokers)
        while waiting:
            self.ensure_alive()
            try:
                with Connection(waiting[0].advertised) as connection:
                    found = len(connection.call(MetadataRequest(topics=[]), 9).brokers)
            except (OSError, LoadError):
                found = 0
            if found == len(self.brokers):
                waiting.pop(0)
            elif time.monotonic() > deadline:
                raise LoadError(f"{waiting[0].name} knew {found} of {len(self.brokers)} brokers after {seconds:.0f} s")
            else:
                time.sleep(0.1)

    def ensure_alive(self) -> None:
        """Raise :class:`LoadError` with the end of its output for a node that has ended by itself."""
        for place in self.plan.places:
            process = self._processes.get(place.name)
            if process is not None and process.poll() is not None:
                output = (place.files / "output.log").read_text(errors="replace")[-2000:]
                raise LoadError(f"{place.name} has ended with status {process.returncode}:\n{output}")

    def admin_port(self, place: NodePlace) -> int | None:
        """Where a node of ours serves its metrics; None where there is no such page."""
        try:
            port: int = msgspec.json.decode((place.files / "ready.json").read_bytes())["admin"]
        except (FileNotFoundError, msgspec.DecodeError, KeyError):
            return None
        return port

    def kill(self) -> None:
        """End all nodes at once; nobody needs their data."""
        there = [place for place in self.plan.places if place.name in self._processes]
        self.signal(signal.SIGKILL, there)
        self.wait_ended(there, _STOP_SECONDS)


@contextmanager
def running(
    software: Software, home: Path, *, brokers: int = 3, config: Mapping[str, str | int | bool] | None = None
) -> Iterator[RunningCluster]:
    """A cluster that answers, of one controller and ``brokers`` brokers; it ends with the context."""
    cluster = RunningCluster(software, home / software.name, brokers=brokers, config=config or {})
    try:
        cluster.start()
        cluster.await_brokers()
        yield cluster
    finally:
        cluster.kill()


def end_with_us() -> tuple[str, ...]:
    """Words before a command with which it is killed when this process (its main thread) ends in any way."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


def _place(home: Path, name: str, endpoint: Endpoint) -> NodePlace:
    data, files = home / name / "data", home / name / "files"
    data.mkdir(parents=True)
    files.mkdir(parents=True)
    role: Role = "broker" if name.startswith("broker") else "controller"
    return NodePlace(name, node_id(name), role, endpoint, endpoint, data, files, files / "events.jsonl")


__all__ = ["RunningCluster", "Software", "apache_kafka", "end_with_us", "highwater", "running"]
