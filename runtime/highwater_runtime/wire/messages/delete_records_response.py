from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class DeleteRecordsPartitionResult(Struct):
    partition_index: Int32 = field()
    low_watermark: Int64 = field()  # The least log start of all replicas; -1 if unknown.
    error_code: Int16 = field()


class DeleteRecordsTopicResult(Struct):
    name: str = field()
    partitions: list[DeleteRecordsPartitionResult] = field()


class DeleteRecordsResponse(Message, kind="response", key=21, versions="0-2", flexible="2+"):
    """One result for each partition."""

    throttle_time_ms: Int32 = field()
    topics: list[DeleteRecordsTopicResult] = field()
