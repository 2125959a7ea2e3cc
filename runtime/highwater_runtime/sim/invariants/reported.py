"""What nodes report, held against the rules of ``highwater_runtime.model``, event by event.

The checks of the pipeline judge recordings by the same rules under the same names. Here the moment is known in which a
rule was broken. ``min-isr`` alone asks a live core: what it has to compare the ISR with are the settings in force.

Partitions are identified by topic id: a topic that was deleted and created again under its old name is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, NamedTuple, get_args

from highwater_runtime.metadata.effective_config import topic_properties
from highwater_runtime.model.breaks import Breaks
from highwater_runtime.model.decisions import Decided, is_led_from_outside, needs_leader_epoch, unassigned
from highwater_runtime.model.in_sync import UNKNOWN, claimed_epoch, joins_stale, too_few_in_sync
from highwater_runtime.model.leaders import Claim, HighWatermarks, Leaders, Move
from highwater_runtime.ports.trace import (
    AlterPartitionHandled,
    BrokerRegistered,
    HighWatermarkAdvanced,
    IsrProposed,
    LogAppended,
    NodeEvent,
    NodeStarted,
    PartitionChanged,
    WriteAcknowledged,
)
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations

PartitionEvent = (
    AlterPartitionHandled | HighWatermarkAdvanced | IsrProposed | LogAppended | PartitionChanged | WriteAcknowledged
)
"""Events that speak of one partition."""

OF_REPORTS: Final = frozenset((BrokerRegistered, NodeStarted, *get_args(PartitionEvent)))
"""Events that :meth:`ReportInvariants.on_event` has to see."""


class _Known(NamedTuple):
    """The broker epoch under which a leader has proposed a replica, and the number of registrations before."""

    epoch: int
    registrations: int


@dataclass(slots=True)
class Reported:
    """What was reported of one partition (one topic id).

    ``isr`` is that of the newest committed state; a deleted topic has none. ``true_hw`` is the highest HW that a leader
    has reported since the last break (:class:`Breaks`): records below it may have been acknowledged. ``since_epoch``:
    reports in lower leader epochs are about what was before that break. ``highest_hw``: the highest ever.
    """

    name: str
    topic_id: str
    isr: list[int] = field(default_factory=list)
    state: PartitionChanged | None = None
    """The newest committed one."""
    states: dict[tuple[int, int], PartitionChanged] = field(default_factory=dict)
    """Committed states by leader epoch and partition epoch."""
    joined: list[int] = field(default_factory=list)
    """Who has joined the ISR with the newest state."""
    left: list[int] = field(default_factory=list)
    """Who has left it."""
    breaks: Breaks = field(default_factory=Breaks)
    lineage: int = 0
    """How many breaks there were."""
    since_epoch: int = -1
    true_hw: int = 0
    highest_hw: int = 0
    leaders: Leaders = field(default_factory=Leaders)
    high_watermarks: HighWatermarks = field(default_factory=HighWatermarks)
    proposed: dict[tuple[int, int, int], _Known] = field(default_factory=dict)
    """What leaders said of replicas that they proposed: by leader, leader epoch and replica."""

    def end_lineage(self, since_epoch: int) -> None:
        """Owe nothing of what was committed up to now, or by leaders of lower epochs."""
        self.lineage += 1
        self.since_epoch = max(self.since_epoch, since_epoch)
        self.true_hw, self.high_watermarks = 0, HighWatermarks()


class ReportInvariants:
    """Checks what is reported; the monitor feeds it every node event, before those that look at live cores."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations
        self.partitions: dict[tuple[str, str], Reported] = {}
        self._latest: tuple[NodeEvent | None, Reported] = None, Reported("", "")
        """The last event that was asked about: several ask about each."""
        self._wipes: dict[str, int] = {}
        """How often each node's disk had been replaced when it started last. The live disk says so, not the node: a
        log that vanishes by itself ends nothing."""
        self._registrations: dict[int, int] = {}
        """How often each broker has registered."""
        self._registered: dict[int, int] = {}
        """The metadata offset of each broker's last registration."""

    def of(self, node: str, event: NodeEvent) -> Reported:
        """What was reported of the partition of this node's event."""
        if event is self._latest[0]:
            return self._latest[1]
        key = (getattr(event, "partition", ""), self._live.topic_of(node, event))
        known = self.partitions.get(key)
        if known is None:
            known = self.partitions[key] = Reported(*key)
        self._latest = event, known
        return known

    def on_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """Take in one node event, and check it against what was reported before.

        Every controller reports each committed change, in order: only the first report of each counts.
        """
        match event:
            case HighWatermarkAdvanced():
                self._high_watermark(self.of(node, event), event)
            case LogAppended():
                if event.reason == "leader":
                    self._appended(self.of(node, event), Claim(node, incarnation), event)
            case BrokerRegistered():
                if event.metadata_offset > self._registered.get(event.broker, -1):
                    self._registered[event.broker] = event.metadata_offset
                    self._registrations[event.broker] = self._registrations.get(event.broker, 0) + 1
            case NodeStarted() if self._live.disk(node).wipes > self._wipes.get(node, 0):
                self._wipes[node] = self._live.disk(node).wipes
                for known in self.partitions.values():
                    if known.breaks.is_only_replica(broker_of(node)):
                        known.end_lineage(-1)
            case PartitionChanged():
                self._partition_changed(self.of(node, event), node, event)
            case IsrProposed():
                self._proposed(self.of(node, event), broker_of(node), event)
            case AlterPartitionHandled(reason="NONE"):
                self._accepted(self.of(node, event), node, event)
            case WriteAcknowledged():
                self._acknowledged(self.of(node, event), node, event)

    # --- decisions -----------------------------------------------------------------------------------------------

    def _partition_changed(self, known: Reported, node: str, event: PartitionChanged) -> None:
        known.leaders.of_nodes = node.startswith("zookeeper-")
        if known.state is not None and event.metadata_offset <= known.state.metadata_offset:
            return
        known.state = known.states[event.leader_epoch, event.partition_epoch] = event
        is_created, was = event.reason == "created", known.isr
        known.isr = [] if event.reason == "deleted" else event.isr
        known.joined = [broker for broker in known.isr if broker not in was and not is_created]
        known.left = [broker for broker in was if broker not in event.isr]
        if event.reason == "deleted":
            return
        before, state = known.breaks.state, decided(event)
        may_be_unclean = not is_created and self._live.allows_unclean_election(known.name.rpartition("-")[0])
        if known.breaks.decide(state, may_be_unclean=may_be_unclean):
            known.end_lineage(event.leader_epoch)
        if before is not None and not is_created and needs_leader_epoch(before, state):
            former = f"(leader {before.leader}, replicas {before.replicas}, epoch {before.leader_epoch})"
            now = f"(leader {event.leader}, replicas {event.replicas}, epoch {event.leader_epoch})"
            what = f"the state went from {former} to {now}: that needs another leader epoch"
            self._violations.add("leader-epoch-kept", known.name, what, (known.topic_id, event.metadata_offset))
        if is_led_from_outside(state):
            what = f"leader {event.leader} is not in ISR {event.isr} (metadata offset {event.metadata_offset})"
            self._violations.add("leader-not-in-isr", known.name, what, (known.topic_id, event.metadata_offset))
        if not event.isr:
            # Without eligible leader replicas (KIP-966) nobody may ever lead such a partition again.
            what = f"the ISR is empty (metadata offset {event.metadata_offset})"
            self._violations.add("isr-empty", known.name, what, (known.topic_id, event.metadata_offset))
        if unassigned(state):
            what = f"ISR {event.isr} is not among the replicas {event.replicas}"
            self._violations.add("isr-not-assigned", known.name, what, (known.topic_id, event.metadata_offset))

    def _proposed(self, known: Reported, leader: int, event: IsrProposed) -> None:
        for broker, epoch in zip_longest(event.isr, event.isr_epochs[: len(event.isr)], fillvalue=UNKNOWN):
            registrations = self._registrations.get(broker, 0)
            known.proposed[leader, event.leader_epoch, broker] = _Known(epoch, registrations)

    def _accepted(self, known: Reported, node: str, event: AlterPartitionHandled) -> None:
        known.breaks.accept(event.metadata_offset)
        image = self._live.latest_image(node)
        for broker, sent, said in zip(event.isr, event.isr_epochs, event.registered_epochs, strict=False):
            if broker in known.isr:
                continue
            registered = None if image is None else image.brokers.get(broker)
            in_force = said if registered is None else registered.epoch  # the event may lie: see .claims
            proposed = known.proposed.get((event.broker, event.leader_epoch, broker))
            claimed = claimed_epoch(sent, UNKNOWN if proposed is None else proposed.epoch)
            again = proposed is not None and self._registrations.get(broker, 0) > proposed.registrations
            if joins_stale(claimed, in_force, registered_since=again):
                what = f"broker {broker} joined under epoch {claimed}, but is registered under {in_force}"
                self._violations.add("stale-isr-join", known.name, what, (known.topic_id, broker, claimed))

    # --- leaders -------------------------------------------------------------------------------------------------

    def _appended(self, known: Reported, claim: Claim, event: LogAppended) -> None:
        leader = known.leaders.append(event.leader_epoch, claim)
        if leader is not None:
            both = (
                f"{claim.node} (incarnation {claim.incarnation}) and {leader.node} (incarnation {leader.incarnation})"
            )
            what = f"{both} appended in leader epoch {event.leader_epoch}"
            self._violations.add("two-leaders", known.name, what, (known.topic_id, event.leader_epoch))

    def _high_watermark(self, known: Reported, event: HighWatermarkAdvanced) -> None:
        known.highest_hw = max(known.highest_hw, event.offset)
        if event.leader_epoch < known.since_epoch:
            return
        known.true_hw = max(known.true_hw, event.offset)
        before = known.high_watermarks.move(Move(event.leader_epoch, event.offset), known.since_epoch)
        if before is not None:
            what = (
                f"leader epoch {event.leader_epoch} reports HW {event.offset}, but {before.offset} was reached before"
            )
            self._violations.add("hw-regression", known.name, what, (known.topic_id, event.leader_epoch))

    def _acknowledged(self, known: Reported, node: str, event: WriteAcknowledged) -> None:
        replica = self._live.replica(node, known.name, known.topic_id)
        state = known.states.get((event.leader_epoch, event.partition_epoch))
        if replica is None or state is None:
            return
        broker = self._live.broker(node)
        assert broker is not None
        properties = topic_properties(broker.image, known.name.rpartition("-")[0], broker_of(node))
        configured = properties.get("min.insync.replicas")
        wanted = replica.context.config.min_insync_replicas if configured is None else int(configured)
        least = min(wanted, len(state.replicas))
        isr = too_few_in_sync(state.isr, event.isr, least)
        if isr is not None:
            what = f"{node} acknowledged offset {event.offset} under ISR {isr}, min.insync.replicas is {least}"
            self._violations.add("min-isr", known.name, what, (known.topic_id, event.partition_epoch))


def decided(event: PartitionChanged) -> Decided:
    """The state of an event."""
    return Decided(*(getattr(event, name) for name in Decided._fields[:-1]))


def broker_of(node: str) -> int:
    """The id of a broker; −1 of another node."""
    kind, _, number = node.rpartition("-")
    return int(number) if kind == "broker" else -1
