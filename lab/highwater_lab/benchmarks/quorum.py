"""The controllers' quorum: how long nobody leads it, and whether random faults break what Raft promises.

    python -m highwater_lab.benchmarks.quorum availability             ms without a leader, pre-vote off and on
    python -m highwater_lab.benchmarks.quorum random                   500 seeds, every switch at its default
    python -m highwater_lab.benchmarks.quorum random --switch NAME=VALUE until each is found: seeds and seconds

``availability`` measures, over 100 seeds at the default time-outs (election 1 s, fetch 2 s), the time in which no live
controller leads: after a crash of the leader, and in the 20 s after a partition of 20 s is healed that had cut off one
follower, or the leader. ``random`` runs 1, 3 or 5 voters and two brokers that observe, with writes, through 60 s of
kills, power losses, partitions and pauses, and looks at every invariant of the quorum after every event; a run that
does not come to one leader at the end, with all controllers at one offset, counts as a violation too (``liveness``).
Exits 1 for a violation with every switch at its default, or none with one off.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random
from statistics import median, quantiles
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker import BrokerOptions, KraftBroker
from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import MS, SECOND, ClientCore, Endpoint, NodeCore, Ports
from highwater_runtime.ports.trace import NodeEvent, NodeStopped, RaftStateChanged
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.garbage import freeze_collector
from highwater_runtime.sim.invariants import InvariantMonitor
from highwater_runtime.switches import Switches
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener

CLUSTER_ID: Final = "highwater-simulation00"
EXPECTED: Final = {"pre-vote": ("epoch-inflation",), "quorum-state-sync": ("raft-election-safety",)}
"""By switch: under which names turning it off is found."""


class Writer(ClientCore):
    """Makes the metadata log grow: registers one made-up broker after the other, at any controller."""

    def __init__(self, voters: dict[int, Endpoint], every_ns: int, ports: Ports) -> None:
        self._voters = list(voters.values())
        self._every_ns = every_ns
        self._ports = ports
        self._next_id = 1 << 20

    def start(self) -> None:
        """Ask, and ask again."""
        self._next_id += 1
        low, high = int(MetadataVersion.minimum()), int(MetadataVersion.latest())
        request = BrokerRegistrationRequest(
            broker_id=self._next_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=UUID(int=self._next_id),
            listeners=[Listener(name="PLAINTEXT", host="nowhere", port=9092, security_protocol=0)],
            features=[Feature(name="metadata.version", min_supported_version=low, max_supported_version=high)],
        )
        for voter in self._voters:
            self._ports.network.send(voter, request, 4, lambda _: None, timeout_ns=self._every_ns)
        self._ports.clock.call_later(self._every_ns, self.start)


class Quorum:
    """A simulated cluster of controllers, and brokers that observe."""

    def __init__(self, seed: int, voters: int, brokers: int, switches: Switches, config: NodeConfig) -> None:
        self.sim = Simulator(seed)
        self.monitor = InvariantMonitor(self.sim)
        self.voters = [f"controller-{index}" for index in range(voters)]
        self.names = self.voters + [f"broker-{index}" for index in range(brokers)]
        endpoints = {1000 + index: Endpoint(name, 9093) for index, name in enumerate(self.voters)}
        self.without_leader_ns = 0
        self._leaders: dict[str, bool] = {}
        self._since_ns = 0
        self.sim.trace.subscribers.append(self._note)

        def controller(node_id: int) -> Callable[[Ports], NodeCore]:
            options = ControllerOptions(
                node_id=node_id, voters=endpoints, cluster_id=CLUSTER_ID, switches=switches, config=config
            )
            return lambda ports: QuorumController(options, ports)

        def broker(node_id: int) -> Callable[[Ports], NodeCore]:
            options = BrokerOptions(
                node_id=node_id,
                endpoint=Endpoint(f"broker-{node_id}", 9092),
                controllers=endpoints,
                cluster_id=CLUSTER_ID,
                switches=switches,
                config=config,
            )
            return lambda ports: KraftBroker(options, ports)

        for node_id, endpoint in endpoints.items():
            self.sim.add_node(endpoint.host, endpoint.port, controller(node_id))
        for node_id in range(brokers):
            self.sim.add_node(f"broker-{node_id}", 9092, broker(node_id))
        self.sim.add_node("writer", 1, lambda ports: Writer(endpoints, 200 * MS, ports), disk=False)
        for name in (*self.names, "writer"):
            self.sim.start(name)

    def _note(self, time_ns: int, node: str, _incarnation: int, event: NodeEvent) -> None:
        if isinstance(event, RaftStateChanged | NodeStopped) and node in self.voters:
            if not self._leaders:
                self.without_leader_ns += time_ns - self._since_ns
            self._since_ns = time_ns
            self._leaders.pop(node, None)
            if isinstance(event, RaftStateChanged) and event.reason == "leader":
                self._leaders[node] = True

    @property
    def leader(self) -> str | None:
        """Who leads, the first if there are two."""
        return next(iter(self._leaders), None)

    def controllers(self) -> list[QuorumController]:
        """Those that are up."""
        cores = [self.sim.node(name).core for name in self.voters]
        return [core for core in cores if isinstance(core, QuorumController)]

    def without_leader_ms(self, duration_ns: int, until: Callable[[], bool] | None = None) -> float:
        """Run for so long (or ``until``); ms of it in which nobody led."""
        self._since_ns, self.without_leader_ns = self.sim.now_ns, 0
        self.sim.run_for(duration_ns, predicate=until)
        waiting = 0 if self._leaders else self.sim.now_ns - self._since_ns
        return (self.without_leader_ns + waiting) / MS

    def start_all(self) -> None:
        """Resume nodes that are paused, and start nodes that are down."""
        for name in self.names:
            if self.sim.node(name).is_paused:
                self.sim.resume(name)
            if not self.sim.node(name).is_alive:
                self.sim.start(name)


# --- availability ----------------------------------------------------------------------------------------------------


def measure(task: tuple[str, int, str, int]) -> float:
    """One seed of one story; ms without a leader."""
    story, voters, pre_vote, seed = task
    quorum = Quorum(seed, voters, 0, Switches.of({"pre-vote": pre_vote}), NodeConfig())
    quorum.sim.run_for(10 * SECOND)
    leader = quorum.leader
    assert leader is not None, f"no leader after 10 s, seed {seed}"
    if story == "leader crash":
        quorum.sim.power_loss(leader)
        return quorum.without_leader_ms(60 * SECOND, lambda: quorum.leader is not None)
    victim = leader if story == "leader cut off, healed" else next(name for name in quorum.voters if name != leader)
    cut = quorum.sim.faults.isolate(victim)
    quorum.sim.run_for(20 * SECOND)
    quorum.sim.faults.heal(cut)
    return quorum.without_leader_ms(20 * SECOND)


def availability(seeds: int, jobs: int | None) -> int:
    """Print the table."""
    print(
        "| story | voters | pre-vote | median ms | p99 ms | max ms | seeds with a gap |\n|---|---|---|---|---|---|---|"
    )
    with ProcessPoolExecutor(jobs, initializer=freeze_collector) as pool:
        for story in ("leader crash", "follower cut off, healed", "leader cut off, healed"):
            for voters in (3, 5):
                for pre_vote in ("off", "on"):
                    tasks = [(story, voters, pre_vote, seed) for seed in range(seeds)]
                    found = sorted(pool.map(measure, tasks, chunksize=10))
                    p99 = quantiles(found, n=100, method="inclusive")[98]
                    gaps = sum(one > 0 for one in found)
                    row = (story, voters, pre_vote, f"{median(found):.0f}", f"{p99:.0f}", f"{found[-1]:.0f}", gaps)
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)
    return 0


# --- random schedules ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one seed came to: names of broken invariants with an example each."""

    seed: int
    voters: int
    violations: dict[str, str]
    epochs: int
    committed: int
    wall_seconds: float


