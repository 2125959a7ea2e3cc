"""DescribeQuorum (KIP-595): how far the voters and observers are, as their leader sees it.

A replica's ``last_caught_up_timestamp`` is the last time at which it held all that the leader had when it asked: a
fetch that reaches the leader's end says so of now, one that reaches where the leader ended at the fetch before says so
of that one. Timestamps are the leader's wall clock; −1 where there is nothing to say yet. An observer that has not
fetched for five minutes is left out.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.ports import MS
from highwater_runtime.raft.leading import Leading
from highwater_runtime.raft.messages import only_partition
from highwater_runtime.raft.progress import ReplicaProgress
from highwater_runtime.raft.scope import Role, Shared
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest
from highwater_runtime.wire.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)

NODES_SINCE: Final = 2
LISTENER: Final = "CONTROLLER"
"""Name of the voters' listener in responses that have nodes (KIP-853)."""


def describe_quorum(
    shared: Shared, role: Role | None, request: DescribeQuorumRequest, high_watermark: int, *, version: int
) -> DescribeQuorumResponse:
    """Return the response of a voter in ``role``. Only a leader fills in the replicas. ``version``: of the request.

    As in Kafka, a request that names anything beside the metadata log is told of none of it. So no request costs more
    than one description, however often it names the log.
    """
    response = DescribeQuorumResponse(error_message=None)
    if version >= NODES_SINCE:
        response.nodes = [
            Node(node_id=voter, listeners=[Listener(name=LISTENER, host=endpoint.host, port=endpoint.port)])
            for voter, endpoint in sorted(shared.endpoints.items())
        ]
    is_of_the_quorum = only_partition(request.topics) is not None
    for topic in request.topics:
        answer = TopicData(topic_name=topic.topic_name)
        for asked in topic.partitions:
            if not is_of_the_quorum:
                data = PartitionData(error_code=int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), leader_id=-1)
            elif not isinstance(role, Leading):
                leader_id = shared.quorum.leader_id
                data = PartitionData(
                    error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER),
                    leader_id=-1 if leader_id is None else leader_id,
                    leader_epoch=shared.quorum.epoch,
                )
            else:
                data = _led(shared, role, high_watermark)
            data.partition_index = asked.partition_index
            answer.partitions.append(data)
        response.topics.append(answer)
    return response


def _led(shared: Shared, role: Leading, high_watermark: int) -> PartitionData:
    own_wall_ms = shared.ports.clock.wall_ms()
    now_ns = shared.ports.clock.now_ns()

    def wall_ms(moment_ns: int | None) -> int:
        return -1 if moment_ns is None else own_wall_ms - (now_ns - moment_ns) // MS

    def state(replica_id: int, progress: ReplicaProgress) -> ReplicaState:
        has_fetched = progress.end_offset >= 0
        return ReplicaState(
            replica_id=replica_id,
            log_end_offset=progress.end_offset,
            last_fetch_timestamp=wall_ms(progress.heard_ns) if has_fetched else -1,
            last_caught_up_timestamp=wall_ms(progress.caught_up_ns),
        )

    own = ReplicaState(
        replica_id=shared.node_id,
        log_end_offset=shared.log.end_offset,
        last_fetch_timestamp=own_wall_ms,
        last_caught_up_timestamp=own_wall_ms,
    )
    voters = [own, *(state(voter, progress) for voter, progress in role.progress.voters.items())]
    return PartitionData(
        leader_id=shared.node_id,
        leader_epoch=shared.quorum.epoch,
        high_watermark=high_watermark,
        current_voters=sorted(voters, key=lambda one: one.replica_id),
        observers=[state(observer, progress) for observer, progress in role.progress.live_observers(now_ns).items()],
    )
