"""A cluster of nothing but raft replicas in the simulator, and a referee that judges it after every event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.ports import MS, Endpoint, InboundRequest, Ports
from highwater_runtime.ports.trace import (
    NodeEvent,
    RaftAppended,
    RaftBroken,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
    RaftTruncated,
)
from highwater_runtime.raft import RaftReplica
from highwater_runtime.sim import Simulator
from highwater_runtime.switches import Switches

DIRECTORY = "__cluster_metadata-0"
QUICK = NodeConfig(
    quorum_election_timeout_ms=100,
    quorum_fetch_timeout_ms=200,
    quorum_election_backoff_max_ms=100,
    quorum_request_timeout_ms=200,
)


@dataclass
class Heard:
    """A listener that writes down what it hears, and checks the promises made to it."""

    node_id: int
    commits: list[tuple[int, int, list[bytes], int]] = field(default_factory=list)
    snapshots: list[tuple[int, int, list[bytes]]] = field(default_factory=list)
    leaders: list[tuple[int | None, int]] = field(default_factory=list)
    react: Callable[[str], None] = lambda what: None

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:
        assert base_offset == self.end_offset, f"told {base_offset} after {self.end_offset}"
        assert len(records) in (0, last_offset - base_offset + 1)
        self.commits.append((base_offset, epoch, records, last_offset))
        self.react("commit")

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        assert end_offset > self.end_offset, f"told up to {self.end_offset}, then a snapshot of {end_offset}"
        assert not self.is_told_to_lead, "a leader never loads a snapshot"
        self.commits.clear()
        self.snapshots.append((end_offset, epoch, records))

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        if self.leaders:
            assert epoch >= self.leaders[-1][1], "epochs go up"
            assert (leader_id, epoch) != self.leaders[-1], "told twice"
        if leader_id == self.node_id:
            assert any(e == epoch and not records for _, e, records, _ in self.commits), "leads before it is complete"
        self.leaders.append((leader_id, epoch))
        self.react("leader")

    @property
    def end_offset(self) -> int:
        if self.commits:
            return self.commits[-1][3] + 1
        return self.snapshots[-1][0] if self.snapshots else 0

    @property
    def values(self) -> list[bytes]:
        loaded = self.snapshots[-1][2] if self.snapshots else []
        return [*loaded, *(value for _, _, records, _ in self.commits for value in records)]

    @property
    def is_told_to_lead(self) -> bool:
        return bool(self.leaders) and self.leaders[-1][0] == self.node_id


class Node:
    """A core that is nothing but a raft replica."""

    def __init__(
        self, node_id: int, voters: dict[int, Endpoint], config: NodeConfig, switches: Switches, ports: Ports
    ) -> None:
        self.clock = ports.clock
        self.log = Log.open(ports.disk, DIRECTORY, LogConfig(segment_bytes=4096), ports.clock)
        self.heard = Heard(node_id)
        self.raft = RaftReplica(node_id, voters, "cluster", ports, config, self.log, self.heard, switches=switches)

    def start(self) -> None:
        self.raft.start()

    def snapshot_every(self, commits: int) -> None:
        """Write a snapshot of all values so far whenever so many batches have been committed."""

        def react(what: str) -> None:
            if what == "commit" and len(self.heard.commits) % commits == 0:
                self.raft.write_snapshot(self.heard.end_offset, self.heard.values)

        self.heard.react = react

    def on_request(self, request: InboundRequest) -> None:
        assert self.raft.handles(request)
        self.raft.on_request(request)

    def do(self, what: Callable[[RaftReplica], object]) -> None:
        """Do it in an event of the node's own, in which its disk may fail."""
        self.clock.call_later(0, lambda: what(self.raft))

    def stop(self, on_stopped: Callable[[], None]) -> None:
        def close() -> None:
            self.log.close()
            on_stopped()

        self.raft.stop(close)


