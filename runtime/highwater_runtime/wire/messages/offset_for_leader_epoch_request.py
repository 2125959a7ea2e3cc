from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class OffsetForLeaderPartition(Struct):
    partition: Int32 = field()
    current_leader_epoch: Int32 = field("2+", default=-1, ignorable=True)  # Fences the request.
    leader_epoch: Int32 = field()  # The epoch whose end is asked for.


class OffsetForLeaderTopic(Struct):
    topic: str = field()
    partitions: list[OffsetForLeaderPartition] = field()


class OffsetForLeaderEpochRequest(Message, kind="request", key=23, versions="0-4", flexible="4+"):
    """Where does an epoch end in the leader's log (KIP-101, KIP-279, KIP-320)?"""

    # Broker id of a follower, -1 for a consumer, -2 for debugging.
    replica_id: Int32 = field("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field()
