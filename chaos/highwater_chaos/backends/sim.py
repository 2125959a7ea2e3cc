"""Backend ``sim``: the whole cluster in one thread and in virtual time.

It hosts the same cores as any other backend; a seed determines the run. Faults act on the simulator's own network,
disks and clocks, and probes read them back, so evidence here means that the model did what it was asked.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends.ensemble.sessions import CLIENT as SESSIONS_CLIENT
from highwater_chaos.backends.ensemble.sessions import SessionsClient
from highwater_chaos.backends.primitives import (
    BY_THE_USER,
    KeepMode,
    Needs,
    PowerLossReport,
    Primitive,
    RpcRule,
    RunsCommands,
    implemented_by,
)
from highwater_chaos.backends.protocol import (
    BackendError,
    InvariantViolation,
    MetricRow,
    NodeState,
    TimedEvent,
)
from highwater_chaos.backends.sim_cluster import (
    BROKER_PORT,
    CONTROLLER_PORT,
    ZOOKEEPER_PORT,
    broker_factory,
    controller_factory,
    zookeeper_endpoints,
    zookeeper_factory,
)
from highwater_chaos.backends.sim_controllers import known_to_brokers, known_to_controllers
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_names, controller_names, node_id, quorum_names, zookeeper_names
from highwater_chaos.machine.kernel.identity import ProcessState
from highwater_chaos.records.dump import Dumped, dump_replicas
from highwater_chaos.workload.metadata_probe import KnownLeaders, KnownMetadata
from highwater_runtime.config import PropertyValue
from highwater_runtime.ports import MS, Endpoint, NodeCore, Ports
from highwater_runtime.ports.coordination import SessionKey
from highwater_runtime.ports.trace import NodeEvent
from highwater_runtime.sim import Cut, Simulator
from highwater_runtime.sim import RpcRule as SimRule
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.invariants import AtRest, InvariantMonitor
from highwater_runtime.sim.network import CodecMode
from highwater_runtime.zookeeper import EnsembleClient, ZooKeeperServer

_CLIENT_PORT: Final = 9092
_STALLED_NS: Final = 200 * MS
"""A probe's flush that takes longer than this is stalled (an honest one takes at most a tenth of it)."""


@dataclass(slots=True)
class _Probe:
    """The harness's own process on a node's disk: a paused or dead node must not hold back what it sees."""

    begun_ns: int
    flushed: bool = False
    blocked: bool = False

    def deliver(self, callback: Callable[[Any], None], argument: Any) -> None:
        callback(argument)

    def hold(self) -> None:
        """See that a write does not return."""
        self.blocked = True

    def release(self) -> None:
        """Do nothing: the next probe sees it."""

    def note_flushed(self, _: OSError | None) -> None:
        """See that a flush has ended."""
        self.flushed = True


