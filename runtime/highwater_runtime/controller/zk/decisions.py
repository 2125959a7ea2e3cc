"""What a partition is to become, given what the controller knows: pure functions of the context.

Every event (a broker went or came, a topic was created, a reassignment was asked for, a write met another version) ends
in the same question for each partition that it may concern: :func:`next_state`. So a decision that comes too late or
twice is a decision on what is there now. The rules for leader, ISR and reassignment are those of both modes
(:mod:`highwater_runtime.controller.partition_change`); here is what ZooKeeper mode adds:

* A partition that never had a leader is led by the first of its live replicas; all of those are its ISR (B,
  ``init_leaders``).
* Members of the ISR that are dead or shutting down leave it, but never the last ones: the ISR of a partition whose last
  members have died stays as it was. A broker that shuts down is taken out each time it asks to leave. If its leader
  takes it in again meanwhile, it stays: Kafka decides nothing when a leader has written an ISR.
* A leader that shuts down stays leader where nobody else in the ISR can lead.
* Every write of a controller bumps the leader epoch.
* A reassignment is under way exactly as long as ``/admin/partitions_reassigned/T/P`` exists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.partition_change import (
    Election,
    PartitionTarget,
    change_partition,
    reassign,
    revert_reassignment,
    without,
)
from highwater_runtime.controller.zk.context import NO_NODE, ControllerContext, PartitionKey, Target
from highwater_runtime.metadata import NO_LEADER, MetadataVersion, PartitionRegistration
from highwater_runtime.metadata.effective_config import allows_unclean_election
from highwater_runtime.metadata.image import merge_partition_change
from highwater_runtime.metadata.registrations import NO_LEADER_CHANGE

_DEFAULTS: Final = NodeConfig()


@dataclass(frozen=True, slots=True)
class Rules:
    """Which of the document's holes are open."""

    unclean: bool = False
    """Any live replica may lead where no member of the ISR can; else, only of topics that allow it by ``config``."""
    config: NodeConfig = _DEFAULTS
    leaving_stay: bool = False
    """Members that shut down stay in the ISR. A leader may take them in again while they still fetch."""
    init_leaderless: bool = False
    """All live replicas become the ISR of a partition that has lost its leader; only while a new controller begins."""

    def may_be_unclean(self, context: ControllerContext, topic: str) -> bool:
        """Whether a replica outside the ISR may lead partitions of this topic."""
        return self.unclean or allows_unclean_election(context.image, self.config, topic)


@dataclass(frozen=True, slots=True)
class Change:
    """A partition's step from one state to the next. ``done``: the order to move it, which is carried out with this."""

    key: PartitionKey
    before: PartitionRegistration
    after: PartitionRegistration
    done: Target | None = None

    @property
    def moves(self) -> bool:
        """Whether the topic's assignment changes."""
        before, after = self.before, self.after
        return (before.replicas, before.adding_replicas, before.removing_replicas) != (
            after.replicas,
            after.adding_replicas,
            after.removing_replicas,
        )

    @property
    def is_unclean(self) -> bool:
        """Whether the new leader was not in the ISR, and could lead without it (``unclean.leader.election.enable``)."""
        leader, before = self.after.leader, self.before.isr
        return leader >= 0 and bool(before) and leader not in before and self.after.isr == (leader,)

    @property
    def leads(self) -> bool:
        """Whether leader or ISR are written."""
        return self.before.partition_epoch != self.after.partition_epoch


def next_state(
    context: ControllerContext,
    key: PartitionKey,
    rules: Rules = Rules(),
    *,
    election: Election = Election.ONLINE,
) -> Change | None:
    """The next step of one partition; None: it is as it is to be, or nothing can be done now."""
    before = context.partition(key)
    if before is None or context.is_going(key.topic):
        return None
    if before.partition_epoch == NO_NODE:
        return _first_leader(context, key, before)
    target = _target(context, key, before)
    order = context.reassigned.get(key)
    isr = tuple(member for member in target.isr if context.may_lead(member, key))
    staying = NO_LEADER
    if not isr and before.leader in target.isr and context.is_online(before.leader, key):
        staying, isr = before.leader, (before.leader,)  # it shuts down, and nobody can take over
    if rules.leaving_stay:
        isr = tuple(member for member in target.isr if context.is_online(member, key))
    if not isr and rules.init_leaderless:
        isr = tuple(replica for replica in target.replicas if context.may_lead(replica, key))
    record = change_partition(
        before,
        replace(target, isr=isr or target.isr),
        topic_id=context.image.topics_by_name[key.topic].id,
        index=key.partition,
        may_lead=lambda replica: replica == staying or context.may_lead(replica, key),
        metadata_version=MetadataVersion.minimum(),
        election=election,
        unclean=rules.may_be_unclean(context, key.topic),
    )
    if record is None:
        return _finished(key, before, order)
    if record.leader == NO_LEADER_CHANGE:
        record.leader = before.leader
    if not context.topic_ids:
        # LeaderAndIsr says from version 6 on that a leader recovers (KIP-704, inter.broker.protocol.version 3.2).
        record.leader_recovery_state = int(before.leader_recovery_state)
    after = merge_partition_change(before, record)
    over = order is not None and not after.reassigning and after.replicas == order.replicas
    return Change(key, before, after, order if over else None)


def _first_leader(context: ControllerContext, key: PartitionKey, before: PartitionRegistration) -> Change | None:
    live = tuple(replica for replica in before.replicas if context.may_lead(replica, key))
    if not live:
        return None
    return Change(key, before, structs.replace(before, isr=live, leader=live[0], leader_epoch=0, partition_epoch=0))


def _target(context: ControllerContext, key: PartitionKey, before: PartitionRegistration) -> PartitionTarget:
    """Where the partition is to go, as far as reassignments are concerned."""
    order = context.reassigned.get(key)
    if order is None:
        reverted = revert_reassignment(before) if before.reassigning else None
        return PartitionTarget.keep(before) if reverted is None else reverted
    wanted = order.replicas
    if without(before.replicas, before.removing_replicas) == wanted:
        return PartitionTarget.keep(before)
    return reassign(before, wanted)


def _finished(key: PartitionKey, before: PartitionRegistration, order: Target | None) -> Change | None:
    """An order that asks for what is there already is done."""
    if order is None or before.reassigning or before.replicas != order.replicas:
        return None
    return Change(key, before, before, order)
