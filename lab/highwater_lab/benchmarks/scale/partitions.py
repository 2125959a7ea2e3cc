"""The life of a cluster with many partitions: created, idle, under load, one broker killed, all restarted.

Phases, each bounded by ``patience``. *Whole* means: the controller has every replica of every partition in sync and no
broker fenced; then the metadata of every broker names the same leaders; then every partition has acknowledged a record
with acks=all. A cluster that is never whole is watched under load all the same, and its failures are left out.
"""

from __future__ import annotations

import signal
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.backends.local.layout import LOOPBACK
from highwater_lab.benchmarks.clusters import RunningCluster, Software, running
from highwater_lab.benchmarks.connection import Connection, LoadError
from highwater_lab.benchmarks.scale.table import Table
from highwater_lab.benchmarks.scale.traffic import Pulse, SteadyLoad, all_acknowledge, metadata_agrees
from highwater_lab.benchmarks.scale.usage import Meter, resident_mib
from highwater_lab.benchmarks.scale.view import NO_LEADER, ControllerView, State
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from highwater_runtime.wire.messages.create_topics_response import CreatableTopicResult
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState

LONGEST_TURN: Final = "highwater_loop_turn_seconds_max"
"""The metric of our nodes that says how long their loop was busy at a stretch."""

WARM_TOPIC: Final = "warm-up"
WARM_PARTITIONS: Final = 30
TOPIC: Final = "scale"
_MOST_A_TOPIC: Final = 5000
"""Partitions of one topic and of one request: Apache Kafka's controller makes at most 10,000 records of a request."""
_TWICE: Final = "≤ 2x"
_SETTLE_SECONDS: Final = 3.0
_CREATE_VERSION: Final = 5
_DELETE_VERSION: Final = 6
_STOP_SECONDS: Final = 60.0
_SCRAPE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. Times in seconds."""

    stable: float
    warm: float
    idle: float
    rate: float
    patience: float
    brokers: int = 3
    topics: int = 1
    """The partitions are divided among so many."""
    session: float = 9.0
    """After so long without a heartbeat a broker is fenced."""
    failures: bool = True
    """Whether to kill and to restart."""

    def config(self) -> dict[str, int]:
        """Properties of the nodes; heartbeats as many a session as by default."""
        session_ms = int(self.session * 1000)
        return {"broker.session.timeout.ms": session_ms, "broker.heartbeat.interval.ms": max(10, session_ms * 2 // 9)}


def measure(software: Software, home: Path, size: int, plan: Plan, table: Table) -> None:
    """One cluster's life with ``size`` partitions."""
    with running(software, home, brokers=plan.brokers, config=plan.config()) as cluster:
        nodes = {place.name: place.advertised for place in cluster.plan.places}
        with ControllerView(cluster.plan.cluster_id, cluster.controller.advertised) as view, Pulse(nodes) as pulse:
            _Life(cluster, size, plan, table, view, pulse).live()


