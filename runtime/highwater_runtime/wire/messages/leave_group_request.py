"""LeaveGroupRequest: request body, key 13, versions 0 to 5.

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
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class MemberIdentity:
    """Part of :class:`LeaveGroupRequest`.

    ``member_id`` string (v3+)

    ``group_instance_id`` string (v3+)

    ``reason`` string (v5+)
    """

    __slots__ = ("member_id", "group_instance_id", "reason")
    member_id: str
    group_instance_id: str | None
    reason: str | None

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemberIdentity):
            return NotImplemented
        return (
            self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.reason == other.reason
        )

    def __repr__(self) -> str:
        return (
            f"MemberIdentity(member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"reason={self.reason!r})"
        )


class LeaveGroupRequest:
    """Members leave; from version 3 on several at once.

    ``group_id`` string

    ``member_id`` string (v0-2)

    ``members`` []MemberIdentity (v3+)
    """

    API_KEY: ClassVar[int] = 13
    NAME: ClassVar[str] = "LeaveGroupRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("group_id", "member_id", "members")
    group_id: str
    member_id: str
    members: list[MemberIdentity]

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is EMPTY else members

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaveGroupRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.member_id == other.member_id
            and self.members == other.members
        )

    def __repr__(self) -> str:
        return (
            f"LeaveGroupRequest(group_id={self.group_id!r}, "
            f"member_id={self.member_id!r}, "
            f"members={self.members!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("LeaveGroupRequest", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("LeaveGroupRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> LeaveGroupRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaveGroupRequest", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("LeaveGroupRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[LeaveGroupRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaveGroupRequest", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: LeaveGroupRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.members):
        raise not_in_version("LeaveGroupRequest", "LeaveGroupRequest.members", m.members)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("LeaveGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("LeaveGroupRequest", "member_id", len(b2))
    add(_pack_h(n2))
    add(b2)
    return out


def _encode_v3(m: LeaveGroupRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (m.member_id == ""):
        raise not_in_version("LeaveGroupRequest", "LeaveGroupRequest.member_id", m.member_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("LeaveGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    l1 = m.members
    n2 = len(l1)
    add(_pack_i(n2))
    for e1 in l1:
        b2 = e1.member_id.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("MemberIdentity", "member_id", len(b2))
        add(_pack_h(n3))
        add(b2)
        if e1.group_instance_id is None:
            add(b"\xff\xff")
        else:
            b3 = e1.group_instance_id.encode()
            n4 = len(b3)
            if n4 > 32767:
                raise short_string("MemberIdentity", "group_instance_id", len(b3))
            add(_pack_h(n4))
            add(b3)
    return out


def _encode_v4(m: LeaveGroupRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (m.member_id == ""):
        raise not_in_version("LeaveGroupRequest", "LeaveGroupRequest.member_id", m.member_id)
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("LeaveGroupRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    l1 = m.members
    n2 = len(l1) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e1 in l1:
        b2 = e1.member_id.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("MemberIdentity", "member_id", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        if e1.group_instance_id is None:
            add(b"\x00")
        else:
            b3 = e1.group_instance_id.encode()
            n4 = len(b3) + 1
            if n4 > 32768:
                raise short_string("MemberIdentity", "group_instance_id", len(b3))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b3)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v5(m: LeaveGroupRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    if not (m.member_id == ""):
        raise not_in_version("LeaveGroupRequest", "LeaveGroupRequest.member_id", m.member_id)
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("LeaveGroupRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    l1 = m.members
    n2 = len(l1) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e1 in l1:
        b2 = e1.member_id.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("MemberIdentity", "member_id", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        if e1.group_instance_id is None:
            add(b"\x00")
        else:
            b3 = e1.group_instance_id.encode()
            n4 = len(b3) + 1
            if n4 > 32768:
                raise short_string("MemberIdentity", "group_instance_id", len(b3))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b3)
        if e1.reason is None:
            add(b"\x00")
        else:
            b4 = e1.reason.encode()
            n5 = len(b4) + 1
            if n5 > 32768:
                raise short_string("MemberIdentity", "reason", len(b4))
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            add(b4)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[LeaveGroupRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = LeaveGroupRequest.__new__(LeaveGroupRequest)
        m.members = []
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_h(data, pos)
        pos += 2
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[LeaveGroupRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = LeaveGroupRequest.__new__(LeaveGroupRequest)
        m.member_id = ""
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        if n2 < 0 or n2 * 4 > size - pos:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.members", n2, pos, size)
        l1: list[MemberIdentity] = []
        m.members = l1
        for _ in range(n2):
            e1 = MemberIdentity.__new__(MemberIdentity)
            l1.append(e1)
            e1.reason = None
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("LeaveGroupRequest", "MemberIdentity.member_id", n3, pos, size)
            e1.member_id = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_h(data, pos)
            pos += 2
            if n4 == -1:
                e1.group_instance_id = None
            else:
                z3 = pos + n4
                if n4 < 0 or z3 > size:
                    raise overrun("LeaveGroupRequest", "MemberIdentity.group_instance_id", n4, pos, size)
                e1.group_instance_id = str(data[pos:z3], "utf-8")
                pos = z3
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[LeaveGroupRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = LeaveGroupRequest.__new__(LeaveGroupRequest)
        m.member_id = ""
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.members", n2, pos, size)
        l1: list[MemberIdentity] = []
        m.members = l1
        for _ in range(n2):
            e1 = MemberIdentity.__new__(MemberIdentity)
            l1.append(e1)
            e1.reason = None
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("LeaveGroupRequest", "MemberIdentity.member_id", n3 - 1, pos, size)
            e1.member_id = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.group_instance_id = None
            else:
                z3 = pos + n4 - 1
                if z3 > size:
                    raise overrun("LeaveGroupRequest", "MemberIdentity.group_instance_id", n4 - 1, pos, size)
                e1.group_instance_id = str(data[pos:z3], "utf-8")
                pos = z3
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("LeaveGroupRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("LeaveGroupRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[LeaveGroupRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = LeaveGroupRequest.__new__(LeaveGroupRequest)
        m.member_id = ""
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 4 > size - pos:
            raise overrun("LeaveGroupRequest", "LeaveGroupRequest.members", n2, pos, size)
        l1: list[MemberIdentity] = []
        m.members = l1
        for _ in range(n2):
            e1 = MemberIdentity.__new__(MemberIdentity)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("LeaveGroupRequest", "MemberIdentity.member_id", n3 - 1, pos, size)
            e1.member_id = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.group_instance_id = None
            else:
                z3 = pos + n4 - 1
                if z3 > size:
                    raise overrun("LeaveGroupRequest", "MemberIdentity.group_instance_id", n4 - 1, pos, size)
                e1.group_instance_id = str(data[pos:z3], "utf-8")
                pos = z3
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            if n5 == 0:
                e1.reason = None
            else:
                z4 = pos + n5 - 1
                if z4 > size:
                    raise overrun("LeaveGroupRequest", "MemberIdentity.reason", n5 - 1, pos, size)
                e1.reason = str(data[pos:z4], "utf-8")
                pos = z4
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("LeaveGroupRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("LeaveGroupRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaveGroupRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[LeaveGroupRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[LeaveGroupRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
}
