from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class CreatePartitionsAssignment(Struct):
    broker_ids: list[Int32] = field()


class CreatePartitionsTopic(Struct):
    name: str = field()
    count: Int32 = field()  # The new number of partitions.
    # Placement of the new ones by hand; null to let the controller choose.
    assignments: list[CreatePartitionsAssignment] | None = field(nullable="0+")


class CreatePartitionsRequest(Message, kind="request", key=37, versions="0-3", flexible="2+"):
    """Add partitions to topics."""

    topics: list[CreatePartitionsTopic] = field()
    timeout_ms: Int32 = field()
    validate_only: bool = field()
