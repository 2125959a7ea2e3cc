"""The quorum's messages, each about the one partition of the metadata log: built here and taken apart here.

The set of voters is fixed (KIP-595). A pre-vote is a Vote of version 2, as Kafka has settled it (KIP-996; the draft,
KIP-650, says 1). Of the fields for dynamic voters (KIP-853) one is used: Vote and BeginQuorumEpoch name the voter that
they are meant for. An address can come to be that of another voter, and what this one says counts for itself alone.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from highwater_runtime.ports import ApiMessage, InboundRequest
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.messages import (
    begin_quorum_epoch_request,
    begin_quorum_epoch_response,
    end_quorum_epoch_request,
    end_quorum_epoch_response,
    fetch_request,
    fetch_response,
    vote_request,
    vote_response,
)
from highwater_runtime.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from highwater_runtime.wire.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest
from highwater_runtime.wire.messages.describe_quorum_response import DescribeQuorumResponse
from highwater_runtime.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from highwater_runtime.wire.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.messages.fetch_response import FetchResponse
from highwater_runtime.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from highwater_runtime.wire.messages.fetch_snapshot_response import FetchSnapshotResponse
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.read_offset_response import ReadOffsetResponse
from highwater_runtime.wire.messages.vote_request import VoteRequest
from highwater_runtime.wire.messages.vote_response import VoteResponse

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = UUID(int=1)
"""Kafka's fixed topic id of the metadata log."""

METADATA_PARTITION: Final = 0

ANY_VOTER: Final = -1
"""In a Vote or BeginQuorumEpoch: whichever voter gets it. So says version 0, which does not name one."""

VOTE_VERSION: Final = 1
PRE_VOTE_VERSION: Final = 2
"""The first version with the flag; who does not know pre-votes refuses it."""

BEGIN_QUORUM_EPOCH_VERSION: Final = 1
END_QUORUM_EPOCH_VERSION: Final = 0
FETCH_VERSION: Final = 15

MAX_FETCH_BYTES: Final = 8 * 1024 * 1024
"""Most that one answer holds (Kafka's MAX_BATCH_SIZE_BYTES); one batch is sent whatever its size."""

QuorumRequest = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest


class Ballot(NamedTuple):
    """What a Vote request asks: a vote in ``epoch``, or (``pre_vote``) whether there would be one in the next."""

    epoch: int
    candidate_id: int
    log_end: LogEnd
    pre_vote: bool = False


class LeaderNotice(NamedTuple):
    """What BeginQuorumEpoch and EndQuorumEpoch say; ``successors`` (EndQuorumEpoch): who should stand, first first."""

    epoch: int
    leader_id: int
    successors: tuple[int, ...] = ()


class FetchParams(NamedTuple):
    """What a replica's Fetch asks; ``replica_id`` −1: no replica."""

    replica_id: int
    epoch: int
    offset: int
    last_epoch: int
    max_bytes: int
    max_wait_ms: int


class QuorumResponse(NamedTuple):
    """What every answer says: the error, and the epoch and leader that the answering node knows (−1: none)."""

    error: ErrorCode
    epoch: int
    leader_id: int
    vote_granted: bool = False

    def grants_in(self, epoch: int) -> bool:
        """Return whether this is a vote in ``epoch``. A vote with an error or of another epoch does not count."""
        return self.vote_granted and self.error is ErrorCode.NONE and self.epoch == epoch


# --- requests --------------------------------------------------------------------------------------------------------


def vote(cluster_id: str, voter_id: int, ballot: Ballot) -> VoteRequest:
    """A candidate's request to a voter, or a prospective one's."""
    partition = vote_request.PartitionData(
        partition_index=METADATA_PARTITION,
        replica_epoch=ballot.epoch,
        replica_id=ballot.candidate_id,
        last_offset_epoch=ballot.log_end.epoch,
        last_offset=ballot.log_end.offset,
        pre_vote=ballot.pre_vote,
    )
    topic = vote_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, voter_id=voter_id, topics=[topic])


def begin_quorum_epoch(cluster_id: str, voter_id: int, notice: LeaderNotice) -> BeginQuorumEpochRequest:
    """A leader's call to a voter to follow it."""
    partition = begin_quorum_epoch_request.PartitionData(
        partition_index=METADATA_PARTITION, leader_id=notice.leader_id, leader_epoch=notice.epoch
    )
    topic = begin_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return BeginQuorumEpochRequest(cluster_id=cluster_id, voter_id=voter_id, topics=[topic])


