"""HeartbeatRequest: request body, key 12, versions 0 to 4.

Generated from ``schemas/group_membership.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class HeartbeatRequest:
    """A member is alive.

    ``group_id`` string

    ``generation_id`` int32

    ``member_id`` string

    ``group_instance_id`` string (v3+)
    """

    API_KEY: ClassVar[int] = 12
    NAME: ClassVar[str] = "HeartbeatRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeartbeatRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.generation_id == other.generation_id
            and self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
        )

    def __repr__(self) -> str:
        return (
            f"HeartbeatRequest(group_id={self.group_id!r}, "
            f"generation_id={self.generation_id!r}, "
            f"member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("HeartbeatRequest", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("HeartbeatRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> HeartbeatRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("HeartbeatRequest", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("HeartbeatRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[HeartbeatRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("HeartbeatRequest", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: HeartbeatRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("HeartbeatRequest", "HeartbeatRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("HeartbeatRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("HeartbeatRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id, n2))
    add(b2)
    return out


def _encode_v3(m: HeartbeatRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("HeartbeatRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("HeartbeatRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id, n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("HeartbeatRequest", "group_instance_id", len(b3))
        add(_pack_h(n3))
        add(b3)
    return out


def _encode_v4(m: HeartbeatRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("HeartbeatRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("HeartbeatRequest", "member_id", len(b2))
    add(_pack_iB(m.generation_id, n2) if n2 < 128 else _pack_i(m.generation_id) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("HeartbeatRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[HeartbeatRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = HeartbeatRequest.__new__(HeartbeatRequest)
        m.group_instance_id = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("HeartbeatRequest", "HeartbeatRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("HeartbeatRequest", "HeartbeatRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("HeartbeatRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[HeartbeatRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = HeartbeatRequest.__new__(HeartbeatRequest)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("HeartbeatRequest", "HeartbeatRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("HeartbeatRequest", "HeartbeatRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.group_instance_id = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("HeartbeatRequest", "HeartbeatRequest.group_instance_id", n3, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
    except DECODE_FAULTS as fault:
        raise malformed("HeartbeatRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[HeartbeatRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = HeartbeatRequest.__new__(HeartbeatRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("HeartbeatRequest", "HeartbeatRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("HeartbeatRequest", "HeartbeatRequest.member_id", n2 - 1, pos, size)
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
                raise overrun("HeartbeatRequest", "HeartbeatRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("HeartbeatRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("HeartbeatRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[HeartbeatRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[HeartbeatRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v3,
    4: _decode_v4,
}
