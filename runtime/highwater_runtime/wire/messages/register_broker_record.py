from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, UInt16, field


class BrokerEndpoint(Struct):
    name: str = field()
    host: str = field()
    port: UInt16 = field()
    security_protocol: Int16 = field()


class BrokerFeature(Struct):
    name: str = field()
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


class RegisterBrokerRecord(Message, kind="metadata", key=0, versions="0-4", flexible="0+"):
    """A broker has started. The offset of this record is its broker epoch."""

    broker_id: Int32 = field()
    is_migrating_zk_broker: bool = field("2+")
    incarnation_id: UUID = field()
    broker_epoch: Int64 = field()
    end_points: list[BrokerEndpoint] = field()
    features: list[BrokerFeature] = field()
    rack: str | None = field(nullable="0+")
    fenced: bool = field(default=True)
    in_controlled_shutdown: bool = field("1+")
    log_dirs: list[UUID] = field("3+", tag=0)
    cordoned_log_dirs: list[UUID] | None = field("4+", nullable="4+", tag=1, default=None)  # KIP-1066.
