"""DescribeClusterResponse: response body, key 60, versions 0 to 2.

Generated from ``schemas/configs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    UVARINT,
    Buffer,
    DecodeError,
    malformed,
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_Tx: Final = Struct(">?x").pack
_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from


class DescribeClusterBroker:
    """Part of :class:`DescribeClusterResponse`.

    ``broker_id`` int32

    ``host`` string

    ``port`` int32

    ``rack`` string

    ``is_fenced`` bool (v2+)
    """

    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")
    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool

    def __init__(
        self,
        *,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeClusterBroker):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.host == other.host
            and self.port == other.port
            and self.rack == other.rack
            and self.is_fenced == other.is_fenced
        )

    def __repr__(self) -> str:
        return (
            f"DescribeClusterBroker(broker_id={self.broker_id!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"rack={self.rack!r}, "
            f"is_fenced={self.is_fenced!r})"
        )


class DescribeClusterResponse:
    """The nodes of the cluster.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``error_message`` string

    ``endpoint_type`` int8 (v1+)

    ``cluster_id`` string

    ``controller_id`` int32

    ``brokers`` []DescribeClusterBroker

    ``cluster_authorized_operations`` int32
    """

    API_KEY: ClassVar[int] = 60
    NAME: ClassVar[str] = "DescribeClusterResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int
    cluster_id: str
    controller_id: int
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_authorized_operations = cluster_authorized_operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeClusterResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.endpoint_type == other.endpoint_type
            and self.cluster_id == other.cluster_id
            and self.controller_id == other.controller_id
            and self.brokers == other.brokers
            and self.cluster_authorized_operations == other.cluster_authorized_operations
        )

    def __repr__(self) -> str:
        return (
            f"DescribeClusterResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"endpoint_type={self.endpoint_type!r}, "
            f"cluster_id={self.cluster_id!r}, "
            f"controller_id={self.controller_id!r}, "
            f"brokers={self.brokers!r}, "
            f"cluster_authorized_operations={self.cluster_authorized_operations!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeClusterResponse", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeClusterResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeClusterResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeClusterResponse", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeClusterResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeClusterResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeClusterResponse", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DescribeClusterResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.endpoint_type == 1):
        raise not_in_version("DescribeClusterResponse", "DescribeClusterResponse.endpoint_type", m.endpoint_type)
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("DescribeClusterResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    b2 = m.cluster_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("DescribeClusterResponse", "cluster_id", len(b2))
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    add(b2)
    l1 = m.brokers
    n3 = len(l1) + 1
    add(_pack_iB(m.controller_id, n3) if n3 < 128 else _pack_i(m.controller_id) + uvarint(n3))
    for e1 in l1:
        if not (not e1.is_fenced):
            raise not_in_version("DescribeClusterResponse", "DescribeClusterBroker.is_fenced", e1.is_fenced)
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("DescribeClusterBroker", "host", len(b3))
        add(_pack_iB(e1.broker_id, n4) if n4 < 128 else _pack_i(e1.broker_id) + uvarint(n4))
        add(b3)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b4 = e1.rack.encode()
            n5 = len(b4) + 1
            if n5 > 32768:
                raise short_string("DescribeClusterBroker", "rack", len(b4))
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            add(b4)
        add(b"\x00")
    add(_pack_ix(m.cluster_authorized_operations))
    return out


def _encode_v1(m: DescribeClusterResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("DescribeClusterResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    b2 = m.cluster_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("DescribeClusterResponse", "cluster_id", len(b2))
    add(_pack_bB(m.endpoint_type, n2) if n2 < 128 else _pack_b(m.endpoint_type) + uvarint(n2))
    add(b2)
    l1 = m.brokers
    n3 = len(l1) + 1
    add(_pack_iB(m.controller_id, n3) if n3 < 128 else _pack_i(m.controller_id) + uvarint(n3))
    for e1 in l1:
        if not (not e1.is_fenced):
            raise not_in_version("DescribeClusterResponse", "DescribeClusterBroker.is_fenced", e1.is_fenced)
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("DescribeClusterBroker", "host", len(b3))
        add(_pack_iB(e1.broker_id, n4) if n4 < 128 else _pack_i(e1.broker_id) + uvarint(n4))
        add(b3)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b4 = e1.rack.encode()
            n5 = len(b4) + 1
            if n5 > 32768:
                raise short_string("DescribeClusterBroker", "rack", len(b4))
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            add(b4)
        add(b"\x00")
    add(_pack_ix(m.cluster_authorized_operations))
    return out


def _encode_v2(m: DescribeClusterResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("DescribeClusterResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    b2 = m.cluster_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("DescribeClusterResponse", "cluster_id", len(b2))
    add(_pack_bB(m.endpoint_type, n2) if n2 < 128 else _pack_b(m.endpoint_type) + uvarint(n2))
    add(b2)
    l1 = m.brokers
    n3 = len(l1) + 1
    add(_pack_iB(m.controller_id, n3) if n3 < 128 else _pack_i(m.controller_id) + uvarint(n3))
    for e1 in l1:
        b3 = e1.host.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("DescribeClusterBroker", "host", len(b3))
        add(_pack_iB(e1.broker_id, n4) if n4 < 128 else _pack_i(e1.broker_id) + uvarint(n4))
        add(b3)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b4 = e1.rack.encode()
            n5 = len(b4) + 1
            if n5 > 32768:
                raise short_string("DescribeClusterBroker", "rack", len(b4))
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            add(b4)
        add(_pack_Tx(e1.is_fenced))
    add(_pack_ix(m.cluster_authorized_operations))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeClusterResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeClusterResponse.__new__(DescribeClusterResponse)
        m.endpoint_type = 1
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("DescribeClusterResponse", "DescribeClusterResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("DescribeClusterResponse", "DescribeClusterResponse.cluster_id", n2 - 1, pos, size)
        m.cluster_id = str(data[pos:z2], "utf-8")
        pos = z2
        m.controller_id, n3 = _unpack_iB(data, pos)
        pos += 5
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 11 > size - pos:
            raise overrun("DescribeClusterResponse", "DescribeClusterResponse.brokers", n3, pos, size)
        l1: list[DescribeClusterBroker] = []
        m.brokers = l1
        for _ in range(n3):
            e1 = DescribeClusterBroker.__new__(DescribeClusterBroker)
            l1.append(e1)
            e1.is_fenced = False
            e1.broker_id, n4 = _unpack_iB(data, pos)
            pos += 5
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("DescribeClusterResponse", "DescribeClusterBroker.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, n5 = _unpack_iB(data, pos)
            pos += 5
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            if n5 == 0:
                e1.rack = None
            else:
                z4 = pos + n5 - 1
                if z4 > size:
                    raise overrun("DescribeClusterResponse", "DescribeClusterBroker.rack", n5 - 1, pos, size)
                e1.rack = str(data[pos:z4], "utf-8")
                pos = z4
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("DescribeClusterResponse", data, pos - 1)
        m.cluster_authorized_operations, k2 = _unpack_iB(data, pos)
        pos += 5
        if k2:
            pos = skip_tagged("DescribeClusterResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeClusterResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeClusterResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = DescribeClusterResponse.__new__(DescribeClusterResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("DescribeClusterResponse", "DescribeClusterResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        m.endpoint_type, n2 = _unpack_bB(data, pos)
        pos += 2
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("DescribeClusterResponse", "DescribeClusterResponse.cluster_id", n2 - 1, pos, size)
        m.cluster_id = str(data[pos:z2], "utf-8")
        pos = z2
        m.controller_id, n3 = _unpack_iB(data, pos)
        pos += 5
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 11 > size - pos:
            raise overrun("DescribeClusterResponse", "DescribeClusterResponse.brokers", n3, pos, size)
        l1: list[DescribeClusterBroker] = []
        m.brokers = l1
        for _ in range(n3):
            e1 = DescribeClusterBroker.__new__(DescribeClusterBroker)
            l1.append(e1)
            e1.is_fenced = False
            e1.broker_id, n4 = _unpack_iB(data, pos)
            pos += 5
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("DescribeClusterResponse", "DescribeClusterBroker.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, n5 = _unpack_iB(data, pos)
            pos += 5
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            if n5 == 0:
                e1.rack = None
            else:
                z4 = pos + n5 - 1
                if z4 > size:
                    raise overrun("DescribeClusterResponse", "DescribeClusterBroker.rack", n5 - 1, pos, size)
                e1.rack = str(data[pos:z4], "utf-8")
                pos = z4
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("DescribeClusterResponse", data, pos - 1)
        m.cluster_authorized_operations, k2 = _unpack_iB(data, pos)
        pos += 5
        if k2:
            pos = skip_tagged("DescribeClusterResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeClusterResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DescribeClusterResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = DescribeClusterResponse.__new__(DescribeClusterResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("DescribeClusterResponse", "DescribeClusterResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        m.endpoint_type, n2 = _unpack_bB(data, pos)
        pos += 2
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("DescribeClusterResponse", "DescribeClusterResponse.cluster_id", n2 - 1, pos, size)
        m.cluster_id = str(data[pos:z2], "utf-8")
        pos = z2
        m.controller_id, n3 = _unpack_iB(data, pos)
        pos += 5
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 12 > size - pos:
            raise overrun("DescribeClusterResponse", "DescribeClusterResponse.brokers", n3, pos, size)
        l1: list[DescribeClusterBroker] = []
        m.brokers = l1
        for _ in range(n3):
            e1 = DescribeClusterBroker.__new__(DescribeClusterBroker)
            l1.append(e1)
            e1.broker_id, n4 = _unpack_iB(data, pos)
            pos += 5
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("DescribeClusterResponse", "DescribeClusterBroker.host", n4 - 1, pos, size)
            e1.host = str(data[pos:z3], "utf-8")
            pos = z3
            e1.port, n5 = _unpack_iB(data, pos)
            pos += 5
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            if n5 == 0:
                e1.rack = None
            else:
                z4 = pos + n5 - 1
                if z4 > size:
                    raise overrun("DescribeClusterResponse", "DescribeClusterBroker.rack", n5 - 1, pos, size)
                e1.rack = str(data[pos:z4], "utf-8")
                pos = z4
            e1.is_fenced, k1 = _unpack_TB(data, pos)
            pos += 2
            if k1:
                pos = skip_tagged("DescribeClusterResponse", data, pos - 1)
        m.cluster_authorized_operations, k2 = _unpack_iB(data, pos)
        pos += 5
        if k2:
            pos = skip_tagged("DescribeClusterResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeClusterResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeClusterResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeClusterResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