class Cluster:
    """``voters`` controllers (ids 1000…) and ``observers`` brokers (ids 0…).

    ``switches`` are those that a node's next incarnation starts with, by name; a name not in it has the defaults.
    """

    def __init__(
        self,
        seed: int,
        voters: int,
        observers: int = 0,
        config: NodeConfig = QUICK,
        switches: Switches | dict[str, Switches] | None = None,
        snapshot_every: int | None = None,
    ) -> None:
        self.snapshot_every = snapshot_every
        self.sim = Simulator(seed, codec="all")
        self.config = config
        self.voters = [f"controller-{i}" for i in range(voters)]
        self.observers = [f"broker-{i}" for i in range(observers)]
        self.names = self.voters + self.observers
        self.ids = {name: 1000 + i for i, name in enumerate(self.voters)}
        self.ids |= {name: i for i, name in enumerate(self.observers)}
        endpoints = {self.ids[name]: Endpoint(name, 9093) for name in self.voters}
        for name in self.names:
            port = 9093 if name in self.voters else 9092
            self.sim.add_node(name, port, lambda ports, n=name: self._make(n, endpoints, ports))
        self.switches = switches if isinstance(switches, dict) else dict.fromkeys(self.names, switches or Switches())
        self.referee = Referee(self)

    def _make(self, name: str, endpoints: dict[int, Endpoint], ports: Ports) -> Node:
        node = Node(self.ids[name], endpoints, self.config, self.switches.get(name, Switches()), ports)
        if self.snapshot_every is not None and name in self.voters:
            node.snapshot_every(self.snapshot_every)
        return node

    def start(self, *names: str) -> Cluster:
        for name in names or self.names:
            self.sim.start(name)
        return self

    def node(self, name: str) -> Node:
        core = self.sim.node(name).core
        assert isinstance(core, Node), f"{name} is down"
        return core

    def raft(self, name: str) -> RaftReplica:
        return self.node(name).raft

    def heard(self, name: str) -> Heard:
        return self.node(name).heard

    @property
    def running(self) -> list[str]:
        return [name for name in self.names if isinstance(self.sim.node(name).core, Node)]

    @property
    def leader(self) -> str | None:
        """The leader of the highest epoch any running node is in, if its listener knows."""
        leading = [name for name in self.running if self.raft(name).is_leader and self.heard(name).is_told_to_lead]
        return max(leading, key=lambda name: self.raft(name).epoch, default=None)

    def until(self, predicate: Callable[[], bool], within_ms: int = 5000) -> None:
        assert self.sim.run_for(within_ms * MS, predicate=predicate), "did not come to pass in time"

    def run_ms(self, duration_ms: int) -> None:
        self.sim.run_for(duration_ms * MS)

    def await_leader(self, *, other_than: str | None = None, within_ms: int = 5000) -> str:
        self.until(lambda: self.leader is not None and self.leader != other_than, within_ms)
        assert self.leader is not None
        return self.leader

    def append(self, *values: bytes) -> int:
        assert self.leader is not None
        return self.raft(self.leader).append(list(values))

    def await_everywhere(self, values: list[bytes], within_ms: int = 5000) -> None:
        """Until every running node was told exactly ``values``."""
        self.until(lambda: all(self.heard(name).values == values for name in self.running), within_ms)

    def followers(self, leader: str) -> list[str]:
        return [name for name in self.voters if name != leader]


