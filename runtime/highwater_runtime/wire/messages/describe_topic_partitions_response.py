from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: Int16 = field()
    partition_index: Int32 = field()
    leader_id: Int32 = field()  # -1 if there is none.
    leader_epoch: Int32 = field(default=-1, ignorable=True)
    replica_nodes: list[Int32] = field()
    isr_nodes: list[Int32] = field()
    eligible_leader_replicas: list[Int32] | None = field(nullable="0+", default=None)
    last_known_elr: list[Int32] | None = field(nullable="0+", default=None)
    offline_replicas: list[Int32] = field(ignorable=True)


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: Int16 = field()
    name: str | None = field(nullable="0+")
    topic_id: UUID = field(ignorable=True)
    is_internal: bool = field(ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field()
    topic_authorized_operations: Int32 = field(default=-2147483648)  # Bit set; the minimum means "not asked".


class Cursor(Struct):
    topic_name: str = field()
    partition_index: Int32 = field()


class DescribeTopicPartitionsResponse(Message, kind="response", key=75, versions="0", flexible="0+"):
    """One page."""

    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = field()
    # Where the next page begins; null if there is none.
    next_cursor: Cursor | None = field(nullable="0+", default=None)
