"""SyncGroupResponse: response body, key 14, versions 0 to 5.

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
    overrun,
    short_string,
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_hi: Final = Struct(">hi").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihi: Final = Struct(">ihi").pack
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from


class SyncGroupResponse:
    """What the member is to read.

    ``throttle_time_ms`` int32 (v1+)

    ``error_code`` int16

    ``protocol_type`` string (v5+)

    ``protocol_name`` string (v5+)

    ``assignment`` bytes
    """

    API_KEY: ClassVar[int] = 14
    NAME: ClassVar[str] = "SyncGroupResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SyncGroupResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.protocol_type == other.protocol_type
            and self.protocol_name == other.protocol_name
            and self.assignment == other.assignment
        )

    def __repr__(self) -> str:
        return (
            f"SyncGroupResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"protocol_type={self.protocol_type!r}, "
            f"protocol_name={self.protocol_name!r}, "
            f"assignment={show(self.assignment)})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SyncGroupResponse", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SyncGroupResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SyncGroupResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SyncGroupResponse", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SyncGroupResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SyncGroupResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SyncGroupResponse", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: SyncGroupResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.assignment
    n1 = len(b1)
    add(_pack_hi(m.error_code, n1))
    add(b1)
    return out


def _encode_v1(m: SyncGroupResponse) -> list[bytes]:
    # versions 1, 2, 3
    out: list[bytes] = []
    add = out.append
    b1 = m.assignment
    n1 = len(b1)
    add(_pack_ihi(m.throttle_time_ms, m.error_code, n1))
    add(b1)
    return out


def _encode_v4(m: SyncGroupResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    b1 = m.assignment
    n1 = len(b1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    add(b1)
    add(b"\x00")
    return out


def _encode_v5(m: SyncGroupResponse) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.protocol_type is None:
        add(b"\x00")
    else:
        b1 = m.protocol_type.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("SyncGroupResponse", "protocol_type", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    if m.protocol_name is None:
        add(b"\x00")
    else:
        b2 = m.protocol_name.encode()
        n2 = len(b2) + 1
        if n2 > 32768:
            raise short_string("SyncGroupResponse", "protocol_name", len(b2))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b2)
    b3 = m.assignment
    n3 = len(b3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    add(b3)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = SyncGroupResponse.__new__(SyncGroupResponse)
        m.throttle_time_ms = 0
        m.protocol_type = None
        m.protocol_name = None
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("SyncGroupResponse", "SyncGroupResponse.assignment", n1, pos, size)
        m.assignment = bytes(data[pos:z1])
        pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    # versions 1, 2, 3
    size = len(data)
    try:
        m = SyncGroupResponse.__new__(SyncGroupResponse)
        m.protocol_type = None
        m.protocol_name = None
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihi(data, pos)
        pos += 10
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("SyncGroupResponse", "SyncGroupResponse.assignment", n1, pos, size)
        m.assignment = bytes(data[pos:z1])
        pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = SyncGroupResponse.__new__(SyncGroupResponse)
        m.protocol_type = None
        m.protocol_name = None
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("SyncGroupResponse", "SyncGroupResponse.assignment", n1 - 1, pos, size)
        m.assignment = bytes(data[pos:z1])
        pos = z1
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("SyncGroupResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    # versions 5
    size = len(data)
    try:
        m = SyncGroupResponse.__new__(SyncGroupResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.protocol_type = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("SyncGroupResponse", "SyncGroupResponse.protocol_type", n1 - 1, pos, size)
            m.protocol_type = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        if n2 == 0:
            m.protocol_name = None
        else:
            z2 = pos + n2 - 1
            if z2 > size:
                raise overrun("SyncGroupResponse", "SyncGroupResponse.protocol_name", n2 - 1, pos, size)
            m.protocol_name = str(data[pos:z2], "utf-8")
            pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        z3 = pos + n3 - 1
        if n3 == 0 or z3 > size:
            raise overrun("SyncGroupResponse", "SyncGroupResponse.assignment", n3 - 1, pos, size)
        m.assignment = bytes(data[pos:z3])
        pos = z3
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("SyncGroupResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SyncGroupResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v1,
    4: _encode_v4,
    5: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SyncGroupResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v1,
    4: _decode_v4,
    5: _decode_v5,
}
