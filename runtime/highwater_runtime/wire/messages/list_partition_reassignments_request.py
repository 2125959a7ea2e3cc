from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class ListPartitionReassignmentsTopics(Struct):
    name: str = field()
    partition_indexes: list[Int32] = field()


class ListPartitionReassignmentsRequest(Message, kind="request", key=46, versions="0", flexible="0+"):
    """Moves under way."""

    timeout_ms: Int32 = field(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(nullable="0+", default=None)  # Null for all.
