from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class BatchIndexAndErrorMessage(Struct):
    batch_index: Int32 = field("8+")
    batch_index_error_message: str | None = field("8+", nullable="8+", default=None)


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("10+", default=-1)
    leader_epoch: Int32 = field("10+", default=-1)


class PartitionProduceResponse(Struct):
    index: Int32 = field()
    error_code: Int16 = field()
    base_offset: Int64 = field()  # Offset of the batch's first record; -1 if it is unknown.
    log_append_time_ms: Int64 = field(default=-1, ignorable=True)
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
    # Which records caused the batch to be refused (KIP-467).
    record_errors: list[BatchIndexAndErrorMessage] = field("8+", ignorable=True)
    error_message: str | None = field("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field("10+", tag=0)  # The new leader, if this broker is not it (KIP-951).


class TopicProduceResponse(Struct):
    name: str = field(ignorable=True)
    partition_responses: list[PartitionProduceResponse] = field()


class NodeEndpoint(Struct):
    node_id: Int32 = field("10+")
    host: str = field("10+")
    port: Int32 = field("10+")
    rack: str | None = field("10+", nullable="10+", default=None)


class ProduceResponse(Message, kind="response", key=0, versions="3-12", flexible="9+"):
    """Where the batches have been appended."""

    responses: list[TopicProduceResponse] = field()
    throttle_time_ms: Int32 = field(ignorable=True)
    node_endpoints: list[NodeEndpoint] = field("10+", tag=0)  # Endpoints of the current leaders.