def end_quorum_epoch(cluster_id: str, notice: LeaderNotice) -> EndQuorumEpochRequest:
    """A resigned leader's call to elect another."""
    partition = end_quorum_epoch_request.PartitionData(
        partition_index=METADATA_PARTITION,
        leader_id=notice.leader_id,
        leader_epoch=notice.epoch,
        preferred_successors=list(notice.successors),
    )
    topic = end_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return EndQuorumEpochRequest(cluster_id=cluster_id, topics=[topic])


def fetch(cluster_id: str, params: FetchParams) -> FetchRequest:
    """A voter's or observer's fetch."""
    partition = fetch_request.FetchPartition(
        partition=METADATA_PARTITION,
        current_leader_epoch=params.epoch,
        fetch_offset=params.offset,
        last_fetched_epoch=params.last_epoch,
        log_start_offset=0,
        partition_max_bytes=params.max_bytes,
    )
    return FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch_request.ReplicaState(replica_id=params.replica_id),
        max_wait_ms=params.max_wait_ms,
        min_bytes=0,
        max_bytes=params.max_bytes,
        topics=[fetch_request.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


# --- what inbound requests say ---------------------------------------------------------------------------------------


def is_metadata_fetch(body: object) -> bool:
    """Whether a request is a Fetch that names the metadata log."""
    if isinstance(body, FetchRequest):
        for topic in body.topics:
            if topic.topic_id == METADATA_TOPIC_ID:
                return True
    return False


def ballot_of(request: VoteRequest) -> Ballot | None:
    """What the request says; None where it is not about exactly the metadata log, or no log can end where it says."""
    partition: vote_request.PartitionData | None = only_partition(request.topics)
    if partition is None:
        return None
    log_end = LogEnd(partition.last_offset_epoch, partition.last_offset)
    # A candidate has bumped its epoch, so it has no record of that one; a prospective one has not.
    newest = partition.replica_epoch if partition.pre_vote else partition.replica_epoch - 1
    if not 0 <= log_end.epoch <= newest or log_end.offset < 0:
        return None
    return Ballot(partition.replica_epoch, partition.replica_id, log_end, partition.pre_vote)


def begin_of(request: BeginQuorumEpochRequest) -> LeaderNotice | None:
    """What the request says; None where it is not about exactly the metadata log."""
    partition: begin_quorum_epoch_request.PartitionData | None = only_partition(request.topics)
    return None if partition is None else LeaderNotice(partition.leader_epoch, partition.leader_id)


def end_of(request: EndQuorumEpochRequest) -> LeaderNotice | None:
    """What the request says; None where it is not about exactly the metadata log."""
    partition: end_quorum_epoch_request.PartitionData | None = only_partition(request.topics)
    if partition is None:
        return None
    return LeaderNotice(partition.leader_epoch, partition.leader_id, tuple(partition.preferred_successors))


def fetch_params_of(request: InboundRequest) -> FetchParams | None:
    """What a Fetch asks; None where it is malformed or not about exactly the metadata log."""
    body: FetchRequest = request.body
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        return None
    partition = body.topics[0].partitions[0]
    if (
        body.topics[0].topic_id != METADATA_TOPIC_ID
        or partition.partition != METADATA_PARTITION
        or partition.fetch_offset < 0
        or partition.last_fetched_epoch < 0
        or partition.current_leader_epoch < 0
        or body.max_wait_ms < 0
    ):
        return None
    return FetchParams(
        replica_id=body.replica_state.replica_id if request.version >= 15 else body.replica_id,
        epoch=partition.current_leader_epoch,
        offset=partition.fetch_offset,
        last_epoch=partition.last_fetched_epoch,
        max_bytes=min(partition.partition_max_bytes, body.max_bytes, MAX_FETCH_BYTES),
        max_wait_ms=body.max_wait_ms,
    )


def only_partition(topics: list[Any]) -> Any:
    """What a message says of the metadata log; None if it names another partition, or more than this one."""
    if len(topics) != 1 or topics[0].topic_name != METADATA_TOPIC or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    return partition if partition.partition_index == METADATA_PARTITION else None


# --- answers ---------------------------------------------------------------------------------------------------------


def refusal(request: InboundRequest, error: ErrorCode) -> ApiMessage:
    """An answer that says nothing but ``error``, of the request as a whole."""
    match request.body:
        case VoteRequest():
            return VoteResponse(error_code=error)
        case BeginQuorumEpochRequest():
            return BeginQuorumEpochResponse(error_code=error)
        case EndQuorumEpochRequest():
            return EndQuorumEpochResponse(error_code=error)
        case FetchRequest():
            return FetchResponse(error_code=error)
        case FetchSnapshotRequest():
            return FetchSnapshotResponse(error_code=error)
        case DescribeQuorumRequest():
            return DescribeQuorumResponse(error_code=error)
        case ReadOffsetRequest():
            return ReadOffsetResponse(error_code=error)
        case body:
            raise AssertionError(f"not a request to the quorum: {body!r}")


def reply(request: InboundRequest, answer: QuorumResponse) -> ApiMessage:
    """The answer to a Vote, BeginQuorumEpoch, EndQuorumEpoch or refused Fetch."""
    common: dict[str, Any] = {
        "partition_index": METADATA_PARTITION,
        "error_code": answer.error,
        "leader_id": answer.leader_id,
        "leader_epoch": answer.epoch,
    }
    match request.body:
        case VoteRequest():
            vote_data = vote_response.PartitionData(vote_granted=answer.vote_granted, **common)
            return VoteResponse(topics=[vote_response.TopicData(topic_name=METADATA_TOPIC, partitions=[vote_data])])
        case BeginQuorumEpochRequest():
            begin_topic = begin_quorum_epoch_response.TopicData(
                topic_name=METADATA_TOPIC, partitions=[begin_quorum_epoch_response.PartitionData(**common)]
            )
            return BeginQuorumEpochResponse(topics=[begin_topic])
        case EndQuorumEpochRequest():
            end_topic = end_quorum_epoch_response.TopicData(
                topic_name=METADATA_TOPIC, partitions=[end_quorum_epoch_response.PartitionData(**common)]
            )
            return EndQuorumEpochResponse(topics=[end_topic])
        case FetchRequest():
            return fetched(answer)
        case body:
            raise AssertionError(f"not a request to the quorum: {body!r}")


def fetched(
    answer: QuorumResponse,
    *,
    high_watermark: int = -1,
    log_start_offset: int = -1,
    records: bytes | None = b"",
    diverging: LogEnd | None = None,
    snapshot: LogEnd | None = None,
) -> FetchResponse:
    """The answer to a Fetch of the metadata log. ``snapshot``: fetch the one that ends there first."""
    data = fetch_response.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=answer.error,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=log_start_offset,
        current_leader=fetch_response.LeaderIdAndEpoch(leader_id=answer.leader_id, leader_epoch=answer.epoch),
        records=records,
    )
    if diverging is not None:
        data.diverging_epoch = fetch_response.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
    if snapshot is not None:
        data.snapshot_id = fetch_response.SnapshotId(epoch=snapshot.epoch, end_offset=snapshot.offset)
    topic = fetch_response.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])
    return FetchResponse(responses=[topic])