class Referee:
    """Judges by the trace and the logs, after every event, what Raft promises."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._events: list[tuple[str, int, NodeEvent]] = []
        self.leaders: dict[int, tuple[str, int]] = {}
        self.states: list[tuple[str, RaftStateChanged]] = []
        self.truncations: list[tuple[str, RaftTruncated]] = []
        self.snapshots: list[tuple[str, RaftSnapshot]] = []
        self._snapshot_crcs: dict[tuple[int, int], int] = {}
        self._last_appended: dict[str, dict[int, tuple[int, int, int, int]]] = {}
        self._votes: dict[tuple[str, int, int], int] = {}
        self._epochs: dict[tuple[str, int], int] = {}
        self._high_watermarks: dict[tuple[str, int], int] = {}
        self._batches: dict[tuple[int, int], tuple[int, int]] = {}
        self.committed: list[tuple[int, int, int, int]] = []
        self._committed_in: list[int] = []
        cluster.sim.trace.subscribers.append(lambda _, node, inc, event: self._events.append((node, inc, event)))
        cluster.sim.after_event.append(self.judge)

    @property
    def committed_end(self) -> int:
        return self.committed[-1][1] if self.committed else 0

    def judge(self) -> None:
        events, self._events = self._events, []
        for node, incarnation, event in events:
            match event:
                case RaftStateChanged():
                    self.states.append((node, event))
                    self._judge_state(node, incarnation, event)
                case RaftAppended():
                    batch = (event.offset, event.end_offset, event.epoch, event.crc)
                    self._last_appended.setdefault(node, {})[event.offset] = batch
                    known = self._batches.setdefault((event.epoch, event.offset), (event.end_offset, event.crc))
                    assert known == (event.end_offset, event.crc), f"log matching: {node} {event}"
                case RaftHighWatermark():
                    before = self._high_watermarks.get((node, incarnation), 0)
                    assert event.offset > before, f"HW monotonic: {node} {event}"
                    self._high_watermarks[node, incarnation] = event.offset
                    self._judge_committed(node, event)
                case RaftBroken():
                    raise AssertionError(f"{event.reason}: {node} {event}")
                case RaftSnapshot():
                    self.snapshots.append((node, event))
                    self._judge_snapshot(node, event)
                case RaftTruncated():
                    self.truncations.append((node, event))
                    assert event.offset >= self._high_watermarks.get((node, incarnation), 0), f"cut below HW: {node}"

    def _judge_state(self, node: str, incarnation: int, event: RaftStateChanged) -> None:
        life = node, self._cluster.sim.node(node).disk.wipes
        assert event.epoch >= self._epochs.get(life, 0), f"epoch monotonic: {node} {event}"
        self._epochs[life] = event.epoch
        if event.broker >= 0:
            voted = self._votes.setdefault((*life, event.epoch), event.broker)
            assert voted == event.broker, f"one vote an epoch: {node} voted for {voted}, then {event}"
        if event.reason == "leader":
            leader = self.leaders.setdefault(event.epoch, (node, incarnation))
            assert leader == (node, incarnation), f"election safety: {leader} and {node} lead {event.epoch}"
            # A leader elected long ago that only now hears of its last vote misses what later epochs have committed.
            earlier = sum(epoch < event.epoch for epoch in self._committed_in)
            held = self._log_of(node, None)[:earlier]
            assert held == self.committed[:earlier], f"leader completeness: {node} leads {event.epoch} with {held}"

    def _judge_snapshot(self, node: str, event: RaftSnapshot) -> None:
        if event.reason == "ignored":
            return
        known = self._snapshot_crcs.setdefault((event.offset, event.epoch), event.crc)
        assert known == event.crc, f"snapshots: {node} has another state below {event.offset}"
        ends = {end: epoch for _, end, epoch, _ in self.committed}
        assert ends.get(event.offset) == event.epoch, f"snapshots: {node} has one of what is not committed: {event}"

    def _judge_committed(self, node: str, event: RaftHighWatermark) -> None:
        high_watermark = event.offset
        held = self._log_of(node, high_watermark)
        shared = min(len(held), len(self.committed))
        assert held[:shared] == self.committed[:shared], f"committed data: {node} below {high_watermark}"
        if len(held) > len(self.committed):
            self._committed_in += [event.epoch] * (len(held) - len(self.committed))
            self.committed = held
        assert held[-1][1] == high_watermark, f"the HW cuts a batch: {node} {high_watermark}"

    def _log_of(self, node: str, end: int | None) -> list[tuple[int, int, int, int]]:
        core = self._cluster.sim.node(node).core
        if not isinstance(core, Node):  # it died in this very event, and cannot be asked
            return self.committed if end is None else self._below(node, end)
        end = core.log.log_end_offset if end is None else end
        assert end <= core.log.log_end_offset
        start = core.log.log_start_offset
        below = self._below(node, start)
        assert (below[-1][1] if below else 0) == start, f"the log of {node} begins at {start}, which is no commit's end"
        return below + [
            (batch.base_offset, batch.last_offset + 1, batch.leader_epoch, batch.crc)
            for batch in core.log.batches_between(start, max(start, end))
        ]

    def _below(self, node: str, offset: int) -> list[tuple[int, int, int, int]]:
        """What is committed below ``offset``; what is news of this very event, by what ``node`` last appended."""
        below = [batch for batch in self.committed if batch[1] <= offset]
        while below[-1][1] < offset if below else offset > 0:
            below.append(self._last_appended[node][below[-1][1] if below else 0])
        return below


@pytest.fixture
def cluster() -> Callable[..., Cluster]:
    """Makes clusters: ``cluster(voters, observers=0, seed=1, …)``, started; ``started=False``: not yet."""

    def make(
        voters: int,
        observers: int = 0,
        *,
        seed: int = 1,
        config: NodeConfig = QUICK,
        switches: Switches | dict[str, Switches] | None = None,
        snapshot_every: int | None = None,
        started: bool = True,
    ) -> Cluster:
        made = Cluster(seed, voters, observers, config, switches, snapshot_every)
        return made.start() if started else made

    return make
