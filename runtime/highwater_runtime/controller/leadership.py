"""Leadership on request: ElectLeaders, the periodic return to preferred leaders, and reassignments (KIP-455).

An unclean election on request is refused unless the topic allows it (``unclean.leader.election.enable``, or the switch
``unclean-leader-election``). Apache Kafka carries it out for every authorized client.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from highwater_runtime.controller.decision import Decision, RefusedError
from highwater_runtime.controller.partition_change import (
    Election,
    PartitionTarget,
    UncleanAllowed,
    change_partition,
    never_unclean,
    reassign,
    revert_reassignment,
)
from highwater_runtime.controller.placement import check_replicas, is_active
from highwater_runtime.metadata import NO_LEADER, MetadataImage, PartitionRegistration, TopicImage
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)
from highwater_runtime.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord

PREFERRED_ELECTION: Final = 0
UNCLEAN_ELECTION: Final = 1
MOST_ELECTIONS: Final = 1000
"""How many leaders one run of the periodic rebalance moves at most (as Kafka), so that no batch grows too large."""


def elect_leaders(
    image: MetadataImage, request: ElectLeadersRequest, *, unclean: UncleanAllowed = never_unclean
) -> Decision[ElectLeadersResponse]:
    """Move leaderships to the preferred replicas, of the partitions named or of all.

    An unclean election is needed only where there is no leader, and is refused there unless ``unclean`` of its topic.

    Raises:
        RefusedError: INVALID_REQUEST for an election of an unknown type.
    """
    if request.election_type not in (PREFERRED_ELECTION, UNCLEAN_ELECTION):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"elections are preferred (0) or unclean (1), not {request.election_type}"
        )
    elect = _elect_preferred
    if request.election_type == UNCLEAN_ELECTION:
        elect = partial(_elect_unclean, unclean)
    decision = Decision(ElectLeadersResponse())
    everything = request.topic_partitions is None
    if request.topic_partitions is None:
        asked = [(topic.name, sorted(topic.partitions)) for topic in image.topics_by_name.values()]
    else:
        wanted: dict[str, dict[int, None]] = {}
        for entry in request.topic_partitions:
            wanted.setdefault(entry.topic, {}).update(dict.fromkeys(entry.partitions))
        asked = [(topic, list(partitions)) for topic, partitions in wanted.items()]
    for name, indexes in asked:
        result = ReplicaElectionResult(topic=name)
        for index in indexes:
            error, message, record = elect(image, name, index)
            if record is not None:
                decision.records.append(record)
            if not (everything and error is ErrorCode.ELECTION_NOT_NEEDED):
                result.partition_result.append(
                    PartitionResult(partition_id=index, error_code=int(error), error_message=message)
                )
        if result.partition_result or not everything:
            decision.response.replica_election_results.append(result)
    return decision


_Elected = tuple[ErrorCode, str | None, PartitionChangeRecord | None]


def _elect_unclean(unclean: UncleanAllowed, image: MetadataImage, name: str, index: int) -> _Elected:
    error, message, _ = _refuse_unclean(image, name, index)
    if error is not ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE or not unclean(name):
        return error, message, None
    topic = image.topics_by_name[name]
    partition = topic.partitions[index]
    record = change_partition(
        partition,
        PartitionTarget.keep(partition),
        topic_id=topic.id,
        index=index,
        may_lead=lambda replica: is_active(image, replica),
        metadata_version=image.metadata_version,
        unclean=True,
    )
    if record is None:
        return error, f"no replica of {name}-{index} is active", None
    return ErrorCode.NONE, None, record


def _refuse_unclean(image: MetadataImage, name: str, index: int) -> _Elected:
    partition = image.partition(name, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}-{index}", None
    if partition.leader != NO_LEADER:
        return ErrorCode.ELECTION_NOT_NEEDED, f"{name}-{index} has a leader, {partition.leader}", None
    message = f"no member of the ISR {list(partition.isr)} of {name}-{index} is active, and no other replica may lead"
    return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, message, None


def _elect_preferred(image: MetadataImage, name: str, index: int) -> _Elected:
    topic = image.topics_by_name.get(name)
    partition = None if topic is None else topic.partitions.get(index)
    if topic is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}-{index}", None
    if partition.leader == partition.replicas[0]:
        return ErrorCode.ELECTION_NOT_NEEDED, f"{name}-{index} is led by its preferred replica already", None
    record = _preferred(image, topic, index, partition)
    if record is None:
        message = f"preferred replica {partition.replicas[0]} of {name}-{index} is not in the ISR or not active"
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, message, None
    return ErrorCode.NONE, None, record


def _preferred(
    image: MetadataImage, topic: TopicImage, index: int, partition: PartitionRegistration
) -> PartitionChangeRecord | None:
    return change_partition(
        partition,
        PartitionTarget.keep(partition),
        topic_id=topic.id,
        index=index,
        may_lead=lambda replica: is_active(image, replica),
        metadata_version=image.metadata_version,
        election=Election.PREFERRED,
    )


def rebalance_leaders(image: MetadataImage) -> list[PartitionChangeRecord]:
    """What ``auto.leader.rebalance.enable`` does: back to the preferred leader wherever it is fit again."""
    records: list[PartitionChangeRecord] = []
    for topic_id, index in image.index.not_preferred():
        topic = image.topics_by_id[topic_id]
        record = _preferred(image, topic, index, topic.partitions[index])
        if record is not None:
            records.append(record)
            if len(records) == MOST_ELECTIONS:
                break
    return records


def alter_partition_reassignments(
    image: MetadataImage, request: AlterPartitionReassignmentsRequest
) -> Decision[AlterPartitionReassignmentsResponse]:
    """Begin, redirect or (``replicas`` null) take back the reassignment of each partition named."""
    decision = Decision(AlterPartitionReassignmentsResponse(error_message=None))
    done: dict[tuple[str, int], None] = {}
    for topic in request.topics:
        result = ReassignableTopicResponse(name=topic.name)
        for asked in topic.partitions:
            answer = ReassignablePartitionResponse(partition_index=asked.partition_index, error_message=None)
            try:
                if (topic.name, asked.partition_index) in done:
                    raise RefusedError(
                        ErrorCode.INVALID_REQUEST, f"{topic.name}-{asked.partition_index} is named more than once"
                    )
                record = _reassign(image, topic.name, asked)
            except RefusedError as refused:
                answer.error_code, answer.error_message = int(refused.code), refused.message
            else:
                done[topic.name, asked.partition_index] = None
                if record is not None:
                    decision.records.append(record)
            result.partitions.append(answer)
        decision.response.responses.append(result)
    return decision


def _reassign(image: MetadataImage, name: str, asked: ReassignablePartition) -> PartitionChangeRecord | None:
    topic = image.topics_by_name.get(name)
    partition = None if topic is None else topic.partitions.get(asked.partition_index)
    if topic is None or partition is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}-{asked.partition_index}"
        )
    target: PartitionTarget | None
    if asked.replicas is None:
        if not partition.reassigning:
            raise RefusedError(
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{name}-{asked.partition_index} is not being reassigned"
            )
        target = revert_reassignment(partition)
        if target is None:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"taking back the reassignment of {name}-{asked.partition_index} would need an unclean election",
            )
    else:
        check_replicas(image, asked.replicas, None)
        target = reassign(partition, tuple(asked.replicas))
    return change_partition(
        partition,
        target,
        topic_id=topic.id,
        index=asked.partition_index,
        may_lead=lambda replica: is_active(image, replica),
        metadata_version=image.metadata_version,
    )


def list_partition_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> Decision[ListPartitionReassignmentsResponse]:
    """Reassignments under way, of the partitions named or of all."""
    response = ListPartitionReassignmentsResponse(error_message=None)
    if request.topics is None:
        asked = [(topic.name, sorted(topic.partitions)) for topic in image.topics_by_name.values()]
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics]
    for name, indexes in asked:
        result = OngoingTopicReassignment(name=name)
        for index in indexes:
            partition = image.partition(name, index)
            if partition is not None and partition.reassigning:
                result.partitions.append(
                    OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(partition.replicas),
                        adding_replicas=list(partition.adding_replicas),
                        removing_replicas=list(partition.removing_replicas),
                    )
                )
        if result.partitions:
            response.topics.append(result)
    return Decision(response)
