"""AssignReplicasToDirs: a broker has lost the log of some of its replicas and lives on (KIP-858).

Rules in words:

* The sender's broker epoch must be the registered one: STALE_BROKER_EPOCH for the whole request. A message with a
  stale epoch says nothing of the disk that the broker has now.
* A broker has one log directory here, so nothing is recorded of where a replica is. Only LOST has a meaning: the
  replica is in no directory that is online. Any other directory is INVALID_REQUEST.
* A lost replica leaves the ISR, and another member leads. The last member stays in the ISR, as everywhere, but does
  not lead: nobody does until it returns. It comes back as any replica does, by fetching.
* Nothing is remembered: an election that has no other choice may name the broker again, which then says again that
  its log is lost. (Kafka keeps the directory in the partition's record, from metadata.version 3.7-IV2 on.)
"""

from __future__ import annotations

from uuid import UUID

from highwater_runtime.controller.decision import Decision, RefusedError, check_broker_epoch
from highwater_runtime.controller.kraft.broker_state import leave_isr
from highwater_runtime.controller.partition_change import UncleanAllowed, never_unclean
from highwater_runtime.metadata import NO_LEADER, MetadataImage
from highwater_runtime.metadata.registrations import LOST_DIRECTORY
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from highwater_runtime.wire.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord


def assign_replicas_to_dirs(
    image: MetadataImage, request: AssignReplicasToDirsRequest, unclean: UncleanAllowed = never_unclean
) -> Decision[AssignReplicasToDirsResponse]:
    """Take lost replicas out of leaderships and ISRs.

    Raises:
        RefusedError: STALE_BROKER_EPOCH, or INVALID_REQUEST for a directory that is not LOST.
    """
    check_broker_epoch(image, request.broker_id, request.broker_epoch)
    decision = Decision(AssignReplicasToDirsResponse())
    changed: dict[tuple[UUID, int], None] = {}
    for directory in request.directories:
        if directory.id != LOST_DIRECTORY:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"expected the directory LOST, {LOST_DIRECTORY}, found {directory.id}"
            )
        result = DirectoryData(id=directory.id)
        decision.response.directories.append(result)
        for topic in directory.topics:
            answer = TopicData(topic_id=topic.topic_id)
            result.topics.append(answer)
            for partition in topic.partitions:
                key = (topic.topic_id, partition.partition_index)
                error, record = _lose(image, request.broker_id, *key, unclean)
                if record is not None and key not in changed:
                    changed[key] = None
                    decision.records.append(record)
                answer.partitions.append(
                    PartitionData(partition_index=partition.partition_index, error_code=int(error))
                )
    return decision


def _lose(
    image: MetadataImage, broker_id: int, topic_id: UUID, index: int, unclean: UncleanAllowed
) -> tuple[ErrorCode, PartitionChangeRecord | None]:
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID, None
    partition = topic.partitions.get(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
    if broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
    if broker_id not in partition.isr or (partition.isr == (broker_id,) and partition.leader == NO_LEADER):
        return ErrorCode.NONE, None  # it is so
    return ErrorCode.NONE, leave_isr(image, topic, index, partition, broker_id, unclean)
