"""RegisterBrokerRecord: record of the metadata log, key 0, versions 0 to 4.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_TT: Final = Struct(">??").pack
_pack_TTx: Final = Struct(">??x").pack
_pack_Tx: Final = Struct(">?x").pack
_pack_hhx: Final = Struct(">hhx").pack
_pack_iTUq: Final = Struct(">i?16sq").pack
_pack_iTUqB: Final = Struct(">i?16sqB").pack
_pack_iUq: Final = Struct(">i16sq").pack
_pack_iUqB: Final = Struct(">i16sqB").pack
_unpack_HhB: Final = Struct(">HhB").unpack_from
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_TTB: Final = Struct(">??B").unpack_from
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_hhB: Final = Struct(">hhB").unpack_from
_unpack_iTUqB: Final = Struct(">i?16sqB").unpack_from
_unpack_iUqB: Final = Struct(">i16sqB").unpack_from


class BrokerEndpoint:
    """Part of :class:`RegisterBrokerRecord`.

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
        if not isinstance(other, BrokerEndpoint):
            return NotImplemented
        return (
            self.name == other.name
            and self.host == other.host
            and self.port == other.port
            and self.security_protocol == other.security_protocol
        )

    def __repr__(self) -> str:
        return (
            f"BrokerEndpoint(name={self.name!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"security_protocol={self.security_protocol!r})"
        )


