from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class CreatableReplicaAssignment(Struct):
    partition_index: Int32 = field()
    broker_ids: list[Int32] = field()


class CreatableTopicConfig(Struct):
    name: str = field()
    value: str | None = field(nullable="0+")


class CreatableTopic(Struct):
    name: str = field()
    num_partitions: Int32 = field()  # -1 for the default, or if the assignment is by hand.
    replication_factor: Int16 = field()  # -1 for the default, or if the assignment is by hand.
    assignments: list[CreatableReplicaAssignment] = field()  # Placement by hand; empty to let the controller choose.
    configs: list[CreatableTopicConfig] = field()


class CreateTopicsRequest(Message, kind="request", key=19, versions="2-7", flexible="5+"):
    """Create topics, with partitions placed by the controller or by hand."""

    topics: list[CreatableTopic] = field()
    timeout_ms: Int32 = field(default=60000)
    validate_only: bool = field()
