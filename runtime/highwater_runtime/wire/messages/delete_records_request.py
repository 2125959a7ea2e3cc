from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class DeleteRecordsPartition(Struct):
    partition_index: Int32 = field()
    offset: Int64 = field()  # The new log start; -1 for the high watermark.


class DeleteRecordsTopic(Struct):
    name: str = field()
    partitions: list[DeleteRecordsPartition] = field()


class DeleteRecordsRequest(Message, kind="request", key=21, versions="0-2", flexible="2+"):
    """Delete what is before an offset (KIP-107)."""

    topics: list[DeleteRecordsTopic] = field()
    timeout_ms: Int32 = field()
