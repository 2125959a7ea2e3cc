from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class OngoingPartitionReassignment(Struct):
    partition_index: Int32 = field()
    replicas: list[Int32] = field()
    adding_replicas: list[Int32] = field()
    removing_replicas: list[Int32] = field()


class OngoingTopicReassignment(Struct):
    name: str = field()
    partitions: list[OngoingPartitionReassignment] = field()


class ListPartitionReassignmentsResponse(Message, kind="response", key=46, versions="0", flexible="0+"):
    """Moves under way."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    topics: list[OngoingTopicReassignment] = field()
