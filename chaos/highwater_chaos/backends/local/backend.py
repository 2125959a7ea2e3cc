"""Backend ``local``: each node a real process on this machine, and faults done to the real kernel.

Here nodes are plain processes on loopback, which needs no root. As root each has a network namespace and a file system
of its own, to which more can be done: :mod:`~highwater_chaos.backends.local.isolated`.

Threads: the harness's thread calls everything here and keeps all state. Clients live on a thread of their own
(:mod:`~highwater_chaos.backends.local.client_loop`); nodes are other processes. The harness's thread never waits for a
node for longer than a bound, since a fault may have stopped it.
"""

from __future__ import annotations

import base64
import signal
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from operator import call
from pathlib import Path
from typing import Any, Final, cast

from highwater_chaos.backends.local.acting import asked
from highwater_chaos.backends.local.capability import possible_to, why_not
from highwater_chaos.backends.local.clients import LocalClients
from highwater_chaos.backends.local.control import ControlChannel
from highwater_chaos.backends.local.disks import DirectoryDisk, NodeDisk
from highwater_chaos.backends.local.endings import Ending
from highwater_chaos.backends.local.event_files import parse_line
from highwater_chaos.backends.local.host_faults import HostFaults
from highwater_chaos.backends.local.network import LoopbackNetwork, NodeNetwork
from highwater_chaos.backends.local.nodes import LocalNode
from highwater_chaos.backends.local.own_run import OwnRun
from highwater_chaos.backends.local.processor_use import ProcessorUse
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace, NodeProgram, Observer, Role
from highwater_chaos.backends.local.programs import program_of, programs_of
from highwater_chaos.backends.local.quorum_events import QUORUM_KINDS, QuorumJudge
from highwater_chaos.backends.local.real_nodes import RealNodes
from highwater_chaos.backends.local.rules import RuleBook
from highwater_chaos.backends.local.samples import Samples
from highwater_chaos.backends.local.sessions import Sessions
from highwater_chaos.backends.on_machines import with_machine_methods
from highwater_chaos.backends.primitives import AppliesRpcRules, Needs, Primitive
from highwater_chaos.backends.protocol import (
    BackendError,
    InvariantViolation,
    MetricRow,
    NodeState,
)
from highwater_chaos.base.machine_record import MACHINES_FILE
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_names, controller_names, node_id
from highwater_chaos.experiment.software import elects_by_znode
from highwater_chaos.machine.faults.disk_error import DiskError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.faults.node_fault import NodeFault
from highwater_chaos.machine.primitives import Begins, Probes
from highwater_chaos.machine.runs.run import MachineRun
from highwater_chaos.records.dump import Dumped, dump_replicas
from highwater_runtime.config import PropertyValue
from highwater_runtime.host.files.posix_disk import PosixDisk
from highwater_runtime.ports import MS, Endpoint
from highwater_runtime.ports.trace import NodeStopped

_SLICE: Final = 0.02
"""Seconds that :meth:`LocalBackend.advance` sleeps before it looks after the nodes again."""
_COUNT_EVERY_NS: Final = 50 * MS
_STALLED_NS: Final = 1_000 * MS
"""For so long a flush must have waited in a node that holds flushes: one of a busy disk may take as long."""


