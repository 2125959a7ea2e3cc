"""One partition's next state: leader election, ISR, reassignment and the epochs (Kafka's PartitionChangeBuilder).

Rules in words:

* A leader is elected from the target ISR only, among brokers that may lead (unfenced, not shutting down). The current
  leader stays while it may; else the first such replica in assignment order; else the partition has no leader.
* An unclean election, where it is allowed, then takes the first replica that may lead, though it may lack committed
  records. That one is the whole ISR, and recovering (KIP-704).
* A preferred election moves to ``replicas[0]`` where that one may lead, and otherwise follows the rule above.
* The last member never leaves the ISR: an empty target leaves the ISR as it was, without a leader (the exception that
  KIP-903 notes).
* A reassignment completes in the same change whose ISR holds all replicas that it leaves (KAFKA-15665, Kafka 3.8).
  If those that it adds were enough, they could be the only ones in sync when the others are deleted.
* Each change bumps the partition epoch. The leader epoch is bumped when the leader changes, when a replica leaves the
  assignment, and, below metadata.version 3.6-IV0, when a replica leaves the ISR (KAFKA-15021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from uuid import UUID

from highwater_runtime.metadata import NO_LEADER, LeaderRecoveryState, MetadataVersion, PartitionRegistration
from highwater_runtime.metadata.registrations import NO_LEADER_CHANGE
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord

UncleanAllowed = Callable[[str], bool]
"""Whether a replica outside the ISR may lead partitions of a topic, given its name."""


def never_unclean(topic: str) -> bool:
    """No topic allows an unclean election."""
    del topic
    return False


class Election(Enum):
    """How a leader is chosen."""

    ONLINE = "online"
    PREFERRED = "preferred"


@dataclass(frozen=True, slots=True)
class PartitionTarget:
    """What a partition is to become, as far as it is wished for; :func:`change_partition` decides the rest."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    recovery_state: LeaderRecoveryState

    @classmethod
    def keep(cls, partition: PartitionRegistration) -> PartitionTarget:
        """Everything as it is; use :func:`dataclasses.replace` for what is to change."""
        return cls(
            replicas=partition.replicas,
            isr=partition.isr,
            adding=partition.adding_replicas,
            removing=partition.removing_replicas,
            recovery_state=partition.leader_recovery_state,
        )


def change_partition(
    partition: PartitionRegistration,
    target: PartitionTarget,
    *,
    topic_id: UUID,
    index: int,
    may_lead: Callable[[int], bool],
    metadata_version: MetadataVersion,
    election: Election = Election.ONLINE,
    unclean: bool = False,
) -> PartitionChangeRecord | None:
    """The record that takes ``partition`` to ``target``, or ``None`` where it is there already.

    ``may_lead`` says whether a broker is fit to lead now, apart from its being in the ISR; ``unclean``: whether a
    replica outside the ISR may lead where no other can.
    """
    target = complete_reassignment(target)
    leader = _elect(partition.leader, target, may_lead, election)
    if unclean and leader == NO_LEADER:
        leader = next(filter(may_lead, target.replicas), NO_LEADER)
        if leader != NO_LEADER:
            target = replace(target, isr=(leader,), recovery_state=LeaderRecoveryState.RECOVERING)
    record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    changed = False
    if leader != partition.leader:
        record.leader, changed = leader, True
    elif _bumps_leader_epoch(partition, target, metadata_version):
        record.leader, changed = partition.leader, True
    if target.isr and target.isr != partition.isr:
        record.isr, changed = list(target.isr), True
    if target.replicas != partition.replicas:
        record.replicas, changed = list(target.replicas), True
    if target.adding != partition.adding_replicas:
        record.adding_replicas, changed = list(target.adding), True
    if target.removing != partition.removing_replicas:
        record.removing_replicas, changed = list(target.removing), True
    if target.recovery_state != partition.leader_recovery_state:
        record.leader_recovery_state, changed = int(target.recovery_state), True
    return record if changed else None


def leader_changes(record: PartitionChangeRecord, leader: int) -> bool:
    """Whether ``record`` names another leader than ``leader``."""
    return record.leader not in (NO_LEADER_CHANGE, leader)


def complete_reassignment(target: PartitionTarget) -> PartitionTarget:
    """``target`` with its reassignment done where its ISR allows, else as it is."""
    if not target.adding and not target.removing:
        return target
    replicas, isr = without(target.replicas, target.removing), without(target.isr, target.removing)
    if not set(replicas) <= set(isr):
        return target
    return replace(target, replicas=replicas, isr=isr, adding=(), removing=())


def reassign(partition: PartitionRegistration, replicas: tuple[int, ...]) -> PartitionTarget:
    """Begin (or redirect) a reassignment to ``replicas``.

    Until it completes, the assignment is ``replicas`` followed by those to be removed. A replica that an earlier,
    unfinished reassignment was adding still counts as being added, even while it is on its way out again: whoever takes
    the reassignment back takes it away as well. Apache Kafka forgets it then, and it stays.
    """
    held = without(partition.replicas, partition.adding_replicas)
    removing = without(partition.replicas, replicas)
    return replace(
        PartitionTarget.keep(partition),
        replicas=replicas + removing,
        adding=without(replicas + removing, held),
        removing=removing,
    )


def revert_reassignment(partition: PartitionRegistration) -> PartitionTarget | None:
    """Take back a reassignment; ``None`` where no member of the ISR would remain."""
    isr = without(partition.isr, partition.adding_replicas)
    if not isr:
        return None
    replicas = without(partition.replicas, partition.adding_replicas)
    return replace(PartitionTarget.keep(partition), replicas=replicas, isr=isr, adding=(), removing=())


def without(replicas: tuple[int, ...], leaving: Iterable[int]) -> tuple[int, ...]:
    """``replicas`` in their order, but for those ``leaving``."""
    gone = frozenset(leaving)
    return tuple(replica for replica in replicas if replica not in gone)


def _elect(current: int, target: PartitionTarget, may_lead: Callable[[int], bool], election: Election) -> int:
    def valid(replica: int) -> bool:
        return replica in target.isr and may_lead(replica)

    if election is Election.PREFERRED and valid(target.replicas[0]):
        return target.replicas[0]
    if valid(current):
        return current
    return next((replica for replica in target.replicas if valid(replica)), NO_LEADER)


def _bumps_leader_epoch(
    partition: PartitionRegistration, target: PartitionTarget, metadata_version: MetadataVersion
) -> bool:
    if not set(partition.replicas) <= set(target.replicas):
        return True
    isr = target.isr or partition.isr  # an empty target leaves the ISR as it was
    return metadata_version.leader_epoch_bump_on_isr_shrink and not set(partition.isr) <= set(isr)