QUICK: Final = NodeConfig(
    quorum_election_timeout_ms=500,
    quorum_fetch_timeout_ms=1000,
    quorum_election_backoff_max_ms=500,
    quorum_request_timeout_ms=1000,
    broker_session_timeout_ms=3000,
    broker_heartbeat_interval_ms=500,
    metadata_snapshot_bytes=4000,
)


def disturb(quorum: Quorum, random: Random) -> None:
    """One fault of any kind."""
    name = random.choice(quorum.names)
    sim = quorum.sim
    alive = sim.node(name).is_alive
    match random.randrange(12):
        case 0 | 1 if alive:
            sim.kill(name)
        case 2 | 3:
            sim.power_loss(name, random.choice(("none", "prefix", "torn")))
        case 4:
            for each in quorum.voters:
                sim.power_loss(each)
        case 5 if alive:
            sim.pause(name)
        case 6 | 7:
            sim.faults.isolate(name, random.choice(("both", "aToB", "bToA")))
        case 8:
            half = [each for each in quorum.names if random.random() < 0.5]
            sim.faults.cut(half, [each for each in quorum.names if each not in half])
        case 9 if len(quorum.voters) > 1:
            one, other = random.sample(quorum.voters, 2)
            sim.faults.cut(one, other)
        case 10:
            sim.faults.heal_all()
        case _:
            quorum.start_all()


