"""Backend ``kubernetes`` for :func:`highwater_chaos.engine.run_experiment`, in the runner's pod.

Nodes are the pods of a LogCluster; what is done to them the agents of their machines do.

**Down and up.** A StatefulSet's pod stays and the kubelet restarts its container: at once the first time, and after
10, 20, 40 s and so on (five minutes at most) where it ended again within ten minutes. A node that is to stay down
is kept so by its agent, with a file that is there before the node is killed, and that the one in its place waits to go;
``start`` heals it. So "down" is true for every peer: no process listens. A node held down for longer
than its startup probe allows (two minutes) is restarted, and waits again.

Threads: the engine's thread calls everything here; requests to agents that take long run on others, and clients on a
loop of their own (the local backend's).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends.attach.noted_topics import NotesTopics
from highwater_chaos.backends.attach.topics import Made
from highwater_chaos.backends.kubernetes.access import ClusterAccess
from highwater_chaos.backends.kubernetes.agents import AgentError, AgentSettings
from highwater_chaos.backends.kubernetes.capabilities import KubernetesCapabilities
from highwater_chaos.backends.kubernetes.cluster import (
    ClusterError,
    Place,
    addresses,
    bring_up,
    find_pods,
    place_of,
    take_down,
)
from highwater_chaos.backends.kubernetes.directory import directory_of
from highwater_chaos.backends.kubernetes.ensemble import PodEnsemble
from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.host_faults import HostFault, HostFaults
from highwater_chaos.backends.kubernetes.intake import Intake
from highwater_chaos.backends.kubernetes.journal import StatusJournal, TakenOverError
from highwater_chaos.backends.kubernetes.kafka_pods import KafkaPods, kafka_pods
from highwater_chaos.backends.kubernetes.kubelet import held_up
from highwater_chaos.backends.kubernetes.machines import machine_rows
from highwater_chaos.backends.kubernetes.message_rules import MessageRules
from highwater_chaos.backends.kubernetes.metrics import MetricPolls
from highwater_chaos.backends.kubernetes.network import Cuts
from highwater_chaos.backends.kubernetes.observing import PodEvents
from highwater_chaos.backends.kubernetes.own_topics import write_own_topics
from highwater_chaos.backends.kubernetes.pod_nodes import PodNode
from highwater_chaos.backends.kubernetes.rebooted_machines import RebootedMachines
from highwater_chaos.backends.kubernetes.watched_cluster import WatchedCluster
from highwater_chaos.backends.local.clients import LocalClients
from highwater_chaos.backends.local.host_faults import Skew
from highwater_chaos.backends.local.real_nodes import RealNodes
from highwater_chaos.backends.primitives import Needs
from highwater_chaos.backends.protocol import BackendError, HeldUp, InvariantViolation, MetricRow, NodeState, TimedEvent
from highwater_chaos.base.machine_record import MACHINES_FILE
from highwater_chaos.base.quantities import format_signed_duration
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_names, controller_names, node_id
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import CLUSTER_LABEL, POD, Json
from highwater_chaos.machine.faults.disk_error import DiskError
from highwater_chaos.machine.primitives import Begins
from highwater_chaos.records.dump import Dumped
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.ports import MS, SECOND, Endpoint
from highwater_runtime.ports.trace import NodeStarted

_GRACE_NS: Final = 15 * SECOND
_AFTER_NS: Final = 60 * SECOND
"""How long after the run's timeout the agents end a fault that has no end of its own; the run heals it before."""
_UP_WITHIN: Final = 600.0
_SLICE: Final = 0.1
_CONTAINER: Final = "node"
_LOGS_PATIENCE: Final = 5.0


@dataclass(slots=True, kw_only=True)
class _Node(PodNode):
    """``stall`` and ``skew`` are the last ones, also after their heal."""

    events: PodEvents
    stall: HostFault | None = None
    gone: bool = False
    """Whether its pod is gone, and there is no next one yet."""
    skew: HostFault | None = None


