from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, UInt16, field


class Listener(Struct):
    name: str = field()
    host: str = field()
    port: UInt16 = field()
    security_protocol: Int16 = field()


class Feature(Struct):
    name: str = field()
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


class BrokerRegistrationRequest(Message, kind="request", key=62, versions="0-4", flexible="0+"):
    """Register a broker that has started at the active controller (KIP-631)."""

    broker_id: Int32 = field()
    cluster_id: str = field()
    incarnation_id: UUID = field()  # Drawn again with every start of the process.
    listeners: list[Listener] = field()
    features: list[Feature] = field()
    rack: str | None = field(nullable="0+")
    is_migrating_zk_broker: bool = field("1+")
    log_dirs: list[UUID] = field("2+", ignorable=True)
    # Epoch before a clean shutdown; -1 otherwise (KIP-966).
    previous_broker_epoch: Int64 = field("3+", default=-1, ignorable=True)
