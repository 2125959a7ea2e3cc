"""The ReadOffset RPC (KIP-650): how far the leader has applied the metadata log, built here and taken apart here.

The draft's fields, and what it left out: an error, and the leader that a node knows which is not it. The key lies in
the range that Kafka does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from highwater_runtime.raft.messages import METADATA_PARTITION, METADATA_TOPIC
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.messages import read_offset_request, read_offset_response
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.read_offset_response import ReadOffsetResponse

READ_OFFSET_VERSION: Final = 0


class ReadOffset(NamedTuple):
    """The answer: what a read must have applied (the offset of the last record, inclusive), or why there is none.

    ``leader_id`` and ``epoch`` are what the answering node knows of the quorum (−1: nothing).
    """

    error: ErrorCode
    applied_offset: int = -1
    leader_id: int = -1
    epoch: int = -1


OnReadOffset = Callable[[ReadOffset], None]


def read_offset_request_of(cluster_id: str, read_timestamp_ms: int) -> ReadOffsetRequest:
    """A node's question on behalf of a read that began at ``read_timestamp_ms`` by its wall clock."""
    partition = read_offset_request.PartitionData(partition_index=METADATA_PARTITION)
    topic = read_offset_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return ReadOffsetRequest(cluster_id=cluster_id, read_timestamp=read_timestamp_ms, topics=[topic])


def is_well_formed(request: ReadOffsetRequest) -> bool:
    """Whether the request is about exactly the metadata log."""
    return [(topic.topic_name, [p.partition_index for p in topic.partitions]) for topic in request.topics] == [
        (METADATA_TOPIC, [METADATA_PARTITION])
    ]


def read_offset_response_of(cluster_id: str, answer: ReadOffset) -> ReadOffsetResponse:
    """The response that says ``answer``."""
    partition = read_offset_response.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=answer.error,
        applied_offset=answer.applied_offset,
        leader_id=answer.leader_id,
        leader_epoch=answer.epoch,
    )
    topic = read_offset_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return ReadOffsetResponse(cluster_id=cluster_id, topics=[topic])


def read_offset_of(response: ReadOffsetResponse) -> ReadOffset:
    """Return the content of a response."""
    if response.error_code != ErrorCode.NONE:
        return ReadOffset(error_of(response.error_code))
    if len(response.topics) != 1 or len(response.topics[0].partitions) != 1:
        return ReadOffset(ErrorCode.INVALID_REQUEST)
    data = response.topics[0].partitions[0]
    return ReadOffset(error_of(data.error_code), data.applied_offset, data.leader_id, data.leader_epoch)
