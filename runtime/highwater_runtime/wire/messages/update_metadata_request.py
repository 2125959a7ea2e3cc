"""UpdateMetadataRequest: request body, key 6, versions 0 to 8.

Generated from ``schemas/zookeeper_mode.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    UVARINT,
    ZERO_UUID,
    Buffer,
    DecodeError,
    decode_array,
    encode_array,
    malformed,
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_BBb: Final = Struct(">BBb").pack
_pack_UB: Final = Struct(">16sB").pack
_pack_h: Final = Struct(">h").pack
_pack_hx: Final = Struct(">hx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_iTiq: Final = Struct(">i?iq").pack
_pack_iTiqB: Final = Struct(">i?iqB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_iiiiB: Final = Struct(">iiiiB").pack
_pack_iiiii: Final = Struct(">iiiii").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqB: Final = Struct(">iiqB").pack
_pack_iiqi: Final = Struct(">iiqi").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iTiqB: Final = Struct(">i?iqB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiiiB: Final = Struct(">iiiiB").unpack_from
_unpack_iiiii: Final = Struct(">iiiii").unpack_from
_unpack_iiqB: Final = Struct(">iiqB").unpack_from
_unpack_iiqi: Final = Struct(">iiqi").unpack_from


class UpdateMetadataPartitionState:
    """Part of :class:`UpdateMetadataRequest`.

    ``topic_name`` string (v0-4)

    ``partition_index`` int32

    ``controller_epoch`` int32

    ``leader`` int32

    ``leader_epoch`` int32

    ``isr`` []int32

    ``zk_version`` int32

    ``replicas`` []int32

    ``offline_replicas`` []int32 (v4+)
    """

    __slots__ = ("topic_name", "partition_index", "controller_epoch", "leader", "leader_epoch", "isr", "zk_version", "replicas", "offline_replicas")
    topic_name: str
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    zk_version: int
    replicas: list[int]
    offline_replicas: list[int]

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = EMPTY,
        zk_version: int = 0,
        replicas: list[int] = EMPTY,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is EMPTY else isr
        self.zk_version = zk_version
        self.replicas = [] if replicas is EMPTY else replicas
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateMetadataPartitionState):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_index == other.partition_index
            and self.controller_epoch == other.controller_epoch
            and self.leader == other.leader
            and self.leader_epoch == other.leader_epoch
            and self.isr == other.isr
            and self.zk_version == other.zk_version
            and self.replicas == other.replicas
            and self.offline_replicas == other.offline_replicas
        )

    def __repr__(self) -> str:
        return (
            f"UpdateMetadataPartitionState(topic_name={self.topic_name!r}, "
            f"partition_index={self.partition_index!r}, "
            f"controller_epoch={self.controller_epoch!r}, "
            f"leader={self.leader!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"isr={self.isr!r}, "
            f"zk_version={self.zk_version!r}, "
            f"replicas={self.replicas!r}, "
            f"offline_replicas={self.offline_replicas!r})"
        )


class UpdateMetadataTopicState:
    """Part of :class:`UpdateMetadataRequest`.

    ``topic_name`` string (v5+)

    ``topic_id`` uuid (v7+)

    ``partition_states`` []UpdateMetadataPartitionState (v5+)
    """

    __slots__ = ("topic_name", "topic_id", "partition_states")
    topic_name: str
    topic_id: UUID
    partition_states: list[UpdateMetadataPartitionState]

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_states: list[UpdateMetadataPartitionState] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_states = [] if partition_states is EMPTY else partition_states

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateMetadataTopicState):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.topic_id == other.topic_id
            and self.partition_states == other.partition_states
        )

    def __repr__(self) -> str:
        return (
            f"UpdateMetadataTopicState(topic_name={self.topic_name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partition_states={self.partition_states!r})"
        )


class UpdateMetadataEndpoint:
    """Part of :class:`UpdateMetadataRequest`.

    ``port`` int32 (v1+)

    ``host`` string (v1+)

    ``listener`` string (v3+)

    ``security_protocol`` int16 (v1+)
    """

    __slots__ = ("port", "host", "listener", "security_protocol")
    port: int
    host: str
    listener: str
    security_protocol: int

    def __init__(
        self,
        *,
        port: int = 0,
        host: str = "",
        listener: str = "",
        security_protocol: int = 0,
    ) -> None:
        self.port = port
        self.host = host
        self.listener = listener
        self.security_protocol = security_protocol

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateMetadataEndpoint):
            return NotImplemented
        return (
            self.port == other.port
            and self.host == other.host
            and self.listener == other.listener
            and self.security_protocol == other.security_protocol
        )

    def __repr__(self) -> str:
        return (
            f"UpdateMetadataEndpoint(port={self.port!r}, "
            f"host={self.host!r}, "
            f"listener={self.listener!r}, "
            f"security_protocol={self.security_protocol!r})"
        )


class UpdateMetadataBroker:
    """Part of :class:`UpdateMetadataRequest`.

    ``id`` int32

    ``v0_host`` string (v0-0)

    ``v0_port`` int32 (v0-0)

    ``endpoints`` []UpdateMetadataEndpoint (v1+)

    ``rack`` string (v2+)
    """

    __slots__ = ("id", "v0_host", "v0_port", "endpoints", "rack")
    id: int
    v0_host: str
    v0_port: int
    endpoints: list[UpdateMetadataEndpoint]
    rack: str | None

    def __init__(
        self,
        *,
        id: int = 0,
        v0_host: str = "",
        v0_port: int = 0,
        endpoints: list[UpdateMetadataEndpoint] = EMPTY,
        rack: str | None = "",
    ) -> None:
        self.id = id
        self.v0_host = v0_host
        self.v0_port = v0_port
        self.endpoints = [] if endpoints is EMPTY else endpoints
        self.rack = rack

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateMetadataBroker):
            return NotImplemented
        return (
            self.id == other.id
            and self.v0_host == other.v0_host
            and self.v0_port == other.v0_port
            and self.endpoints == other.endpoints
            and self.rack == other.rack
        )

    def __repr__(self) -> str:
        return (
            f"UpdateMetadataBroker(id={self.id!r}, "
            f"v0_host={self.v0_host!r}, "
            f"v0_port={self.v0_port!r}, "
            f"endpoints={self.endpoints!r}, "
            f"rack={self.rack!r})"
        )


class UpdateMetadataRequest:
    """The controller of the ZooKeeper mode tells every broker what the cluster looks like.

    ``controller_id`` int32

    ``is_kraft_controller`` bool (v8+)

    ``type`` int8 (v8+, tag 0)

    ``controller_epoch`` int32

    ``broker_epoch`` int64 (v5+)

    ``ungrouped_partition_states`` []UpdateMetadataPartitionState (v0-4)

    ``topic_states`` []UpdateMetadataTopicState (v5+)

    ``live_brokers`` []UpdateMetadataBroker
    """

    API_KEY: ClassVar[int] = 6
    NAME: ClassVar[str] = "UpdateMetadataRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 8
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("controller_id", "is_kraft_controller", "type", "controller_epoch", "broker_epoch", "ungrouped_partition_states", "topic_states", "live_brokers")
    controller_id: int
    is_kraft_controller: bool
    type: int
    controller_epoch: int
    broker_epoch: int
    ungrouped_partition_states: list[UpdateMetadataPartitionState]
    topic_states: list[UpdateMetadataTopicState]
    live_brokers: list[UpdateMetadataBroker]

    def __init__(
        self,
        *,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        type: int = 0,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        ungrouped_partition_states: list[UpdateMetadataPartitionState] = EMPTY,
        topic_states: list[UpdateMetadataTopicState] = EMPTY,
        live_brokers: list[UpdateMetadataBroker] = EMPTY,
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.type = type
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.ungrouped_partition_states = [] if ungrouped_partition_states is EMPTY else ungrouped_partition_states
        self.topic_states = [] if topic_states is EMPTY else topic_states
        self.live_brokers = [] if live_brokers is EMPTY else live_brokers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateMetadataRequest):
            return NotImplemented
        return (
            self.controller_id == other.controller_id
            and self.is_kraft_controller == other.is_kraft_controller
            and self.type == other.type
            and self.controller_epoch == other.controller_epoch
            and self.broker_epoch == other.broker_epoch
            and self.ungrouped_partition_states == other.ungrouped_partition_states
            and self.topic_states == other.topic_states
            and self.live_brokers == other.live_brokers
        )

    def __repr__(self) -> str:
        return (
            f"UpdateMetadataRequest(controller_id={self.controller_id!r}, "
            f"is_kraft_controller={self.is_kraft_controller!r}, "
            f"type={self.type!r}, "
            f"controller_epoch={self.controller_epoch!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"ungrouped_partition_states={self.ungrouped_partition_states!r}, "
            f"topic_states={self.topic_states!r}, "
            f"live_brokers={self.live_brokers!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UpdateMetadataRequest", version, 0, 8)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UpdateMetadataRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UpdateMetadataRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UpdateMetadataRequest", version, 0, 8)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UpdateMetadataRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UpdateMetadataRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UpdateMetadataRequest", version, 0, 8)
        return decoder(data, position)


def _encode_v0(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("UpdateMetadataPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.zk_version, n4))
        if l3:
            add(encode_array("i", l3))
    l4 = m.live_brokers
    n5 = len(l4)
    add(_pack_i(n5))
    for e2 in l4:
        b2 = e2.v0_host.encode()
        n6 = len(b2)
        if n6 > 32767:
            raise short_string("UpdateMetadataBroker", "v0_host", len(b2))
        add(_pack_ih(e2.id, n6))
        add(b2)
        add(_pack_i(e2.v0_port))
    return out


def _encode_v1(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("UpdateMetadataPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.zk_version, n4))
        if l3:
            add(encode_array("i", l3))
    l4 = m.live_brokers
    n5 = len(l4)
    add(_pack_i(n5))
    for e2 in l4:
        l5 = e2.endpoints
        n6 = len(l5)
        add(_pack_ii(e2.id, n6))
        for e3 in l5:
            b2 = e3.host.encode()
            n7 = len(b2)
            if n7 > 32767:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_ih(e3.port, n7))
            add(b2)
            add(_pack_h(e3.security_protocol))
    return out


def _encode_v2(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("UpdateMetadataPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.zk_version, n4))
        if l3:
            add(encode_array("i", l3))
    l4 = m.live_brokers
    n5 = len(l4)
    add(_pack_i(n5))
    for e2 in l4:
        l5 = e2.endpoints
        n6 = len(l5)
        add(_pack_ii(e2.id, n6))
        for e3 in l5:
            b2 = e3.host.encode()
            n7 = len(b2)
            if n7 > 32767:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_ih(e3.port, n7))
            add(b2)
            add(_pack_h(e3.security_protocol))
        if e2.rack is None:
            add(b"\xff\xff")
        else:
            b3 = e2.rack.encode()
            n8 = len(b3)
            if n8 > 32767:
                raise short_string("UpdateMetadataBroker", "rack", len(b3))
            add(_pack_h(n8))
            add(b3)
    return out


def _encode_v3(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("UpdateMetadataPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.zk_version, n4))
        if l3:
            add(encode_array("i", l3))
    l4 = m.live_brokers
    n5 = len(l4)
    add(_pack_i(n5))
    for e2 in l4:
        l5 = e2.endpoints
        n6 = len(l5)
        add(_pack_ii(e2.id, n6))
        for e3 in l5:
            b2 = e3.host.encode()
            n7 = len(b2)
            if n7 > 32767:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_ih(e3.port, n7))
            add(b2)
            b3 = e3.listener.encode()
            n8 = len(b3)
            if n8 > 32767:
                raise short_string("UpdateMetadataEndpoint", "listener", len(b3))
            add(_pack_h(n8))
            add(b3)
            add(_pack_h(e3.security_protocol))
        if e2.rack is None:
            add(b"\xff\xff")
        else:
            b4 = e2.rack.encode()
            n9 = len(b4)
            if n9 > 32767:
                raise short_string("UpdateMetadataBroker", "rack", len(b4))
            add(_pack_h(n9))
            add(b4)
    return out


def _encode_v4(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("UpdateMetadataPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.zk_version, n4))
        if l3:
            add(encode_array("i", l3))
        l4 = e1.offline_replicas
        n5 = len(l4)
        add(_pack_i(n5))
        if l4:
            add(encode_array("i", l4))
    l5 = m.live_brokers
    n6 = len(l5)
    add(_pack_i(n6))
    for e2 in l5:
        l6 = e2.endpoints
        n7 = len(l6)
        add(_pack_ii(e2.id, n7))
        for e3 in l6:
            b2 = e3.host.encode()
            n8 = len(b2)
            if n8 > 32767:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_ih(e3.port, n8))
            add(b2)
            b3 = e3.listener.encode()
            n9 = len(b3)
            if n9 > 32767:
                raise short_string("UpdateMetadataEndpoint", "listener", len(b3))
            add(_pack_h(n9))
            add(b3)
            add(_pack_h(e3.security_protocol))
        if e2.rack is None:
            add(b"\xff\xff")
        else:
            b4 = e2.rack.encode()
            n10 = len(b4)
            if n10 > 32767:
                raise short_string("UpdateMetadataBroker", "rack", len(b4))
            add(_pack_h(n10))
            add(b4)
    return out


def _encode_v5(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1)
    add(_pack_iiqi(m.controller_id, m.controller_epoch, m.broker_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("UpdateMetadataTopicState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3)
            add(_pack_iiiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4)
            add(_pack_ii(e2.zk_version, n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.offline_replicas
            n6 = len(l5)
            add(_pack_i(n6))
            if l5:
                add(encode_array("i", l5))
    l6 = m.live_brokers
    n7 = len(l6)
    add(_pack_i(n7))
    for e3 in l6:
        l7 = e3.endpoints
        n8 = len(l7)
        add(_pack_ii(e3.id, n8))
        for e4 in l7:
            b2 = e4.host.encode()
            n9 = len(b2)
            if n9 > 32767:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_ih(e4.port, n9))
            add(b2)
            b3 = e4.listener.encode()
            n10 = len(b3)
            if n10 > 32767:
                raise short_string("UpdateMetadataEndpoint", "listener", len(b3))
            add(_pack_h(n10))
            add(b3)
            add(_pack_h(e4.security_protocol))
        if e3.rack is None:
            add(b"\xff\xff")
        else:
            b4 = e3.rack.encode()
            n11 = len(b4)
            if n11 > 32767:
                raise short_string("UpdateMetadataBroker", "rack", len(b4))
            add(_pack_h(n11))
            add(b4)
    return out


def _encode_v6(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iiqB(m.controller_id, m.controller_epoch, m.broker_epoch, n1) if n1 < 128 else _pack_iiq(m.controller_id, m.controller_epoch, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("UpdateMetadataTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.zk_version, n5) if n5 < 128 else _pack_i(e2.zk_version) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.offline_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            add(b"\x00")
        add(b"\x00")
    l6 = m.live_brokers
    n7 = len(l6) + 1
    add(UVARINT[n7] if n7 < 128 else uvarint(n7))
    for e3 in l6:
        l7 = e3.endpoints
        n8 = len(l7) + 1
        add(_pack_iB(e3.id, n8) if n8 < 128 else _pack_i(e3.id) + uvarint(n8))
        for e4 in l7:
            b2 = e4.host.encode()
            n9 = len(b2) + 1
            if n9 > 32768:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_iB(e4.port, n9) if n9 < 128 else _pack_i(e4.port) + uvarint(n9))
            add(b2)
            b3 = e4.listener.encode()
            n10 = len(b3) + 1
            if n10 > 32768:
                raise short_string("UpdateMetadataEndpoint", "listener", len(b3))
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            add(b3)
            add(_pack_hx(e4.security_protocol))
        if e3.rack is None:
            add(b"\x00")
        else:
            b4 = e3.rack.encode()
            n11 = len(b4) + 1
            if n11 > 32768:
                raise short_string("UpdateMetadataBroker", "rack", len(b4))
            add(UVARINT[n11] if n11 < 128 else uvarint(n11))
            add(b4)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v7(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 7
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.type", m.type)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iiqB(m.controller_id, m.controller_epoch, m.broker_epoch, n1) if n1 < 128 else _pack_iiq(m.controller_id, m.controller_epoch, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("UpdateMetadataTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n3) if n3 < 128 else e1.topic_id.bytes + uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.zk_version, n5) if n5 < 128 else _pack_i(e2.zk_version) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.offline_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            add(b"\x00")
        add(b"\x00")
    l6 = m.live_brokers
    n7 = len(l6) + 1
    add(UVARINT[n7] if n7 < 128 else uvarint(n7))
    for e3 in l6:
        l7 = e3.endpoints
        n8 = len(l7) + 1
        add(_pack_iB(e3.id, n8) if n8 < 128 else _pack_i(e3.id) + uvarint(n8))
        for e4 in l7:
            b2 = e4.host.encode()
            n9 = len(b2) + 1
            if n9 > 32768:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_iB(e4.port, n9) if n9 < 128 else _pack_i(e4.port) + uvarint(n9))
            add(b2)
            b3 = e4.listener.encode()
            n10 = len(b3) + 1
            if n10 > 32768:
                raise short_string("UpdateMetadataEndpoint", "listener", len(b3))
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            add(b3)
            add(_pack_hx(e4.security_protocol))
        if e3.rack is None:
            add(b"\x00")
        else:
            b4 = e3.rack.encode()
            n11 = len(b4) + 1
            if n11 > 32768:
                raise short_string("UpdateMetadataBroker", "rack", len(b4))
            add(UVARINT[n11] if n11 < 128 else uvarint(n11))
            add(b4)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v8(m: UpdateMetadataRequest) -> list[bytes]:
    # versions 8
    out: list[bytes] = []
    add = out.append
    if not (not m.ungrouped_partition_states):
        raise not_in_version("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iTiqB(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, n1) if n1 < 128 else _pack_iTiq(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("UpdateMetadataTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n3) if n3 < 128 else e1.topic_id.bytes + uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.zk_version, n5) if n5 < 128 else _pack_i(e2.zk_version) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.offline_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            add(b"\x00")
        add(b"\x00")
    l6 = m.live_brokers
    n7 = len(l6) + 1
    add(UVARINT[n7] if n7 < 128 else uvarint(n7))
    for e3 in l6:
        l7 = e3.endpoints
        n8 = len(l7) + 1
        add(_pack_iB(e3.id, n8) if n8 < 128 else _pack_i(e3.id) + uvarint(n8))
        for e4 in l7:
            b2 = e4.host.encode()
            n9 = len(b2) + 1
            if n9 > 32768:
                raise short_string("UpdateMetadataEndpoint", "host", len(b2))
            add(_pack_iB(e4.port, n9) if n9 < 128 else _pack_i(e4.port) + uvarint(n9))
            add(b2)
            b3 = e4.listener.encode()
            n10 = len(b3) + 1
            if n10 > 32768:
                raise short_string("UpdateMetadataEndpoint", "listener", len(b3))
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            add(b3)
            add(_pack_hx(e4.security_protocol))
        if e3.rack is None:
            add(b"\x00")
        else:
            b4 = e3.rack.encode()
            n11 = len(b4) + 1
            if n11 > 32768:
                raise short_string("UpdateMetadataBroker", "rack", len(b4))
            add(UVARINT[n11] if n11 < 128 else uvarint(n11))
            add(b4)
        add(b"\x00")
    if m.type == 0:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.type == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.type))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.broker_epoch = -1
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 30 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[UpdateMetadataPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
            l1.append(e1)
            e1.offline_replicas = []
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.zk_version, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 10 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n5, pos, size)
        l4: list[UpdateMetadataBroker] = []
        m.live_brokers = l4
        for _ in range(n5):
            e2 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l4.append(e2)
            e2.endpoints = []
            e2.rack = ""
            e2.id, n6 = _unpack_ih(data, pos)
            pos += 6
            z2 = pos + n6
            if n6 < 0 or z2 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.v0_host", n6, pos, size)
            e2.v0_host = str(data[pos:z2], "utf-8")
            pos = z2
            (e2.v0_port,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.broker_epoch = -1
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 30 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[UpdateMetadataPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
            l1.append(e1)
            e1.offline_replicas = []
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.zk_version, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 8 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n5, pos, size)
        l4: list[UpdateMetadataBroker] = []
        m.live_brokers = l4
        for _ in range(n5):
            e2 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l4.append(e2)
            e2.v0_host = ""
            e2.v0_port = 0
            e2.rack = ""
            e2.id, n6 = _unpack_ii(data, pos)
            pos += 8
            if n6 < 0 or n6 * 8 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n6, pos, size)
            l5: list[UpdateMetadataEndpoint] = []
            e2.endpoints = l5
            for _ in range(n6):
                e3 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l5.append(e3)
                e3.listener = ""
                e3.port, n7 = _unpack_ih(data, pos)
                pos += 6
                z2 = pos + n7
                if n7 < 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n7, pos, size)
                e3.host = str(data[pos:z2], "utf-8")
                pos = z2
                (e3.security_protocol,) = _unpack_h(data, pos)
                pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.broker_epoch = -1
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 30 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[UpdateMetadataPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
            l1.append(e1)
            e1.offline_replicas = []
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.zk_version, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 10 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n5, pos, size)
        l4: list[UpdateMetadataBroker] = []
        m.live_brokers = l4
        for _ in range(n5):
            e2 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l4.append(e2)
            e2.v0_host = ""
            e2.v0_port = 0
            e2.id, n6 = _unpack_ii(data, pos)
            pos += 8
            if n6 < 0 or n6 * 8 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n6, pos, size)
            l5: list[UpdateMetadataEndpoint] = []
            e2.endpoints = l5
            for _ in range(n6):
                e3 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l5.append(e3)
                e3.listener = ""
                e3.port, n7 = _unpack_ih(data, pos)
                pos += 6
                z2 = pos + n7
                if n7 < 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n7, pos, size)
                e3.host = str(data[pos:z2], "utf-8")
                pos = z2
                (e3.security_protocol,) = _unpack_h(data, pos)
                pos += 2
            (n8,) = _unpack_h(data, pos)
            pos += 2
            if n8 == -1:
                e2.rack = None
            else:
                z3 = pos + n8
                if n8 < 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n8, pos, size)
                e2.rack = str(data[pos:z3], "utf-8")
                pos = z3
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.broker_epoch = -1
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 30 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[UpdateMetadataPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
            l1.append(e1)
            e1.offline_replicas = []
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.zk_version, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 10 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n5, pos, size)
        l4: list[UpdateMetadataBroker] = []
        m.live_brokers = l4
        for _ in range(n5):
            e2 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l4.append(e2)
            e2.v0_host = ""
            e2.v0_port = 0
            e2.id, n6 = _unpack_ii(data, pos)
            pos += 8
            if n6 < 0 or n6 * 10 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n6, pos, size)
            l5: list[UpdateMetadataEndpoint] = []
            e2.endpoints = l5
            for _ in range(n6):
                e3 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l5.append(e3)
                e3.port, n7 = _unpack_ih(data, pos)
                pos += 6
                z2 = pos + n7
                if n7 < 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n7, pos, size)
                e3.host = str(data[pos:z2], "utf-8")
                pos = z2
                (n8,) = _unpack_h(data, pos)
                pos += 2
                z3 = pos + n8
                if n8 < 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.listener", n8, pos, size)
                e3.listener = str(data[pos:z3], "utf-8")
                pos = z3
                (e3.security_protocol,) = _unpack_h(data, pos)
                pos += 2
            (n9,) = _unpack_h(data, pos)
            pos += 2
            if n9 == -1:
                e2.rack = None
            else:
                z4 = pos + n9
                if n9 < 0 or z4 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n9, pos, size)
                e2.rack = str(data[pos:z4], "utf-8")
                pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.broker_epoch = -1
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 34 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[UpdateMetadataPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.zk_version, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
            (n5,) = _unpack_i(data, pos)
            pos += 4
            if n5 < 0 or n5 * 4 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.offline_replicas", n5, pos, size)
            e1.offline_replicas = decode_array("i", n5, data, pos) if n5 else []
            pos += n5 * 4
        (n6,) = _unpack_i(data, pos)
        pos += 4
        if n6 < 0 or n6 * 10 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n6, pos, size)
        l5: list[UpdateMetadataBroker] = []
        m.live_brokers = l5
        for _ in range(n6):
            e2 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l5.append(e2)
            e2.v0_host = ""
            e2.v0_port = 0
            e2.id, n7 = _unpack_ii(data, pos)
            pos += 8
            if n7 < 0 or n7 * 10 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n7, pos, size)
            l6: list[UpdateMetadataEndpoint] = []
            e2.endpoints = l6
            for _ in range(n7):
                e3 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l6.append(e3)
                e3.port, n8 = _unpack_ih(data, pos)
                pos += 6
                z2 = pos + n8
                if n8 < 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n8, pos, size)
                e3.host = str(data[pos:z2], "utf-8")
                pos = z2
                (n9,) = _unpack_h(data, pos)
                pos += 2
                z3 = pos + n9
                if n9 < 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.listener", n9, pos, size)
                e3.listener = str(data[pos:z3], "utf-8")
                pos = z3
                (e3.security_protocol,) = _unpack_h(data, pos)
                pos += 2
            (n10,) = _unpack_h(data, pos)
            pos += 2
            if n10 == -1:
                e2.rack = None
            else:
                z4 = pos + n10
                if n10 < 0 or z4 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n10, pos, size)
                e2.rack = str(data[pos:z4], "utf-8")
                pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqi(data, pos)
        pos += 20
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", n1, pos, size)
        l1: list[UpdateMetadataTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataTopicState.__new__(UpdateMetadataTopicState)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 32 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.partition_states", n3, pos, size)
            l2: list[UpdateMetadataPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiii(data, pos)
                pos += 20
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.zk_version, n5 = _unpack_ii(data, pos)
                pos += 8
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                (n6,) = _unpack_i(data, pos)
                pos += 4
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.offline_replicas", n6, pos, size)
                e2.offline_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
        (n7,) = _unpack_i(data, pos)
        pos += 4
        if n7 < 0 or n7 * 10 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n7, pos, size)
        l6: list[UpdateMetadataBroker] = []
        m.live_brokers = l6
        for _ in range(n7):
            e3 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l6.append(e3)
            e3.v0_host = ""
            e3.v0_port = 0
            e3.id, n8 = _unpack_ii(data, pos)
            pos += 8
            if n8 < 0 or n8 * 10 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n8, pos, size)
            l7: list[UpdateMetadataEndpoint] = []
            e3.endpoints = l7
            for _ in range(n8):
                e4 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l7.append(e4)
                e4.port, n9 = _unpack_ih(data, pos)
                pos += 6
                z2 = pos + n9
                if n9 < 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n9, pos, size)
                e4.host = str(data[pos:z2], "utf-8")
                pos = z2
                (n10,) = _unpack_h(data, pos)
                pos += 2
                z3 = pos + n10
                if n10 < 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.listener", n10, pos, size)
                e4.listener = str(data[pos:z3], "utf-8")
                pos = z3
                (e4.security_protocol,) = _unpack_h(data, pos)
                pos += 2
            (n11,) = _unpack_h(data, pos)
            pos += 2
            if n11 == -1:
                e3.rack = None
            else:
                z4 = pos + n11
                if n11 < 0 or z4 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n11, pos, size)
                e3.rack = str(data[pos:z4], "utf-8")
                pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 6
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqB(data, pos)
        pos += 17
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", n1, pos, size)
        l1: list[UpdateMetadataTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataTopicState.__new__(UpdateMetadataTopicState)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 24 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.partition_states", n3, pos, size)
            l2: list[UpdateMetadataPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.zk_version, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.offline_replicas", n6, pos, size)
                e2.offline_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        n7 -= 1
        if n7 < 0 or n7 * 7 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n7, pos, size)
        l6: list[UpdateMetadataBroker] = []
        m.live_brokers = l6
        for _ in range(n7):
            e3 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l6.append(e3)
            e3.v0_host = ""
            e3.v0_port = 0
            e3.id, n8 = _unpack_iB(data, pos)
            pos += 5
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            n8 -= 1
            if n8 < 0 or n8 * 9 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n8, pos, size)
            l7: list[UpdateMetadataEndpoint] = []
            e3.endpoints = l7
            for _ in range(n8):
                e4 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l7.append(e4)
                e4.port, n9 = _unpack_iB(data, pos)
                pos += 5
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                z2 = pos + n9 - 1
                if n9 == 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n9 - 1, pos, size)
                e4.host = str(data[pos:z2], "utf-8")
                pos = z2
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                z3 = pos + n10 - 1
                if n10 == 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.listener", n10 - 1, pos, size)
                e4.listener = str(data[pos:z3], "utf-8")
                pos = z3
                e4.security_protocol, k3 = _unpack_hB(data, pos)
                pos += 3
                if k3:
                    pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
            n11 = data[pos]
            pos += 1
            if n11 > 127:
                n11, pos = uvarint_at(data, pos - 1)
            if n11 == 0:
                e3.rack = None
            else:
                z4 = pos + n11 - 1
                if z4 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n11 - 1, pos, size)
                e3.rack = str(data[pos:z4], "utf-8")
                pos = z4
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 7
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqB(data, pos)
        pos += 17
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 19 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", n1, pos, size)
        l1: list[UpdateMetadataTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataTopicState.__new__(UpdateMetadataTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            u1, n3 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 24 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.partition_states", n3, pos, size)
            l2: list[UpdateMetadataPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.zk_version, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.offline_replicas", n6, pos, size)
                e2.offline_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        n7 -= 1
        if n7 < 0 or n7 * 7 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n7, pos, size)
        l6: list[UpdateMetadataBroker] = []
        m.live_brokers = l6
        for _ in range(n7):
            e3 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l6.append(e3)
            e3.v0_host = ""
            e3.v0_port = 0
            e3.id, n8 = _unpack_iB(data, pos)
            pos += 5
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            n8 -= 1
            if n8 < 0 or n8 * 9 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n8, pos, size)
            l7: list[UpdateMetadataEndpoint] = []
            e3.endpoints = l7
            for _ in range(n8):
                e4 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l7.append(e4)
                e4.port, n9 = _unpack_iB(data, pos)
                pos += 5
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                z2 = pos + n9 - 1
                if n9 == 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n9 - 1, pos, size)
                e4.host = str(data[pos:z2], "utf-8")
                pos = z2
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                z3 = pos + n10 - 1
                if n10 == 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.listener", n10 - 1, pos, size)
                e4.listener = str(data[pos:z3], "utf-8")
                pos = z3
                e4.security_protocol, k3 = _unpack_hB(data, pos)
                pos += 3
                if k3:
                    pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
            n11 = data[pos]
            pos += 1
            if n11 > 127:
                n11, pos = uvarint_at(data, pos - 1)
            if n11 == 0:
                e3.rack = None
            else:
                z4 = pos + n11 - 1
                if z4 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n11 - 1, pos, size)
                e3.rack = str(data[pos:z4], "utf-8")
                pos = z4
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[UpdateMetadataRequest, int]:
    # versions 8
    size = len(data)
    try:
        m = UpdateMetadataRequest.__new__(UpdateMetadataRequest)
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, n1 = _unpack_iTiqB(data, pos)
        pos += 18
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 19 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.topic_states", n1, pos, size)
        l1: list[UpdateMetadataTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = UpdateMetadataTopicState.__new__(UpdateMetadataTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            u1, n3 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 24 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataTopicState.partition_states", n3, pos, size)
            l2: list[UpdateMetadataPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = UpdateMetadataPartitionState.__new__(UpdateMetadataPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.zk_version, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataPartitionState.offline_replicas", n6, pos, size)
                e2.offline_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        n7 -= 1
        if n7 < 0 or n7 * 7 > size - pos:
            raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest.live_brokers", n7, pos, size)
        l6: list[UpdateMetadataBroker] = []
        m.live_brokers = l6
        for _ in range(n7):
            e3 = UpdateMetadataBroker.__new__(UpdateMetadataBroker)
            l6.append(e3)
            e3.v0_host = ""
            e3.v0_port = 0
            e3.id, n8 = _unpack_iB(data, pos)
            pos += 5
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            n8 -= 1
            if n8 < 0 or n8 * 9 > size - pos:
                raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.endpoints", n8, pos, size)
            l7: list[UpdateMetadataEndpoint] = []
            e3.endpoints = l7
            for _ in range(n8):
                e4 = UpdateMetadataEndpoint.__new__(UpdateMetadataEndpoint)
                l7.append(e4)
                e4.port, n9 = _unpack_iB(data, pos)
                pos += 5
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                z2 = pos + n9 - 1
                if n9 == 0 or z2 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.host", n9 - 1, pos, size)
                e4.host = str(data[pos:z2], "utf-8")
                pos = z2
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                z3 = pos + n10 - 1
                if n10 == 0 or z3 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataEndpoint.listener", n10 - 1, pos, size)
                e4.listener = str(data[pos:z3], "utf-8")
                pos = z3
                e4.security_protocol, k3 = _unpack_hB(data, pos)
                pos += 3
                if k3:
                    pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
            n11 = data[pos]
            pos += 1
            if n11 > 127:
                n11, pos = uvarint_at(data, pos - 1)
            if n11 == 0:
                e3.rack = None
            else:
                z4 = pos + n11 - 1
                if z4 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataBroker.rack", n11 - 1, pos, size)
                e3.rack = str(data[pos:z4], "utf-8")
                pos = z4
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("UpdateMetadataRequest", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            if k5 > 127:
                k5, pos = uvarint_at(data, pos - 1)
            for _ in range(k5):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("UpdateMetadataRequest", "UpdateMetadataRequest tagged field", s1, pos, size)
                if g1 == 0:
                    (m.type,) = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("UpdateMetadataRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UpdateMetadataRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v6,
    7: _encode_v7,
    8: _encode_v8,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UpdateMetadataRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v6,
    7: _decode_v7,
    8: _decode_v8,
}
