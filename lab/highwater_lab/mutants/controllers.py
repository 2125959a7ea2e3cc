"""Mutants of KRaft controllers: registration, fencing, elections, AlterPartition, reassignment, deletion."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

_ALTER: Final = "controller.kraft.alter_partition"
_CLUSTER: Final = "controller.kraft.cluster_control"
_CHANGE: Final = "controller.partition_change"
_STATE: Final = "controller.kraft.broker_state"
_SESSIONS: Final = "controller.kraft.sessions:BrokerSessions"
_ITS_EPOCH: Final = "getattr(image.brokers.get(request.broker_id), 'epoch', request.broker_epoch)"
"""The epoch that a broker should have named."""
_MERGE: Final = "metadata.image:merge_partition_change"

ALTER_PARTITION: Final = (
    Mutant(
        "alter-partition-accepts-fenced",
        f"{_ALTER}:_eligible",
        "return broker is not None and broker.active and epochs_match(",
        "return broker is not None and epochs_match(",
        "a fenced broker does not join an ISR (KIP-841)",
        mode="kraft",
    ),
    Mutant(
        "alter-partition-accepts-former-leader-epoch",
        f"{_ALTER}:_validate_epochs",
        "if proposal.leader_epoch < partition.leader_epoch:",
        "if False:",
        "the ISR of a former leader epoch is refused",
        mode="kraft",
        harmless="each new leader epoch has a new partition epoch too, which is compared as well",
    ),
    Mutant(
        "alter-partition-accepts-any-sender",
        f"{_ALTER}:_validate_epochs",
        "if sender != partition.leader:",
        "if False:",
        "only the leader changes the ISR",
        mode="kraft",
        harmless="a leader epoch has one leader, and that is compared as well",
    ),
    Mutant(
        "alter-partition-ignores-partition-epoch",
        f"{_ALTER}:_validate",
        "if proposal.partition_epoch < partition.partition_epoch:",
        "if False:",
        "an ISR that is based on an older one is refused (KIP-497)",
        mode="kraft",
    ),
    Mutant(
        "alter-partition-without-leader",
        f"{_ALTER}:_validate",
        "if partition.leader not in isr:",
        "if False:",
        "an ISR without its leader is refused",
        mode="kraft",
        harmless="no leader proposes one",
    ),
    Mutant(
        "alter-partition-ignores-sender-epoch",
        f"{_ALTER}:alter_partition",
        "check_broker_epoch(image, request.broker_id, request.broker_epoch)",
        f"check_broker_epoch(image, request.broker_id, {_ITS_EPOCH})",
        "a request of a broker's previous incarnation is refused",
        mode="kraft",
        harmless="a registration removes the broker's leaderships, so its earlier proposals have older leader epochs",
    ),
    Mutant(
        "withdrawn-proposal-sent",
        "broker.kraft.alter_partition:AlterPartitionManager.withdraw",
        "self._waiting.pop(key, None)",
        "pass",
        "a superseded proposal is not sent",
        mode="kraft",
        harmless="its partition epoch is old by then, so it is refused",
    ),
)

REGISTRATION: Final = (
    Mutant(
        "registration-keeps-isr",
        f"{_CLUSTER}:register_broker",
        "[*broker_state.remove_from_isrs(image, request.broker_id, unclean)]",
        "[]",
        "a broker that registers as a new incarnation is removed from all ISRs first",
        mode="kraft",
    ),
    Mutant(
        "registration-while-session-lasts",
        f"{_CLUSTER}:register_broker",
        "if session_alive and not same_incarnation:",
        "if False:",
        "a second process does not register while the first one's session lasts",
        mode="kraft",
        harmless="a broker has one process here, and a new incarnation is removed from all ISRs",
    ),
    Mutant(
        "registration-unfenced",
        f"{_CLUSTER}:_registration_record",
        "fenced=True if existing is None else existing.fenced",
        "fenced=False if existing is None else existing.fenced",
        "a broker is fenced until it has caught up with the metadata",
        mode="kraft",
    ),
    Mutant(
        "unfenced-before-caught-up",
        f"{_CLUSTER}:next_state",
        "if not request.want_fence and request.current_metadata_offset >= broker.epoch:",
        "if not request.want_fence:",
        "a broker is unfenced once it has replayed its own registration",
        mode="kraft",
        harmless="a broker requests it only then",
    ),
    Mutant(
        "heartbeat-of-former-incarnation",
        f"{_CLUSTER}:heartbeat",
        "check_broker_epoch(image, request.broker_id, request.broker_epoch)",
        f"check_broker_epoch(image, request.broker_id, {_ITS_EPOCH})",
        "a heartbeat of a broker's previous incarnation is refused",
        mode="kraft",
    ),
    Mutant(
        "fenced-broker-stays-in-isr",
        "controller.kraft.quorum_controller:QuorumController._fence_silent_brokers",
        "self._write([*records, *broker_state.own_fencing(latest, broker_id)])",
        "self._write(broker_state.own_fencing(latest, broker_id))",
        "a fenced broker is removed from all ISRs and leads nothing",
        mode="kraft",
    ),
    Mutant(
        "session-never-ends",
        f"{_SESSIONS}.is_alive",
        "return session is not None and now_ns < session.last_contact_ns + self._timeout_ns",
        "return session is not None",
        "a broker without heartbeats is fenced after its session time-out",
        mode="kraft",
    ),
    Mutant(
        "sessions-lost-at-failover",
        f"{_SESSIONS}.restart",
        "if not image.brokers[broker_id].fenced",
        "if image.brokers[broker_id].fenced",
        "a new controller watches the sessions of all unfenced brokers",
        mode="kraft",
    ),
)

ELECTIONS: Final = (
    Mutant(
        "last-isr-member-removed",
        f"{_CHANGE}:change_partition",
        "if target.isr and target.isr != partition.isr:",
        "if target.isr != partition.isr:",
        "the last member stays in the ISR, even if it fails",
    ),
    Mutant(
        "elects-outside-isr",
        f"{_CHANGE}:_elect",
        "return replica in target.isr and may_lead(replica)",
        "return may_lead(replica)",
        "a leader is elected from the ISR",
    ),
    Mutant(
        "elects-dead-broker",
        f"{_CHANGE}:_elect",
        "return replica in target.isr and may_lead(replica)",
        "return replica in target.isr",
        "a leader is a live broker",
    ),
    Mutant(
        "isr-shrink-without-new-leader-epoch",
        f"{_CHANGE}:_bumps_leader_epoch",
        "return metadata_version.leader_epoch_bump_on_isr_shrink and not set(partition.isr) <= set(isr)",
        "return False",
        "before 3.6 an ISR shrink bumps the leader epoch",
        mode="kraft",
        harmless="Kafka 3.6 does so too (KAFKA-15021)",
    ),
    Mutant(
        "new-leader-without-new-epoch",
        _MERGE,
        "leader, leader_epoch = record.leader, before.leader_epoch + 1",
        "leader, leader_epoch = record.leader, before.leader_epoch",
        "a new leader gets a new leader epoch",
    ),
    Mutant(
        "isr-change-without-new-partition-epoch",
        _MERGE,
        "partition_epoch=before.partition_epoch + 1",
        "partition_epoch=before.partition_epoch + (record.leader != NO_LEADER_CHANGE)",
        "each change of a partition gets a new partition epoch",
    ),
    Mutant(
        "leaderless-partition-not-revived",
        f"{_STATE}:unfence",
        "[change, *elect_leaderless(image, broker_id, unclean)]",
        "[change]",
        "a broker that returns becomes leader of partitions that no other replica may lead",
        mode="kraft",
    ),
)

TOPICS: Final = (
    Mutant(
        "reassignment-completes-early",
        f"{_CHANGE}:complete_reassignment",
        "if not set(replicas) <= set(isr):",
        "if not isr:",
        "a reassignment completes when all replicas that it leaves are in sync",
    ),
    Mutant(
        "reassignment-waits-for-added-alone",
        f"{_CHANGE}:complete_reassignment",
        "if not set(replicas) <= set(isr):",
        "if not isr or not set(target.adding) <= set(isr):",
        "a reassignment waits for the replicas that stay, too (KAFKA-15665)",
    ),
    Mutant(
        "reassignment-never-completes",
        f"{_CHANGE}:complete_reassignment",
        "if not set(replicas) <= set(isr):",
        "if True:",
        "a reassignment that has all replicas that it leaves in sync is over",
    ),
    Mutant(
        "redirected-reassignment-forgets-added",
        f"{_CHANGE}:reassign",
        "without(replicas + removing, held)",
        "without(replicas, held)",
        "a reassignment that is redirected and then cancelled takes away all that it added",
    ),
    Mutant(
        "reassignment-keeps-removed-in-isr",
        f"{_CHANGE}:complete_reassignment",
        "isr=isr, adding=(), removing=()",
        "isr=target.isr, adding=(), removing=()",
        "a removed replica leaves the ISR",
    ),
    Mutant(
        "cancelled-reassignment-keeps-added-in-isr",
        f"{_CHANGE}:revert_reassignment",
        "isr = without(partition.isr, partition.adding_replicas)",
        "isr = partition.isr",
        "a cancelled reassignment removes the new replicas from the ISR",
    ),
    Mutant(
        "deleted-topic-kept",
        "broker.kraft.mode:KraftMode._publish",
        "stopped.update(dict.fromkeys((topic.id, index) for index in topic.partitions))",
        "pass",
        "a broker deletes the logs of a deleted topic",
        mode="kraft",
    ),
    Mutant(
        "strays-inverted",
        "broker.strays:is_assigned",
        "return assigned is not None and topic_id in (None, assigned[0])",
        "return assigned is None or topic_id not in (None, assigned[0])",
        "assigned logs stay, and others are set aside (KAFKA-7362)",
    ),
)

CONTROLLERS: Final = (*ALTER_PARTITION, *REGISTRATION, *ELECTIONS, *TOPICS)