class SimBackend:
    """See :class:`highwater_chaos.backends.protocol.Backend`.

    Args:
        codec: which messages are really encoded and decoded on the way (``some``: one in sixteen).
        trace_messages: put every message into the trace too, and so into its digest.
        watch_invariants: check the simulator's invariants after every event.
    """

    name = "sim"
    poll_ns = 5 * MS

    def __init__(
        self, *, codec: CodecMode = "some", trace_messages: bool = False, watch_invariants: bool = True
    ) -> None:
        self.simulator: Simulator
        self._codec: CodecMode = codec
        self._trace_messages = trace_messages
        self._watch_invariants = watch_invariants
        self._monitor: InvariantMonitor | None = None
        self._at_rest: AtRest | None = None
        self._cluster: Cluster
        self._events: list[TimedEvent] = []
        self._own: dict[str, dict[str, PropertyValue]] = {}
        """Properties of single nodes."""
        self._stopping: set[str] = set()
        self._plans: dict[str, int] = {}
        """How often each node had lost power when its next loss was planned."""
        self._cuts: dict[str, Cut] = {}
        self._rules: dict[str, SimRule] = {}
        self._probes: dict[str, _Probe] = {}

    # --- before the run ---

    @property
    def primitives(self) -> frozenset[Primitive]:
        return implemented_by(type(self))

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """Every fault, whatever the cluster is like."""
        return self.primitives

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """It is simulated or it is not."""
        return BY_THE_USER if primitive is RunsCommands else None

    def problems(self, cluster: Cluster) -> list[str]:
        """Only our own runtime has no I/O of its own."""
        if cluster.runtime == "highwater":
            return []
        return [f"spec.cluster.runtime {cluster.runtime} runs in real processes only: use --backend local"]

    # --- start and end of the run ---

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None, *, needs: Needs = None) -> None:
        """Create and start all nodes."""
        simulator = Simulator(seed, codec=self._codec, trace_messages=self._trace_messages)
        self.simulator, self._cluster = simulator, cluster
        simulator.trace.subscribers.append(self._note)
        if self._watch_invariants:
            self._monitor = InvariantMonitor(simulator)
        self._own = {name: {} for name in (*controller_names(cluster), *broker_names(cluster))}
        for name in controller_names(cluster):
            factory = controller_factory(cluster, name, self._own[name])
            simulator.add_node(name, CONTROLLER_PORT, factory, exceptions_are_findings=True)
        for name in zookeeper_names(cluster):
            factory = zookeeper_factory(cluster, name)
            simulator.add_node(name, ZOOKEEPER_PORT, factory, exceptions_are_findings=True)
        for name in broker_names(cluster):
            factory = broker_factory(cluster, name, self._own[name])
            simulator.add_node(name, BROKER_PORT, factory, exceptions_are_findings=True)
        for name in (*quorum_names(cluster), *broker_names(cluster)):
            simulator.start(name)
        if cluster.mode == "zookeeper":
            servers = tuple(zookeeper_endpoints(cluster).values())
            self.add_client(SESSIONS_CLIENT, lambda ports: SessionsClient(ports, EnsembleClient(ports, servers)))

    def _note(self, time_ns: int, node: str, incarnation: int, event: NodeEvent) -> None:
        self._events.append(TimedEvent(len(self._events), time_ns, node, incarnation, event))

    def now_ns(self) -> int:
        """Virtual time."""
        return self.simulator.now_ns

    def advance(self, until_ns: int) -> None:
        """Run the simulation. A node whose core raises ends and stays down; raises ``SimulationError`` when a client's
        core raised, and ``LivelockError`` when the harness does not let time advance: bugs of the harness."""
        self.simulator.run_until(until_ns)

    def close(self) -> None:
        """Nothing outlives the object."""

    # --- observation ---

    def bootstrap(self) -> tuple[Endpoint, ...]:
        """Return the addresses of all brokers."""
        return tuple(Endpoint(name, BROKER_PORT) for name in broker_names(self._cluster))

    def controllers(self) -> tuple[Endpoint, ...]:
        """Return the addresses of all controllers."""
        return tuple(Endpoint(name, CONTROLLER_PORT) for name in controller_names(self._cluster))

    def state(self, node: str) -> NodeState:
        """Return the node's state as the simulator knows it."""
        machine = self.simulator.nodes[node]
        if not machine.is_alive:
            return NodeState.DOWN
        if machine.is_paused:
            return NodeState.PAUSED
        return NodeState.STOPPING if node in self._stopping else NodeState.UP

    def known_to_controllers(self) -> Mapping[str, KnownMetadata]:
        """Return what the controllers' cores know."""
        return known_to_controllers(self.simulator, self._cluster)

    def known_to_brokers(self) -> Mapping[str, KnownLeaders]:
        """Return what the brokers' cores know."""
        return known_to_brokers(self.simulator, self._cluster)

    def incarnation(self, node: str) -> int:
        return self.simulator.nodes[node].incarnation

    def events_since(self, seq: int) -> Sequence[TimedEvent]:
        """A slice of all events."""
        return self._events[seq:]

    def event_lines(self) -> Sequence[bytes]:
        """As the simulator wrote them."""
        return self.simulator.trace.node_lines

    def reachable(self, source: str, destination: str) -> bool:
        """Whether no cut is in force on the way."""
        return (source, destination) not in self.simulator.fabric.cuts

    def process_state(self, node: str) -> ProcessState:
        """Return the state of the simulated process."""
        machine = self.simulator.nodes[node]
        if not machine.is_alive:
            return "gone"
        return "stopped" if machine.is_paused else "running"

    def clock_error(self, node: str) -> tuple[int, float]:
        """Return how far the node's clock is ahead, in ns, and by which fraction it runs fast."""
        clock = self.simulator.nodes[node].clock
        return clock.wall_ns() - self.simulator.now_ns, clock.rate_ppm / 1_000_000

    def disk_probe(self, node: str) -> str:
        """Write a file, and flush it; a flush that stays away too long is stalled."""
        disk = self.simulator.nodes[node].disk
        pending = self._probes.get(node)
        probe = self._probes[node] = pending or _Probe(self.now_ns())
        owner, disk.owner = disk.owner, probe
        try:
            file = disk.open_unnamed()
            try:
                file.append(b"\0" * 4096)
                if pending is None:
                    file.fsync_later(probe.note_flushed)
            finally:
                file.close()
        except OSError as error:
            del self._probes[node]
            return errno.errorcode.get(error.errno or 0, "unknown")
        finally:
            disk.owner = owner
        if probe.blocked:
            del self._probes[node]
            return "blocked"
        if pending is None:
            return "waiting"
        if probe.flushed:
            del self._probes[node]
            return "ok"
        return "stalled" if self.now_ns() - probe.begun_ns > _STALLED_NS else "waiting"

    def disk_is_empty(self, node: str) -> bool:
        """Whether there is no name on it."""
        return not self.simulator.nodes[node].disk.list()

    def metric_samples(self) -> Iterable[MetricRow]:
        """From each process's own metrics."""
        for sample in self.simulator.metric_samples():
            yield MetricRow(
                sample.time_ns, sample.node, sample.incarnation, sample.name, dict(sample.labels), sample.value
            )

    def violations(self) -> Sequence[InvariantViolation]:
        """From the monitor that looks after every event."""
        found = self._monitor.violations if self._monitor is not None else []
        return [InvariantViolation(item.name, item.time_ns, item.subject, item.what) for item in found]

    def unrest(self) -> Iterator[InvariantViolation]:
        """Yield the invariants of a cluster at rest that are broken."""
        at_rest = self._rest()
        for one in () if at_rest is None else at_rest.look():
            yield InvariantViolation(one.name, self.now_ns(), one.subject, one.what)

    def is_at_rest(self) -> bool:
        """Whether :meth:`unrest` yields nothing; costs less while it does."""
        at_rest = self._rest()
        return at_rest is None or at_rest.is_calm()

    def _rest(self) -> AtRest | None:
        if self._at_rest is None and self._monitor is not None:
            self._at_rest = AtRest(self.simulator, self._monitor.peers.unheard)
        return self._at_rest

    def replica_dump(self) -> Generator[Dumped, None, None]:
        """From the files of every broker's disk."""
        for name in broker_names(self._cluster):
            try:
                yield from dump_replicas(node_id(name), self.simulator.nodes[name].disk)
            except OSError as error:
                raise BackendError(f"what {name} has on its disk could not be read: {error}") from error

    def inconclusive_reasons(self) -> Sequence[str]:
        """None: a node that crashes is a finding."""
        return []

    def files(self) -> Mapping[str, bytes]:
        """There are no processes that could have left any."""
        return {}

    def trace_digest(self) -> str:
        """The simulator's digest: events, messages, randomness."""
        return self.simulator.digest()

    # --- nodes ---

    def start(self, node: str) -> None:
        self._stopping.discard(node)  # it may have crashed while it stopped
        self.simulator.start(node)

    def configure(self, node: str, config: Mapping[str, PropertyValue]) -> None:
        """Its factory reads it."""
        self._own[node].update(config)

    def held_up(self, node: str) -> None:
        """Return None: the simulator starts a node when it is asked to."""

    def kill(self, node: str) -> None:
        """End the simulated process at once."""
        self._stopping.discard(node)
        self.simulator.kill(node)

    def stop(self, node: str) -> None:
        if self.state(node) is NodeState.DOWN:
            return
        self._stopping.add(node)
        self.simulator.stop(node, lambda: self._stopping.discard(node))

    def power_loss(self, node: str, keep: KeepMode, *, wipe: bool = False) -> PowerLossReport:
        """Process and page cache are gone."""
        self._stopping.discard(node)
        lost = self.simulator.power_loss(node, keep).bytes_lost
        if wipe:
            self.simulator.wipe(node)
        return PowerLossReport(lost)

    def plan_power_loss(self, node: str, write: int, keep: KeepMode) -> None:
        host = self.simulator.node(node)
        host.keep_at_power_cut = keep
        self._plans[node] = len(host.power_losses)
        host.disk.cut_power_at(write)

    def planned_power_loss(self, node: str) -> PowerLossReport | None:
        """By the simulator's own count of power losses."""
        losses = self.simulator.node(node).power_losses[self._plans[node] :]
        if not losses:
            return None
        self._stopping.discard(node)
        return PowerLossReport(losses[0].bytes_lost)

    def drop_power_loss(self, node: str) -> None:
        self.simulator.node(node).disk.cut_power_at(None)

    def kill_and_wipe(self, node: str) -> None:
        """Both at the same instant."""
        self.kill(node)
        self.simulator.wipe(node)

    def pause(self, node: str, until_ns: int | None = None) -> None:
        """No event reaches it. Only the harness can be late in virtual time: ``until_ns`` is not needed."""
        self.simulator.pause(node)

    def resume(self, node: str) -> None:
        """Deliver to the process what waited for it."""
        self.simulator.resume(node)

    # --- network, disk, clock ---

    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        """Lose all messages in one direction."""
        self._cuts[cut] = self.simulator.faults.cut(source, destination, "aToB")

    def uncut(self, cut: str) -> None:
        """Undo :meth:`cut` once."""
        made = self._cuts.pop(cut, None)
        if made is not None:
            self.simulator.faults.heal(made)

    def add_rule(self, name: str, rule: RpcRule) -> None:
        """One of the simulator's rules."""
        faults = self.simulator.faults
        clients, servers = rule.sources or None, rule.destinations or None
        match rule.action:
            case "hold":
                made = faults.hold(rule.rpc, from_nodes=clients, to_nodes=servers, direction=rule.part)
            case "drop":
                made = faults.drop(rule.rpc, from_nodes=clients, to_nodes=servers, direction=rule.part)
            case "delay":
                made = faults.delay(rule.delay_ns, rule.rpc, from_nodes=clients, to_nodes=servers, direction=rule.part)
            case "duplicate":
                made = faults.duplicate(rule.rpc, from_nodes=clients, to_nodes=servers)
        self._rules[name] = made

    def rule_matches(self, name: str) -> int:
        """Return how many messages the rule has caught."""
        return self._rules[name].caught if name in self._rules else 0

    def rule_times(self, name: str) -> Sequence[int]:
        """Return when the rule caught messages, in ns of run time."""
        return tuple(self._rules[name].caught_at) if name in self._rules else ()

    def remove_rule(self, name: str) -> None:
        if name in self._rules:
            self.simulator.faults.heal(self._rules[name])

    def rule_left(self, name: str) -> str | None:
        """Return whether the simulated network has the rule."""
        made = self._rules.get(name)
        if made is None:
            return None
        if made in self.simulator.fabric.rules:
            return f"the network still applies a rule about {made.api or 'any RPC'}"
        return f"{len(made.held)} messages are still held back" if made.held else None

    def fill_disk(self, node: str, until_ns: int | None = None) -> None:
        """A quota of what is used."""
        disk = self._disk_to_trouble(node)
        disk.set_quota(disk.used_bytes())

    def fail_disk(self, node: str, until_ns: int | None = None) -> None:
        """Let every call on the disk fail."""
        self._disk_to_trouble(node).set_errors("all")

    def stall_disk(self, node: str, until_ns: int | None = None) -> None:
        """Flushes end once it is healed."""
        self._disk_to_trouble(node).set_stalled(True)

    def block_writes(self, node: str, until_ns: int | None = None) -> None:
        """Writes return, and flushes end, once it is healed."""
        self._disk_to_trouble(node).set_stalled(True, writes=True)

    def _disk_to_trouble(self, node: str) -> SimDisk:
        self._probes.pop(node, None)
        return self.simulator.nodes[node].disk

    def disk_heal(self, node: str) -> None:
        """All of them at once."""
        self._probes.pop(node, None)
        self.simulator.nodes[node].disk.heal()

    def skew_clock(self, node: str, offset_ns: int, rate: float) -> None:
        """The wall clock is set; what a wrong rate did to the monotonic clock cannot be undone, only its wall clock."""
        drift = self.simulator.nodes[node].clock.now_ns() - self.simulator.now_ns
        self.simulator.set_clock(node, rate=rate, offset_ns=offset_ns - drift)

    # --- sessions ---

    def session(self, node: str) -> int:
        """As the ensemble answers a client of it."""
        owner = self._sessions_client().owner(node_id(node))
        if owner is None:
            raise BackendError(f"no ZooKeeper server has answered yet which session {node} is registered by")
        return owner

    def end_session(self, node: str, session: int) -> None:
        """By the password that the servers know."""
        for name in zookeeper_names(self._cluster):
            process = self.simulator.nodes[name].process
            if process is not None and isinstance(process.core, ZooKeeperServer):
                facts = process.core.state.sessions.get(session)
                if facts is not None:
                    self._sessions_client().end(SessionKey(session, facts.password))
                    return
        raise BackendError(f"no ZooKeeper server that runs knows the session {session:#x} of {node}")

    def _sessions_client(self) -> SessionsClient:
        process = self.simulator.nodes[SESSIONS_CLIENT].process
        assert process is not None
        assert isinstance(process.core, SessionsClient)
        return process.core

    # --- clients ---

    def add_client(self, name: str, factory: Callable[[Ports], NodeCore]) -> None:
        """Add a simulated node without a disk."""
        self.simulator.add_node(name, _CLIENT_PORT, factory, disk=False)
        self.simulator.start(name)

    def post(self, callback: Callable[[], None]) -> None:
        """Call it as an event of this moment."""
        self.simulator.call_later(0, callback)
