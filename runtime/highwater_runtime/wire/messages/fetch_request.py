from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int32, Int64, Message, Struct, field


class ReplicaState(Struct):
    replica_id: Int32 = field("15+", default=-1)  # Broker id of a follower, -1 for a consumer.
    replica_epoch: Int64 = field("15+", default=-1)  # The follower's broker epoch, -1 if unknown.


class FetchPartition(Struct):
    partition: Int32 = field()
    # Fences the request (KIP-320); -1 if unknown.
    current_leader_epoch: Int32 = field("9+", default=-1, ignorable=True)
    fetch_offset: Int64 = field()
    last_fetched_epoch: Int32 = field("12+", default=-1)  # Epoch of the last record before fetch_offset; -1 if none.
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)  # The follower's own log start; -1 for consumers.
    partition_max_bytes: Int32 = field()
    replica_directory_id: UUID = field("17+", tag=0, ignorable=True)  # The follower's log directory (KIP-853).


class FetchTopic(Struct):
    topic: str = field("0-12", ignorable=True)
    topic_id: UUID = field("13+", ignorable=True)
    partitions: list[FetchPartition] = field()


class ForgottenTopic(Struct):
    topic: str = field("7-12", ignorable=True)
    topic_id: UUID = field("13+", ignorable=True)
    partitions: list[Int32] = field("7+")


class FetchRequest(Message, kind="request", key=1, versions="4-17", flexible="12+"):
    """Read from partitions: consumers, followers, and (KIP-595) voters and observers of the metadata log."""

    # Checked before a broker has registered.
    cluster_id: str | None = field("12+", nullable="12+", tag=0, default=None, ignorable=True)
    replica_id: Int32 = field("0-14", default=-1)  # Broker id of a follower, -1 for a consumer.
    replica_state: ReplicaState = field("15+", tag=1)  # Who follows, and in which incarnation (KIP-903).
    max_wait_ms: Int32 = field()  # How long to wait for min_bytes.
    min_bytes: Int32 = field()
    # Soft limit: the first batch is sent whatever its size (KIP-74).
    max_bytes: Int32 = field(default=0x7FFFFFFF, ignorable=True)
    isolation_level: Int8 = field(ignorable=True)  # 0 read uncommitted, 1 read committed.
    session_id: Int32 = field("7+", ignorable=True)  # Fetch session (KIP-227); 0 for none.
    session_epoch: Int32 = field("7+", default=-1, ignorable=True)  # -1: no session.
    topics: list[FetchTopic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field("7+")  # Partitions to drop from the session.
    rack_id: str = field("11+", ignorable=True)  # The consumer's rack (KIP-392).
