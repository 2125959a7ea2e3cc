from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class StopReplicaPartitionError(Struct):
    topic_name: str = field()
    partition_index: Int32 = field()
    error_code: Int16 = field()


class StopReplicaResponse(Message, kind="response", key=5, versions="0-4", flexible="2+"):
    """One result for each partition."""

    error_code: Int16 = field()
    partition_errors: list[StopReplicaPartitionError] = field()