class KubernetesBackend(RebootedMachines, NotesTopics, KubernetesCapabilities, RealNodes):
    """See :class:`highwater_chaos.backends.protocol.Backend`. Its nodes' disks cannot be harmed: those that can be
    harmed are a :class:`~highwater_chaos.backends.kubernetes.crashable.CrashableBackend`'s.

    Args:
        api: the API server.
        agents: where agents are.
        place: the experiment.
        journal: its status.
        timeout_ns: of the run: by then and :data:`_AFTER_NS` every fault ends.
        own_topics: by which the run is judged on a LogCluster that is borrowed.
        at: where an address of the pods' network is reached from here.
        access: how to get into a LogCluster with ``spec.security``; None: everything is in the clear.
    """

    poll_ns = 200 * MS
    OUTLIVED = frozenset({"volume"})

    def __init__(
        self,
        api: Kube,
        agents: AgentSettings,
        place: Place,
        journal: StatusJournal,
        timeout_ns: int,
        *,
        own_topics: Sequence[str] = (),
        at: Callable[[Endpoint], Endpoint] = lambda endpoint: endpoint,
        access: ClusterAccess | None = None,
    ) -> None:
        super().__init__(type(self), secured=access is not None)
        self._access = access
        self._api = api
        self._agents = agents
        self._place = place
        self._journal = journal
        self._at = at
        self._watched = WatchedCluster(api, place)
        self._own_topics = own_topics
        self._inconclusive_reasons = []
        self._timeout_ns = timeout_ns
        self._client = FaultClient(journal, timeout_ns + _AFTER_NS)
        self._threads = ThreadPoolExecutor(16, thread_name_prefix="poll")
        self._intake: Intake
        self._ensemble: PodEnsemble | None = None
        self._kafka: KafkaPods | None = None
        self._observers: list[PodEnsemble | KafkaPods] = []
        self._metrics = MetricPolls(self._threads)
        self._cluster: Cluster
        self._nodes: Mapping[str, _Node] = {}
        self._host_faults: HostFaults
        self._rules: MessageRules
        self._cuts: Cuts
        self._places: dict[str, PodPlace] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._begin_replacements()
        self._wiped: set[tuple[str, int]] = set()
        self._since = 0
        self._closed = False
        self._begin_notes(Made([], None, "", []))

    def _write_made(self) -> None:
        if self.is_borrowed():  # all of a cluster of the experiment's own goes with it
            write_own_topics(self._journal, self._made, self._tries)

    def is_borrowed(self) -> bool:
        return self._place.borrowed != ""

    # --- start and end of the run ---

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None, *, needs: Needs = None) -> None:
        """Create the LogCluster, or begin on the one that is borrowed, once it is Ready. Raises ``ClusterError``."""
        self._since = int(time.time())
        self._intake = Intake(self._threads, borrowed=self.is_borrowed(), spool=spool)
        self._cluster = cluster
        self._ensemble = PodEnsemble(self._place, cluster, self._at)
        self._observers.append(self._ensemble)
        if not self._place.borrowed:
            bring_up(self._api, self._place, cluster, _UP_WITHIN, self._journal.check)
        self._watched.begin()
        places = self._places = find_pods(self._api, self._agents, self._place, cluster)
        self._nodes = {
            name: _Node(name=name, place=place, events=PodEvents(name, place)) for name, place in places.items()
        }
        self._ensure_resettable(needs)
        security = self._security(cluster)
        self._kafka = kafka_pods(
            api=self._api, place=self._place, cluster=cluster, at=self._at, seed=seed, security=security
        )
        self._observers += [] if self._kafka is None else [self._kafka]
        self._intake.follow([node.events for node in self._nodes.values()], self._crashed, self._kafka)
        self._host_faults = HostFaults(self._client, places, self.state)
        self._rules = MessageRules(self._client, places, self._host_faults)
        peers = addresses(self._api, self._place)
        self._endpoints = {
            name: Endpoint(peers[one.name], self._place.endpoint(name).port) for name, one in places.items()
        }
        self._cuts = Cuts(self._client, places, self._endpoints)
        self._clients = LocalClients(lambda: None, seed, negotiates=self._kafka is not None, security=security)
        self._sessions = self._ensemble.begin_sessions(self._clients, places)
        if self._place.borrowed:
            for observer in self._observers:
                observer.catch_up()
            self._intake.learn_the_past(self._own_topics)
            self._inconclusive_reasons.clear()  # a crash before the experiment says nothing about it
        self._client.all_end_within(self._timeout_ns + _AFTER_NS)

    def now_ns(self) -> int:
        """The runner's clock since the run began; those of other machines are compared with it."""
        return time.monotonic_ns() - self._intake.start_ns

    def advance(self, until_ns: int) -> None:
        """Sleep, and take events in. Raises ``TakenOverError`` where the experiment is not the runner's any more."""
        while (left := until_ns - self.now_ns()) > 0:
            time.sleep(min(left / 1e9, _SLICE))
        self._take_events()
        self._journal.check_now_and_then()
        self._watched.look_now_and_then()
        self._look_at_pods()
        self._client.retry()

    def cannot_go_on(self) -> str | None:
        """Return why the run is to end now: its LogCluster was deleted; None: it can go on."""
        return self._watched.deleted

    def is_gone(self, node: str) -> bool:
        """Whether the LogCluster was deleted, and the node's pod with it."""
        return self._watched.has_no_pod(self._nodes[node].place.uid)

    def close(self) -> None:
        """Heal everything, end clients, delete the experiment's own cluster. Where the operator has taken over,
        that is its affair."""
        if self._closed:
            return
        self._closed = True
        taken_over = False
        with contextlib.ExitStack() as ending:  # all of it, from the last line on, whatever the API server refuses
            ending.callback(self._threads.shutdown, wait=False, cancel_futures=True)
            ending.callback(self._client.close)
            ending.callback(self._watched.close)
            if self._clients is not None:
                ending.callback(self._clients.close)
            for observer in self._observers:
                ending.callback(observer.close)
            try:
                self._client.heal_all()
            except TakenOverError:
                taken_over = True
        if not taken_over and not self._place.borrowed:
            take_down(self._api, self._place)

    def client_config(self) -> Path | None:
        """Return the client properties of a LogCluster with ``spec.security``; None: clients need none."""
        return None if self._access is None else self._access.file

    def controllers_config(self) -> Path | None:
        """Return those for its controllers."""
        return None if self._access is None else self._access.controllers_file

    def _security(self, cluster: Cluster) -> Callable[[Endpoint], OutboundSecurity]:
        if self._access is None:
            return lambda _: PLAINTEXT_OUTBOUND
        controllers = () if cluster.mode == "zookeeper" else controller_names(cluster)
        return self._access.security(self._at(self._place.endpoint(name)) for name in controllers)

    # --- observation ---

    def bootstrap(self) -> tuple[Endpoint, ...]:
        """Return the addresses of all brokers."""
        return tuple(self._at(self._place.endpoint(name)) for name in broker_names(self._cluster))

    def controllers(self) -> tuple[Endpoint, ...]:
        """Return the addresses of all controllers."""
        return tuple(self._at(self._place.endpoint(name)) for name in controller_names(self._cluster))

    def incarnation(self, node: str) -> int:
        """Starts that its events tell."""
        return self._nodes[node].events.incarnation

    def events_since(self, seq: int) -> Sequence[TimedEvent]:
        """A slice of what has been taken in."""
        self._take_events()
        return self._intake.since(seq)

    def observed_until_ns(self) -> int:
        """When the agents were last asked, if all of them have answered since and none has more."""
        return self._intake.observed_until_ns

    def clock_errors_ns(self) -> dict[str, int]:
        """As agents' machines were asked for their clocks."""
        return self._intake.clock_errors_ns()

    def event_lines(self) -> Iterable[bytes]:
        """All of them, by time."""
        self._take_events()
        return self._intake.lines()

    def clock_error(self, node: str) -> tuple[int, float]:
        """Return offset (ns) and rate as the node reported them to its agent, at the skew and when it was undone."""
        skew = self._nodes[node].skew
        if skew is None:
            return 0, 1.0
        if skew.healed and (left := skew.left()) is not None:
            raise BackendError(left)
        phase = "heal" if skew.healed else "inject"
        latest = skew.look()
        # A node that has ended since has no wrong clock.
        return int(latest.details("offsetNs", phase) or 0), float(latest.details("rate", phase) or 1.0)

    def disk_probe(self, node: str) -> str:
        """What the agent's probe meets now, or met when it had undone the trouble."""
        one = self._nodes[node]
        if one.stall is not None:
            return one.stall.left() or "ok" if one.stall.healed else "stalled" if one.stall.is_seen() else "waiting"
        if one.trouble is None:
            return "ok"
        if (fault := one.faults[one.trouble]).healed:
            return self._client.seen_healed(fault) or "ok"
        return str(self._client.look(fault).details("met"))

    def metric_samples(self) -> Iterable[MetricRow]:
        """What pods have answered since the last time; they are asked again."""
        now = self.now_ns()
        rows = self._metrics.answered(now)
        running = {
            name: (node.events.incarnation, node.place)
            for name, node in self._nodes.items()
            if node.events.up and self.state(name) is NodeState.UP
        }
        self._metrics.ask(running, now)
        return rows

    def violations(self) -> Sequence[InvariantViolation]:
        """What the controllers' events show."""
        voters = {node_id(name): name for name in controller_names(self._cluster)}
        return self._intake.quorum_violations(voters, self._wiped)

    def replica_dump(self) -> Generator[Dumped, None, None]:
        """As the agents read it from the disks."""
        for name in broker_names(self._cluster):
            place = self._nodes[name].place
            try:
                yield from self._intake.own_logs(place.agent.dump(place.namespace, place.name))
            except AgentError as error:
                raise BackendError(f"what {name} has on its disk could not be read: {error}") from error

    def inconclusive_reasons(self) -> Sequence[str]:
        """Nodes and clients that ended by themselves, faults that were not healed, events that could not be read."""
        clients = self._clients.inconclusive_reasons() if self._clients is not None else []
        unseen = [note for one in self._observers for note in one.notes()]
        client, notes = self._client.inconclusive_reasons(), self._intake.notes()
        missed = self._host_faults.inconclusive_reasons()
        changed = [] if self._watched.changed is None else [self._watched.changed]
        return [*changed, *self._inconclusive_reasons, *clients, *client, *missed, *notes, *unseen]

    def files(self) -> Mapping[str, bytes]:
        """Logs of all nodes, if the kubelet answers soon, and how their machines were."""

        def log_of(node: _Node) -> bytes:
            return node.logs(self._log_of(node)).encode()

        nodes = dict(sorted(self._nodes.items()))
        logs = dict(zip((f"logs/{name}.log" for name in nodes), self._threads.map(log_of, nodes.values()), strict=True))
        machines = machine_rows((node.place.agent for node in self._nodes.values()), self._since, self._watched)
        return {**logs, **({} if self._kafka is None else self._kafka.files()), MACHINES_FILE: machines}

    def _log_of(self, one: PodNode) -> str:
        return self._api.log(one.place.namespace, one.place.name, _CONTAINER, patience=_LOGS_PATIENCE)

    # --- nodes ---

    def state(self, node: str) -> NodeState:
        """What was done to it last, as the agent confirmed it. A node whose pod is gone is down."""
        state = super().state(node)
        return NodeState.DOWN if self._nodes[node].gone else state

    def _listed(self) -> list[Json]:
        return self._api.list(POD, self._place.namespace, f"{CLUSTER_LABEL}={self._place.cluster}", patience=0.0)

    def _see(self, pods: Sequence[Json]) -> None:
        by_name = {pod["metadata"]["name"]: pod for pod in pods}
        for node in self._nodes.values():
            pod = by_name.get(node.place.name)
            if pod is not None and pod["metadata"]["uid"] == node.place.uid:
                self._follow(node, (node.name,), pod)
                continue
            if not node.gone:
                self._gone(node)
            if pod is not None and node.events.presence == "gone" and (pod.get("status") or {}).get("podIP"):
                self._replaced(node, pod)

    def _gone(self, node: _Node) -> None:
        node.gone = True
        self._intake.pod_is_gone(node.events)
        if node.sent_away != node.place.uid and self._watched.deleted is None:
            self._note_once(f"pod {node.place.name} was replaced, and no fault of the run did that")

    def _replaced(self, node: _Node, pod: Json) -> None:
        """Its next pod, which has an address, is its next incarnation, perhaps on another machine."""
        self._end_with_pod(node, (node.name,))
        try:
            node.place = place_of(pod, directory_of(self._api, self._agents), self._agents)
        except (ClusterError, KubeError) as error:
            self._note_once(f"{node.name}: {error}")
            return
        self._places[node.name] = node.place
        self._endpoints[node.name] = self._endpoints[node.name]._replace(host=str(pod["status"]["podIP"]))
        self._intake.next_pod(node.events, node.place)
        node.gone = False

    # --- what has a pod ---

    def held_up(self, node: str) -> HeldUp | None:
        """Return the kubelet's back-off from the pod's status; None if there is none or it cannot be read."""
        place = self._nodes[node].place
        try:
            pods = self._listed()
        except KubeError:
            return None  # the caller then reports that the node does not run, without a reason
        pod = next((one for one in pods if one["metadata"]["name"] == place.name), None)
        return None if pod is None else held_up(pod, _CONTAINER)

    def begin_fault(self, node: str, begins: Begins, parameters: Mapping[str, Any], until_ns: int | None) -> None:
        super().begin_fault(node, begins, parameters, until_ns)
        if begins.fault.ACTS_ON == "volume":
            self._nodes[node].stall = None

    # --- disk, clock ---

    def stall_disk(self, node: str, until_ns: int | None = None) -> None:
        """Ask the node to hold its flushes."""
        stall = self._host_faults.make(
            node, "diskStall", f"diskStall on {node}", lasts_ns=lambda: self._lasts(until_ns)
        )
        stall.begin()
        self._nodes[node].stall, self._nodes[node].trouble = stall, None

    def disk_heal(self, node: str) -> None:
        """Undo it. A node whose file system failed is killed: its files are those of one that is dead for good."""
        one = self._nodes[node]
        if one.stall is not None:
            one.stall.heal()
        if one.trouble is None or one.faults[one.trouble].healed:
            return
        self.end_faults(node, one.trouble)
        if one.trouble is DiskError and one.faults[one.trouble].healed:
            one.events.ending = "crash"
            try:
                self._client.inject(one.place, "kill", f"kill {node}: its files belong to a dead file system")
            except BackendError as error:
                # It has ended by itself and is being started again.
                self._inconclusive_reasons += [] if "does not run" in str(error) else [str(error)]
            self._intake.stopped(one.events, "crash", None)

    def skew_clock(self, node: str, offset_ns: int, rate: float) -> None:
        """The node's host shifts what its core reads."""
        one = self._nodes[node]
        if (offset_ns, rate) == (0, 1.0):
            if one.skew is not None:
                one.skew.heal()
            return
        skew = Skew(offset_ns, rate, time.monotonic_ns())
        fault = self._host_faults.make(
            node,
            "clockSkew",
            f"skew the clock of {node}",
            lambda: {"offset": format_signed_duration(skew.offset_now()), "rate": rate},
        )
        fault.begin()
        one.skew = fault

    # --- small things ---

    def _resumed(self, one: PodNode) -> None:
        self._host_faults.resumed(one.name)

    def _away(self, one: PodNode, *, away: bool) -> None:
        self._nodes[one.name].events.away = away

    def _ending(self, one: PodNode, reason: str | None) -> None:
        self._nodes[one.name].events.ending = reason

    def _ended(self, one: PodNode, reason: str, fault: InjectedFault) -> None:
        """Note the end of an incarnation, behind all of its events."""
        events = self._nodes[one.name].events
        events.silent_since = None  # its agent has just answered, so wait for the node's last events
        self._take_events()
        lost = int(fault.details("lostBytes") or 0)
        self._intake.stopped(events, reason, fault.seen_at_ns, lost)

    def _crashed(self, node: str, incarnation: int) -> None:
        if not self._nodes[node].troubled:
            self._inconclusive_reasons.append(f"{node} ended by itself in incarnation {incarnation}; see its log")

    def _take_events(self) -> None:
        if self._ensemble is not None:
            committed = self._ensemble.take(lambda name: self._nodes[name].events.incarnation)
            self._intake.add(committed if self._kafka is None else self._kafka.committed(committed))
        for one in self._intake.take():
            if isinstance(one.event, NodeStarted):
                node = self._nodes[one.node]
                if node.wiped:
                    node.wiped = False
                    self._wiped.add((one.node, one.incarnation))
                self._host_faults.started(one.node)
