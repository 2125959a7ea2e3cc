"""FetchSnapshot (KIP-630), built here and taken apart here: one piece of one snapshot of the metadata log."""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_runtime.raft.messages import MAX_FETCH_BYTES, METADATA_PARTITION, METADATA_TOPIC, QuorumResponse
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.messages import fetch_snapshot_request, fetch_snapshot_response
from highwater_runtime.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from highwater_runtime.wire.messages.fetch_snapshot_response import FetchSnapshotResponse

FETCH_SNAPSHOT_VERSION: Final = 0


class SnapshotParams(NamedTuple):
    """What FetchSnapshot asks."""

    replica_id: int
    epoch: int
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


class SnapshotPiece(NamedTuple):
    """``data`` stands at ``position`` of a snapshot of ``size`` bytes."""

    snapshot_id: SnapshotId
    position: int
    size: int
    data: bytes


def fetch_snapshot(cluster_id: str, params: SnapshotParams) -> FetchSnapshotRequest:
    """The request."""
    partition = fetch_snapshot_request.PartitionSnapshot(
        partition=METADATA_PARTITION,
        current_leader_epoch=params.epoch,
        snapshot_id=fetch_snapshot_request.SnapshotId(
            end_offset=params.snapshot_id.end_offset, epoch=params.snapshot_id.epoch
        ),
        position=params.position,
    )
    topic = fetch_snapshot_request.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    return FetchSnapshotRequest(
        cluster_id=cluster_id, replica_id=params.replica_id, max_bytes=params.max_bytes, topics=[topic]
    )


def snapshot_params_of(request: FetchSnapshotRequest) -> SnapshotParams | None:
    """What the request says; None where it is malformed or not about exactly the metadata log. However many bytes it
    asks for, it gets at most ``MAX_FETCH_BYTES``."""
    topics = request.topics
    if len(topics) != 1 or topics[0].name != METADATA_TOPIC or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    if partition.partition != METADATA_PARTITION or request.max_bytes <= 0:
        return None
    snapshot_id = SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    max_bytes = min(request.max_bytes, MAX_FETCH_BYTES)
    return SnapshotParams(
        request.replica_id, partition.current_leader_epoch, snapshot_id, partition.position, max_bytes
    )


def snapshot_response(answer: QuorumResponse, piece: SnapshotPiece) -> FetchSnapshotResponse:
    """The answer, with an empty piece where it is an error."""
    partition = fetch_snapshot_response.PartitionSnapshot(
        index=METADATA_PARTITION,
        error_code=answer.error,
        snapshot_id=fetch_snapshot_response.SnapshotId(
            end_offset=piece.snapshot_id.end_offset, epoch=piece.snapshot_id.epoch
        ),
        current_leader=fetch_snapshot_response.LeaderIdAndEpoch(leader_id=answer.leader_id, leader_epoch=answer.epoch),
        size=piece.size,
        position=piece.position,
        unaligned_records=piece.data,
    )
    topic = fetch_snapshot_response.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    return FetchSnapshotResponse(topics=[topic])


def snapshot_piece_of(response: FetchSnapshotResponse) -> tuple[QuorumResponse, SnapshotPiece] | None:
    """What the answer says; None where the request as a whole was refused."""
    topics = response.topics
    if response.error_code != ErrorCode.NONE or len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    data = topics[0].partitions[0]
    if topics[0].name != METADATA_TOPIC or data.index != METADATA_PARTITION:
        return None
    answer = QuorumResponse(error_of(data.error_code), data.current_leader.leader_epoch, data.current_leader.leader_id)
    snapshot_id = SnapshotId(data.snapshot_id.end_offset, data.snapshot_id.epoch)
    return answer, SnapshotPiece(snapshot_id, data.position, data.size, bytes(data.unaligned_records))
