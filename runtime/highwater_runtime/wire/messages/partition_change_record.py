from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int32, Message, field


class PartitionChangeRecord(Message, kind="metadata", key=5, versions="0-2", flexible="0+"):
    """What has changed in a partition. Its partition epoch grows by one; its leader epoch too if ``leader`` is set."""

    partition_id: Int32 = field(default=-1)
    topic_id: UUID = field()
    isr: list[Int32] | None = field(nullable="0+", tag=0, default=None)  # Null for no change, as in all fields below.
    leader: Int32 = field(tag=1, default=-2)  # -1: no leader now; -2: no change.
    replicas: list[Int32] | None = field(nullable="0+", tag=2, default=None)
    removing_replicas: list[Int32] | None = field(nullable="0+", tag=3, default=None)
    adding_replicas: list[Int32] | None = field(nullable="0+", tag=4, default=None)
    leader_recovery_state: Int8 = field(tag=5, default=-1)  # -1: no change.
    eligible_leader_replicas: list[Int32] | None = field("2+", nullable="2+", tag=6, default=None)
    last_known_elr: list[Int32] | None = field("2+", nullable="2+", tag=7, default=None)
    directories: list[UUID] | None = field("1+", nullable="1+", tag=8, default=None)
