"""SyncGroupRequest: request body, key 14, versions 0 to 5.

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
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class SyncGroupRequestAssignment:
    """Part of :class:`SyncGroupRequest`.

    ``member_id`` string

    ``assignment`` bytes
    """

    __slots__ = ("member_id", "assignment")
    member_id: str
    assignment: bytes

    def __init__(
        self,
        *,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SyncGroupRequestAssignment):
            return NotImplemented
        return (
            self.member_id == other.member_id
            and self.assignment == other.assignment
        )

    def __repr__(self) -> str:
        return (
            f"SyncGroupRequestAssignment(member_id={self.member_id!r}, "
            f"assignment={show(self.assignment)})"
        )


class SyncGroupRequest:
    """The leader hands in the assignment; everybody else waits for their part of it.

    ``group_id`` string

    ``generation_id`` int32

    ``member_id`` string

    ``group_instance_id`` string (v3+)

    ``protocol_type`` string (v5+)

    ``protocol_name`` string (v5+)

    ``assignments`` []SyncGroupRequestAssignment: Empty if not from the leader.
    """

    API_KEY: ClassVar[int] = 14
    NAME: ClassVar[str] = "SyncGroupRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequestAssignment]

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is EMPTY else assignments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SyncGroupRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.generation_id == other.generation_id
            and self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.protocol_type == other.protocol_type
            and self.protocol_name == other.protocol_name
            and self.assignments == other.assignments
        )

    def __repr__(self) -> str:
        return (
            f"SyncGroupRequest(group_id={self.group_id!r}, "
            f"generation_id={self.generation_id!r}, "
            f"member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"protocol_type={self.protocol_type!r}, "
            f"protocol_name={self.protocol_name!r}, "
            f"assignments={self.assignments!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SyncGroupRequest", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SyncGroupRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SyncGroupRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SyncGroupRequest", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SyncGroupRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SyncGroupRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SyncGroupRequest", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: SyncGroupRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("SyncGroupRequest", "SyncGroupRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("SyncGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("SyncGroupRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id, n2))
    add(b2)
    l1 = m.assignments
    n3 = len(l1)
    add(_pack_i(n3))
    for e1 in l1:
        b3 = e1.member_id.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("SyncGroupRequestAssignment", "member_id", len(b3))
        add(_pack_h(n4))
        add(b3)
        b4 = e1.assignment
        n5 = len(b4)
        add(_pack_i(n5))
        add(b4)
    return out


def _encode_v3(m: SyncGroupRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("SyncGroupRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("SyncGroupRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id, n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("SyncGroupRequest", "group_instance_id", len(b3))
        add(_pack_h(n3))
        add(b3)
    l1 = m.assignments
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("SyncGroupRequestAssignment", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.assignment
        n6 = len(b5)
        add(_pack_i(n6))
        add(b5)
    return out


def _encode_v4(m: SyncGroupRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("SyncGroupRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("SyncGroupRequest", "member_id", len(b2))
    add(_pack_iB(m.generation_id, n2) if n2 < 128 else _pack_i(m.generation_id) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("SyncGroupRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    l1 = m.assignments
    n4 = len(l1) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4) + 1
        if n5 > 32768:
            raise short_string("SyncGroupRequestAssignment", "member_id", len(b4))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b4)
        b5 = e1.assignment
        n6 = len(b5) + 1
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b5)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v5(m: SyncGroupRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("SyncGroupRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("SyncGroupRequest", "member_id", len(b2))
    add(_pack_iB(m.generation_id, n2) if n2 < 128 else _pack_i(m.generation_id) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("SyncGroupRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    if m.protocol_type is None:
        add(b"\x00")
    else:
        b4 = m.protocol_type.encode()
        n4 = len(b4) + 1
        if n4 > 32768:
            raise short_string("SyncGroupRequest", "protocol_type", len(b4))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b4)
    if m.protocol_name is None:
        add(b"\x00")
    else:
        b5 = m.protocol_name.encode()
        n5 = len(b5) + 1
        if n5 > 32768:
            raise short_string("SyncGroupRequest", "protocol_name", len(b5))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b5)
    l1 = m.assignments
    n6 = len(l1) + 1
    add(UVARINT[n6] if n6 < 128 else uvarint(n6))
    for e1 in l1:
        b6 = e1.member_id.encode()
        n7 = len(b6) + 1
        if n7 > 32768:
            raise short_string("SyncGroupRequestAssignment", "member_id", len(b6))
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b6)
        b7 = e1.assignment
        n8 = len(b7) + 1
        add(UVARINT[n8] if n8 < 128 else uvarint(n8))
        add(b7)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SyncGroupRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = SyncGroupRequest.__new__(SyncGroupRequest)
        m.group_instance_id = None
        m.protocol_type = None
        m.protocol_name = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 < 0 or n3 * 6 > size - pos:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.assignments", n3, pos, size)
        l1: list[SyncGroupRequestAssignment] = []
        m.assignments = l1
        for _ in range(n3):
            e1 = SyncGroupRequestAssignment.__new__(SyncGroupRequestAssignment)
            l1.append(e1)
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.member_id", n4, pos, size)
            e1.member_id = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_i(data, pos)
            pos += 4
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.assignment", n5, pos, size)
            e1.assignment = bytes(data[pos:z4])
            pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[SyncGroupRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = SyncGroupRequest.__new__(SyncGroupRequest)
        m.protocol_type = None
        m.protocol_name = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.group_instance_id = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequest.group_instance_id", n3, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.assignments", n4, pos, size)
        l1: list[SyncGroupRequestAssignment] = []
        m.assignments = l1
        for _ in range(n4):
            e1 = SyncGroupRequestAssignment.__new__(SyncGroupRequestAssignment)
            l1.append(e1)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.assignment", n6, pos, size)
            e1.assignment = bytes(data[pos:z5])
            pos = z5
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[SyncGroupRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = SyncGroupRequest.__new__(SyncGroupRequest)
        m.protocol_type = None
        m.protocol_name = None
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.member_id", n2 - 1, pos, size)
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
                raise overrun("SyncGroupRequest", "SyncGroupRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 3 > size - pos:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.assignments", n4, pos, size)
        l1: list[SyncGroupRequestAssignment] = []
        m.assignments = l1
        for _ in range(n4):
            e1 = SyncGroupRequestAssignment.__new__(SyncGroupRequestAssignment)
            l1.append(e1)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z4 = pos + n5 - 1
            if n5 == 0 or z4 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.member_id", n5 - 1, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z5 = pos + n6 - 1
            if n6 == 0 or z5 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.assignment", n6 - 1, pos, size)
            e1.assignment = bytes(data[pos:z5])
            pos = z5
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("SyncGroupRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("SyncGroupRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[SyncGroupRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = SyncGroupRequest.__new__(SyncGroupRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.member_id", n2 - 1, pos, size)
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
                raise overrun("SyncGroupRequest", "SyncGroupRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        if n4 == 0:
            m.protocol_type = None
        else:
            z4 = pos + n4 - 1
            if z4 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequest.protocol_type", n4 - 1, pos, size)
            m.protocol_type = str(data[pos:z4], "utf-8")
            pos = z4
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        if n5 == 0:
            m.protocol_name = None
        else:
            z5 = pos + n5 - 1
            if z5 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequest.protocol_name", n5 - 1, pos, size)
            m.protocol_name = str(data[pos:z5], "utf-8")
            pos = z5
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        n6 -= 1
        if n6 < 0 or n6 * 3 > size - pos:
            raise overrun("SyncGroupRequest", "SyncGroupRequest.assignments", n6, pos, size)
        l1: list[SyncGroupRequestAssignment] = []
        m.assignments = l1
        for _ in range(n6):
            e1 = SyncGroupRequestAssignment.__new__(SyncGroupRequestAssignment)
            l1.append(e1)
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            z6 = pos + n7 - 1
            if n7 == 0 or z6 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.member_id", n7 - 1, pos, size)
            e1.member_id = str(data[pos:z6], "utf-8")
            pos = z6
            n8 = data[pos]
            pos += 1
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            z7 = pos + n8 - 1
            if n8 == 0 or z7 > size:
                raise overrun("SyncGroupRequest", "SyncGroupRequestAssignment.assignment", n8 - 1, pos, size)
            e1.assignment = bytes(data[pos:z7])
            pos = z7
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("SyncGroupRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("SyncGroupRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SyncGroupRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SyncGroupRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SyncGroupRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
}
