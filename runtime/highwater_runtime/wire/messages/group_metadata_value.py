"""GroupMetadataValue: record of __consumer_offsets, versions 0 to 3.

Generated from ``schemas/group_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    Buffer,
    DecodeError,
    malformed,
    overrun,
    short_string,
    show,
    unencodable,
    unsupported,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_qi: Final = Struct(">qi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_qi: Final = Struct(">qi").unpack_from


class MemberMetadata:
    """Part of :class:`GroupMetadataValue`.

    ``member_id`` string

    ``group_instance_id`` string (v3+)

    ``client_id`` string

    ``client_host`` string

    ``rebalance_timeout`` int32 (v1+): Milliseconds.

    ``session_timeout`` int32: Milliseconds.

    ``subscription`` bytes

    ``assignment`` bytes
    """

    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: bytes
    assignment: bytes

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemberMetadata):
            return NotImplemented
        return (
            self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.client_id == other.client_id
            and self.client_host == other.client_host
            and self.rebalance_timeout == other.rebalance_timeout
            and self.session_timeout == other.session_timeout
            and self.subscription == other.subscription
            and self.assignment == other.assignment
        )

    def __repr__(self) -> str:
        return (
            f"MemberMetadata(member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"client_id={self.client_id!r}, "
            f"client_host={self.client_host!r}, "
            f"rebalance_timeout={self.rebalance_timeout!r}, "
            f"session_timeout={self.session_timeout!r}, "
            f"subscription={show(self.subscription)}, "
            f"assignment={show(self.assignment)})"
        )


class GroupMetadataValue:
    """Value under a GroupMetadataKey: a generation of a group; a record without value forgets the group.

    ``protocol_type`` string

    ``generation`` int32

    ``protocol`` string: Name of the protocol chosen.

    ``leader`` string: Member id of the leader.

    ``current_state_timestamp`` int64 (v2+): When it came into this state, milliseconds since 1970.

    ``members`` []MemberMetadata
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "GroupMetadataValue"
    KIND: ClassVar[str] = "coordinator"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: list[MemberMetadata]

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = EMPTY,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is EMPTY else members

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupMetadataValue):
            return NotImplemented
        return (
            self.protocol_type == other.protocol_type
            and self.generation == other.generation
            and self.protocol == other.protocol
            and self.leader == other.leader
            and self.current_state_timestamp == other.current_state_timestamp
            and self.members == other.members
        )

    def __repr__(self) -> str:
        return (
            f"GroupMetadataValue(protocol_type={self.protocol_type!r}, "
            f"generation={self.generation!r}, "
            f"protocol={self.protocol!r}, "
            f"leader={self.leader!r}, "
            f"current_state_timestamp={self.current_state_timestamp!r}, "
            f"members={self.members!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("GroupMetadataValue", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("GroupMetadataValue", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> GroupMetadataValue:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("GroupMetadataValue", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("GroupMetadataValue", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[GroupMetadataValue, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("GroupMetadataValue", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: GroupMetadataValue) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.protocol_type.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("GroupMetadataValue", "protocol_type", len(b1))
    add(_pack_h(n1))
    add(b1)
    add(_pack_i(m.generation))
    if m.protocol is None:
        add(b"\xff\xff")
    else:
        b2 = m.protocol.encode()
        n2 = len(b2)
        if n2 > 32767:
            raise short_string("GroupMetadataValue", "protocol", len(b2))
        add(_pack_h(n2))
        add(b2)
    if m.leader is None:
        add(b"\xff\xff")
    else:
        b3 = m.leader.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("GroupMetadataValue", "leader", len(b3))
        add(_pack_h(n3))
        add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("MemberMetadata", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.client_id.encode()
        n6 = len(b5)
        if n6 > 32767:
            raise short_string("MemberMetadata", "client_id", len(b5))
        add(_pack_h(n6))
        add(b5)
        b6 = e1.client_host.encode()
        n7 = len(b6)
        if n7 > 32767:
            raise short_string("MemberMetadata", "client_host", len(b6))
        add(_pack_h(n7))
        add(b6)
        b7 = e1.subscription
        n8 = len(b7)
        add(_pack_ii(e1.session_timeout, n8))
        add(b7)
        b8 = e1.assignment
        n9 = len(b8)
        add(_pack_i(n9))
        add(b8)
    return out


def _encode_v1(m: GroupMetadataValue) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    b1 = m.protocol_type.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("GroupMetadataValue", "protocol_type", len(b1))
    add(_pack_h(n1))
    add(b1)
    add(_pack_i(m.generation))
    if m.protocol is None:
        add(b"\xff\xff")
    else:
        b2 = m.protocol.encode()
        n2 = len(b2)
        if n2 > 32767:
            raise short_string("GroupMetadataValue", "protocol", len(b2))
        add(_pack_h(n2))
        add(b2)
    if m.leader is None:
        add(b"\xff\xff")
    else:
        b3 = m.leader.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("GroupMetadataValue", "leader", len(b3))
        add(_pack_h(n3))
        add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("MemberMetadata", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.client_id.encode()
        n6 = len(b5)
        if n6 > 32767:
            raise short_string("MemberMetadata", "client_id", len(b5))
        add(_pack_h(n6))
        add(b5)
        b6 = e1.client_host.encode()
        n7 = len(b6)
        if n7 > 32767:
            raise short_string("MemberMetadata", "client_host", len(b6))
        add(_pack_h(n7))
        add(b6)
        b7 = e1.subscription
        n8 = len(b7)
        add(_pack_iii(e1.rebalance_timeout, e1.session_timeout, n8))
        add(b7)
        b8 = e1.assignment
        n9 = len(b8)
        add(_pack_i(n9))
        add(b8)
    return out


def _encode_v2(m: GroupMetadataValue) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    b1 = m.protocol_type.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("GroupMetadataValue", "protocol_type", len(b1))
    add(_pack_h(n1))
    add(b1)
    add(_pack_i(m.generation))
    if m.protocol is None:
        add(b"\xff\xff")
    else:
        b2 = m.protocol.encode()
        n2 = len(b2)
        if n2 > 32767:
            raise short_string("GroupMetadataValue", "protocol", len(b2))
        add(_pack_h(n2))
        add(b2)
    if m.leader is None:
        add(b"\xff\xff")
    else:
        b3 = m.leader.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("GroupMetadataValue", "leader", len(b3))
        add(_pack_h(n3))
        add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_qi(m.current_state_timestamp, n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("MemberMetadata", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        b5 = e1.client_id.encode()
        n6 = len(b5)
        if n6 > 32767:
            raise short_string("MemberMetadata", "client_id", len(b5))
        add(_pack_h(n6))
        add(b5)
        b6 = e1.client_host.encode()
        n7 = len(b6)
        if n7 > 32767:
            raise short_string("MemberMetadata", "client_host", len(b6))
        add(_pack_h(n7))
        add(b6)
        b7 = e1.subscription
        n8 = len(b7)
        add(_pack_iii(e1.rebalance_timeout, e1.session_timeout, n8))
        add(b7)
        b8 = e1.assignment
        n9 = len(b8)
        add(_pack_i(n9))
        add(b8)
    return out


def _encode_v3(m: GroupMetadataValue) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    b1 = m.protocol_type.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("GroupMetadataValue", "protocol_type", len(b1))
    add(_pack_h(n1))
    add(b1)
    add(_pack_i(m.generation))
    if m.protocol is None:
        add(b"\xff\xff")
    else:
        b2 = m.protocol.encode()
        n2 = len(b2)
        if n2 > 32767:
            raise short_string("GroupMetadataValue", "protocol", len(b2))
        add(_pack_h(n2))
        add(b2)
    if m.leader is None:
        add(b"\xff\xff")
    else:
        b3 = m.leader.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("GroupMetadataValue", "leader", len(b3))
        add(_pack_h(n3))
        add(b3)
    l1 = m.members
    n4 = len(l1)
    add(_pack_qi(m.current_state_timestamp, n4))
    for e1 in l1:
        b4 = e1.member_id.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("MemberMetadata", "member_id", len(b4))
        add(_pack_h(n5))
        add(b4)
        if e1.group_instance_id is None:
            add(b"\xff\xff")
        else:
            b5 = e1.group_instance_id.encode()
            n6 = len(b5)
            if n6 > 32767:
                raise short_string("MemberMetadata", "group_instance_id", len(b5))
            add(_pack_h(n6))
            add(b5)
        b6 = e1.client_id.encode()
        n7 = len(b6)
        if n7 > 32767:
            raise short_string("MemberMetadata", "client_id", len(b6))
        add(_pack_h(n7))
        add(b6)
        b7 = e1.client_host.encode()
        n8 = len(b7)
        if n8 > 32767:
            raise short_string("MemberMetadata", "client_host", len(b7))
        add(_pack_h(n8))
        add(b7)
        b8 = e1.subscription
        n9 = len(b8)
        add(_pack_iii(e1.rebalance_timeout, e1.session_timeout, n9))
        add(b8)
        b9 = e1.assignment
        n10 = len(b9)
        add(_pack_i(n10))
        add(b9)
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    # versions 0
    size = len(data)
    try:
        m = GroupMetadataValue.__new__(GroupMetadataValue)
        m.current_state_timestamp = -1
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol_type", n1, pos, size)
        m.protocol_type = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation, n2 = _unpack_ih(data, pos)
        pos += 6
        if n2 == -1:
            m.protocol = None
        else:
            z2 = pos + n2
            if n2 < 0 or z2 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol", n2, pos, size)
            m.protocol = str(data[pos:z2], "utf-8")
            pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.leader = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.leader", n3, pos, size)
            m.leader = str(data[pos:z3], "utf-8")
            pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 18 > size - pos:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.members", n4, pos, size)
        l1: list[MemberMetadata] = []
        m.members = l1
        for _ in range(n4):
            e1 = MemberMetadata.__new__(MemberMetadata)
            l1.append(e1)
            e1.group_instance_id = None
            e1.rebalance_timeout = -1
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_h(data, pos)
            pos += 2
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_id", n6, pos, size)
            e1.client_id = str(data[pos:z5], "utf-8")
            pos = z5
            (n7,) = _unpack_h(data, pos)
            pos += 2
            z6 = pos + n7
            if n7 < 0 or z6 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_host", n7, pos, size)
            e1.client_host = str(data[pos:z6], "utf-8")
            pos = z6
            e1.session_timeout, n8 = _unpack_ii(data, pos)
            pos += 8
            z7 = pos + n8
            if n8 < 0 or z7 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.subscription", n8, pos, size)
            e1.subscription = bytes(data[pos:z7])
            pos = z7
            (n9,) = _unpack_i(data, pos)
            pos += 4
            z8 = pos + n9
            if n9 < 0 or z8 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.assignment", n9, pos, size)
            e1.assignment = bytes(data[pos:z8])
            pos = z8
    except DECODE_FAULTS as fault:
        raise malformed("GroupMetadataValue", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    # versions 1
    size = len(data)
    try:
        m = GroupMetadataValue.__new__(GroupMetadataValue)
        m.current_state_timestamp = -1
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol_type", n1, pos, size)
        m.protocol_type = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation, n2 = _unpack_ih(data, pos)
        pos += 6
        if n2 == -1:
            m.protocol = None
        else:
            z2 = pos + n2
            if n2 < 0 or z2 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol", n2, pos, size)
            m.protocol = str(data[pos:z2], "utf-8")
            pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.leader = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.leader", n3, pos, size)
            m.leader = str(data[pos:z3], "utf-8")
            pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 22 > size - pos:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.members", n4, pos, size)
        l1: list[MemberMetadata] = []
        m.members = l1
        for _ in range(n4):
            e1 = MemberMetadata.__new__(MemberMetadata)
            l1.append(e1)
            e1.group_instance_id = None
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_h(data, pos)
            pos += 2
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_id", n6, pos, size)
            e1.client_id = str(data[pos:z5], "utf-8")
            pos = z5
            (n7,) = _unpack_h(data, pos)
            pos += 2
            z6 = pos + n7
            if n7 < 0 or z6 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_host", n7, pos, size)
            e1.client_host = str(data[pos:z6], "utf-8")
            pos = z6
            e1.rebalance_timeout, e1.session_timeout, n8 = _unpack_iii(data, pos)
            pos += 12
            z7 = pos + n8
            if n8 < 0 or z7 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.subscription", n8, pos, size)
            e1.subscription = bytes(data[pos:z7])
            pos = z7
            (n9,) = _unpack_i(data, pos)
            pos += 4
            z8 = pos + n9
            if n9 < 0 or z8 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.assignment", n9, pos, size)
            e1.assignment = bytes(data[pos:z8])
            pos = z8
    except DECODE_FAULTS as fault:
        raise malformed("GroupMetadataValue", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    # versions 2
    size = len(data)
    try:
        m = GroupMetadataValue.__new__(GroupMetadataValue)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol_type", n1, pos, size)
        m.protocol_type = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation, n2 = _unpack_ih(data, pos)
        pos += 6
        if n2 == -1:
            m.protocol = None
        else:
            z2 = pos + n2
            if n2 < 0 or z2 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol", n2, pos, size)
            m.protocol = str(data[pos:z2], "utf-8")
            pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.leader = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.leader", n3, pos, size)
            m.leader = str(data[pos:z3], "utf-8")
            pos = z3
        m.current_state_timestamp, n4 = _unpack_qi(data, pos)
        pos += 12
        if n4 < 0 or n4 * 22 > size - pos:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.members", n4, pos, size)
        l1: list[MemberMetadata] = []
        m.members = l1
        for _ in range(n4):
            e1 = MemberMetadata.__new__(MemberMetadata)
            l1.append(e1)
            e1.group_instance_id = None
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_h(data, pos)
            pos += 2
            z5 = pos + n6
            if n6 < 0 or z5 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_id", n6, pos, size)
            e1.client_id = str(data[pos:z5], "utf-8")
            pos = z5
            (n7,) = _unpack_h(data, pos)
            pos += 2
            z6 = pos + n7
            if n7 < 0 or z6 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_host", n7, pos, size)
            e1.client_host = str(data[pos:z6], "utf-8")
            pos = z6
            e1.rebalance_timeout, e1.session_timeout, n8 = _unpack_iii(data, pos)
            pos += 12
            z7 = pos + n8
            if n8 < 0 or z7 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.subscription", n8, pos, size)
            e1.subscription = bytes(data[pos:z7])
            pos = z7
            (n9,) = _unpack_i(data, pos)
            pos += 4
            z8 = pos + n9
            if n9 < 0 or z8 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.assignment", n9, pos, size)
            e1.assignment = bytes(data[pos:z8])
            pos = z8
    except DECODE_FAULTS as fault:
        raise malformed("GroupMetadataValue", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    # versions 3
    size = len(data)
    try:
        m = GroupMetadataValue.__new__(GroupMetadataValue)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol_type", n1, pos, size)
        m.protocol_type = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation, n2 = _unpack_ih(data, pos)
        pos += 6
        if n2 == -1:
            m.protocol = None
        else:
            z2 = pos + n2
            if n2 < 0 or z2 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.protocol", n2, pos, size)
            m.protocol = str(data[pos:z2], "utf-8")
            pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.leader = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("GroupMetadataValue", "GroupMetadataValue.leader", n3, pos, size)
            m.leader = str(data[pos:z3], "utf-8")
            pos = z3
        m.current_state_timestamp, n4 = _unpack_qi(data, pos)
        pos += 12
        if n4 < 0 or n4 * 24 > size - pos:
            raise overrun("GroupMetadataValue", "GroupMetadataValue.members", n4, pos, size)
        l1: list[MemberMetadata] = []
        m.members = l1
        for _ in range(n4):
            e1 = MemberMetadata.__new__(MemberMetadata)
            l1.append(e1)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.member_id", n5, pos, size)
            e1.member_id = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_h(data, pos)
            pos += 2
            if n6 == -1:
                e1.group_instance_id = None
            else:
                z5 = pos + n6
                if n6 < 0 or z5 > size:
                    raise overrun("GroupMetadataValue", "MemberMetadata.group_instance_id", n6, pos, size)
                e1.group_instance_id = str(data[pos:z5], "utf-8")
                pos = z5
            (n7,) = _unpack_h(data, pos)
            pos += 2
            z6 = pos + n7
            if n7 < 0 or z6 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_id", n7, pos, size)
            e1.client_id = str(data[pos:z6], "utf-8")
            pos = z6
            (n8,) = _unpack_h(data, pos)
            pos += 2
            z7 = pos + n8
            if n8 < 0 or z7 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.client_host", n8, pos, size)
            e1.client_host = str(data[pos:z7], "utf-8")
            pos = z7
            e1.rebalance_timeout, e1.session_timeout, n9 = _unpack_iii(data, pos)
            pos += 12
            z8 = pos + n9
            if n9 < 0 or z8 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.subscription", n9, pos, size)
            e1.subscription = bytes(data[pos:z8])
            pos = z8
            (n10,) = _unpack_i(data, pos)
            pos += 4
            z9 = pos + n10
            if n10 < 0 or z9 > size:
                raise overrun("GroupMetadataValue", "MemberMetadata.assignment", n10, pos, size)
            e1.assignment = bytes(data[pos:z9])
            pos = z9
    except DECODE_FAULTS as fault:
        raise malformed("GroupMetadataValue", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[GroupMetadataValue], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[GroupMetadataValue, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
}