def answer_of(response: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse) -> QuorumResponse | None:
    """What an answer says; None where the request as a whole was refused."""
    if response.error_code != ErrorCode.NONE:
        return None
    data: Any = only_partition(response.topics)
    if data is None:
        return None
    granted = isinstance(response, VoteResponse) and data.vote_granted
    return QuorumResponse(error_of(data.error_code), data.leader_epoch, data.leader_id, granted)


def came_to_another(response: object) -> bool:
    """Return whether this is the response to a Vote or BeginQuorumEpoch that was meant for another voter."""
    if not isinstance(response, VoteResponse | BeginQuorumEpochResponse):
        return False
    answer = answer_of(response)
    return answer is not None and answer.error is ErrorCode.INVALID_VOTER_KEY


def fetched_of(response: FetchResponse) -> tuple[QuorumResponse, fetch_response.PartitionData] | None:
    """What an answer to a Fetch says; None where the request as a whole was refused."""
    if response.error_code != ErrorCode.NONE or len(response.responses) != 1:
        return None
    topic = response.responses[0]
    if topic.topic_id != METADATA_TOPIC_ID or len(topic.partitions) != 1:
        return None
    data = topic.partitions[0]
    current = data.current_leader
    return QuorumResponse(error_of(data.error_code), current.leader_epoch, current.leader_id), data
