"""DescribeGroupsResponse: response body, key 15, versions 0 to 6.

Generated from ``schemas/group_administration.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_hB: Final = Struct(">hB").pack
_pack_hh: Final = Struct(">hh").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class DescribedGroupMember:
    """Part of :class:`DescribeGroupsResponse`.

    ``member_id`` string

    ``group_instance_id`` string (v4+)

    ``client_id`` string

    ``client_host`` string

    ``member_metadata`` bytes

    ``member_assignment`` bytes
    """

    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribedGroupMember):
            return NotImplemented
        return (
            self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.client_id == other.client_id
            and self.client_host == other.client_host
            and self.member_metadata == other.member_metadata
            and self.member_assignment == other.member_assignment
        )

    def __repr__(self) -> str:
        return (
            f"DescribedGroupMember(member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"client_id={self.client_id!r}, "
            f"client_host={self.client_host!r}, "
            f"member_metadata={show(self.member_metadata)}, "
            f"member_assignment={show(self.member_assignment)})"
        )


class DescribedGroup:
    """Part of :class:`DescribeGroupsResponse`.

    ``error_code`` int16

    ``error_message`` string (v6+)

    ``group_id`` string

    ``group_state`` string: "Dead", "Empty", "PreparingRebalance", "CompletingRebalance" or "Stable".

    ``protocol_type`` string

    ``protocol_data`` string: Name of the protocol chosen, or "".

    ``members`` []DescribedGroupMember

    ``authorized_operations`` int32 (v3+): Bit set; the minimum means "not asked".
    """

    __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribedGroup):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.group_id == other.group_id
            and self.group_state == other.group_state
            and self.protocol_type == other.protocol_type
            and self.protocol_data == other.protocol_data
            and self.members == other.members
            and self.authorized_operations == other.authorized_operations
        )

    def __repr__(self) -> str:
        return (
            f"DescribedGroup(error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"group_id={self.group_id!r}, "
            f"group_state={self.group_state!r}, "
            f"protocol_type={self.protocol_type!r}, "
            f"protocol_data={self.protocol_data!r}, "
            f"members={self.members!r}, "
            f"authorized_operations={self.authorized_operations!r})"
        )


class DescribeGroupsResponse:
    """One description for each group.

    ``throttle_time_ms`` int32 (v1+)

    ``groups`` []DescribedGroup
    """

    API_KEY: ClassVar[int] = 15
    NAME: ClassVar[str] = "DescribeGroupsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 5

    __slots__ = ("throttle_time_ms", "groups")
    throttle_time_ms: int
    groups: list[DescribedGroup]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeGroupsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.groups == other.groups
        )

    def __repr__(self) -> str:
        return (
            f"DescribeGroupsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"groups={self.groups!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeGroupsResponse", version, 0, 6)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeGroupsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeGroupsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeGroupsResponse", version, 0, 6)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeGroupsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeGroupsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeGroupsResponse", version, 0, 6)
        return decoder(data, position)


def _encode_v0(m: DescribeGroupsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        if not (e1.error_message is None):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.error_message", e1.error_message)
        if not (e1.authorized_operations == -2147483648):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.authorized_operations", e1.authorized_operations)
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribedGroup", "group_id", len(b1))
        add(_pack_hh(e1.error_code, n2))
        add(b1)
        b2 = e1.group_state.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("DescribedGroup", "group_state", len(b2))
        add(_pack_h(n3))
        add(b2)
        b3 = e1.protocol_type.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("DescribedGroup", "protocol_type", len(b3))
        add(_pack_h(n4))
        add(b3)
        b4 = e1.protocol_data.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("DescribedGroup", "protocol_data", len(b4))
        add(_pack_h(n5))
        add(b4)
        l2 = e1.members
        n6 = len(l2)
        add(_pack_i(n6))
        for e2 in l2:
            b5 = e2.member_id.encode()
            n7 = len(b5)
            if n7 > 32767:
                raise short_string("DescribedGroupMember", "member_id", len(b5))
            add(_pack_h(n7))
            add(b5)
            b6 = e2.client_id.encode()
            n8 = len(b6)
            if n8 > 32767:
                raise short_string("DescribedGroupMember", "client_id", len(b6))
            add(_pack_h(n8))
            add(b6)
            b7 = e2.client_host.encode()
            n9 = len(b7)
            if n9 > 32767:
                raise short_string("DescribedGroupMember", "client_host", len(b7))
            add(_pack_h(n9))
            add(b7)
            b8 = e2.member_metadata
            n10 = len(b8)
            add(_pack_i(n10))
            add(b8)
            b9 = e2.member_assignment
            n11 = len(b9)
            add(_pack_i(n11))
            add(b9)
    return out


def _encode_v1(m: DescribeGroupsResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        if not (e1.error_message is None):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.error_message", e1.error_message)
        if not (e1.authorized_operations == -2147483648):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.authorized_operations", e1.authorized_operations)
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribedGroup", "group_id", len(b1))
        add(_pack_hh(e1.error_code, n2))
        add(b1)
        b2 = e1.group_state.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("DescribedGroup", "group_state", len(b2))
        add(_pack_h(n3))
        add(b2)
        b3 = e1.protocol_type.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("DescribedGroup", "protocol_type", len(b3))
        add(_pack_h(n4))
        add(b3)
        b4 = e1.protocol_data.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("DescribedGroup", "protocol_data", len(b4))
        add(_pack_h(n5))
        add(b4)
        l2 = e1.members
        n6 = len(l2)
        add(_pack_i(n6))
        for e2 in l2:
            b5 = e2.member_id.encode()
            n7 = len(b5)
            if n7 > 32767:
                raise short_string("DescribedGroupMember", "member_id", len(b5))
            add(_pack_h(n7))
            add(b5)
            b6 = e2.client_id.encode()
            n8 = len(b6)
            if n8 > 32767:
                raise short_string("DescribedGroupMember", "client_id", len(b6))
            add(_pack_h(n8))
            add(b6)
            b7 = e2.client_host.encode()
            n9 = len(b7)
            if n9 > 32767:
                raise short_string("DescribedGroupMember", "client_host", len(b7))
            add(_pack_h(n9))
            add(b7)
            b8 = e2.member_metadata
            n10 = len(b8)
            add(_pack_i(n10))
            add(b8)
            b9 = e2.member_assignment
            n11 = len(b9)
            add(_pack_i(n11))
            add(b9)
    return out


def _encode_v3(m: DescribeGroupsResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        if not (e1.error_message is None):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.error_message", e1.error_message)
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribedGroup", "group_id", len(b1))
        add(_pack_hh(e1.error_code, n2))
        add(b1)
        b2 = e1.group_state.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("DescribedGroup", "group_state", len(b2))
        add(_pack_h(n3))
        add(b2)
        b3 = e1.protocol_type.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("DescribedGroup", "protocol_type", len(b3))
        add(_pack_h(n4))
        add(b3)
        b4 = e1.protocol_data.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("DescribedGroup", "protocol_data", len(b4))
        add(_pack_h(n5))
        add(b4)
        l2 = e1.members
        n6 = len(l2)
        add(_pack_i(n6))
        for e2 in l2:
            b5 = e2.member_id.encode()
            n7 = len(b5)
            if n7 > 32767:
                raise short_string("DescribedGroupMember", "member_id", len(b5))
            add(_pack_h(n7))
            add(b5)
            b6 = e2.client_id.encode()
            n8 = len(b6)
            if n8 > 32767:
                raise short_string("DescribedGroupMember", "client_id", len(b6))
            add(_pack_h(n8))
            add(b6)
            b7 = e2.client_host.encode()
            n9 = len(b7)
            if n9 > 32767:
                raise short_string("DescribedGroupMember", "client_host", len(b7))
            add(_pack_h(n9))
            add(b7)
            b8 = e2.member_metadata
            n10 = len(b8)
            add(_pack_i(n10))
            add(b8)
            b9 = e2.member_assignment
            n11 = len(b9)
            add(_pack_i(n11))
            add(b9)
        add(_pack_i(e1.authorized_operations))
    return out


def _encode_v4(m: DescribeGroupsResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        if not (e1.error_message is None):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.error_message", e1.error_message)
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribedGroup", "group_id", len(b1))
        add(_pack_hh(e1.error_code, n2))
        add(b1)
        b2 = e1.group_state.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("DescribedGroup", "group_state", len(b2))
        add(_pack_h(n3))
        add(b2)
        b3 = e1.protocol_type.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("DescribedGroup", "protocol_type", len(b3))
        add(_pack_h(n4))
        add(b3)
        b4 = e1.protocol_data.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("DescribedGroup", "protocol_data", len(b4))
        add(_pack_h(n5))
        add(b4)
        l2 = e1.members
        n6 = len(l2)
        add(_pack_i(n6))
        for e2 in l2:
            b5 = e2.member_id.encode()
            n7 = len(b5)
            if n7 > 32767:
                raise short_string("DescribedGroupMember", "member_id", len(b5))
            add(_pack_h(n7))
            add(b5)
            if e2.group_instance_id is None:
                add(b"\xff\xff")
            else:
                b6 = e2.group_instance_id.encode()
                n8 = len(b6)
                if n8 > 32767:
                    raise short_string("DescribedGroupMember", "group_instance_id", len(b6))
                add(_pack_h(n8))
                add(b6)
            b7 = e2.client_id.encode()
            n9 = len(b7)
            if n9 > 32767:
                raise short_string("DescribedGroupMember", "client_id", len(b7))
            add(_pack_h(n9))
            add(b7)
            b8 = e2.client_host.encode()
            n10 = len(b8)
            if n10 > 32767:
                raise short_string("DescribedGroupMember", "client_host", len(b8))
            add(_pack_h(n10))
            add(b8)
            b9 = e2.member_metadata
            n11 = len(b9)
            add(_pack_i(n11))
            add(b9)
            b10 = e2.member_assignment
            n12 = len(b10)
            add(_pack_i(n12))
            add(b10)
        add(_pack_i(e1.authorized_operations))
    return out


def _encode_v5(m: DescribeGroupsResponse) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        if not (e1.error_message is None):
            raise not_in_version("DescribeGroupsResponse", "DescribedGroup.error_message", e1.error_message)
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DescribedGroup", "group_id", len(b1))
        add(_pack_hB(e1.error_code, n2) if n2 < 128 else _pack_h(e1.error_code) + uvarint(n2))
        add(b1)
        b2 = e1.group_state.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("DescribedGroup", "group_state", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.protocol_type.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("DescribedGroup", "protocol_type", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        b4 = e1.protocol_data.encode()
        n5 = len(b4) + 1
        if n5 > 32768:
            raise short_string("DescribedGroup", "protocol_data", len(b4))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b4)
        l2 = e1.members
        n6 = len(l2) + 1
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        for e2 in l2:
            b5 = e2.member_id.encode()
            n7 = len(b5) + 1
            if n7 > 32768:
                raise short_string("DescribedGroupMember", "member_id", len(b5))
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            add(b5)
            if e2.group_instance_id is None:
                add(b"\x00")
            else:
                b6 = e2.group_instance_id.encode()
                n8 = len(b6) + 1
                if n8 > 32768:
                    raise short_string("DescribedGroupMember", "group_instance_id", len(b6))
                add(UVARINT[n8] if n8 < 128 else uvarint(n8))
                add(b6)
            b7 = e2.client_id.encode()
            n9 = len(b7) + 1
            if n9 > 32768:
                raise short_string("DescribedGroupMember", "client_id", len(b7))
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            add(b7)
            b8 = e2.client_host.encode()
            n10 = len(b8) + 1
            if n10 > 32768:
                raise short_string("DescribedGroupMember", "client_host", len(b8))
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            add(b8)
            b9 = e2.member_metadata
            n11 = len(b9) + 1
            add(UVARINT[n11] if n11 < 128 else uvarint(n11))
            add(b9)
            b10 = e2.member_assignment
            n12 = len(b10) + 1
            add(UVARINT[n12] if n12 < 128 else uvarint(n12))
            add(b10)
            add(b"\x00")
        add(_pack_ix(e1.authorized_operations))
    add(b"\x00")
    return out


def _encode_v6(m: DescribeGroupsResponse) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b1 = e1.error_message.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("DescribedGroup", "error_message", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
        b2 = e1.group_id.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("DescribedGroup", "group_id", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.group_state.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("DescribedGroup", "group_state", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        b4 = e1.protocol_type.encode()
        n5 = len(b4) + 1
        if n5 > 32768:
            raise short_string("DescribedGroup", "protocol_type", len(b4))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b4)
        b5 = e1.protocol_data.encode()
        n6 = len(b5) + 1
        if n6 > 32768:
            raise short_string("DescribedGroup", "protocol_data", len(b5))
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b5)
        l2 = e1.members
        n7 = len(l2) + 1
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        for e2 in l2:
            b6 = e2.member_id.encode()
            n8 = len(b6) + 1
            if n8 > 32768:
                raise short_string("DescribedGroupMember", "member_id", len(b6))
            add(UVARINT[n8] if n8 < 128 else uvarint(n8))
            add(b6)
            if e2.group_instance_id is None:
                add(b"\x00")
            else:
                b7 = e2.group_instance_id.encode()
                n9 = len(b7) + 1
                if n9 > 32768:
                    raise short_string("DescribedGroupMember", "group_instance_id", len(b7))
                add(UVARINT[n9] if n9 < 128 else uvarint(n9))
                add(b7)
            b8 = e2.client_id.encode()
            n10 = len(b8) + 1
            if n10 > 32768:
                raise short_string("DescribedGroupMember", "client_id", len(b8))
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            add(b8)
            b9 = e2.client_host.encode()
            n11 = len(b9) + 1
            if n11 > 32768:
                raise short_string("DescribedGroupMember", "client_host", len(b9))
            add(UVARINT[n11] if n11 < 128 else uvarint(n11))
            add(b9)
            b10 = e2.member_metadata
            n12 = len(b10) + 1
            add(UVARINT[n12] if n12 < 128 else uvarint(n12))
            add(b10)
            b11 = e2.member_assignment
            n13 = len(b11) + 1
            add(UVARINT[n13] if n13 < 128 else uvarint(n13))
            add(b11)
            add(b"\x00")
        add(_pack_ix(e1.authorized_operations))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 14 > size - pos:
            raise overrun("DescribeGroupsResponse", "DescribeGroupsResponse.groups", n1, pos, size)
        l1: list[DescribedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            l1.append(e1)
            e1.error_message = None
            e1.authorized_operations = -2147483648
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_state", n3, pos, size)
            e1.group_state = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_type", n4, pos, size)
            e1.protocol_type = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_data", n5, pos, size)
            e1.protocol_data = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 14 > size - pos:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.members", n6, pos, size)
            l2: list[DescribedGroupMember] = []
            e1.members = l2
            for _ in range(n6):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                l2.append(e2)
                e2.group_instance_id = None
                (n7,) = _unpack_h(data, pos)
                pos += 2
                z5 = pos + n7
                if n7 < 0 or z5 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_id", n7, pos, size)
                e2.member_id = str(data[pos:z5], "utf-8")
                pos = z5
                (n8,) = _unpack_h(data, pos)
                pos += 2
                z6 = pos + n8
                if n8 < 0 or z6 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_id", n8, pos, size)
                e2.client_id = str(data[pos:z6], "utf-8")
                pos = z6
                (n9,) = _unpack_h(data, pos)
                pos += 2
                z7 = pos + n9
                if n9 < 0 or z7 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_host", n9, pos, size)
                e2.client_host = str(data[pos:z7], "utf-8")
                pos = z7
                (n10,) = _unpack_i(data, pos)
                pos += 4
                z8 = pos + n10
                if n10 < 0 or z8 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_metadata", n10, pos, size)
                e2.member_metadata = bytes(data[pos:z8])
                pos = z8
                (n11,) = _unpack_i(data, pos)
                pos += 4
                z9 = pos + n11
                if n11 < 0 or z9 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_assignment", n11, pos, size)
                e2.member_assignment = bytes(data[pos:z9])
                pos = z9
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 14 > size - pos:
            raise overrun("DescribeGroupsResponse", "DescribeGroupsResponse.groups", n1, pos, size)
        l1: list[DescribedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            l1.append(e1)
            e1.error_message = None
            e1.authorized_operations = -2147483648
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_state", n3, pos, size)
            e1.group_state = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_type", n4, pos, size)
            e1.protocol_type = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_data", n5, pos, size)
            e1.protocol_data = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 14 > size - pos:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.members", n6, pos, size)
            l2: list[DescribedGroupMember] = []
            e1.members = l2
            for _ in range(n6):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                l2.append(e2)
                e2.group_instance_id = None
                (n7,) = _unpack_h(data, pos)
                pos += 2
                z5 = pos + n7
                if n7 < 0 or z5 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_id", n7, pos, size)
                e2.member_id = str(data[pos:z5], "utf-8")
                pos = z5
                (n8,) = _unpack_h(data, pos)
                pos += 2
                z6 = pos + n8
                if n8 < 0 or z6 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_id", n8, pos, size)
                e2.client_id = str(data[pos:z6], "utf-8")
                pos = z6
                (n9,) = _unpack_h(data, pos)
                pos += 2
                z7 = pos + n9
                if n9 < 0 or z7 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_host", n9, pos, size)
                e2.client_host = str(data[pos:z7], "utf-8")
                pos = z7
                (n10,) = _unpack_i(data, pos)
                pos += 4
                z8 = pos + n10
                if n10 < 0 or z8 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_metadata", n10, pos, size)
                e2.member_metadata = bytes(data[pos:z8])
                pos = z8
                (n11,) = _unpack_i(data, pos)
                pos += 4
                z9 = pos + n11
                if n11 < 0 or z9 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_assignment", n11, pos, size)
                e2.member_assignment = bytes(data[pos:z9])
                pos = z9
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("DescribeGroupsResponse", "DescribeGroupsResponse.groups", n1, pos, size)
        l1: list[DescribedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            l1.append(e1)
            e1.error_message = None
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_state", n3, pos, size)
            e1.group_state = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_type", n4, pos, size)
            e1.protocol_type = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_data", n5, pos, size)
            e1.protocol_data = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 14 > size - pos:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.members", n6, pos, size)
            l2: list[DescribedGroupMember] = []
            e1.members = l2
            for _ in range(n6):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                l2.append(e2)
                e2.group_instance_id = None
                (n7,) = _unpack_h(data, pos)
                pos += 2
                z5 = pos + n7
                if n7 < 0 or z5 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_id", n7, pos, size)
                e2.member_id = str(data[pos:z5], "utf-8")
                pos = z5
                (n8,) = _unpack_h(data, pos)
                pos += 2
                z6 = pos + n8
                if n8 < 0 or z6 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_id", n8, pos, size)
                e2.client_id = str(data[pos:z6], "utf-8")
                pos = z6
                (n9,) = _unpack_h(data, pos)
                pos += 2
                z7 = pos + n9
                if n9 < 0 or z7 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_host", n9, pos, size)
                e2.client_host = str(data[pos:z7], "utf-8")
                pos = z7
                (n10,) = _unpack_i(data, pos)
                pos += 4
                z8 = pos + n10
                if n10 < 0 or z8 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_metadata", n10, pos, size)
                e2.member_metadata = bytes(data[pos:z8])
                pos = z8
                (n11,) = _unpack_i(data, pos)
                pos += 4
                z9 = pos + n11
                if n11 < 0 or z9 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_assignment", n11, pos, size)
                e2.member_assignment = bytes(data[pos:z9])
                pos = z9
            (e1.authorized_operations,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("DescribeGroupsResponse", "DescribeGroupsResponse.groups", n1, pos, size)
        l1: list[DescribedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            l1.append(e1)
            e1.error_message = None
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_state", n3, pos, size)
            e1.group_state = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_type", n4, pos, size)
            e1.protocol_type = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_data", n5, pos, size)
            e1.protocol_data = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 16 > size - pos:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.members", n6, pos, size)
            l2: list[DescribedGroupMember] = []
            e1.members = l2
            for _ in range(n6):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                l2.append(e2)
                (n7,) = _unpack_h(data, pos)
                pos += 2
                z5 = pos + n7
                if n7 < 0 or z5 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_id", n7, pos, size)
                e2.member_id = str(data[pos:z5], "utf-8")
                pos = z5
                (n8,) = _unpack_h(data, pos)
                pos += 2
                if n8 == -1:
                    e2.group_instance_id = None
                else:
                    z6 = pos + n8
                    if n8 < 0 or z6 > size:
                        raise overrun("DescribeGroupsResponse", "DescribedGroupMember.group_instance_id", n8, pos, size)
                    e2.group_instance_id = str(data[pos:z6], "utf-8")
                    pos = z6
                (n9,) = _unpack_h(data, pos)
                pos += 2
                z7 = pos + n9
                if n9 < 0 or z7 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_id", n9, pos, size)
                e2.client_id = str(data[pos:z7], "utf-8")
                pos = z7
                (n10,) = _unpack_h(data, pos)
                pos += 2
                z8 = pos + n10
                if n10 < 0 or z8 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_host", n10, pos, size)
                e2.client_host = str(data[pos:z8], "utf-8")
                pos = z8
                (n11,) = _unpack_i(data, pos)
                pos += 4
                z9 = pos + n11
                if n11 < 0 or z9 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_metadata", n11, pos, size)
                e2.member_metadata = bytes(data[pos:z9])
                pos = z9
                (n12,) = _unpack_i(data, pos)
                pos += 4
                z10 = pos + n12
                if n12 < 0 or z10 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_assignment", n12, pos, size)
                e2.member_assignment = bytes(data[pos:z10])
                pos = z10
            (e1.authorized_operations,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # versions 5
    size = len(data)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("DescribeGroupsResponse", "DescribeGroupsResponse.groups", n1, pos, size)
        l1: list[DescribedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            l1.append(e1)
            e1.error_message = None
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_state", n3 - 1, pos, size)
            e1.group_state = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_type", n4 - 1, pos, size)
            e1.protocol_type = str(data[pos:z3], "utf-8")
            pos = z3
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z4 = pos + n5 - 1
            if n5 == 0 or z4 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_data", n5 - 1, pos, size)
            e1.protocol_data = str(data[pos:z4], "utf-8")
            pos = z4
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            n6 -= 1
            if n6 < 0 or n6 * 7 > size - pos:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.members", n6, pos, size)
            l2: list[DescribedGroupMember] = []
            e1.members = l2
            for _ in range(n6):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                l2.append(e2)
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                z5 = pos + n7 - 1
                if n7 == 0 or z5 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_id", n7 - 1, pos, size)
                e2.member_id = str(data[pos:z5], "utf-8")
                pos = z5
                n8 = data[pos]
                pos += 1
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                if n8 == 0:
                    e2.group_instance_id = None
                else:
                    z6 = pos + n8 - 1
                    if z6 > size:
                        raise overrun("DescribeGroupsResponse", "DescribedGroupMember.group_instance_id", n8 - 1, pos, size)
                    e2.group_instance_id = str(data[pos:z6], "utf-8")
                    pos = z6
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                z7 = pos + n9 - 1
                if n9 == 0 or z7 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_id", n9 - 1, pos, size)
                e2.client_id = str(data[pos:z7], "utf-8")
                pos = z7
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                z8 = pos + n10 - 1
                if n10 == 0 or z8 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_host", n10 - 1, pos, size)
                e2.client_host = str(data[pos:z8], "utf-8")
                pos = z8
                n11 = data[pos]
                pos += 1
                if n11 > 127:
                    n11, pos = uvarint_at(data, pos - 1)
                z9 = pos + n11 - 1
                if n11 == 0 or z9 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_metadata", n11 - 1, pos, size)
                e2.member_metadata = bytes(data[pos:z9])
                pos = z9
                n12 = data[pos]
                pos += 1
                if n12 > 127:
                    n12, pos = uvarint_at(data, pos - 1)
                z10 = pos + n12 - 1
                if n12 == 0 or z10 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_assignment", n12 - 1, pos, size)
                e2.member_assignment = bytes(data[pos:z10])
                pos = z10
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("DescribeGroupsResponse", data, pos - 1)
            e1.authorized_operations, k2 = _unpack_iB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("DescribeGroupsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("DescribeGroupsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # versions 6
    size = len(data)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 13 > size - pos:
            raise overrun("DescribeGroupsResponse", "DescribeGroupsResponse.groups", n1, pos, size)
        l1: list[DescribedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            if n2 == 0:
                e1.error_message = None
            else:
                z1 = pos + n2 - 1
                if z1 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroup.error_message", n2 - 1, pos, size)
                e1.error_message = str(data[pos:z1], "utf-8")
                pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_id", n3 - 1, pos, size)
            e1.group_id = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.group_state", n4 - 1, pos, size)
            e1.group_state = str(data[pos:z3], "utf-8")
            pos = z3
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z4 = pos + n5 - 1
            if n5 == 0 or z4 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_type", n5 - 1, pos, size)
            e1.protocol_type = str(data[pos:z4], "utf-8")
            pos = z4
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z5 = pos + n6 - 1
            if n6 == 0 or z5 > size:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.protocol_data", n6 - 1, pos, size)
            e1.protocol_data = str(data[pos:z5], "utf-8")
            pos = z5
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 7 > size - pos:
                raise overrun("DescribeGroupsResponse", "DescribedGroup.members", n7, pos, size)
            l2: list[DescribedGroupMember] = []
            e1.members = l2
            for _ in range(n7):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                l2.append(e2)
                n8 = data[pos]
                pos += 1
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                z6 = pos + n8 - 1
                if n8 == 0 or z6 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_id", n8 - 1, pos, size)
                e2.member_id = str(data[pos:z6], "utf-8")
                pos = z6
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                if n9 == 0:
                    e2.group_instance_id = None
                else:
                    z7 = pos + n9 - 1
                    if z7 > size:
                        raise overrun("DescribeGroupsResponse", "DescribedGroupMember.group_instance_id", n9 - 1, pos, size)
                    e2.group_instance_id = str(data[pos:z7], "utf-8")
                    pos = z7
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                z8 = pos + n10 - 1
                if n10 == 0 or z8 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_id", n10 - 1, pos, size)
                e2.client_id = str(data[pos:z8], "utf-8")
                pos = z8
                n11 = data[pos]
                pos += 1
                if n11 > 127:
                    n11, pos = uvarint_at(data, pos - 1)
                z9 = pos + n11 - 1
                if n11 == 0 or z9 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.client_host", n11 - 1, pos, size)
                e2.client_host = str(data[pos:z9], "utf-8")
                pos = z9
                n12 = data[pos]
                pos += 1
                if n12 > 127:
                    n12, pos = uvarint_at(data, pos - 1)
                z10 = pos + n12 - 1
                if n12 == 0 or z10 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_metadata", n12 - 1, pos, size)
                e2.member_metadata = bytes(data[pos:z10])
                pos = z10
                n13 = data[pos]
                pos += 1
                if n13 > 127:
                    n13, pos = uvarint_at(data, pos - 1)
                z11 = pos + n13 - 1
                if n13 == 0 or z11 > size:
                    raise overrun("DescribeGroupsResponse", "DescribedGroupMember.member_assignment", n13 - 1, pos, size)
                e2.member_assignment = bytes(data[pos:z11])
                pos = z11
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("DescribeGroupsResponse", data, pos - 1)
            e1.authorized_operations, k2 = _unpack_iB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("DescribeGroupsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("DescribeGroupsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeGroupsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v6,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeGroupsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v6,
}