@with_machine_methods("processes")
class LocalBackend(RealNodes, OwnRun):
    """See :class:`highwater_chaos.backends.protocol.Backend`. ``root``: the state directory; None: where this user's
    runs are."""

    name = "local"
    poll_ns = 20 * MS

    def __init__(self, *, root: Path | None = None) -> None:
        super().__init__(root)
        self.plan: ClusterPlan
        self._nodes: dict[str, LocalNode] = {}
        self._network: NodeNetwork
        self._programs: Mapping[Role, NodeProgram]
        self._observers: Sequence[Observer] = ()
        self._rules: RuleBook
        self._host_faults: HostFaults
        self._samples = Samples(self.now_ns)
        self._processor_use = ProcessorUse()
        self._counted_ns = 0
        self._inconclusive_reasons: list[str] = []
        self._kept: dict[str, Path] = {}
        self._wiped: set[tuple[str, int]] = set()

    # --- before the run ---

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """What is implemented, less what needs nodes of our own runtime."""
        return possible_to(program_of(cluster), cluster, self.primitives)

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """Return why the machine cannot do it; None: it can."""
        reason = why_not(cluster.file_system)[primitive]
        if reason is None and primitive not in self.primitives:
            return "nodes share one network and one disk here"
        if reason is None and primitive is AppliesRpcRules:
            return program_of(cluster).why_no_rules(cluster)
        return reason

    def problems(self, cluster: Cluster) -> list[str]:
        """Return why the software cannot run the experiment."""
        return [problem for program in _distinct(programs_of(cluster)) for problem in program.problems(cluster)]

    # --- start and end of the run ---

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None, *, needs: Needs = None) -> None:
        """Make the machine's part and start the processes."""
        run = self._begin("highwater run", spool)
        self._programs = programs_of(cluster)
        self._network = self._make_network(run, cluster)
        (run.path / "logs").mkdir()
        for name, endpoint in self._network.endpoints.items():
            self._nodes[name] = self._make_node(run, cluster, name, endpoint)
        self.plan = ClusterPlan(
            cluster,
            _cluster_id(),
            seed,
            tuple(node.place for node in self._nodes.values()),
            interferes=needs is None or AppliesRpcRules in needs,
        )
        self._observers = [program.observer(self) for program in _distinct(self._programs)]
        for observer in self._observers:
            self._log.follow(observer.records)
        self._rules = RuleBook(self._nodes, self._channel, self._answers)
        ours = [name for name, node in self._nodes.items() if node.is_ours]
        self._host_faults = HostFaults(ours, self._channel, self._answers)
        self._clients = LocalClients(self.enter_network, seed, negotiates=cluster.runtime != "highwater")
        if servers := [place.advertised for place in self.plan.of_role("zookeeper")]:
            key_of = self._session_key if cluster.runtime == "highwater" else None
            self._sessions = Sessions(self._clients, servers, key_of, elects_preferred=elects_by_znode(cluster))
        for name in self._nodes:
            self.start(name)

    def _make_network(self, run: MachineRun, cluster: Cluster) -> NodeNetwork:
        del run
        return LoopbackNetwork(cluster)

    def _make_disk(self, run: MachineRun, cluster: Cluster, node: str) -> NodeDisk:
        del cluster
        return DirectoryDisk(run.path / "disks" / node)

    def _make_node(self, run: MachineRun, cluster: Cluster, name: str, endpoint: Endpoint) -> LocalNode:
        disk = self._make_disk(run, cluster, name)
        files = run.path / name
        files.mkdir()
        role = cast(Role, name.partition("-")[0])
        place = NodePlace(
            name=name,
            node_id=node_id(name),
            role=role,
            bind=endpoint,
            advertised=endpoint,
            data=disk.data,
            files=files,
            record=self._log.spool / f"events-{name}.jsonl",
            peer_ports=self._network.peer_ports.get(name, ()),
        )
        log = run.path / "logs" / f"{name}.log"
        self._kept[f"logs/{name}.log"] = log
        return LocalNode(run, self._programs[role], place, disk, namespace=self._network.namespace(name), log=log)

    def advance(self, until_ns: int) -> None:
        """Sleep, looking after the nodes now and then."""
        while (left := until_ns - self.now_ns()) > 0:
            time.sleep(min(left / 1e9, _SLICE))
            self._look_after()
        self._take_events()

    def close(self) -> None:
        """Kill, unmount, remove.

        Raises:
            MachineError: something could not be undone; the guardian goes on trying.
            ClientLoopError: a process of clients did not end.
        """
        try:
            if self._sessions is not None:
                self._sessions.close()
        finally:
            try:
                if self._clients is not None:
                    self._clients.close()
            finally:
                self._close_run()

    def _close_run(self) -> None:
        for node in self._nodes.values():
            if node.channel is not None:
                node.channel.close()
        if self._run is None:
            return
        for observer in self._observers:
            observer.close()
        if hasattr(self, "_network"):
            self._network.close()
        self._log.close()
        run, self._run = self._run, None
        run.__exit__()

    def _look_after(self) -> None:
        """Notice what has come up since the last time."""
        for node in self._nodes.values():
            if node.is_gone:
                self._ended_by_itself(node)
            elif node.channel is not None:
                self._attend(node, node.channel)
        if self.now_ns() - self._counted_ns > _COUNT_EVERY_NS:
            self._counted_ns = self.now_ns()
            self._rules.tick()
        if self._processor_use.is_due:
            nodes = {(one.name, one.incarnation): one.processor_time() for one in self._nodes.values()}
            self._processor_use.look({node: time for node, time in nodes.items() if time is not None})

    def _attend(self, node: LocalNode, channel: ControlChannel) -> None:
        """Reach a node that has come up, and hear what it answers."""
        try:
            was_open = channel.is_open
            if channel.try_open() and not was_open:
                self._rules.opened(node.name)
                self._host_faults.opened(node.name)
            channel.pump()
        except BackendError as error:
            self._inconclusive_reasons.append(str(error))

    def _take_events(self) -> None:
        for observer in self._observers:
            if observer.records:
                self._log.show(observer.poll())
            else:
                self._log.add(observer.poll())

    # --- for observers (any thread) ---

    def enter_network(self) -> None:
        self._network.enter_as_client()

    def client_namespace(self) -> str:
        return self._network.client_namespace

    # --- observation ---

    def bootstrap(self) -> tuple[Endpoint, ...]:
        """Return the addresses of all brokers."""
        return tuple(self._network.endpoints[name] for name in broker_names(self.plan.cluster))

    def controllers(self) -> tuple[Endpoint, ...]:
        """Return the addresses of all controllers."""
        return tuple(self._network.endpoints[name] for name in controller_names(self.plan.cluster))

    def state(self, node: str) -> NodeState:
        """From the process, as the kernel sees it."""
        return self._nodes[node].state()

    def incarnation(self, node: str) -> int:
        return self._nodes[node].incarnation

    def clock_error(self, node: str) -> tuple[int, float]:
        """The node reads its own clock beside the machine's."""
        return self._host_faults.clock_error(node)

    @asked("disk probe")
    def disk_probe(self, node: str) -> str:
        """A write and a sync on the node's disk, then a flush by the node itself where it runs."""
        local = self._nodes[node]
        error = local.disk.probe()
        channel = self._channel(node)
        if error is not None:
            return error
        if channel is None or not local.is_ours or not channel.is_open or not self._answers(node):
            return "stalled" if self._host_faults.is_stalled(node) else "ok"
        answer = channel.call("diskProbe")
        if "ended" in answer:
            return str(answer["ended"])
        return "stalled" if answer["stalled"] and answer["waitingNs"] > _STALLED_NS else "waiting"

    @asked("disk is empty")
    def disk_is_empty(self, node: str) -> bool:
        """Whether there is no name in its data directory."""
        return not any(self._nodes[node].place.data.iterdir())

    def metric_samples(self) -> Iterable[MetricRow]:
        """What nodes have answered since the last time; they are asked again."""
        self._samples.ask(
            {
                (node.name, node.incarnation): node.channel
                for node in self._nodes.values()
                if node.channel is not None and node.is_ours and self._answers(node.name)
            }
        )
        return self._samples.take()

    def violations(self) -> Sequence[InvariantViolation]:
        """What the controllers' events show."""
        judge = QuorumJudge({node_id(name): name for name in controller_names(self.plan.cluster)}, self._wiped)
        return judge.judge(self._log.by_time(parse_line, QUORUM_KINDS))

    def replica_dump(self) -> Generator[Dumped, None, None]:
        """From the files, which no process writes to any more."""
        for name in broker_names(self.plan.cluster):
            if self._nodes[name].has(DiskFreeze):
                raise BackendError(f"what {name} has on its disk could not be read: the disk is not healed")
            disk = PosixDisk(self._nodes[name].place.data, run_blocking=call, post=call)
            try:
                yield from dump_replicas(node_id(name), disk)
            except OSError as error:
                raise BackendError(f"what {name} has on its disk could not be read: {error}") from error

    def inconclusive_reasons(self) -> Sequence[str]:
        """Nodes that ended without a fault or a crash to explain it, clients that did, events that could not be
        read."""
        self._look_after()
        clients = [] if self._clients is None else self._clients.inconclusive_reasons()
        notes = [note for observer in self._observers for note in observer.notes()]
        return [*self._inconclusive_reasons, *clients, *notes]

    def files(self) -> Mapping[str, bytes]:
        """Logs and last configs of all nodes, and what they had of the machine's processors."""
        kept = {name: path.read_bytes() for name, path in sorted(self._kept.items()) if path.exists()}
        return {**kept, MACHINES_FILE: self._processor_use.lines()}

    # --- nodes ---

    def held_up(self, node: str) -> None:
        """This backend starts its processes itself."""

    @asked("start")
    def start(self, node: str) -> None:
        """A process in the node's namespace."""
        local = self._nodes[node]
        if local.has_process:
            return
        if local.has(DiskFreeze):
            raise BackendError(f"start: the disk of {node} takes no writes")
        self._take_events()
        of_program = list(_distinct(self._programs)).index(local.program)
        self._observers[of_program].starting(node, local.incarnation + 1, time.monotonic_ns())
        self._kept.update(local.start(self.plan))
        if local.began_wiped:
            self._wiped.add((node, local.incarnation))

    def configure(self, node: str, config: Mapping[str, PropertyValue]) -> None:
        """Its next start writes its properties again."""
        self.plan = self.plan.configured(node, config)

    @asked("kill")
    def kill(self, node: str) -> None:
        """Kill the node's processes (SIGKILL)."""
        local = self._nodes[node]
        if local.has_process:
            local.end()
            self._stopped(local, "kill")

    @asked("stop")
    def stop(self, node: str) -> None:
        """Ask the node's process to stop (SIGTERM)."""
        local = self._nodes[node]
        if local.has_process:
            local.ask_to_stop()

    @asked("wipe")
    def kill_and_wipe(self, node: str) -> None:
        """Give the node a new, empty file system. Nothing else starts it meanwhile."""
        self.kill(node)
        self._nodes[node].wipe()

    def begin_fault(self, node: str, begins: Begins, parameters: Mapping[str, Any], until_ns: int | None) -> None:
        with asked(begins.kind):
            self._nodes[node].begin(begins.fault, parameters, self._monotonic(until_ns))

    def end_faults(self, node: str, *faults: type[NodeFault]) -> None:
        with asked("heal"):
            self._nodes[node].take_back(*faults)

    def probe_node(self, node: str, declared: Callable[..., Any], probe: Probes, parameters: Mapping[str, Any]) -> Any:
        with asked(declared.__name__):
            return probe.look(self._nodes[node], **parameters)

    def _ended_by_itself(self, local: LocalNode) -> None:
        was_asked, troubled = local.stopping, local.disk_troubled
        status = local.end()
        if was_asked and status in (local.program.stopped_status, -signal.SIGTERM):
            # The signal itself ends a process that does not handle it yet: it has not touched its data by then.
            self._stopped(local, "stop")
            return
        self._take_events()
        ending = Ending(
            local.name,
            local.incarnation,
            status,
            was_reported=self._log.has_crashed(local.name, local.incarnation),
            says_why=local.program.says_why_it_ends,
            was_asked=was_asked,
            troubled=troubled,
            has_been_up=self._log.has_been_up(local.name),
            tail=local.tail(),
        )
        if (finding := ending.finding()) is not None:
            self._log.host_event(local.name, local.incarnation, finding)
        if (reason := ending.inconclusive_reason()) is not None:
            self._inconclusive_reasons.append(reason)
        self._stopped(local, "crash")

    def _stopped(self, local: LocalNode, reason: str, lost_bytes: int = 0) -> None:
        """Note the end of an incarnation, behind all of its events."""
        self._rules.gone(local.name)
        self._take_events()
        self._log.host_event(local.name, local.incarnation, NodeStopped(reason=reason, offset=lost_bytes))

    # --- messages, disk, clock ---

    @asked("stall disk")
    def stall_disk(self, node: str, until_ns: int | None = None) -> None:
        """The node's host keeps flushes from ending."""
        del until_ns
        self._host_faults.stall(node)

    @asked("disk heal")
    def disk_heal(self, node: str) -> None:
        """Free the disk's space, mount it again, let flushes go on."""
        local = self._nodes[node]
        if local.has(DiskError) and local.has_process:
            # Its files belong to a file system that is dead for good.
            local.end()
            self._stopped(local, "crash")
        local.take_back(DiskFreeze)  # before what would wait for it
        local.take_back_from("volume")
        self._host_faults.end_stall(node)

    def skew_clock(self, node: str, offset_ns: int, rate: float) -> None:
        """The node's host shifts what its core reads."""
        self._host_faults.set_clock(node, offset_ns, rate)

    def _session_key(self, node: str) -> Mapping[str, Any] | None:
        if (channel := self._channel(node)) is None:
            raise BackendError(f"{node} does not run, so nobody gives the password of its session")
        found: Mapping[str, Any] | None = channel.call("session")
        return found

    def _channel(self, node: str) -> ControlChannel | None:
        return self._nodes[node].channel

    def _answers(self, node: str) -> bool:
        local = self._nodes[node]
        # A node that waits for its disk hears as little as a paused one.
        waits = local.has(DiskFreeze) or local.state() is NodeState.PAUSED
        return local.has_process and not local.is_gone and not waits

    def _monotonic(self, run_ns: int | None) -> int | None:
        return None if run_ns is None else run_ns + self._start_ns


def _cluster_id() -> str:
    """22 characters, as Kafka's: a random uuid in URL-safe base 64 that does not begin with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()).startswith("-"):
        pass
    return text


def _distinct(programs: Mapping[Role, NodeProgram]) -> Sequence[NodeProgram]:
    """Each program once, that of the first nodes first."""
    return list(dict.fromkeys(programs.values()))
