from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class ReassignablePartition(Struct):
    partition_index: Int32 = field()
    replicas: list[Int32] | None = field(nullable="0+", default=None)  # The target replicas; null cancels.


class ReassignableTopic(Struct):
    name: str = field()
    partitions: list[ReassignablePartition] = field()


class AlterPartitionReassignmentsRequest(Message, kind="request", key=45, versions="0", flexible="0+"):
    """Move partitions to other brokers, or cancel a move (KIP-455)."""

    timeout_ms: Int32 = field(default=60000)
    topics: list[ReassignableTopic] = field()
