from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class RemainingPartition(Struct):
    topic_name: str = field()
    partition_index: Int32 = field()


class ControlledShutdownResponse(Message, kind="response", key=7, versions="1-3", flexible="3+"):
    """What the broker still leads."""

    error_code: Int16 = field()
    remaining_partitions: list[RemainingPartition] = field()