class _Life:
    def __init__(
        self, cluster: RunningCluster, size: int, plan: Plan, table: Table, view: ControllerView, pulse: Pulse
    ) -> None:
        self.cluster = cluster
        self.size = size
        self.plan = plan
        self.table = table
        self.view = view
        self.pulse = pulse
        self.endpoints = {place.node_id: place.advertised for place in cluster.brokers}
        self.factor = plan.brokers

    def live(self) -> None:
        self._warm_up()
        whole = self._create()
        self._idle()
        with SteadyLoad(self.view, self.endpoints, self.plan.rate) as load:
            self._stable(load)
            self._memory()
            whole = whole and self._is_whole()
            if self.plan.failures and whole:
                self._kill_one(load)
        if self.plan.failures and whole:
            self._restart("clean restart")
            self._restart("unclean restart")
        self._longest_turn()

    # --- phases ---

    def _warm_up(self) -> None:
        """A load of its own, so that Java has compiled and Python has specialised what is hot."""
        if self.plan.warm <= 0:
            return
        self._say(f"warming up for {self.plan.warm:g} s")
        self._create_topics({WARM_TOPIC: WARM_PARTITIONS})
        deadline = time.monotonic() + self.plan.patience
        self.view.wait(lambda state: state.whole(WARM_PARTITIONS, self.plan.brokers), deadline)
        with SteadyLoad(self.view, self.endpoints, self.plan.rate):
            time.sleep(self.plan.warm)
        with Connection(self.cluster.bootstrap) as connection:
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name=WARM_TOPIC)], timeout_ms=30_000)
            connection.call(request, _DELETE_VERSION)
        self.view.wait(lambda state: not state.partitions, time.monotonic() + self.plan.patience)
        time.sleep(_SETTLE_SECONDS)

    def _create(self) -> bool:
        self._say(f"creating {self.size} partitions")
        self.pulse.take()
        meter = Meter(self._pids())
        began = time.monotonic()
        count = min(max(self.plan.topics, -(-self.size // _MOST_A_TOPIC)), self.size)
        self._create_topics({f"{TOPIC}-{i}": self.size // count + (i < self.size % count) for i in range(count)})
        whole = self._await_whole("whole after creation", began, _TWICE)
        self._add("processor time of all nodes", meter.take(self._pids()), "s", of="whole after creation")
        self._add_pulse("whole after creation")
        return whole

    def _idle(self) -> None:
        time.sleep(min(_SETTLE_SECONDS, self.plan.idle))
        self._say(f"idle for {self.plan.idle:g} s")
        before = {name: Meter([pid]) for name, pid in self._processes().items()}
        time.sleep(self.plan.idle)
        used = {name: meter.take([self._processes()[name]]) / self.plan.idle for name, meter in before.items()}
        controller = used.pop(self.cluster.controller.name)
        self._add("idle: processor of a broker (the busiest)", max(used.values()) * 100, "% of core", _TWICE)
        self._add("of the controller", controller * 100, "% of core", of="idle")

    def _stable(self, load: SteadyLoad) -> None:
        seconds = self.plan.stable
        self._say(f"{self.plan.rate:g} records/s for {seconds:g} s")
        self.pulse.take()
        load.take()
        meter, before = Meter(self._pids()), self.view.changes()
        time.sleep(seconds)
        used, done, changes = meter.take(self._pids()), load.take(), self.view.changes().since(before)
        load_name = f"{self.plan.rate:g} records/s"
        self._add(f"{load_name}: acknowledged", done.acknowledged / seconds, "records/s")
        self._add("failed or not sent", float(done.failed + done.unsent), "records", "0", of="stable")
        self._add("brokers fenced", float(changes.fenced), "", "0", of="stable")
        self._add("leaders changed", float(changes.leaders), "", "0", of="stable")
        self._add("ISRs shrunk", float(changes.isr_shrunk), "", "0", of="stable")
        self._add("latency p50", done.quantile_ms(0.5), "ms", of="stable")
        self._add("latency p99", done.quantile_ms(0.99), "ms", of="stable")
        self._add("processor of all nodes", used / seconds * 100, "% of core", _TWICE, of="stable")
        self._add_pulse("stable")

    def _memory(self) -> None:
        pids = self._processes()
        controller = pids.pop(self.cluster.controller.name)
        self._add("memory of a broker (the largest)", max(map(resident_mib, pids.values())), "MiB", _TWICE)
        self._add("of the controller", resident_mib(controller), "MiB", of="memory")

    def _kill_one(self, load: SteadyLoad) -> None:
        victim = self.cluster.brokers[-1]
        self._say(f"killing {victim.name} under load")
        self.pulse.take()
        load.take()
        self.cluster.signal(signal.SIGKILL, [victim])
        began = time.monotonic()
        self.cluster.wait_ended([victim], 10.0)
        meter = Meter(self._pids())
        deadline = began + self.plan.patience

        def moved(state: State) -> bool:
            return not state.leads[victim.node_id] and not state.leads[NO_LEADER]

        done = self.view.wait(moved, deadline)
        last = self.view.look(lambda state: state.last_leader_change) if done else time.monotonic()
        goal = f"{_TWICE}, ≤ {self.plan.session + 2:g} s"
        self._add("killed broker: last leader moved", last - began, "s", goal, at_least=not done)
        left = {number: endpoint for number, endpoint in self.endpoints.items() if number != victim.node_id}
        self._await_agreement("killed", began, left, deadline)
        self._add("processor time of the others", meter.take(self._pids()), "s", of="killed")
        self._add_pulse("killed")
        delivered = load.take()
        self._add("failed or not sent", float(delivered.failed + delivered.unsent), "records", of="killed")

        self._say(f"starting {victim.name} again")
        self.cluster.start(victim)
        began = time.monotonic()
        meter = Meter(self._pids())
        done = self.view.wait(lambda state: state.whole(self.size, self.plan.brokers), began + self.plan.patience)
        took = time.monotonic() - began
        self._add("killed broker: back in every ISR", took, "s", _TWICE, at_least=not done)
        self._add("processor time of all nodes", meter.take(self._pids()), "s", of="back")
        self._add_pulse("back")

    def _restart(self, what: str) -> None:
        """All nodes at once: SIGTERM to the brokers and then to the controller, or SIGKILL to all."""
        self._say(what)
        places = (*self.cluster.brokers, self.cluster.controller)
        began = time.monotonic()
        if what == "clean restart":
            self.cluster.signal(signal.SIGTERM, self.cluster.brokers)
            killed = self.cluster.wait_ended(self.cluster.brokers, _STOP_SECONDS)
            self.cluster.signal(signal.SIGTERM, [self.cluster.controller])
            killed += self.cluster.wait_ended([self.cluster.controller], _STOP_SECONDS)
            self._add("brokers and controller stopped", time.monotonic() - began, "s", of=what, at_least=bool(killed))
        else:
            self.cluster.signal(signal.SIGKILL, places)
            self.cluster.wait_ended(places, 10.0)
        self.pulse.take()
        before = self.view.changes()
        began = time.monotonic()
        self.cluster.start()
        meter = Meter([])
        # The controller's log ends as it did before: the last state is whole once all have registered again.
        self._await_whole(f"{what}: whole", began, _TWICE, registered=before.registered + self.plan.brokers)
        self._add("processor time of all nodes", meter.take(self._pids()), "s", of=f"{what}: whole")
        self._add_pulse(f"{what}: whole")

    # --- waiting ---

    def _await_whole(self, what: str, began: float, goal: str, *, registered: int = 0) -> bool:
        deadline = began + self.plan.patience
        done = self.view.wait(
            lambda state: state.changes.registered >= registered and state.whole(self.size, self.plan.brokers), deadline
        )
        seen = time.monotonic() - began
        self.table.reserve(what, "s", goal)
        self._add("the controller sees it", seen, "s", of=what, at_least=not done)
        agreed = self._await_agreement(what, began, self.endpoints, deadline) if done else None
        self._add(what, agreed or time.monotonic() - began, "s", goal, at_least=agreed is None)
        if agreed is None:
            self._say(f"{what}: not within {self.plan.patience:g} s")
        return agreed is not None and self._is_whole()

    def _await_agreement(
        self, what: str, began: float, brokers: Mapping[int, Endpoint], deadline: float
    ) -> float | None:
        """Seconds until brokers' metadata agrees with the controller's and every partition has acknowledged."""
        agreed = metadata_agrees(self.view, list(brokers.values()), deadline)
        took = (agreed or time.monotonic()) - began
        self._add("metadata of every broker says so", took, "s", of=what, at_least=agreed is None)
        acknowledged = all_acknowledge(self.view, brokers, deadline)
        took = (acknowledged or time.monotonic()) - began
        self._add("every partition has acknowledged", took, "s", of=what, at_least=acknowledged is None)
        return None if agreed is None or acknowledged is None else acknowledged - began

    def _is_whole(self) -> bool:
        return self.view.look(lambda state: state.whole(self.size, self.plan.brokers))

    # --- the rest ---

    def _create_topics(self, topics: Mapping[str, int]) -> None:
        created: list[CreatableTopicResult] = []
        with Connection(self.cluster.bootstrap) as connection:
            for some in _in_requests(topics):
                request = CreateTopicsRequest(
                    topics=[
                        CreatableTopic(name=name, num_partitions=partitions, replication_factor=self.factor)
                        for name, partitions in some.items()
                    ],
                    timeout_ms=int(self.plan.patience * 1000),
                )
                created += connection.call(request, _CREATE_VERSION).topics
        for topic in created:
            if topic.error_code not in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT):
                raise LoadError(f"CreateTopics {topic.name}: {ErrorCode(topic.error_code).name}: {topic.error_message}")

    def _longest_turn(self) -> None:
        """What our nodes say of their own loops, and what it costs to ask."""
        turns, seconds, lines = [], [], []
        for place in self.cluster.plan.places:
            port = self.cluster.admin_port(place)
            if port is None:
                continue
            began = time.monotonic()
            with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=_SCRAPE_SECONDS) as answer:
                text = answer.read().decode()
            seconds.append(time.monotonic() - began)
            lines.append(text.count("\n"))
            turns += [float(line.split()[-1]) for line in text.splitlines() if line.startswith(LONGEST_TURN)]
        if seconds:
            self._add("/metrics: the longest scrape", max(seconds) * 1000, "ms", "≤ 50")
            self._add("lines", float(max(lines)), "", of="metrics")
        if turns:
            self._add("the longest turn of a loop, by /metrics", max(turns) * 1000, "ms")

    def _add_pulse(self, of: str) -> None:
        longest = self.pulse.take()
        self._add("longest answer to ApiVersions", max(longest.values()) * 1000, "ms", of=of)

    def _processes(self) -> dict[str, int]:
        return self.cluster.processes

    def _pids(self) -> list[int]:
        return list(self.cluster.processes.values())

    def _add(
        self, what: str, figure: float | None, unit: str, goal: str = "", *, of: str = "", at_least: bool = False
    ) -> None:
        self.table.add(self.cluster.name, self.size, what, figure, unit, goal, of=of, at_least=at_least)

    def _say(self, what: str) -> None:
        say(f"{self.cluster.name}, {self.size} partitions: {what}")


def _in_requests(topics: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Topics by name, with their partitions, in requests that are not too large."""
    some: dict[str, int] = {}
    for name, partitions in topics.items():
        if some and sum(some.values()) + partitions > _MOST_A_TOPIC:
            yield some
            some = {}
        some[name] = partitions
    if some:
        yield some


def say(what: str) -> None:
    """Print a line with the time to stderr."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
