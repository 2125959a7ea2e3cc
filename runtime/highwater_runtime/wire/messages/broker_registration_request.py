"""BrokerRegistrationRequest: request body, key 62, versions 0 to 4.

Generated from ``schemas/broker_lifecycle.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_Hhx: Final = Struct(">Hhx").pack
_pack_T: Final = Struct(">?").pack
_pack_TB: Final = Struct(">?B").pack
_pack_Tx: Final = Struct(">?x").pack
_pack_UB: Final = Struct(">16sB").pack
_pack_hhx: Final = Struct(">hhx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_qx: Final = Struct(">qx").pack
_unpack_HhB: Final = Struct(">HhB").unpack_from
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_hhB: Final = Struct(">hhB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_qB: Final = Struct(">qB").unpack_from


class Listener:
    """Part of :class:`BrokerRegistrationRequest`.

    ``name`` string

    ``host`` string

    ``port`` uint16

    ``security_protocol`` int16
    """

    __slots__ = ("name", "host", "port", "security_protocol")
    name: str
    host: str
    port: int
    security_protocol: int

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listener):
            return NotImplemented
        return (
            self.name == other.name
            and self.host == other.host
            and self.port == other.port
            and self.security_protocol == other.security_protocol
        )

    def __repr__(self) -> str:
        return (
            f"Listener(name={self.name!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"security_protocol={self.security_protocol!r})"
        )


class Feature:
    """Part of :class:`BrokerRegistrationRequest`.

    ``name`` string

    ``min_supported_version`` int16

    ``max_supported_version`` int16
    """

    __slots__ = ("name", "min_supported_version", "max_supported_version")
    name: str
    min_supported_version: int
    max_supported_version: int

    def __init__(
        self,
        *,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feature):
            return NotImplemented
        return (
            self.name == other.name
            and self.min_supported_version == other.min_supported_version
            and self.max_supported_version == other.max_supported_version
        )

    def __repr__(self) -> str:
        return (
            f"Feature(name={self.name!r}, "
            f"min_supported_version={self.min_supported_version!r}, "
            f"max_supported_version={self.max_supported_version!r})"
        )


class BrokerRegistrationRequest:
    """A broker tells the active controller that it has started (KIP-631).

    ``broker_id`` int32

    ``cluster_id`` string

    ``incarnation_id`` uuid: Drawn anew with every start of the process.

    ``listeners`` []Listener

    ``features`` []Feature

    ``rack`` string

    ``is_migrating_zk_broker`` bool (v1+)

    ``log_dirs`` []uuid (v2+)

    ``previous_broker_epoch`` int64 (v3+): Epoch before a clean shutdown; -1 otherwise (KIP-966).
    """

    API_KEY: ClassVar[int] = 62
    NAME: ClassVar[str] = "BrokerRegistrationRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id", "cluster_id", "incarnation_id", "listeners", "features", "rack", "is_migrating_zk_broker", "log_dirs", "previous_broker_epoch")
    broker_id: int
    cluster_id: str
    incarnation_id: UUID
    listeners: list[Listener]
    features: list[Feature]
    rack: str | None
    is_migrating_zk_broker: bool
    log_dirs: list[UUID]
    previous_broker_epoch: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: UUID = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[UUID] = EMPTY,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is EMPTY else listeners
        self.features = [] if features is EMPTY else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is EMPTY else log_dirs
        self.previous_broker_epoch = previous_broker_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BrokerRegistrationRequest):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.cluster_id == other.cluster_id
            and self.incarnation_id == other.incarnation_id
            and self.listeners == other.listeners
            and self.features == other.features
            and self.rack == other.rack
            and self.is_migrating_zk_broker == other.is_migrating_zk_broker
            and self.log_dirs == other.log_dirs
            and self.previous_broker_epoch == other.previous_broker_epoch
        )

    def __repr__(self) -> str:
        return (
            f"BrokerRegistrationRequest(broker_id={self.broker_id!r}, "
            f"cluster_id={self.cluster_id!r}, "
            f"incarnation_id={self.incarnation_id!r}, "
            f"listeners={self.listeners!r}, "
            f"features={self.features!r}, "
            f"rack={self.rack!r}, "
            f"is_migrating_zk_broker={self.is_migrating_zk_broker!r}, "
            f"log_dirs={self.log_dirs!r}, "
            f"previous_broker_epoch={self.previous_broker_epoch!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("BrokerRegistrationRequest", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("BrokerRegistrationRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> BrokerRegistrationRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerRegistrationRequest", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("BrokerRegistrationRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[BrokerRegistrationRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerRegistrationRequest", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: BrokerRegistrationRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.is_migrating_zk_broker):
        raise not_in_version("BrokerRegistrationRequest", "BrokerRegistrationRequest.is_migrating_zk_broker", m.is_migrating_zk_broker)
    b1 = m.cluster_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("BrokerRegistrationRequest", "cluster_id", len(b1))
    add(_pack_iB(m.broker_id, n1) if n1 < 128 else _pack_i(m.broker_id) + uvarint(n1))
    add(b1)
    l1 = m.listeners
    n2 = len(l1) + 1
    add(_pack_UB(m.incarnation_id.bytes, n2) if n2 < 128 else m.incarnation_id.bytes + uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("Listener", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("Listener", "host", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n5 = len(l2) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e2 in l2:
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("Feature", "name", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b5 = m.rack.encode()
        n7 = len(b5) + 1
        if n7 > 32768:
            raise short_string("BrokerRegistrationRequest", "rack", len(b5))
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b5)
    add(b"\x00")
    return out


def _encode_v1(m: BrokerRegistrationRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    b1 = m.cluster_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("BrokerRegistrationRequest", "cluster_id", len(b1))
    add(_pack_iB(m.broker_id, n1) if n1 < 128 else _pack_i(m.broker_id) + uvarint(n1))
    add(b1)
    l1 = m.listeners
    n2 = len(l1) + 1
    add(_pack_UB(m.incarnation_id.bytes, n2) if n2 < 128 else m.incarnation_id.bytes + uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("Listener", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("Listener", "host", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n5 = len(l2) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e2 in l2:
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("Feature", "name", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b5 = m.rack.encode()
        n7 = len(b5) + 1
        if n7 > 32768:
            raise short_string("BrokerRegistrationRequest", "rack", len(b5))
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b5)
    add(_pack_Tx(m.is_migrating_zk_broker))
    return out


def _encode_v2(m: BrokerRegistrationRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    b1 = m.cluster_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("BrokerRegistrationRequest", "cluster_id", len(b1))
    add(_pack_iB(m.broker_id, n1) if n1 < 128 else _pack_i(m.broker_id) + uvarint(n1))
    add(b1)
    l1 = m.listeners
    n2 = len(l1) + 1
    add(_pack_UB(m.incarnation_id.bytes, n2) if n2 < 128 else m.incarnation_id.bytes + uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("Listener", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("Listener", "host", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n5 = len(l2) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e2 in l2:
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("Feature", "name", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b5 = m.rack.encode()
        n7 = len(b5) + 1
        if n7 > 32768:
            raise short_string("BrokerRegistrationRequest", "rack", len(b5))
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b5)
    l3 = m.log_dirs
    n8 = len(l3) + 1
    add(_pack_TB(m.is_migrating_zk_broker, n8) if n8 < 128 else _pack_T(m.is_migrating_zk_broker) + uvarint(n8))
    for e3 in l3:
        add(e3.bytes)
    add(b"\x00")
    return out


def _encode_v3(m: BrokerRegistrationRequest) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    b1 = m.cluster_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("BrokerRegistrationRequest", "cluster_id", len(b1))
    add(_pack_iB(m.broker_id, n1) if n1 < 128 else _pack_i(m.broker_id) + uvarint(n1))
    add(b1)
    l1 = m.listeners
    n2 = len(l1) + 1
    add(_pack_UB(m.incarnation_id.bytes, n2) if n2 < 128 else m.incarnation_id.bytes + uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("Listener", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("Listener", "host", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n5 = len(l2) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e2 in l2:
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("Feature", "name", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b5 = m.rack.encode()
        n7 = len(b5) + 1
        if n7 > 32768:
            raise short_string("BrokerRegistrationRequest", "rack", len(b5))
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b5)
    l3 = m.log_dirs
    n8 = len(l3) + 1
    add(_pack_TB(m.is_migrating_zk_broker, n8) if n8 < 128 else _pack_T(m.is_migrating_zk_broker) + uvarint(n8))
    for e3 in l3:
        add(e3.bytes)
    add(_pack_qx(m.previous_broker_epoch))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = BrokerRegistrationRequest.__new__(BrokerRegistrationRequest)
        m.is_migrating_zk_broker = False
        m.log_dirs = []
        m.previous_broker_epoch = -1
        m.broker_id, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.cluster_id", n1 - 1, pos, size)
        m.cluster_id = str(data[pos:z1], "utf-8")
        pos = z1
        u1, n2 = _unpack_UB(data, pos)
        pos += 17
        m.incarnation_id = uuid_of(u1)
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 7 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.listeners", n2, pos, size)
        l1: list[Listener] = []
        m.listeners = l1
        for _ in range(n2):
            e1 = Listener.__new__(Listener)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 6 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.features", n5, pos, size)
        l2: list[Feature] = []
        m.features = l2
        for _ in range(n5):
            e2 = Feature.__new__(Feature)
            l2.append(e2)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("BrokerRegistrationRequest", "Feature.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        if n7 == 0:
            m.rack = None
        else:
            z5 = pos + n7 - 1
            if z5 > size:
                raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.rack", n7 - 1, pos, size)
            m.rack = str(data[pos:z5], "utf-8")
            pos = z5
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = BrokerRegistrationRequest.__new__(BrokerRegistrationRequest)
        m.log_dirs = []
        m.previous_broker_epoch = -1
        m.broker_id, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.cluster_id", n1 - 1, pos, size)
        m.cluster_id = str(data[pos:z1], "utf-8")
        pos = z1
        u1, n2 = _unpack_UB(data, pos)
        pos += 17
        m.incarnation_id = uuid_of(u1)
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 7 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.listeners", n2, pos, size)
        l1: list[Listener] = []
        m.listeners = l1
        for _ in range(n2):
            e1 = Listener.__new__(Listener)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 6 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.features", n5, pos, size)
        l2: list[Feature] = []
        m.features = l2
        for _ in range(n5):
            e2 = Feature.__new__(Feature)
            l2.append(e2)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("BrokerRegistrationRequest", "Feature.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        if n7 == 0:
            m.rack = None
        else:
            z5 = pos + n7 - 1
            if z5 > size:
                raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.rack", n7 - 1, pos, size)
            m.rack = str(data[pos:z5], "utf-8")
            pos = z5
        m.is_migrating_zk_broker, k3 = _unpack_TB(data, pos)
        pos += 2
        if k3:
            pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = BrokerRegistrationRequest.__new__(BrokerRegistrationRequest)
        m.previous_broker_epoch = -1
        m.broker_id, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.cluster_id", n1 - 1, pos, size)
        m.cluster_id = str(data[pos:z1], "utf-8")
        pos = z1
        u1, n2 = _unpack_UB(data, pos)
        pos += 17
        m.incarnation_id = uuid_of(u1)
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 7 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.listeners", n2, pos, size)
        l1: list[Listener] = []
        m.listeners = l1
        for _ in range(n2):
            e1 = Listener.__new__(Listener)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 6 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.features", n5, pos, size)
        l2: list[Feature] = []
        m.features = l2
        for _ in range(n5):
            e2 = Feature.__new__(Feature)
            l2.append(e2)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("BrokerRegistrationRequest", "Feature.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        if n7 == 0:
            m.rack = None
        else:
            z5 = pos + n7 - 1
            if z5 > size:
                raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.rack", n7 - 1, pos, size)
            m.rack = str(data[pos:z5], "utf-8")
            pos = z5
        m.is_migrating_zk_broker, n8 = _unpack_TB(data, pos)
        pos += 2
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 16 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.log_dirs", n8, pos, size)
        l3: list[UUID] = []
        m.log_dirs = l3
        for _ in range(n8):
            (e3,) = _unpack_U(data, pos)
            pos += 16
            l3.append(uuid_of(e3))
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = BrokerRegistrationRequest.__new__(BrokerRegistrationRequest)
        m.broker_id, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.cluster_id", n1 - 1, pos, size)
        m.cluster_id = str(data[pos:z1], "utf-8")
        pos = z1
        u1, n2 = _unpack_UB(data, pos)
        pos += 17
        m.incarnation_id = uuid_of(u1)
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 7 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.listeners", n2, pos, size)
        l1: list[Listener] = []
        m.listeners = l1
        for _ in range(n2):
            e1 = Listener.__new__(Listener)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("BrokerRegistrationRequest", "Listener.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 6 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.features", n5, pos, size)
        l2: list[Feature] = []
        m.features = l2
        for _ in range(n5):
            e2 = Feature.__new__(Feature)
            l2.append(e2)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("BrokerRegistrationRequest", "Feature.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        if n7 == 0:
            m.rack = None
        else:
            z5 = pos + n7 - 1
            if z5 > size:
                raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.rack", n7 - 1, pos, size)
            m.rack = str(data[pos:z5], "utf-8")
            pos = z5
        m.is_migrating_zk_broker, n8 = _unpack_TB(data, pos)
        pos += 2
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 16 > size - pos:
            raise overrun("BrokerRegistrationRequest", "BrokerRegistrationRequest.log_dirs", n8, pos, size)
        l3: list[UUID] = []
        m.log_dirs = l3
        for _ in range(n8):
            (e3,) = _unpack_U(data, pos)
            pos += 16
            l3.append(uuid_of(e3))
        m.previous_broker_epoch, k3 = _unpack_qB(data, pos)
        pos += 9
        if k3:
            pos = skip_tagged("BrokerRegistrationRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[BrokerRegistrationRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[BrokerRegistrationRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v3,
}