def run_seed(task: tuple[int, tuple[tuple[str, str], ...]]) -> Outcome:
    """One random schedule."""
    seed, switches = task
    began = time.perf_counter()
    random = Random(seed)
    quorum = Quorum(seed, random.choice((1, 3, 3, 5)), 2, Switches.of(dict(switches)), QUICK)
    end_ns = 60 * SECOND
    while quorum.sim.now_ns < end_ns:
        quorum.sim.run_for(random.choice((5, 50, 300, 1000, 3000)) * MS)
        disturb(quorum, random)
    quorum.sim.faults.heal_all()
    quorum.start_all()
    violations: dict[str, str] = {}

    def has_recovered() -> bool:
        quorum.start_all()
        up = quorum.controllers()
        images = {one.committed_image.offset for one in up}
        return len(up) == len(quorum.voters) and len(images) == 1 and sum(one.is_active for one in up) == 1

    if not quorum.sim.run_for(60 * SECOND, predicate=has_recovered):
        violations["liveness"] = "60 s after all was healed the controllers had not come to one leader and offset"
    for violation in quorum.monitor.violations:
        if violation.name == "epoch-inflation" or violation.name.startswith("raft-"):
            violations.setdefault(violation.name, f"{violation.time_ns / SECOND:.3f} s: {violation.what}")
    up = quorum.controllers()
    return Outcome(
        seed,
        len(quorum.voters),
        violations,
        max((one.raft.epoch for one in up), default=0),
        max((one.raft.high_watermark for one in up), default=0),
        time.perf_counter() - began,
    )


def outcomes(seeds: range, switches: dict[str, str], jobs: int | None) -> Iterator[Outcome]:
    """In the order of seeds."""
    with ProcessPoolExecutor(jobs, initializer=freeze_collector) as pool:
        tasks = [(seed, tuple(switches.items())) for seed in seeds]
        yield from pool.map(run_seed, tasks, chunksize=2)


def random_schedules(seeds: int, switches: dict[str, str], jobs: int | None) -> int:
    """Run them and say what was found."""
    began = time.perf_counter()
    first: dict[str, tuple[int, float, str]] = {}
    done: list[Outcome] = []
    for outcome in outcomes(range(1, seeds + 1), switches, jobs):
        done.append(outcome)
        for name, what in outcome.violations.items():
            first.setdefault(name, (outcome.seed, time.perf_counter() - began, what))
    seconds = time.perf_counter() - began
    shapes = ", ".join(f"{sum(one.voters == n for one in done)} of {n}" for n in (1, 3, 5))
    given = " ".join(f"{name}={value}" for name, value in switches.items()) or "every switch at its default"
    print(f"{given}: {len(done)} seeds in {seconds:.0f} s (voters: {shapes}; {sum(one.epochs for one in done)} epochs,")
    print(
        f"  {sum(one.committed for one in done)} offsets committed); {sum(bool(one.violations) for one in done)} fail"
    )
    for name, (seed, after, what) in first.items():
        count = sum(name in one.violations for one in done)
        print(f"  {name}: {count} seeds, first seed {seed}, after {after:.1f} s: {what}")
    expected = [name for switch in switches for name in EXPECTED.get(switch, ())]
    return 0 if (set(expected) <= set(first) if switches else not first) else 1


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("availability", "random"))
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--switch", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments: Any = parser.parse_args()
    if arguments.what == "availability":
        return availability(arguments.seeds or 100, arguments.jobs)
    switches = dict(switch.split("=", 1) for switch in arguments.switch)
    return random_schedules(arguments.seeds or 500, switches, arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
