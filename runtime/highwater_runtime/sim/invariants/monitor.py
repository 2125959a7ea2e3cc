"""Watches a simulated cluster: notes what each event touched, and checks that much after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerStateChanged,
    ControllerChanged,
    NodeEvent,
    NodeStarted,
    PartitionChanged,
    TransitionTaken,
)
from highwater_runtime.sim.invariants.claims import OF_CLAIMS, ClaimInvariants
from highwater_runtime.sim.invariants.deletions import DeletionInvariants
from highwater_runtime.sim.invariants.failed_logs import FailedLogInvariants
from highwater_runtime.sim.invariants.groups import OF_GROUPS, GroupInvariants
from highwater_runtime.sim.invariants.images import OF_IMAGES, ImageInvariants
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.logs import OF_LOGS, LogInvariants
from highwater_runtime.sim.invariants.membership import OF_MEMBERS, MemberInvariants
from highwater_runtime.sim.invariants.new_partitions import OF_NEW_PARTITIONS, NewPartitionInvariants
from highwater_runtime.sim.invariants.overdue import OverdueInvariants
from highwater_runtime.sim.invariants.partitions import OF_PARTITIONS, PartitionInvariants
from highwater_runtime.sim.invariants.peers import OF_PEERS, PeerInvariants
from highwater_runtime.sim.invariants.producers import ProducerInvariants
from highwater_runtime.sim.invariants.quorum import OF_QUORUM, QuorumInvariants
from highwater_runtime.sim.invariants.replicas import OF_REPLICAS, ReplicaInvariants
from highwater_runtime.sim.invariants.reported import OF_REPORTS, ReportInvariants
from highwater_runtime.sim.invariants.sessions import SessionInvariants
from highwater_runtime.sim.invariants.states import OF_STATES, StateInvariants
from highwater_runtime.sim.invariants.throttles import ThrottleInvariants
from highwater_runtime.sim.invariants.violation import Violation, Violations
from highwater_runtime.sim.invariants.voters import OF_VOTERS, VoterInvariants
from highwater_runtime.sim.invariants.waiting import OF_WAITING, WaitingInvariants
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.api_keys import ApiKey

Look = Callable[[str, int, Any], None]
"""Takes in the node, the incarnation and one of its events."""


class Namesakes:
    """Partitions of topics without ids (ZooKeeper mode before KIP-516) that were deleted and created again.

    Of which topic a broker then speaks shows only later, by the role that it takes. So they are left to the checks.
    """

    def __init__(self) -> None:
        self._deleted: dict[tuple[str, str], int] = {}
        self.found: dict[str, None] = {}
        """Their names: none in nearly all runs."""

    def on_event(self, _node: str, _incarnation: int, event: PartitionChanged) -> None:
        """Take note of a deletion, or of a creation under the same id."""
        key = (event.partition, event.topic_id)
        if event.reason == "deleted":
            self._deleted[key] = event.metadata_offset
        elif event.reason == "created" and event.metadata_offset > self._deleted.get(key, event.metadata_offset):
            self.found[event.partition] = None

    def concern(self, event: NodeEvent) -> bool:
        """Whether the event is about one of them."""
        return getattr(event, "partition", None) in self.found


class ControllerEpochs:
    """ZooKeeper mode: each controller has an epoch above those of all before it, by which brokers know the newest."""

    def __init__(self, violations: Violations) -> None:
        self._violations = violations
        self._seen = -1
        """The last transaction that was looked at: each server reports each once."""
        self._epoch = -1

    def on_event(self, _node: str, _incarnation: int, event: ControllerChanged) -> None:
        if event.metadata_offset <= self._seen:
            return
        self._seen = event.metadata_offset
        if event.broker >= 0:
            if event.epoch <= self._epoch:
                what = f"broker {event.broker} became the controller of epoch {event.epoch}, after one of {self._epoch}"
                self._violations.add("controller-epoch-reused", f"broker-{event.broker}", what, event.metadata_offset)
            self._epoch = max(self._epoch, event.epoch)


class InvariantMonitor:
    """Attach one to a simulator before its nodes start; :attr:`violations` fills as the run goes on.

    Between events nothing runs, so the cost is in proportion to what changes, not to the size of the cluster.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._violations = Violations()
        self._live = LiveCluster(simulator)
        reports = ReportInvariants(self._live, self._violations)
        self._partitions = PartitionInvariants(self._live, reports, self._violations)
        self._replicas = ReplicaInvariants(self._live, reports, self._violations)
        self._states = StateInvariants(self._live, self._violations)
        self._claims = ClaimInvariants(self._live, reports, self._violations)
        self._logs = LogInvariants(self._live, self._violations)
        self._groups = GroupInvariants(self._live, self._violations)
        self._quorum = QuorumInvariants(simulator, self._live, self._violations)
        self._overdue = OverdueInvariants(simulator, self._live, self._violations)
        self._waiting = WaitingInvariants(simulator, self._live, self._violations)
        self._voters = VoterInvariants(
            simulator, self._live, self._violations, lambda: self._quorum.committed_end, self._quorum.is_deposed
        )
        self.peers = peers = PeerInvariants(simulator, self._live, reports, self._violations)
        throttles = ThrottleInvariants(simulator, self._live, self._violations, self._waiting.asked.last)
        failed_logs = FailedLogInvariants(self._live, self._violations)
        images = ImageInvariants(simulator, self._violations)
        sessions = SessionInvariants(simulator, self._live, self._violations)
        new_partitions = NewPartitionInvariants(simulator, self._live, self._violations)
        self._namesakes = Namesakes()
        controllers = ControllerEpochs(self._violations)
        self._deletions = DeletionInvariants(simulator, self._violations)
        self._looks: dict[type, list[tuple[Look, bool]]] = {}
        """Who looks at each kind of event, in order, and whether it passes over the namesakes."""
        for kinds, look, passes_over in (
            ((BrokerRegistered,), self._live.registered, False),
            ((NodeStarted,), failed_logs.on_start, False),
            ((PartitionChanged,), self._namesakes.on_event, False),
            ((PartitionChanged,), self._deletions.on_event, False),
            (OF_CLAIMS, self._claims.on_event, True),
            (OF_REPORTS, reports.on_event, True),
            (OF_PARTITIONS, self._partitions.on_event, True),
            (OF_REPLICAS, self._replicas.on_event, True),
            (OF_PEERS, peers.on_event, True),
            (OF_STATES, self._states.on_event, True),
            (OF_QUORUM, self._quorum.on_event, False),
            (OF_LOGS, self._logs.on_event, False),
            (OF_GROUPS, self._groups.on_event, False),
            ((ControllerChanged,), controllers.on_event, False),
            (OF_IMAGES, images.on_event, False),
            ((TransitionTaken,), self._overdue.on_event, False),
            ((BrokerStateChanged,), sessions.on_event, False),
        ):
            for kind in kinds:
                self._looks.setdefault(kind, []).append((look, passes_over))
        self._events: list[tuple[str, int, NodeEvent]] = []
        simulator.trace.subscribers.append(self._note)
        members = MemberInvariants(simulator, self._live, self._violations)
        producers = ProducerInvariants(simulator, self._live, self._violations)

        for apis, on_request in (
            (OF_MEMBERS, members.on_request),
            (OF_WAITING, self._waiting.on_request),
            ((ApiKey.PRODUCE,), producers.on_request),
            ((ApiKey.FETCH,), peers.on_request),
            ((ApiKey.FETCH,), throttles.on_request),
            (OF_VOTERS, self._voters.on_request),
            ((ApiKey.BROKER_HEARTBEAT,), sessions.on_request),
            (OF_NEW_PARTITIONS, new_partitions.on_request),
            ((ApiKey.BROKER_HEARTBEAT,), self._overdue.on_heartbeat),
        ):
            for api in apis:
                simulator.fabric.watchers.setdefault(api, []).append(on_request)

    @property
    def violations(self) -> list[Violation]:
        """Every violation so far, in order."""
        return self._violations.found

    def _note(self, _time_ns: int, node: str, incarnation: int, event: NodeEvent) -> None:
        if not self._events:
            self._simulator.loop.after_this_event.append(self._check)
        self._events.append((node, incarnation, event))

    def _check(self) -> None:
        self._violations.now_ns = self._simulator.now_ns
        events, self._events = self._events, []
        namesakes = self._namesakes
        for node, incarnation, event in events:
            for look, passes_over in self._looks.get(type(event), ()):
                if not (passes_over and namesakes.found and namesakes.concern(event)):
                    look(node, incarnation, event)
        self._partitions.after_event()
        self._replicas.after_event()
        self._states.after_event()
        self._claims.after_event()
        self._logs.after_event()
        self._groups.after_event()
        self._deletions.after_event()
        self._overdue.after_event()
        self._waiting.after_event()
        self._voters.after_event()