class BrokerFeature:
    """Part of :class:`RegisterBrokerRecord`.

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
        if not isinstance(other, BrokerFeature):
            return NotImplemented
        return (
            self.name == other.name
            and self.min_supported_version == other.min_supported_version
            and self.max_supported_version == other.max_supported_version
        )

    def __repr__(self) -> str:
        return (
            f"BrokerFeature(name={self.name!r}, "
            f"min_supported_version={self.min_supported_version!r}, "
            f"max_supported_version={self.max_supported_version!r})"
        )


class RegisterBrokerRecord:
    """A broker has started. The offset of this record is its broker epoch.

    ``broker_id`` int32

    ``is_migrating_zk_broker`` bool (v2+)

    ``incarnation_id`` uuid

    ``broker_epoch`` int64

    ``end_points`` []BrokerEndpoint

    ``features`` []BrokerFeature

    ``rack`` string

    ``fenced`` bool

    ``in_controlled_shutdown`` bool (v1+)

    ``log_dirs`` []uuid (v3+, tag 0)

    ``cordoned_log_dirs`` []uuid (v4+, tag 1): KIP-1066.
    """

    API_KEY: ClassVar[int] = 0
    NAME: ClassVar[str] = "RegisterBrokerRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id", "is_migrating_zk_broker", "incarnation_id", "broker_epoch", "end_points", "features", "rack", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    broker_id: int
    is_migrating_zk_broker: bool
    incarnation_id: UUID
    broker_epoch: int
    end_points: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: list[UUID]
    cordoned_log_dirs: list[UUID] | None

    def __init__(
        self,
        *,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: UUID = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = EMPTY,
        features: list[BrokerFeature] = EMPTY,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[UUID] = EMPTY,
        cordoned_log_dirs: list[UUID] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is EMPTY else end_points
        self.features = [] if features is EMPTY else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is EMPTY else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RegisterBrokerRecord):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.is_migrating_zk_broker == other.is_migrating_zk_broker
            and self.incarnation_id == other.incarnation_id
            and self.broker_epoch == other.broker_epoch
            and self.end_points == other.end_points
            and self.features == other.features
            and self.rack == other.rack
            and self.fenced == other.fenced
            and self.in_controlled_shutdown == other.in_controlled_shutdown
            and self.log_dirs == other.log_dirs
            and self.cordoned_log_dirs == other.cordoned_log_dirs
        )

    def __repr__(self) -> str:
        return (
            f"RegisterBrokerRecord(broker_id={self.broker_id!r}, "
            f"is_migrating_zk_broker={self.is_migrating_zk_broker!r}, "
            f"incarnation_id={self.incarnation_id!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"end_points={self.end_points!r}, "
            f"features={self.features!r}, "
            f"rack={self.rack!r}, "
            f"fenced={self.fenced!r}, "
            f"in_controlled_shutdown={self.in_controlled_shutdown!r}, "
            f"log_dirs={self.log_dirs!r}, "
            f"cordoned_log_dirs={self.cordoned_log_dirs!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("RegisterBrokerRecord", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("RegisterBrokerRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> RegisterBrokerRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("RegisterBrokerRecord", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("RegisterBrokerRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[RegisterBrokerRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("RegisterBrokerRecord", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: RegisterBrokerRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.is_migrating_zk_broker):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.is_migrating_zk_broker", m.is_migrating_zk_broker)
    if not (not m.in_controlled_shutdown):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.in_controlled_shutdown", m.in_controlled_shutdown)
    if not (not m.log_dirs):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.log_dirs", m.log_dirs)
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    l1 = m.end_points
    n1 = len(l1) + 1
    add(_pack_iUqB(m.broker_id, m.incarnation_id.bytes, m.broker_epoch, n1) if n1 < 128 else _pack_iUq(m.broker_id, m.incarnation_id.bytes, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("BrokerEndpoint", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.host.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("BrokerEndpoint", "host", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n4 = len(l2) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e2 in l2:
        b3 = e2.name.encode()
        n5 = len(b3) + 1
        if n5 > 32768:
            raise short_string("BrokerFeature", "name", len(b3))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b3)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b4 = m.rack.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("RegisterBrokerRecord", "rack", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
    add(_pack_Tx(m.fenced))
    return out


def _encode_v1(m: RegisterBrokerRecord) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.is_migrating_zk_broker):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.is_migrating_zk_broker", m.is_migrating_zk_broker)
    if not (not m.log_dirs):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.log_dirs", m.log_dirs)
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    l1 = m.end_points
    n1 = len(l1) + 1
    add(_pack_iUqB(m.broker_id, m.incarnation_id.bytes, m.broker_epoch, n1) if n1 < 128 else _pack_iUq(m.broker_id, m.incarnation_id.bytes, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("BrokerEndpoint", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.host.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("BrokerEndpoint", "host", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n4 = len(l2) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e2 in l2:
        b3 = e2.name.encode()
        n5 = len(b3) + 1
        if n5 > 32768:
            raise short_string("BrokerFeature", "name", len(b3))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b3)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b4 = m.rack.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("RegisterBrokerRecord", "rack", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
    add(_pack_TTx(m.fenced, m.in_controlled_shutdown))
    return out


def _encode_v2(m: RegisterBrokerRecord) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (not m.log_dirs):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.log_dirs", m.log_dirs)
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    l1 = m.end_points
    n1 = len(l1) + 1
    add(_pack_iTUqB(m.broker_id, m.is_migrating_zk_broker, m.incarnation_id.bytes, m.broker_epoch, n1) if n1 < 128 else _pack_iTUq(m.broker_id, m.is_migrating_zk_broker, m.incarnation_id.bytes, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("BrokerEndpoint", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.host.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("BrokerEndpoint", "host", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n4 = len(l2) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e2 in l2:
        b3 = e2.name.encode()
        n5 = len(b3) + 1
        if n5 > 32768:
            raise short_string("BrokerFeature", "name", len(b3))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b3)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b4 = m.rack.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("RegisterBrokerRecord", "rack", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
    add(_pack_TTx(m.fenced, m.in_controlled_shutdown))
    return out


def _encode_v3(m: RegisterBrokerRecord) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("RegisterBrokerRecord", "RegisterBrokerRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    l1 = m.end_points
    n1 = len(l1) + 1
    add(_pack_iTUqB(m.broker_id, m.is_migrating_zk_broker, m.incarnation_id.bytes, m.broker_epoch, n1) if n1 < 128 else _pack_iTUq(m.broker_id, m.is_migrating_zk_broker, m.incarnation_id.bytes, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("BrokerEndpoint", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.host.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("BrokerEndpoint", "host", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n4 = len(l2) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e2 in l2:
        b3 = e2.name.encode()
        n5 = len(b3) + 1
        if n5 > 32768:
            raise short_string("BrokerFeature", "name", len(b3))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b3)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b4 = m.rack.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("RegisterBrokerRecord", "rack", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
    add(_pack_TT(m.fenced, m.in_controlled_shutdown))
    if not m.log_dirs:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (not m.log_dirs):
            k1 += 1
            p1: list[bytes] = []
            l3 = m.log_dirs
            n7 = len(l3) + 1
            p1.append(UVARINT[n7] if n7 < 128 else uvarint(n7))
            for e3 in l3:
                p1.append(e3.bytes)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v4(m: RegisterBrokerRecord) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.end_points
    n1 = len(l1) + 1
    add(_pack_iTUqB(m.broker_id, m.is_migrating_zk_broker, m.incarnation_id.bytes, m.broker_epoch, n1) if n1 < 128 else _pack_iTUq(m.broker_id, m.is_migrating_zk_broker, m.incarnation_id.bytes, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("BrokerEndpoint", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.host.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("BrokerEndpoint", "host", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(_pack_Hhx(e1.port, e1.security_protocol))
    l2 = m.features
    n4 = len(l2) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e2 in l2:
        b3 = e2.name.encode()
        n5 = len(b3) + 1
        if n5 > 32768:
            raise short_string("BrokerFeature", "name", len(b3))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b3)
        add(_pack_hhx(e2.min_supported_version, e2.max_supported_version))
    if m.rack is None:
        add(b"\x00")
    else:
        b4 = m.rack.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("RegisterBrokerRecord", "rack", len(b4))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
    add(_pack_TT(m.fenced, m.in_controlled_shutdown))
    if not m.log_dirs and m.cordoned_log_dirs is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (not m.log_dirs):
            k1 += 1
            p1: list[bytes] = []
            l3 = m.log_dirs
            n7 = len(l3) + 1
            p1.append(UVARINT[n7] if n7 < 128 else uvarint(n7))
            for e3 in l3:
                p1.append(e3.bytes)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.cordoned_log_dirs is None):
            k1 += 1
            p2: list[bytes] = []
            l4 = m.cordoned_log_dirs
            n8 = len(l4) + 1
            p2.append(UVARINT[n8] if n8 < 128 else uvarint(n8))
            for e4 in l4:
                p2.append(e4.bytes)
            q2 = b"".join(p2)
            t1 += (UVARINT[1], uvarint(len(q2)), q2)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = RegisterBrokerRecord.__new__(RegisterBrokerRecord)
        m.is_migrating_zk_broker = False
        m.in_controlled_shutdown = False
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, u1, m.broker_epoch, n1 = _unpack_iUqB(data, pos)
        pos += 29
        m.incarnation_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.end_points", n1, pos, size)
        l1: list[BrokerEndpoint] = []
        m.end_points = l1
        for _ in range(n1):
            e1 = BrokerEndpoint.__new__(BrokerEndpoint)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.host", n3 - 1, pos, size)
            e1.host = str(data[pos:z2], "utf-8")
            pos = z2
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.features", n4, pos, size)
        l2: list[BrokerFeature] = []
        m.features = l2
        for _ in range(n4):
            e2 = BrokerFeature.__new__(BrokerFeature)
            l2.append(e2)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z3 = pos + n5 - 1
            if n5 == 0 or z3 > size:
                raise overrun("RegisterBrokerRecord", "BrokerFeature.name", n5 - 1, pos, size)
            e2.name = str(data[pos:z3], "utf-8")
            pos = z3
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        if n6 == 0:
            m.rack = None
        else:
            z4 = pos + n6 - 1
            if z4 > size:
                raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.rack", n6 - 1, pos, size)
            m.rack = str(data[pos:z4], "utf-8")
            pos = z4
        m.fenced, k3 = _unpack_TB(data, pos)
        pos += 2
        if k3:
            pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("RegisterBrokerRecord", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    # versions 1
    size = len(data)
    try:
        m = RegisterBrokerRecord.__new__(RegisterBrokerRecord)
        m.is_migrating_zk_broker = False
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, u1, m.broker_epoch, n1 = _unpack_iUqB(data, pos)
        pos += 29
        m.incarnation_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.end_points", n1, pos, size)
        l1: list[BrokerEndpoint] = []
        m.end_points = l1
        for _ in range(n1):
            e1 = BrokerEndpoint.__new__(BrokerEndpoint)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.host", n3 - 1, pos, size)
            e1.host = str(data[pos:z2], "utf-8")
            pos = z2
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.features", n4, pos, size)
        l2: list[BrokerFeature] = []
        m.features = l2
        for _ in range(n4):
            e2 = BrokerFeature.__new__(BrokerFeature)
            l2.append(e2)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z3 = pos + n5 - 1
            if n5 == 0 or z3 > size:
                raise overrun("RegisterBrokerRecord", "BrokerFeature.name", n5 - 1, pos, size)
            e2.name = str(data[pos:z3], "utf-8")
            pos = z3
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        if n6 == 0:
            m.rack = None
        else:
            z4 = pos + n6 - 1
            if z4 > size:
                raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.rack", n6 - 1, pos, size)
            m.rack = str(data[pos:z4], "utf-8")
            pos = z4
        m.fenced, m.in_controlled_shutdown, k3 = _unpack_TTB(data, pos)
        pos += 3
        if k3:
            pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("RegisterBrokerRecord", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    # versions 2
    size = len(data)
    try:
        m = RegisterBrokerRecord.__new__(RegisterBrokerRecord)
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.is_migrating_zk_broker, u1, m.broker_epoch, n1 = _unpack_iTUqB(data, pos)
        pos += 30
        m.incarnation_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.end_points", n1, pos, size)
        l1: list[BrokerEndpoint] = []
        m.end_points = l1
        for _ in range(n1):
            e1 = BrokerEndpoint.__new__(BrokerEndpoint)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.host", n3 - 1, pos, size)
            e1.host = str(data[pos:z2], "utf-8")
            pos = z2
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.features", n4, pos, size)
        l2: list[BrokerFeature] = []
        m.features = l2
        for _ in range(n4):
            e2 = BrokerFeature.__new__(BrokerFeature)
            l2.append(e2)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z3 = pos + n5 - 1
            if n5 == 0 or z3 > size:
                raise overrun("RegisterBrokerRecord", "BrokerFeature.name", n5 - 1, pos, size)
            e2.name = str(data[pos:z3], "utf-8")
            pos = z3
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        if n6 == 0:
            m.rack = None
        else:
            z4 = pos + n6 - 1
            if z4 > size:
                raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.rack", n6 - 1, pos, size)
            m.rack = str(data[pos:z4], "utf-8")
            pos = z4
        m.fenced, m.in_controlled_shutdown, k3 = _unpack_TTB(data, pos)
        pos += 3
        if k3:
            pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("RegisterBrokerRecord", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    # versions 3
    size = len(data)
    try:
        m = RegisterBrokerRecord.__new__(RegisterBrokerRecord)
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.is_migrating_zk_broker, u1, m.broker_epoch, n1 = _unpack_iTUqB(data, pos)
        pos += 30
        m.incarnation_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.end_points", n1, pos, size)
        l1: list[BrokerEndpoint] = []
        m.end_points = l1
        for _ in range(n1):
            e1 = BrokerEndpoint.__new__(BrokerEndpoint)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.host", n3 - 1, pos, size)
            e1.host = str(data[pos:z2], "utf-8")
            pos = z2
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.features", n4, pos, size)
        l2: list[BrokerFeature] = []
        m.features = l2
        for _ in range(n4):
            e2 = BrokerFeature.__new__(BrokerFeature)
            l2.append(e2)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z3 = pos + n5 - 1
            if n5 == 0 or z3 > size:
                raise overrun("RegisterBrokerRecord", "BrokerFeature.name", n5 - 1, pos, size)
            e2.name = str(data[pos:z3], "utf-8")
            pos = z3
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        if n6 == 0:
            m.rack = None
        else:
            z4 = pos + n6 - 1
            if z4 > size:
                raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.rack", n6 - 1, pos, size)
            m.rack = str(data[pos:z4], "utf-8")
            pos = z4
        m.fenced, m.in_controlled_shutdown, k3 = _unpack_TTB(data, pos)
        pos += 3
        if k3:
            if k3 > 127:
                k3, pos = uvarint_at(data, pos - 1)
            for _ in range(k3):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord tagged field", s1, pos, size)
                if g1 == 0:
                    n7 = data[pos]
                    pos += 1
                    if n7 > 127:
                        n7, pos = uvarint_at(data, pos - 1)
                    n7 -= 1
                    if n7 < 0 or n7 * 16 > size - pos:
                        raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.log_dirs", n7, pos, size)
                    l3: list[UUID] = []
                    m.log_dirs = l3
                    for _ in range(n7):
                        (e3,) = _unpack_U(data, pos)
                        pos += 16
                        l3.append(uuid_of(e3))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("RegisterBrokerRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("RegisterBrokerRecord", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    # versions 4
    size = len(data)
    try:
        m = RegisterBrokerRecord.__new__(RegisterBrokerRecord)
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.is_migrating_zk_broker, u1, m.broker_epoch, n1 = _unpack_iTUqB(data, pos)
        pos += 30
        m.incarnation_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.end_points", n1, pos, size)
        l1: list[BrokerEndpoint] = []
        m.end_points = l1
        for _ in range(n1):
            e1 = BrokerEndpoint.__new__(BrokerEndpoint)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("RegisterBrokerRecord", "BrokerEndpoint.host", n3 - 1, pos, size)
            e1.host = str(data[pos:z2], "utf-8")
            pos = z2
            e1.port, e1.security_protocol, k1 = _unpack_HhB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.features", n4, pos, size)
        l2: list[BrokerFeature] = []
        m.features = l2
        for _ in range(n4):
            e2 = BrokerFeature.__new__(BrokerFeature)
            l2.append(e2)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z3 = pos + n5 - 1
            if n5 == 0 or z3 > size:
                raise overrun("RegisterBrokerRecord", "BrokerFeature.name", n5 - 1, pos, size)
            e2.name = str(data[pos:z3], "utf-8")
            pos = z3
            e2.min_supported_version, e2.max_supported_version, k2 = _unpack_hhB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("RegisterBrokerRecord", data, pos - 1)
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        if n6 == 0:
            m.rack = None
        else:
            z4 = pos + n6 - 1
            if z4 > size:
                raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.rack", n6 - 1, pos, size)
            m.rack = str(data[pos:z4], "utf-8")
            pos = z4
        m.fenced, m.in_controlled_shutdown, k3 = _unpack_TTB(data, pos)
        pos += 3
        if k3:
            if k3 > 127:
                k3, pos = uvarint_at(data, pos - 1)
            for _ in range(k3):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord tagged field", s1, pos, size)
                if g1 == 0:
                    n7 = data[pos]
                    pos += 1
                    if n7 > 127:
                        n7, pos = uvarint_at(data, pos - 1)
                    n7 -= 1
                    if n7 < 0 or n7 * 16 > size - pos:
                        raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.log_dirs", n7, pos, size)
                    l3: list[UUID] = []
                    m.log_dirs = l3
                    for _ in range(n7):
                        (e3,) = _unpack_U(data, pos)
                        pos += 16
                        l3.append(uuid_of(e3))
                elif g1 == 1:
                    n8 = data[pos]
                    pos += 1
                    if n8 > 127:
                        n8, pos = uvarint_at(data, pos - 1)
                    if n8 == 0:
                        m.cordoned_log_dirs = None
                    else:
                        n8 -= 1
                        if n8 < 0 or n8 * 16 > size - pos:
                            raise overrun("RegisterBrokerRecord", "RegisterBrokerRecord.cordoned_log_dirs", n8, pos, size)
                        l4: list[UUID] = []
                        m.cordoned_log_dirs = l4
                        for _ in range(n8):
                            (e4,) = _unpack_U(data, pos)
                            pos += 16
                            l4.append(uuid_of(e4))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("RegisterBrokerRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("RegisterBrokerRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[RegisterBrokerRecord], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[RegisterBrokerRecord, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v4,
}
