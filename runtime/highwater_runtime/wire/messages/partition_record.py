from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int32, Message, field


class PartitionRecord(Message, kind="metadata", key=3, versions="0-2", flexible="0+"):
    """The complete state of a partition."""

    partition_id: Int32 = field(default=-1)
    topic_id: UUID = field()
    replicas: list[Int32] = field()  # In order of preference.
    isr: list[Int32] = field()
    removing_replicas: list[Int32] = field()
    adding_replicas: list[Int32] = field()
    leader: Int32 = field(default=-1)  # -1 if there is none.
    leader_recovery_state: Int8 = field(tag=0)  # 1 while the leader recovers from an unclean election.
    leader_epoch: Int32 = field(default=-1)
    partition_epoch: Int32 = field(default=-1)
    directories: list[UUID] = field("1+")  # Log directory of each replica (KIP-858).
    eligible_leader_replicas: list[Int32] | None = field("2+", nullable="2+", tag=1, default=None)  # KIP-966.
    last_known_elr: list[Int32] | None = field("2+", nullable="2+", tag=2, default=None)
