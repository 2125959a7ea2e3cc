"""LeaveGroupResponse: response body, key 13, versions 0 to 5.

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
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_h: Final = Struct(">h").pack
_pack_hx: Final = Struct(">hx").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihi: Final = Struct(">ihi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from


class MemberResponse:
    """Part of :class:`LeaveGroupResponse`.

    ``member_id`` string (v3+)

    ``group_instance_id`` string (v3+)

    ``error_code`` int16 (v3+)
    """

    __slots__ = ("member_id", "group_instance_id", "error_code")
    member_id: str
    group_instance_id: str | None
    error_code: int

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemberResponse):
            return NotImplemented
        return (
            self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"MemberResponse(member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"error_code={self.error_code!r})"
        )


class LeaveGroupResponse:
    """One result for each member, from version 3 on.

    ``throttle_time_ms`` int32 (v1+)

    ``error_code`` int16

    ``members`` []MemberResponse (v3+)
    """

    API_KEY: ClassVar[int] = 13
    NAME: ClassVar[str] = "LeaveGroupResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code", "members")
    throttle_time_ms: int
    error_code: int
    members: list[MemberResponse]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is EMPTY else members

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaveGroupResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.members == other.members
        )

    def __repr__(self) -> str:
        return (
            f"LeaveGroupResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"members={self.members!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("LeaveGroupResponse", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("LeaveGroupResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> LeaveGroupResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaveGroupResponse", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("LeaveGroupResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[LeaveGroupResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaveGroupResponse", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: LeaveGroupResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.members):
        raise not_in_version("LeaveGroupResponse", "LeaveGroupResponse.members", m.members)
    add(_pack_h(m.error_code))
    return out


def _encode_v1(m: LeaveGroupResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.members):
        raise not_in_version("LeaveGroupResponse", "LeaveGroupResponse.members", m.members)
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    return out


def _encode_v3(m: LeaveGroupResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.members
    n1 = len(l1)
    add(_pack_ihi(m.throttle_time_ms, m.error_code, n1))
    for e1 in l1:
        b1 = e1.member_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MemberResponse", "member_id", len(b1))
        add(_pack_h(n2))
        add(b1)
        if e1.group_instance_id is None:
            add(b"\xff\xff")
        else:
            b2 = e1.group_instance_id.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MemberResponse", "group_instance_id", len(b2))
            add(_pack_h(n3))
            add(b2)
        add(_pack_h(e1.error_code))
    return out


def _encode_v4(m: LeaveGroupResponse) -> list[bytes]:
    # versions 4, 5
    out: list[bytes] = []
    add = out.append
    l1 = m.members
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.member_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("MemberResponse", "member_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        if e1.group_instance_id is None:
            add(b"\x00")
        else:
            b2 = e1.group_instance_id.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("MemberResponse", "group_instance_id", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(_pack_hx(e1.error_code))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = LeaveGroupResponse.__new__(LeaveGroupResponse)
        m.throttle_time_ms = 0
        m.members = []
        (m.error_code,) = _unpack_h(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = LeaveGroupResponse.__new__(LeaveGroupResponse)
        m.members = []
        m.throttle_time_ms, m.error_code = _unpack_ih(data, pos)
        pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = LeaveGroupResponse.__new__(LeaveGroupResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihi(data, pos)
        pos += 10
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("LeaveGroupResponse", "LeaveGroupResponse.members", n1, pos, size)
        l1: list[MemberResponse] = []
        m.members = l1
        for _ in range(n1):
            e1 = MemberResponse.__new__(MemberResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("LeaveGroupResponse", "MemberResponse.member_id", n2, pos, size)
            e1.member_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            if n3 == -1:
                e1.group_instance_id = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("LeaveGroupResponse", "MemberResponse.group_instance_id", n3, pos, size)
                e1.group_instance_id = str(data[pos:z2], "utf-8")
                pos = z2
            (e1.error_code,) = _unpack_h(data, pos)
            pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    # versions 4, 5
    size = len(data)
    try:
        m = LeaveGroupResponse.__new__(LeaveGroupResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("LeaveGroupResponse", "LeaveGroupResponse.members", n1, pos, size)
        l1: list[MemberResponse] = []
        m.members = l1
        for _ in range(n1):
            e1 = MemberResponse.__new__(MemberResponse)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("LeaveGroupResponse", "MemberResponse.member_id", n2 - 1, pos, size)
            e1.member_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.group_instance_id = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("LeaveGroupResponse", "MemberResponse.group_instance_id", n3 - 1, pos, size)
                e1.group_instance_id = str(data[pos:z2], "utf-8")
                pos = z2
            e1.error_code, k1 = _unpack_hB(data, pos)
            pos += 3
            if k1:
                pos = skip_tagged("LeaveGroupResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("LeaveGroupResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[LeaveGroupResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[LeaveGroupResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v4,
}
