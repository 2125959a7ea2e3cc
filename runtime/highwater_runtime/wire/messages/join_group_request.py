"""JoinGroupRequest: request body, key 11, versions 0 to 9.

Generated from ``schemas/group_membership.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iiB: Final = Struct(">iiB").pack
_pack_iih: Final = Struct(">iih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iiB: Final = Struct(">iiB").unpack_from
_unpack_iih: Final = Struct(">iih").unpack_from


class JoinGroupRequestProtocol:
    """Part of :class:`JoinGroupRequest`.

    ``name`` string

    ``metadata`` bytes
    """

    __slots__ = ("name", "metadata")
    name: str
    metadata: bytes

    def __init__(
        self,
        *,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JoinGroupRequestProtocol):
            return NotImplemented
        return (
            self.name == other.name
            and self.metadata == other.metadata
        )

    def __repr__(self) -> str:
        return (
            f"JoinGroupRequestProtocol(name={self.name!r}, "
            f"metadata={show(self.metadata)})"
        )


class JoinGroupRequest:
    """A member enters a consumer group, or stays in it through a rebalance.

    ``group_id`` string

    ``session_timeout_ms`` int32: Without a heartbeat for so long, the member is taken for dead.

    ``rebalance_timeout_ms`` int32 (v1+): How long the group waits for members to join again.

    ``member_id`` string: Empty for a new member.

    ``group_instance_id`` string (v5+): Set for a static member (KIP-345).

    ``protocol_type`` string: "consumer", or "connect".

    ``protocols`` []JoinGroupRequestProtocol: What the member could agree to, the best first.

    ``reason`` string (v8+): Why it joins, for logs (KIP-800).
    """

    API_KEY: ClassVar[int] = 11
    NAME: ClassVar[str] = "JoinGroupRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None

    def __init__(
        self,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = EMPTY,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is EMPTY else protocols
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JoinGroupRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.session_timeout_ms == other.session_timeout_ms
            and self.rebalance_timeout_ms == other.rebalance_timeout_ms
            and self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.protocol_type == other.protocol_type
            and self.protocols == other.protocols
            and self.reason == other.reason
        )

    def __repr__(self) -> str:
        return (
            f"JoinGroupRequest(group_id={self.group_id!r}, "
            f"session_timeout_ms={self.session_timeout_ms!r}, "
            f"rebalance_timeout_ms={self.rebalance_timeout_ms!r}, "
            f"member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"protocol_type={self.protocol_type!r}, "
            f"protocols={self.protocols!r}, "
            f"reason={self.reason!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("JoinGroupRequest", version, 0, 9)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("JoinGroupRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> JoinGroupRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("JoinGroupRequest", version, 0, 9)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("JoinGroupRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[JoinGroupRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("JoinGroupRequest", version, 0, 9)
        return decoder(data, position)


def _encode_v0(m: JoinGroupRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("JoinGroupRequest", "JoinGroupRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("JoinGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("JoinGroupRequest", "member_id", len(b2))
    add(_pack_ih(m.session_timeout_ms, n2))
    add(b2)
    b3 = m.protocol_type.encode()
    n3 = len(b3)
    if n3 > 32767:
        raise short_string("JoinGroupRequest", "protocol_type", len(b3))
    add(_pack_h(n3))
    add(b3)
    l1 = m.protocols
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.name.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("JoinGroupRequestProtocol", "name", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.metadata
        n6 = len(b5)
        add(_pack_i(n6))
        add(b5)
    return out


def _encode_v1(m: JoinGroupRequest) -> list[bytes]:
    # versions 1, 2, 3, 4
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("JoinGroupRequest", "JoinGroupRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("JoinGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("JoinGroupRequest", "member_id", len(b2))
    add(_pack_iih(m.session_timeout_ms, m.rebalance_timeout_ms, n2))
    add(b2)
    b3 = m.protocol_type.encode()
    n3 = len(b3)
    if n3 > 32767:
        raise short_string("JoinGroupRequest", "protocol_type", len(b3))
    add(_pack_h(n3))
    add(b3)
    l1 = m.protocols
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.name.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("JoinGroupRequestProtocol", "name", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.metadata
        n6 = len(b5)
        add(_pack_i(n6))
        add(b5)
    return out


def _encode_v5(m: JoinGroupRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("JoinGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("JoinGroupRequest", "member_id", len(b2))
    add(_pack_iih(m.session_timeout_ms, m.rebalance_timeout_ms, n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("JoinGroupRequest", "group_instance_id", len(b3))
        add(_pack_h(n3))
        add(b3)
    b4 = m.protocol_type.encode()
    n4 = len(b4)
    if n4 > 32767:
        raise short_string("JoinGroupRequest", "protocol_type", len(b4))
    add(_pack_h(n4))
    add(b4)
    l1 = m.protocols
    n5 = len(l1)
    add(_pack_i(n5))
    for e1 in l1:
        b5 = e1.name.encode()
        n6 = len(b5)
        if n6 > 32767:
            raise short_string("JoinGroupRequestProtocol", "name", len(b5))
        add(_pack_h(n6))
        add(b5)
        b6 = e1.metadata
        n7 = len(b6)
        add(_pack_i(n7))
        add(b6)
    return out


def _encode_v6(m: JoinGroupRequest) -> list[bytes]:
    # versions 6, 7
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("JoinGroupRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("JoinGroupRequest", "member_id", len(b2))
    add(_pack_iiB(m.session_timeout_ms, m.rebalance_timeout_ms, n2) if n2 < 128 else _pack_ii(m.session_timeout_ms, m.rebalance_timeout_ms) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("JoinGroupRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    b4 = m.protocol_type.encode()
    n4 = len(b4) + 1
    if n4 > 32768:
        raise short_string("JoinGroupRequest", "protocol_type", len(b4))
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    add(b4)
    l1 = m.protocols
    n5 = len(l1) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e1 in l1:
        b5 = e1.name.encode()
        n6 = len(b5) + 1
        if n6 > 32768:
            raise short_string("JoinGroupRequestProtocol", "name", len(b5))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b5)
        b6 = e1.metadata
        n7 = len(b6) + 1
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b6)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v8(m: JoinGroupRequest) -> list[bytes]:
    # versions 8, 9
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("JoinGroupRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("JoinGroupRequest", "member_id", len(b2))
    add(_pack_iiB(m.session_timeout_ms, m.rebalance_timeout_ms, n2) if n2 < 128 else _pack_ii(m.session_timeout_ms, m.rebalance_timeout_ms) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("JoinGroupRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    b4 = m.protocol_type.encode()
    n4 = len(b4) + 1
    if n4 > 32768:
        raise short_string("JoinGroupRequest", "protocol_type", len(b4))
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    add(b4)
    l1 = m.protocols
    n5 = len(l1) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e1 in l1:
        b5 = e1.name.encode()
        n6 = len(b5) + 1
        if n6 > 32768:
            raise short_string("JoinGroupRequestProtocol", "name", len(b5))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b5)
        b6 = e1.metadata
        n7 = len(b6) + 1
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b6)
        add(b"\x00")
    if m.reason is None:
        add(b"\x00")
    else:
        b7 = m.reason.encode()
        n8 = len(b7) + 1
        if n8 > 32768:
            raise short_string("JoinGroupRequest", "reason", len(b7))
        add(UVARINT[n8] if n8 < 128 else uvarint(n8))
        add(b7)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[JoinGroupRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        m.rebalance_timeout_ms = -1
        m.group_instance_id = None
        m.reason = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.session_timeout_ms, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        z3 = pos + n3
        if n3 < 0 or z3 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocol_type", n3, pos, size)
        m.protocol_type = str(data[pos:z3], "utf-8")
        pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocols", n4, pos, size)
        l1: list[JoinGroupRequestProtocol] = []
        m.protocols = l1
        for _ in range(n4):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            l1.append(e1)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.name", n5, pos, size)
            e1.name = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.metadata", n6, pos, size)
            e1.metadata = bytes(data[pos:z5])
            pos = z5
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[JoinGroupRequest, int]:
    # versions 1, 2, 3, 4
    size = len(data)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        m.group_instance_id = None
        m.reason = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.session_timeout_ms, m.rebalance_timeout_ms, n2 = _unpack_iih(data, pos)
        pos += 10
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        z3 = pos + n3
        if n3 < 0 or z3 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocol_type", n3, pos, size)
        m.protocol_type = str(data[pos:z3], "utf-8")
        pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocols", n4, pos, size)
        l1: list[JoinGroupRequestProtocol] = []
        m.protocols = l1
        for _ in range(n4):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            l1.append(e1)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.name", n5, pos, size)
            e1.name = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.metadata", n6, pos, size)
            e1.metadata = bytes(data[pos:z5])
            pos = z5
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[JoinGroupRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        m.reason = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.session_timeout_ms, m.rebalance_timeout_ms, n2 = _unpack_iih(data, pos)
        pos += 10
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.group_instance_id = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequest.group_instance_id", n3, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        (n4,) = _unpack_h(data, pos)
        pos += 2
        z4 = pos + n4
        if n4 < 0 or z4 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocol_type", n4, pos, size)
        m.protocol_type = str(data[pos:z4], "utf-8")
        pos = z4
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 6 > size - pos:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocols", n5, pos, size)
        l1: list[JoinGroupRequestProtocol] = []
        m.protocols = l1
        for _ in range(n5):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            l1.append(e1)
            (n6,) = _unpack_h(data, pos)
            pos += 2
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.name", n6, pos, size)
            e1.name = str(data[pos:z5], "utf-8")
            pos = z5
            (n7,) = _unpack_i(data, pos)
            pos += 4
            z6 = pos + n7
            if n7 < 0 or z6 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.metadata", n7, pos, size)
            e1.metadata = bytes(data[pos:z6])
            pos = z6
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[JoinGroupRequest, int]:
    # versions 6, 7
    size = len(data)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        m.reason = None
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.session_timeout_ms, m.rebalance_timeout_ms, n2 = _unpack_iiB(data, pos)
        pos += 9
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.member_id", n2 - 1, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        if n3 == 0:
            m.group_instance_id = None
        else:
            z3 = pos + n3 - 1
            if z3 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        z4 = pos + n4 - 1
        if n4 == 0 or z4 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocol_type", n4 - 1, pos, size)
        m.protocol_type = str(data[pos:z4], "utf-8")
        pos = z4
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 3 > size - pos:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocols", n5, pos, size)
        l1: list[JoinGroupRequestProtocol] = []
        m.protocols = l1
        for _ in range(n5):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            l1.append(e1)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z5 = pos + n6 - 1
            if n6 == 0 or z5 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.name", n6 - 1, pos, size)
            e1.name = str(data[pos:z5], "utf-8")
            pos = z5
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            z6 = pos + n7 - 1
            if n7 == 0 or z6 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.metadata", n7 - 1, pos, size)
            e1.metadata = bytes(data[pos:z6])
            pos = z6
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("JoinGroupRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("JoinGroupRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[JoinGroupRequest, int]:
    # versions 8, 9
    size = len(data)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.session_timeout_ms, m.rebalance_timeout_ms, n2 = _unpack_iiB(data, pos)
        pos += 9
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.member_id", n2 - 1, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        if n3 == 0:
            m.group_instance_id = None
        else:
            z3 = pos + n3 - 1
            if z3 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        z4 = pos + n4 - 1
        if n4 == 0 or z4 > size:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocol_type", n4 - 1, pos, size)
        m.protocol_type = str(data[pos:z4], "utf-8")
        pos = z4
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 3 > size - pos:
            raise overrun("JoinGroupRequest", "JoinGroupRequest.protocols", n5, pos, size)
        l1: list[JoinGroupRequestProtocol] = []
        m.protocols = l1
        for _ in range(n5):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            l1.append(e1)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z5 = pos + n6 - 1
            if n6 == 0 or z5 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.name", n6 - 1, pos, size)
            e1.name = str(data[pos:z5], "utf-8")
            pos = z5
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            z6 = pos + n7 - 1
            if n7 == 0 or z6 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequestProtocol.metadata", n7 - 1, pos, size)
            e1.metadata = bytes(data[pos:z6])
            pos = z6
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("JoinGroupRequest", data, pos - 1)
        n8 = data[pos]
        pos += 1
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        if n8 == 0:
            m.reason = None
        else:
            z7 = pos + n8 - 1
            if z7 > size:
                raise overrun("JoinGroupRequest", "JoinGroupRequest.reason", n8 - 1, pos, size)
            m.reason = str(data[pos:z7], "utf-8")
            pos = z7
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("JoinGroupRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[JoinGroupRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v1,
    4: _encode_v1,
    5: _encode_v5,
    6: _encode_v6,
    7: _encode_v6,
    8: _encode_v8,
    9: _encode_v8,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[JoinGroupRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v1,
    4: _decode_v1,
    5: _decode_v5,
    6: _decode_v6,
    7: _decode_v6,
    8: _decode_v8,
    9: _decode_v8,
}
