"""JoinGroupResponse: response body, key 11, versions 0 to 9.

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

_pack_T: Final = Struct(">?").pack
_pack_TB: Final = Struct(">?B").pack
_pack_h: Final = Struct(">h").pack
_pack_hih: Final = Struct(">hih").pack
_pack_i: Final = Struct(">i").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ihiB: Final = Struct(">ihiB").pack
_pack_ihih: Final = Struct(">ihih").pack
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hih: Final = Struct(">hih").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihiB: Final = Struct(">ihiB").unpack_from
_unpack_ihih: Final = Struct(">ihih").unpack_from


class JoinGroupResponseMember:
    """Part of :class:`JoinGroupResponse`.

    ``member_id`` string

    ``group_instance_id`` string (v5+)

    ``metadata`` bytes
    """

    __slots__ = ("member_id", "group_instance_id", "metadata")
    member_id: str
    group_instance_id: str | None
    metadata: bytes

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JoinGroupResponseMember):
            return NotImplemented
        return (
            self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.metadata == other.metadata
        )

    def __repr__(self) -> str:
        return (
            f"JoinGroupResponseMember(member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"metadata={show(self.metadata)})"
        )


class JoinGroupResponse:
    """The new generation. Only the leader learns who is in it: it computes the assignment.

    ``throttle_time_ms`` int32 (v2+)

    ``error_code`` int16

    ``generation_id`` int32

    ``protocol_type`` string (v7+)

    ``protocol_name`` string: The protocol that all members have in common.

    ``leader`` string: Member id of the leader.

    ``skip_assignment`` bool (v9+): The leader is to leave the assignment as it is (KIP-814).

    ``member_id`` string

    ``members`` []JoinGroupResponseMember
    """

    API_KEY: ClassVar[int] = 11
    NAME: ClassVar[str] = "JoinGroupResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")
    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponseMember]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is EMPTY else members

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JoinGroupResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.generation_id == other.generation_id
            and self.protocol_type == other.protocol_type
            and self.protocol_name == other.protocol_name
            and self.leader == other.leader
            and self.skip_assignment == other.skip_assignment
            and self.member_id == other.member_id
            and self.members == other.members
        )

    def __repr__(self) -> str:
        return (
            f"JoinGroupResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"generation_id={self.generation_id!r}, "
            f"protocol_type={self.protocol_type!r}, "
            f"protocol_name={self.protocol_name!r}, "
            f"leader={self.leader!r}, "
            f"skip_assignment={self.skip_assignment!r}, "
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
            raise unsupported("JoinGroupResponse", version, 0, 9)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("JoinGroupResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> JoinGroupResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("JoinGroupResponse", version, 0, 9)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("JoinGroupResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[JoinGroupResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("JoinGroupResponse", version, 0, 9)
        return decoder(data, position)


def _encode_v0(m: JoinGroupResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    if not (not m.skip_assignment):
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.skip_assignment", m.skip_assignment)
    if m.protocol_name is None:
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.protocol_name", None)
    b1 = m.protocol_name.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("JoinGroupResponse", "protocol_name", len(b1))
    add(_pack_hih(m.error_code, m.generation_id, n1))
    add(b1)
    b2 = m.leader.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("JoinGroupResponse", "leader", len(b2))
    add(_pack_h(n2))
    add(b2)
    b3 = m.member_id.encode()
    n3 = len(b3)
    if n3 > 32767:
        raise short_string("JoinGroupResponse", "member_id", len(b3))
    add(_pack_h(n3))
    add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("JoinGroupResponseMember", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.metadata
        n6 = len(b5)
        add(_pack_i(n6))
        add(b5)
    return out


def _encode_v2(m: JoinGroupResponse) -> list[bytes]:
    # versions 2, 3, 4
    out: list[bytes] = []
    add = out.append
    if not (not m.skip_assignment):
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.skip_assignment", m.skip_assignment)
    if m.protocol_name is None:
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.protocol_name", None)
    b1 = m.protocol_name.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("JoinGroupResponse", "protocol_name", len(b1))
    add(_pack_ihih(m.throttle_time_ms, m.error_code, m.generation_id, n1))
    add(b1)
    b2 = m.leader.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("JoinGroupResponse", "leader", len(b2))
    add(_pack_h(n2))
    add(b2)
    b3 = m.member_id.encode()
    n3 = len(b3)
    if n3 > 32767:
        raise short_string("JoinGroupResponse", "member_id", len(b3))
    add(_pack_h(n3))
    add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("JoinGroupResponseMember", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.metadata
        n6 = len(b5)
        add(_pack_i(n6))
        add(b5)
    return out


def _encode_v5(m: JoinGroupResponse) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    if not (not m.skip_assignment):
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.skip_assignment", m.skip_assignment)
    if m.protocol_name is None:
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.protocol_name", None)
    b1 = m.protocol_name.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("JoinGroupResponse", "protocol_name", len(b1))
    add(_pack_ihih(m.throttle_time_ms, m.error_code, m.generation_id, n1))
    add(b1)
    b2 = m.leader.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("JoinGroupResponse", "leader", len(b2))
    add(_pack_h(n2))
    add(b2)
    b3 = m.member_id.encode()
    n3 = len(b3)
    if n3 > 32767:
        raise short_string("JoinGroupResponse", "member_id", len(b3))
    add(_pack_h(n3))
    add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("JoinGroupResponseMember", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        if e1.group_instance_id is None:
            add(b"\xff\xff")
        else:
            b5 = e1.group_instance_id.encode()
            n6 = len(b5)
            if n6 > 32767:
                raise short_string("JoinGroupResponseMember", "group_instance_id", len(b5))
            add(_pack_h(n6))
            add(b5)
        b6 = e1.metadata
        n7 = len(b6)
        add(_pack_i(n7))
        add(b6)
    return out


def _encode_v6(m: JoinGroupResponse) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    if not (not m.skip_assignment):
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.skip_assignment", m.skip_assignment)
    if m.protocol_name is None:
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.protocol_name", None)
    b1 = m.protocol_name.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("JoinGroupResponse", "protocol_name", len(b1))
    add(_pack_ihiB(m.throttle_time_ms, m.error_code, m.generation_id, n1) if n1 < 128 else _pack_ihi(m.throttle_time_ms, m.error_code, m.generation_id) + uvarint(n1))
    add(b1)
    b2 = m.leader.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("JoinGroupResponse", "leader", len(b2))
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    add(b2)
    b3 = m.member_id.encode()
    n3 = len(b3) + 1
    if n3 > 32768:
        raise short_string("JoinGroupResponse", "member_id", len(b3))
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    add(b3)
    l1 = m.members
    n4 = len(l1) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4) + 1
        if n5 > 32768:
            raise short_string("JoinGroupResponseMember", "member_id", len(b4))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b4)
        if e1.group_instance_id is None:
            add(b"\x00")
        else:
            b5 = e1.group_instance_id.encode()
            n6 = len(b5) + 1
            if n6 > 32768:
                raise short_string("JoinGroupResponseMember", "group_instance_id", len(b5))
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            add(b5)
        b6 = e1.metadata
        n7 = len(b6) + 1
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b6)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v7(m: JoinGroupResponse) -> list[bytes]:
    # versions 7, 8
    out: list[bytes] = []
    add = out.append
    if not (not m.skip_assignment):
        raise not_in_version("JoinGroupResponse", "JoinGroupResponse.skip_assignment", m.skip_assignment)
    add(_pack_ihi(m.throttle_time_ms, m.error_code, m.generation_id))
    if m.protocol_type is None:
        add(b"\x00")
    else:
        b1 = m.protocol_type.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("JoinGroupResponse", "protocol_type", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    if m.protocol_name is None:
        add(b"\x00")
    else:
        b2 = m.protocol_name.encode()
        n2 = len(b2) + 1
        if n2 > 32768:
            raise short_string("JoinGroupResponse", "protocol_name", len(b2))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b2)
    b3 = m.leader.encode()
    n3 = len(b3) + 1
    if n3 > 32768:
        raise short_string("JoinGroupResponse", "leader", len(b3))
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    add(b3)
    b4 = m.member_id.encode()
    n4 = len(b4) + 1
    if n4 > 32768:
        raise short_string("JoinGroupResponse", "member_id", len(b4))
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    add(b4)
    l1 = m.members
    n5 = len(l1) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e1 in l1:
        b5 = e1.member_id.encode()
        n6 = len(b5) + 1
        if n6 > 32768:
            raise short_string("JoinGroupResponseMember", "member_id", len(b5))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b5)
        if e1.group_instance_id is None:
            add(b"\x00")
        else:
            b6 = e1.group_instance_id.encode()
            n7 = len(b6) + 1
            if n7 > 32768:
                raise short_string("JoinGroupResponseMember", "group_instance_id", len(b6))
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            add(b6)
        b7 = e1.metadata
        n8 = len(b7) + 1
        add(UVARINT[n8] if n8 < 128 else uvarint(n8))
        add(b7)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v9(m: JoinGroupResponse) -> list[bytes]:
    # versions 9
    out: list[bytes] = []
    add = out.append
    add(_pack_ihi(m.throttle_time_ms, m.error_code, m.generation_id))
    if m.protocol_type is None:
        add(b"\x00")
    else:
        b1 = m.protocol_type.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("JoinGroupResponse", "protocol_type", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    if m.protocol_name is None:
        add(b"\x00")
    else:
        b2 = m.protocol_name.encode()
        n2 = len(b2) + 1
        if n2 > 32768:
            raise short_string("JoinGroupResponse", "protocol_name", len(b2))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b2)
    b3 = m.leader.encode()
    n3 = len(b3) + 1
    if n3 > 32768:
        raise short_string("JoinGroupResponse", "leader", len(b3))
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    add(b3)
    b4 = m.member_id.encode()
    n4 = len(b4) + 1
    if n4 > 32768:
        raise short_string("JoinGroupResponse", "member_id", len(b4))
    add(_pack_TB(m.skip_assignment, n4) if n4 < 128 else _pack_T(m.skip_assignment) + uvarint(n4))
    add(b4)
    l1 = m.members
    n5 = len(l1) + 1
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    for e1 in l1:
        b5 = e1.member_id.encode()
        n6 = len(b5) + 1
        if n6 > 32768:
            raise short_string("JoinGroupResponseMember", "member_id", len(b5))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b5)
        if e1.group_instance_id is None:
            add(b"\x00")
        else:
            b6 = e1.group_instance_id.encode()
            n7 = len(b6) + 1
            if n7 > 32768:
                raise short_string("JoinGroupResponseMember", "group_instance_id", len(b6))
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            add(b6)
        b7 = e1.metadata
        n8 = len(b7) + 1
        add(UVARINT[n8] if n8 < 128 else uvarint(n8))
        add(b7)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.throttle_time_ms = 0
        m.protocol_type = None
        m.skip_assignment = False
        m.error_code, m.generation_id, n1 = _unpack_hih(data, pos)
        pos += 8
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_name", n1, pos, size)
        m.protocol_name = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_h(data, pos)
        pos += 2
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.leader", n2, pos, size)
        m.leader = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        z3 = pos + n3
        if n3 < 0 or z3 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.member_id", n3, pos, size)
        m.member_id = str(data[pos:z3], "utf-8")
        pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.members", n4, pos, size)
        l1: list[JoinGroupResponseMember] = []
        m.members = l1
        for _ in range(n4):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            l1.append(e1)
            e1.group_instance_id = None
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.metadata", n6, pos, size)
            e1.metadata = bytes(data[pos:z5])
            pos = z5
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    # versions 2, 3, 4
    size = len(data)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.protocol_type = None
        m.skip_assignment = False
        m.throttle_time_ms, m.error_code, m.generation_id, n1 = _unpack_ihih(data, pos)
        pos += 12
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_name", n1, pos, size)
        m.protocol_name = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_h(data, pos)
        pos += 2
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.leader", n2, pos, size)
        m.leader = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        z3 = pos + n3
        if n3 < 0 or z3 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.member_id", n3, pos, size)
        m.member_id = str(data[pos:z3], "utf-8")
        pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.members", n4, pos, size)
        l1: list[JoinGroupResponseMember] = []
        m.members = l1
        for _ in range(n4):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            l1.append(e1)
            e1.group_instance_id = None
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.metadata", n6, pos, size)
            e1.metadata = bytes(data[pos:z5])
            pos = z5
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    # versions 5
    size = len(data)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.protocol_type = None
        m.skip_assignment = False
        m.throttle_time_ms, m.error_code, m.generation_id, n1 = _unpack_ihih(data, pos)
        pos += 12
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_name", n1, pos, size)
        m.protocol_name = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_h(data, pos)
        pos += 2
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.leader", n2, pos, size)
        m.leader = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        z3 = pos + n3
        if n3 < 0 or z3 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.member_id", n3, pos, size)
        m.member_id = str(data[pos:z3], "utf-8")
        pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 8 > size - pos:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.members", n4, pos, size)
        l1: list[JoinGroupResponseMember] = []
        m.members = l1
        for _ in range(n4):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            l1.append(e1)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_h(data, pos)
            pos += 2
            if n6 == -1:
                e1.group_instance_id = None
            else:
                z5 = pos + n6
                if n6 < 0 or z5 > size:
                    raise overrun("JoinGroupResponse", "JoinGroupResponseMember.group_instance_id", n6, pos, size)
                e1.group_instance_id = str(data[pos:z5], "utf-8")
                pos = z5
            (n7,) = _unpack_i(data, pos)
            pos += 4
            z6 = pos + n7
            if n7 < 0 or z6 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.metadata", n7, pos, size)
            e1.metadata = bytes(data[pos:z6])
            pos = z6
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    # versions 6
    size = len(data)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.protocol_type = None
        m.skip_assignment = False
        m.throttle_time_ms, m.error_code, m.generation_id, n1 = _unpack_ihiB(data, pos)
        pos += 11
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_name", n1 - 1, pos, size)
        m.protocol_name = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.leader", n2 - 1, pos, size)
        m.leader = str(data[pos:z2], "utf-8")
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        z3 = pos + n3 - 1
        if n3 == 0 or z3 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.member_id", n3 - 1, pos, size)
        m.member_id = str(data[pos:z3], "utf-8")
        pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 4 > size - pos:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.members", n4, pos, size)
        l1: list[JoinGroupResponseMember] = []
        m.members = l1
        for _ in range(n4):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            l1.append(e1)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z4 = pos + n5 - 1
            if n5 == 0 or z4 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.member_id", n5 - 1, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            if n6 == 0:
                e1.group_instance_id = None
            else:
                z5 = pos + n6 - 1
                if z5 > size:
                    raise overrun("JoinGroupResponse", "JoinGroupResponseMember.group_instance_id", n6 - 1, pos, size)
                e1.group_instance_id = str(data[pos:z5], "utf-8")
                pos = z5
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            z6 = pos + n7 - 1
            if n7 == 0 or z6 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.metadata", n7 - 1, pos, size)
            e1.metadata = bytes(data[pos:z6])
            pos = z6
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("JoinGroupResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("JoinGroupResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    # versions 7, 8
    size = len(data)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.skip_assignment = False
        m.throttle_time_ms, m.error_code, m.generation_id, n1 = _unpack_ihiB(data, pos)
        pos += 11
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.protocol_type = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_type", n1 - 1, pos, size)
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
                raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_name", n2 - 1, pos, size)
            m.protocol_name = str(data[pos:z2], "utf-8")
            pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        z3 = pos + n3 - 1
        if n3 == 0 or z3 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.leader", n3 - 1, pos, size)
        m.leader = str(data[pos:z3], "utf-8")
        pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        z4 = pos + n4 - 1
        if n4 == 0 or z4 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.member_id", n4 - 1, pos, size)
        m.member_id = str(data[pos:z4], "utf-8")
        pos = z4
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 4 > size - pos:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.members", n5, pos, size)
        l1: list[JoinGroupResponseMember] = []
        m.members = l1
        for _ in range(n5):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            l1.append(e1)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z5 = pos + n6 - 1
            if n6 == 0 or z5 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.member_id", n6 - 1, pos, size)
            e1.member_id = str(data[pos:z5], "utf-8")
            pos = z5
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            if n7 == 0:
                e1.group_instance_id = None
            else:
                z6 = pos + n7 - 1
                if z6 > size:
                    raise overrun("JoinGroupResponse", "JoinGroupResponseMember.group_instance_id", n7 - 1, pos, size)
                e1.group_instance_id = str(data[pos:z6], "utf-8")
                pos = z6
            n8 = data[pos]
            pos += 1
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            z7 = pos + n8 - 1
            if n8 == 0 or z7 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.metadata", n8 - 1, pos, size)
            e1.metadata = bytes(data[pos:z7])
            pos = z7
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("JoinGroupResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("JoinGroupResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupResponse", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    # versions 9
    size = len(data)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.throttle_time_ms, m.error_code, m.generation_id, n1 = _unpack_ihiB(data, pos)
        pos += 11
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.protocol_type = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_type", n1 - 1, pos, size)
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
                raise overrun("JoinGroupResponse", "JoinGroupResponse.protocol_name", n2 - 1, pos, size)
            m.protocol_name = str(data[pos:z2], "utf-8")
            pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        z3 = pos + n3 - 1
        if n3 == 0 or z3 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.leader", n3 - 1, pos, size)
        m.leader = str(data[pos:z3], "utf-8")
        pos = z3
        m.skip_assignment, n4 = _unpack_TB(data, pos)
        pos += 2
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        z4 = pos + n4 - 1
        if n4 == 0 or z4 > size:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.member_id", n4 - 1, pos, size)
        m.member_id = str(data[pos:z4], "utf-8")
        pos = z4
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 4 > size - pos:
            raise overrun("JoinGroupResponse", "JoinGroupResponse.members", n5, pos, size)
        l1: list[JoinGroupResponseMember] = []
        m.members = l1
        for _ in range(n5):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            l1.append(e1)
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z5 = pos + n6 - 1
            if n6 == 0 or z5 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.member_id", n6 - 1, pos, size)
            e1.member_id = str(data[pos:z5], "utf-8")
            pos = z5
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            if n7 == 0:
                e1.group_instance_id = None
            else:
                z6 = pos + n7 - 1
                if z6 > size:
                    raise overrun("JoinGroupResponse", "JoinGroupResponseMember.group_instance_id", n7 - 1, pos, size)
                e1.group_instance_id = str(data[pos:z6], "utf-8")
                pos = z6
            n8 = data[pos]
            pos += 1
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            z7 = pos + n8 - 1
            if n8 == 0 or z7 > size:
                raise overrun("JoinGroupResponse", "JoinGroupResponseMember.metadata", n8 - 1, pos, size)
            e1.metadata = bytes(data[pos:z7])
            pos = z7
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("JoinGroupResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("JoinGroupResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("JoinGroupResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[JoinGroupResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
    5: _encode_v5,
    6: _encode_v6,
    7: _encode_v7,
    8: _encode_v7,
    9: _encode_v9,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[JoinGroupResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
    5: _decode_v5,
    6: _decode_v6,
    7: _decode_v7,
    8: _decode_v7,
    9: _decode_v9,
}
