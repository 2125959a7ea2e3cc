"""``false-report``: what nodes report of decisions, and of each other, is so.

* A leader proposes an ISR (``isr-proposed``): the proposal that it has under way, and the broker epochs that it knows.
* The active controller judges it (``alter-partition-handled``): a proposal that was made, with the broker epochs of the
  proposal, and the registered epochs that the controller has in its image. Those that are committed were reported.
* Controllers report committed states (``partition-changed``): those of their image, and none is left out. In KRaft mode
  a registration (``broker-registered``) has its own place in the metadata as epoch.
* A leader acknowledges under a committed state that some controller has reported.

Worked example (KIP-903): broker 1 has lost its disk and registered again under epoch 30. It joins the ISR under epoch
11, and the controller reports that 11 was in force. By events alone it joined under its own epoch.

The trap: one simulated event may change a partition several times. So a proposal, or a committed state, is compared
when the event is over, and only the last one.
"""

from __future__ import annotations

from typing import Final, get_args

from highwater_runtime.model.decisions import leaves_gap
from highwater_runtime.model.in_sync import UNKNOWN
from highwater_runtime.ports.trace import (
    AlterPartitionHandled,
    BrokerRegistered,
    IsrProposed,
    PartitionChanged,
    WriteAcknowledged,
)
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.reported import Reported, ReportInvariants, broker_of, decided
from highwater_runtime.sim.invariants.violation import Violations

Claim = AlterPartitionHandled | BrokerRegistered | IsrProposed | PartitionChanged | WriteAcknowledged
OF_CLAIMS: Final = frozenset(get_args(Claim))
"""Events that :meth:`ClaimInvariants.on_event` has to see."""

_STATE: Final = ("leader", "leader_epoch", "partition_epoch", "isr", "replicas")
"""What a reported state and one of an image have in common."""

_Base = tuple[str, int, int, int]
"""Topic id, leader, leader epoch and partition epoch of a proposal."""


