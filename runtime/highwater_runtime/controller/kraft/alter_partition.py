"""AlterPartition: a leader proposes the next ISR of its partition, the controller persists or refuses it (KIP-497,
KIP-841, KIP-903).

The controller judges in this order, as Kafka does, and the first that fails is the answer:

1. the sender's broker epoch is not the registered one: STALE_BROKER_EPOCH for the whole request;
2. unknown topic id: UNKNOWN_TOPIC_ID; unknown partition: UNKNOWN_TOPIC_OR_PARTITION;
3. leader epoch or partition epoch above the controller's: NOT_CONTROLLER (this controller is behind);
4. leader epoch below: FENCED_LEADER_EPOCH; sender is not the leader: INVALID_REQUEST;
5. the partition already is as proposed, though its epoch has moved on: a retry, answered with the current state;
6. partition epoch below: INVALID_UPDATE_VERSION;
7. ISR empty, with duplicates, not within the replicas, without the leader, or more than the leader while it is
   RECOVERING, or back from RECOVERED to RECOVERING: INVALID_REQUEST;
8. a member of the ISR that is not registered, fenced, shutting down, or registered under another epoch than the one
   claimed for it: INELIGIBLE_REPLICA. The last of these is KIP-903: the claimed epoch is from the follower's Fetch, so
   it names the incarnation that caught up; −1 skips it (AlterPartition v2, Fetch below v15).

A refusal of step 8 is a change as well: it moves the partition epoch and nothing else, and is answered once that is
committed. Without that it would only say "not now, not by me". The same proposal may still be on its way (an earlier
try that was slow, a copy) and be carried out when the replica is eligible again; or a deposed controller refuses what
its successor has carried out. A leader that drops the proposal by then moves the HW without a member of the ISR. Kafka
writes nothing and is exposed to both. Switch ``refusal-moves-epoch``, which acts in :func:`_judge`.

Step 5 is what Kafka's ZooKeeper controller settled on (KAFKA-12257); it writes nothing, so no epoch needs checking.
A change that completes a reassignment may move the leadership away; it is written and answered NEW_LEADER_ELECTED.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from highwater_runtime.controller.decision import RefusedError, check_broker_epoch
from highwater_runtime.controller.partition_change import (
    PartitionTarget,
    UncleanAllowed,
    change_partition,
    leader_changes,
    never_unclean,
)
from highwater_runtime.controller.placement import is_active
from highwater_runtime.metadata import (
    LeaderRecoveryState,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
)
from highwater_runtime.metadata.image import merge_partition_change
from highwater_runtime.metadata.replica_epoch import UNKNOWN_BROKER_EPOCH
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_request import AlterPartitionRequest, BrokerState
from highwater_runtime.wire.messages.alter_partition_request import PartitionData as Proposal
from highwater_runtime.wire.messages.alter_partition_response import AlterPartitionResponse
from highwater_runtime.wire.messages.alter_partition_response import PartitionData as ProposalResult
from highwater_runtime.wire.messages.alter_partition_response import TopicData as TopicResult
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord

EpochsMatch = Callable[[int, int], bool]
"""(claimed, registered) → whether both may be of one incarnation; :func:`replica_epoch_matches` in force."""

BROKER_STATE_VERSION: Final = 3
"""First version of AlterPartition that carries ``new_isr_with_epochs``."""


@dataclass(frozen=True, slots=True)
class HandledProposal:
    """One proposal and its outcome, for the trace. ``record_index`` is that of its record in the batch, −1 for none."""

    topic: TopicImage
    partition: int
    proposal: Proposal
    members: tuple[BrokerState, ...]
    registered_epochs: tuple[int, ...]
    error: ErrorCode
    record_index: int


@dataclass(frozen=True, slots=True)
class AlterPartitionDecision:
    """Records, response, and what to report about each proposal to a known topic."""

    response: AlterPartitionResponse
    records: list[PartitionChangeRecord] = field(default_factory=list)
    handled: list[HandledProposal] = field(default_factory=list)


def alter_partition(
    image: MetadataImage,
    request: AlterPartitionRequest,
    version: int,
    epochs_match: EpochsMatch,
    *,
    refusal_moves_epoch: bool,
    unclean: UncleanAllowed = never_unclean,
) -> AlterPartitionDecision:
    """Judge every proposal of one request, sent in ``version`` of the API."""
    decision = AlterPartitionDecision(AlterPartitionResponse())
    try:
        check_broker_epoch(image, request.broker_id, request.broker_epoch)
    except RefusedError as refused:
        decision.response.error_code = int(refused.code)
        for asked in request.topics:
            known = image.topics_by_id.get(asked.topic_id)
            for proposal in asked.partitions:
                if known is not None:
                    members = _members(proposal, version)
                    decision.handled.append(_handled(image, known, proposal, members, refused.code, -1))
        return decision
    judged: set[tuple[str, int]] = set()
    for asked in request.topics:
        result = TopicResult(topic_id=asked.topic_id)
        decision.response.topics.append(result)
        topic = image.topics_by_id.get(asked.topic_id)
        for proposal in asked.partitions:
            if topic is None:
                result.partitions.append(_error(proposal.partition_index, ErrorCode.UNKNOWN_TOPIC_ID))
            elif (topic.name, proposal.partition_index) in judged:
                # Each proposal is judged against the image, which does not hold the batch yet: one change at a time.
                result.partitions.append(_error(proposal.partition_index, ErrorCode.INVALID_REQUEST))
            else:
                judged.add((topic.name, proposal.partition_index))
                result.partitions.append(
                    _judge(
                        image,
                        request.broker_id,
                        topic,
                        proposal,
                        version,
                        epochs_match,
                        decision,
                        refusal_moves_epoch,
                        unclean(topic.name),
                    )
                )
    return decision


def _judge(
    image: MetadataImage,
    sender: int,
    topic: TopicImage,
    proposal: Proposal,
    version: int,
    epochs_match: EpochsMatch,
    decision: AlterPartitionDecision,
    refusal_moves_epoch: bool,
    unclean: bool,
) -> ProposalResult:
    index = proposal.partition_index
    members = _members(proposal, version)
    partition = topic.partitions.get(index)
    record: PartitionChangeRecord | None = None
    if partition is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        error = _validate_epochs(sender, partition, proposal)
        if error is ErrorCode.NONE and not _already_so(partition, proposal, members):
            error = _validate(image, partition, proposal, members, epochs_match)
            if error is ErrorCode.NONE:
                record = change_partition(
                    partition,
                    replace(
                        PartitionTarget.keep(partition),
                        isr=tuple(member.broker_id for member in members),
                        recovery_state=LeaderRecoveryState(proposal.leader_recovery_state),
                    ),
                    topic_id=topic.id,
                    index=index,
                    may_lead=lambda replica: is_active(image, replica),
                    metadata_version=image.metadata_version,
                    unclean=unclean,
                )
    if record is not None and partition is not None:
        decision.records.append(record)
        partition = merge_partition_change(partition, record)
        if leader_changes(record, sender):
            error = ErrorCode.NEW_LEADER_ELECTED
    record_index = -1 if record is None else len(decision.records) - 1
    if error is ErrorCode.INELIGIBLE_REPLICA and refusal_moves_epoch:
        decision.records.append(PartitionChangeRecord(partition_id=index, topic_id=topic.id))
    decision.handled.append(_handled(image, topic, proposal, members, error, record_index))
    if error is not ErrorCode.NONE or partition is None:
        return _error(index, error)
    return ProposalResult(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=int(partition.leader_recovery_state),
        partition_epoch=partition.partition_epoch,
    )


def _members(proposal: Proposal, version: int) -> tuple[BrokerState, ...]:
    if version >= BROKER_STATE_VERSION:
        return tuple(proposal.new_isr_with_epochs)
    return tuple(BrokerState(broker_id=replica, broker_epoch=UNKNOWN_BROKER_EPOCH) for replica in proposal.new_isr)


def _handled(
    image: MetadataImage,
    topic: TopicImage,
    proposal: Proposal,
    members: tuple[BrokerState, ...],
    error: ErrorCode,
    record_index: int,
) -> HandledProposal:
    registered = (image.brokers.get(member.broker_id) for member in members)
    return HandledProposal(
        topic=topic,
        partition=proposal.partition_index,
        proposal=proposal,
        members=members,
        registered_epochs=tuple(UNKNOWN_BROKER_EPOCH if broker is None else broker.epoch for broker in registered),
        error=error,
        record_index=record_index,
    )


def _validate_epochs(sender: int, partition: PartitionRegistration, proposal: Proposal) -> ErrorCode:
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if proposal.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != partition.leader:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def _already_so(partition: PartitionRegistration, proposal: Proposal, members: tuple[BrokerState, ...]) -> bool:
    return (
        proposal.partition_epoch < partition.partition_epoch
        and tuple(member.broker_id for member in members) == partition.isr
        and proposal.leader_recovery_state == partition.leader_recovery_state
    )


def _validate(
    image: MetadataImage,
    partition: PartitionRegistration,
    proposal: Proposal,
    members: tuple[BrokerState, ...],
    epochs_match: EpochsMatch,
) -> ErrorCode:
    if proposal.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = [member.broker_id for member in members]
    if not isr or len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if proposal.leader_recovery_state not in (LeaderRecoveryState.RECOVERED, LeaderRecoveryState.RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if proposal.leader_recovery_state == LeaderRecoveryState.RECOVERING and (
        len(isr) > 1 or partition.leader_recovery_state is LeaderRecoveryState.RECOVERED
    ):
        return ErrorCode.INVALID_REQUEST
    if not all(_eligible(image, member, epochs_match) for member in members):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _eligible(image: MetadataImage, member: BrokerState, epochs_match: EpochsMatch) -> bool:
    broker = image.brokers.get(member.broker_id)
    return broker is not None and broker.active and epochs_match(member.broker_epoch, broker.epoch)


def _error(index: int, code: ErrorCode) -> ProposalResult:
    return ProposalResult(partition_index=index, error_code=int(code))
