from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class PartitionResult(Struct):
    partition_id: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")


class ReplicaElectionResult(Struct):
    topic: str = field()
    partition_result: list[PartitionResult] = field()


class ElectLeadersResponse(Message, kind="response", key=43, versions="0-2", flexible="2+"):
    """One result for each partition."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("1+")
    replica_election_results: list[ReplicaElectionResult] = field()