class ClaimInvariants:
    """Checks claims; the monitor feeds it every node event before :class:`ReportInvariants` takes it in, and calls it
    after every simulated event."""

    def __init__(self, live: LiveCluster, reports: ReportInvariants, violations: Violations) -> None:
        self._live = live
        self._reports = reports
        self._violations = violations
        self._registered: dict[int, set[int]] = {}
        """The broker epochs that were reported of each broker."""
        self._proposed: dict[_Base, list[tuple[list[int], list[int]]]] = {}
        """Each ISR that was proposed, with the broker epochs of its members."""
        self._last: dict[tuple[str, str, type], tuple[Reported, IsrProposed | PartitionChanged]] = {}
        """The last claims of this simulated event, by node and partition."""

    def on_event(self, node: str, _incarnation: int, event: Claim) -> None:
        """Take in one node event, and compare it with other events and with the live node."""
        match event:
            case BrokerRegistered():
                self._registered.setdefault(event.broker, set()).add(event.broker_epoch)
                if event.broker_epoch != event.metadata_offset and not node.startswith("zookeeper-"):
                    at = f"the registration of broker {event.broker} at metadata offset {event.metadata_offset}"
                    self._found(node, f"broker-{event.broker}", event, f"{at} with broker epoch {event.broker_epoch}")
            case IsrProposed():
                known = self._reports.of(node, event)
                base = known.topic_id, broker_of(node), event.leader_epoch, event.partition_epoch
                self._proposed.setdefault(base, []).append((event.isr, event.isr_epochs))
                self._last[node, event.partition, IsrProposed] = known, event
            case AlterPartitionHandled():
                self._handled(self._reports.of(node, event), node, event)
            case PartitionChanged():
                known = self._reports.of(node, event)
                self._last[node, event.partition, PartitionChanged] = known, event
                self._changed(known, node, event)
            case WriteAcknowledged():
                known = self._reports.of(node, event)
                # A leader may write the state of a topic on after its deletion was committed: nobody reports that.
                is_there = known.state is not None and known.state.reason != "deleted"
                if is_there and (event.leader_epoch, event.partition_epoch) not in known.states:
                    under = f"leader epoch {event.leader_epoch} and partition epoch {event.partition_epoch}"
                    self._found(node, known.name, event, f"an acknowledgement under {under}, which nobody decided")

    def after_event(self) -> None:
        """Compare the last claims of the simulated event with live nodes."""
        for (node, _, _), (known, event) in self._last.items():
            if isinstance(event, IsrProposed):
                self._compare_proposal(known, node, event)
            else:
                self._compare_state(known, node, event)
        self._last.clear()

    def _found(self, node: str, subject: str, event: Claim, what: str) -> None:
        name = str(event.__struct_config__.tag)
        self._violations.add("false-report", subject, f"{node} reported {what} ({name})", (node, name, what))

    # --- leaders -------------------------------------------------------------------------------------------------

    def _compare_proposal(self, known: Reported, node: str, event: IsrProposed) -> None:
        replica, broker = self._live.replica(node, known.name, known.topic_id), self._live.broker(node)
        if replica is None or broker is None or replica.leading is None or replica.leading.epoch != event.leader_epoch:
            return
        made = replica.isr.proposal
        said = (event.partition_epoch, event.isr)
        if made is not None and said != (made.partition_epoch, [*made.isr]):
            made_of = f"ISR {[*made.isr]} based on partition epoch {made.partition_epoch}"
            self._found(node, known.name, event, f"a proposal of {said[1]} based on {said[0]}, and proposed {made_of}")
        epochs = {member: follower.replica_epoch for member, follower in replica.leading.followers.items()}
        epochs[broker_of(node)] = broker.broker_epoch
        has = [epochs.get(member, UNKNOWN) for member in event.isr]
        if event.isr_epochs != has:
            what = f"the broker epochs {event.isr_epochs} of the proposed ISR {event.isr}, and knows {has}"
            self._found(node, known.name, event, what)

    # --- controllers ---------------------------------------------------------------------------------------------

    def _handled(self, known: Reported, node: str, event: AlterPartitionHandled) -> None:
        image = self._live.latest_image(node)
        if known.state is None:
            return  # it speaks of a partition that it has not named, after it has loaded a snapshot
        if image is not None:
            brokers = [image.brokers.get(member) for member in event.isr]
            has = [UNKNOWN if broker is None else broker.epoch for broker in brokers]
            if event.registered_epochs != has:
                what = f"the epochs {event.registered_epochs} as registered of brokers {event.isr}, and has {has}"
                self._found(node, known.name, event, what)
            for member, epoch in zip(event.isr, has, strict=True):
                is_committed = 0 <= epoch <= known.state.metadata_offset
                if is_committed and epoch not in self._registered.get(member, ()):
                    what = f"broker {member} in ISR {event.isr}, whose registration under {epoch} nobody reported"
                    self._found(node, known.name, event, what)
        base = known.topic_id, event.broker, event.leader_epoch, event.partition_epoch
        proposals = self._proposed.get(base, [])
        if not any(_is_of(event, isr, epochs) for isr, epochs in proposals):
            claimed = f"ISR {event.isr} with the broker epochs {event.isr_epochs} for broker {event.broker}'s proposal"
            self._found(node, known.name, event, f"{claimed}, which reported {[*proposals]}")

    def _changed(self, known: Reported, node: str, event: PartitionChanged) -> None:
        before = known.state
        if before is None:
            if event.reason != "created" and not node.startswith("zookeeper-"):
                self._found(node, known.name, event, f"partition epoch {event.partition_epoch}, and not its creation")
        elif event.metadata_offset > before.metadata_offset and leaves_gap(decided(before), decided(event)):
            what = f"partition epoch {event.partition_epoch}, and nobody the one that follows {before.partition_epoch}"
            self._found(node, known.name, event, what)

    def _compare_state(self, known: Reported, node: str, event: PartitionChanged) -> None:
        state = self._live.committed(node, known.name, known.topic_id)
        if state is None or event.reason == "deleted":
            return
        said = [getattr(event, name) for name in _STATE]
        has = [state.leader, state.leader_epoch, state.partition_epoch, [*state.isr], [*state.replicas]]
        if said != has:
            pairs = ", ".join(
                f"{name.replace('_', ' ')} {one} for {other}"
                for name, one, other in zip(_STATE, said, has, strict=True)
                if one != other
            )
            self._found(node, known.name, event, pairs)


def _is_of(event: AlterPartitionHandled, isr: list[int], epochs: list[int]) -> bool:
    """Whether the event judges this proposal. AlterPartition below version 3 has no epochs."""
    sent = dict(zip(event.isr, event.isr_epochs, strict=False))
    known = dict(zip(isr, epochs, strict=False))
    return sent.keys() == known.keys() and all(sent[one] in (UNKNOWN, known[one]) for one in sent)
