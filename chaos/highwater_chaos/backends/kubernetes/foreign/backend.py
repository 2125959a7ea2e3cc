"""See :mod:`highwater_chaos.backends.kubernetes.foreign`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from highwater_chaos.backends.attach.backend import AttachBackend
from highwater_chaos.backends.attach.discovery import Found
from highwater_chaos.backends.attach.session import Access
from highwater_chaos.backends.attach.topics import remove
from highwater_chaos.backends.kubernetes.agents import AgentError, AgentSettings
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.directory import AgentDirectory, directory_of
from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.foreign.capabilities import ForeignCapabilities
from highwater_chaos.backends.kubernetes.foreign.nodes import ForeignNode, Guess
from highwater_chaos.backends.kubernetes.foreign.pods import PodOf, container_of, matched, running
from highwater_chaos.backends.kubernetes.foreign.reference import ForeignReference
from highwater_chaos.backends.kubernetes.journal import StatusJournal, TakenOverError
from highwater_chaos.backends.kubernetes.kubelet import held_up
from highwater_chaos.backends.kubernetes.network import Cuts
from highwater_chaos.backends.kubernetes.own_topics import write_own_topics
from highwater_chaos.backends.kubernetes.pod_nodes import PodDisks, PodNode, PodNodes
from highwater_chaos.backends.kubernetes.rebooted_machines import RebootedMachines
from highwater_chaos.backends.local.recording import EventLog
from highwater_chaos.backends.on_machines import with_machine_methods
from highwater_chaos.backends.primitives import Needs, Primitive
from highwater_chaos.backends.protocol import BackendError, HeldUp, NodeState
from highwater_chaos.base.user_error import UserError
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import node_id, node_names
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import POD, Json
from highwater_runtime.ports import MS, SECOND, Endpoint
from highwater_runtime.ports.trace import NodeStarted, NodeStopped

_AFTER_NS: Final = 60 * SECOND
_SLICE: Final = 0.1
_LOGS_PATIENCE: Final = 5.0


class ForeignBackend(RebootedMachines, AttachBackend):
    """See :class:`highwater_chaos.backends.protocol.Backend`.

    Args:
        api: the API server.
        agents: where agents are.
        reference: which cluster.
        access, found: how clients get in, and what they found.
        journal: the status of the experiment.
        timeout_ns: of the run.
    """

    name = "kubernetes"
    poll_ns = 200 * MS

    def __init__(
        self,
        api: Kube,
        agents: AgentSettings,
        reference: ForeignReference,
        access: Access,
        found: Found,
        journal: StatusJournal,
        timeout_ns: int,
    ) -> None:
        super().__init__(access, found)
        self._api = api
        self._agents = agents
        self._reference = reference
        self._capabilities = ForeignCapabilities(type(self), has_pods=bool(reference.labels))
        self._journal = journal
        self._timeout_ns = timeout_ns
        self._client = FaultClient(journal, timeout_ns + _AFTER_NS)
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="poll")
        self._nodes: dict[str, ForeignNode] = {}
        self._places: dict[str, PodPlace] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._directory: AgentDirectory
        self._inconclusive_reasons = []
        self._begin_replacements()
        self._closed = False

    # --- before the run ---

    @property
    def primitives(self) -> frozenset[Primitive]:
        """Return what agents do to pods of others; none where the experiment names no pods."""
        return self._capabilities.primitives

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """Return why agents do not do it to pods of others."""
        del cluster
        return self._capabilities.why_not(primitive)

    def allows_commands(self) -> bool:
        """Return False: a runner has the rights of Highwater."""
        return False

    # --- start and end of the run ---

    def prepare(self) -> None:
        """Find the pods, and make sure that their agents let them be touched. Raises ``ClusterError``."""
        if self._reference.labels:
            self._find()
            self._ensure_allowed()

    def has_volumes(self) -> bool:
        """Return whether every pod has a volume that its agent can harm. Raises ``ClusterError``."""
        try:
            return bool(self._nodes) and all(one.place.look("crashable", bool) for one in self._unique())
        except AgentError as error:
            raise ClusterError(f"spec.clusterRef: whether volumes can lose power cannot be seen: {error}") from error

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None, *, needs: Needs = None) -> None:
        """Begin to observe what :meth:`prepare` has found. Raises ``ClusterError``."""
        self._ensure_resettable(needs)
        self._cluster = cluster
        self._start_ns = time.monotonic_ns()
        self._log = EventLog(self._start_ns, spool=spool)
        self._cuts = Cuts(self._client, self._places, self._endpoints)
        self._observe(seed)
        self._client.all_end_within(self._timeout_ns + _AFTER_NS)

    def advance(self, until_ns: int) -> None:
        """Sleep, and look at pods. Raises ``TakenOverError`` where the experiment is not the runner's any more."""
        while (left := until_ns - self.now_ns()) > 0:
            time.sleep(min(left / 1e9, _SLICE))
        self._look_at_pods()
        self._look_at_guesses()
        self._take_events()
        self._journal.check_now_and_then()
        self._client.retry()

    def close(self) -> None:
        """Heal everything, end clients and observation, delete the experiment's topics. Where the operator has taken
        over, that is its affair."""
        if self._closed:
            return
        self._closed = True
        taken_over = False
        with contextlib.ExitStack() as ending:
            ending.callback(self._threads.shutdown, wait=False, cancel_futures=True)
            ending.callback(self._client.close)
            ending.callback(self._end_observation)
            try:
                self._client.heal_all()
            except TakenOverError:
                taken_over = True
        if not taken_over:
            # What is left is in the status, and the operator's.
            with contextlib.suppress(UserError, KubeError, TakenOverError):
                self._made.topics = remove(self._made)
                self._write_made()

    def cannot_go_on(self) -> str | None:
        """Return None: pods of others come and go, and the brokers with them."""
        return None

    # --- observation ---

    def state(self, node: str) -> NodeState:
        """What was done to it last, as the agent confirmed it. A node without a pod, or whose pod has none of its
        processes, is down."""
        if node not in self._nodes:
            return super(PodNodes, self).state(node)
        state = PodNodes.state(self, node)
        return NodeState.DOWN if state is NodeState.UP and self._nodes[node].life is None else state

    def incarnation(self, node: str) -> int:
        """Pods and containers that have been seen to run one after the other."""
        found = self._nodes.get(node)
        return 1 if found is None else found.incarnation

    def held_up(self, node: str) -> HeldUp | None:
        """Return the kubelet's back-off from the pod's status; None if there is none."""
        found = self._nodes.get(node)
        return None if found is None else held_up(found.pod, found.container)

    def inconclusive_reasons(self) -> Sequence[str]:
        """Clients and observers that ended, faults that were not healed, nodes that ended by themselves."""
        guessed = [one.guess and one.guess.inconclusive_reason(one.name, one.place.name) for one in self._unique()]
        reasons = [*self._client.inconclusive_reasons(), *self._inconclusive_reasons]
        return [*super().inconclusive_reasons(), *reasons, *(one for one in guessed if one)]

    def files(self) -> Mapping[str, bytes]:
        """Logs of the nodes, and which events were seen."""
        logs = {f"logs/{one.name}.log": one.logs(self._log_of(one)).encode() for one in self._unique()}
        return {**super().files(), **logs}

    def _log_of(self, one: PodNode) -> str:
        container = self._nodes[one.name].container
        return self._api.log(one.place.namespace, one.place.name, container, patience=_LOGS_PATIENCE)

    # --- nodes ---

    def start(self, node: str) -> None:
        """Heal what keeps it down. Raises ``BackendError`` for a node without a pod."""
        self._pod_of(node)
        PodNodes.start(self, node)

    def kill(self, node: str) -> None:
        self._pod_of(node)
        PodNodes.kill(self, node)

    def stop(self, node: str) -> None:
        self._pod_of(node)
        PodNodes.stop(self, node)

    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        """A rule in the destination's pod."""
        self._pod_of(source)
        self._pod_of(destination)
        PodNodes.cut(self, cut, source, destination, until_ns)

    def _pod_of(self, node: str) -> ForeignNode:
        if node not in node_names(self._cluster):
            raise KeyError(node)
        if node not in self._nodes:
            raise BackendError(f"which pod is {node} is not known: none of the pods that spec.clusterRef selects")
        return self._nodes[node]

    def _ending(self, one: PodNode, reason: str | None) -> None:
        self._nodes[one.name].ending = reason

    def _ended(self, one: PodNode, reason: str, fault: InjectedFault) -> None:
        del fault
        self._stopped(self._nodes[one.name], reason)

    # --- pods that come and go ---

    def _find(self) -> None:
        reference, found = self._reference, self._found
        pods = [pod for pod in self._listed() if container_of(pod, reference.container) is not None]
        if not pods:
            raise ClusterError(
                f"spec.clusterRef: {reference.what}: no pod has the labels {reference.selector} and a container"
                f" {reference.container}; look with kubectl -n {reference.namespace} get pods --show-labels"
            )
        self._directory = directory_of(self._api, self._agents)
        by_id = matched(pods, found.brokers, found.voters, reference.container)
        for known, pod_of in by_id.items():
            names = tuple(
                name
                for name, ids in (
                    (f"broker-{known}", found.brokers),
                    (f"controller-{known}", found.voters),
                )
                if known in ids
            )
            place = self._place(pod_of.pod)
            node = ForeignNode(name=names[0], names=names, container=reference.container, place=place, pod=pod_of.pod)
            if (running_id := running(pod_of.pod, node.container)) is None:
                raise ClusterError(f"container {node.container} of pod {place.name} does not run")
            node.life = (place.uid, running_id)
            node.guess = Guess.of(pod_of)
            for name in names:
                self._nodes[name] = node
            self._settle(node, pod_of)

    def _place(self, pod: Json) -> PodPlace:
        meta, machine = pod["metadata"], str((pod.get("spec") or {}).get("nodeName", ""))
        agent = self._directory.agent(machine)
        if agent is None:
            self._directory = directory_of(self._api, self._agents)
            agent = self._directory.agent(machine)
        if agent is None:
            raise ClusterError(
                f"no agent on node {machine or '(none)'} of pod {meta['name']} (looked for {self._agents.selector} in"
                f" namespace {self._agents.namespace})"
            )
        reference = self._reference
        return PodPlace(
            meta["namespace"], meta["name"], meta["uid"], agent, reference.container, machine, reference.volume
        )

    def _settle(self, node: ForeignNode, pod_of: PodOf) -> None:
        for name in node.names:
            self._places[name], self._endpoints[name] = node.place, pod_of.listener

    def _ensure_allowed(self) -> None:
        """Raises ``ClusterError`` where an agent refuses a pod."""
        for one in self._unique():
            try:
                one.place.look("process_state", str)
            except AgentError as error:
                if error.status in (403, 409, 422):
                    raise ClusterError(f"spec.clusterRef: {error.reason}") from error

    def _listed(self) -> list[Json]:
        return self._api.list(POD, self._reference.namespace, self._reference.selector)

    def _see(self, pods: Sequence[Json]) -> None:
        by_name = {pod["metadata"]["name"]: pod for pod in pods}
        for node in self._unique():
            pod = by_name.get(node.place.name)
            if pod is None:
                self._stopped(node, "pod-gone")
                continue
            node.pod = pod
            if pod["metadata"]["uid"] != node.place.uid and not self._replaced(node, pod):
                continue
            self._follow(node, node.names, pod)
            running_id = running(pod, node.container)
            life = None if running_id is None else (pod["metadata"]["uid"], running_id)
            if node.down or node.stopping is not None or not node.changes(life):
                continue
            if life is None and pod["metadata"].get("deletionTimestamp"):
                self._stopped(node, "pod-gone")
            elif node.life is not None:
                self._stopped(node, "ended")
                if not node.troubled:
                    self._note_once(f"{node.name} ended by itself in pod {node.place.name}; see its log")
            if life is not None:
                self._started(node, life)

    def _look_at_guesses(self) -> None:
        for one in self._unique():
            if one.guess is not None and self._observer is not None:
                one.guess.look(one.held, self._observer.watcher, node_id(one.name))

    def _replaced(self, node: ForeignNode, pod: Json) -> bool:
        """The pod of a broker is another one now: its next incarnation, perhaps on another machine. Whether it can be
        reached there."""
        self._stopped(node, "pod-gone")
        if not (pod.get("status") or {}).get("podIP"):
            return False  # once it has an address
        self._end_with_pod(node, node.names)
        try:
            node.place = self._place(pod)
        except ClusterError as error:
            self._note_once(f"{node.name}: {error}")
            return False
        address = str(pod["status"]["podIP"])
        self._settle(node, PodOf(pod, self._endpoints[node.name]._replace(host=address)))
        return True

    def _stopped(self, node: ForeignNode, reason: str) -> None:
        if node.life is None:
            return
        node.end()
        for name in node.names:
            self._report(name, NodeStopped(reason=reason))

    def _started(self, node: ForeignNode, life: tuple[str, str]) -> None:
        node.life, node.ending = life, None
        node.incarnation += 1
        for name in node.names:
            self._report(name, NodeStarted())
        broker = next((int(name.rpartition("-")[2]) for name in node.names if name.startswith("broker-")), None)
        if broker is not None and self._observer is not None:
            self._observer.restarted(broker)

    def _report(self, node: str, event: NodeStarted | NodeStopped) -> None:
        assert self._observer is not None, "pods are looked at once the run has begun"
        self._observer.report(node, event)

    # --- small things ---

    def _unique(self) -> list[ForeignNode]:
        return [node for name, node in self._nodes.items() if node.name == name]

    def _end_observation(self) -> None:
        if self._clients is not None:
            self._clients.close()
        if self._observer is not None:
            self._observer.close()
        self._log.close()

    def _write_made(self) -> None:
        write_own_topics(self._journal, self._made, self._tries)


@with_machine_methods("volume")
class CrashableForeignBackend(PodDisks, ForeignBackend):
    """A :class:`ForeignBackend` of pods all of which have volumes that their agents can harm."""

    def disk_heal(self, node: str) -> None:
        one = self._pod_of(node)
        if one.trouble is not None:
            self.end_faults(node, one.trouble)

    def disk_probe(self, node: str) -> str:
        """What the agent's probe meets now, or met when it had undone the trouble."""
        one = self._pod_of(node)
        if one.trouble is None:
            return "ok"
        if (fault := one.faults[one.trouble]).healed:
            return self._client.seen_healed(fault) or "ok"
        return str(self._client.look(fault).details("met"))
