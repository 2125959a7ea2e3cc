from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Records, Struct, field


class PartitionProduceData(Struct):
    index: Int32 = field()
    records: Records | None = field(nullable="0+", default=None)  # One record batch.


class TopicProduceData(Struct):
    name: str = field(ignorable=True)
    partition_data: list[PartitionProduceData] = field()


class ProduceRequest(Message, kind="request", key=0, versions="3-12", flexible="9+"):
    """Append record batches to partitions."""

    transactional_id: str | None = field(nullable="0+", default=None)
    acks: Int16 = field()  # 0: no response at all; 1: the leader has it; -1: every member of the ISR has it.
    timeout_ms: Int32 = field()  # How long the leader may wait for acks=-1.
    topic_data: list[TopicProduceData] = field()
