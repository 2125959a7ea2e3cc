from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int32, Int64, Message, field


class BrokerRegistrationChangeRecord(Message, kind="metadata", key=17, versions="0-3", flexible="0+"):
    """A registered broker was fenced or unfenced, or began its controlled shutdown. 0 leaves a state as it is."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field()
    fenced: Int8 = field(tag=0)  # -1 unfenced, 1 fenced, 0 no change.
    in_controlled_shutdown: Int8 = field("1+", tag=1)  # 1 in controlled shutdown, 0 no change.
    log_dirs: list[UUID] = field("2+", tag=2)  # Log directories that are online; empty for no change.
    cordoned_log_dirs: list[UUID] | None = field("3+", nullable="3+", tag=3, default=None)  # Null for no change.
