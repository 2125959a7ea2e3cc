"""ListGroupsResponse: response body, key 16, versions 0 to 5.

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
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihi: Final = Struct(">ihi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from


class ListedGroup:
    """Part of :class:`ListGroupsResponse`.

    ``group_id`` string

    ``protocol_type`` string

    ``group_state`` string (v4+)

    ``group_type`` string (v5+): "classic", here always.
    """

    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str

    def __init__(
        self,
        *,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListedGroup):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.protocol_type == other.protocol_type
            and self.group_state == other.group_state
            and self.group_type == other.group_type
        )

    def __repr__(self) -> str:
        return (
            f"ListedGroup(group_id={self.group_id!r}, "
            f"protocol_type={self.protocol_type!r}, "
            f"group_state={self.group_state!r}, "
            f"group_type={self.group_type!r})"
        )


class ListGroupsResponse:
    """The groups that this broker coordinates.

    ``throttle_time_ms`` int32 (v1+)

    ``error_code`` int16

    ``groups`` []ListedGroup
    """

    API_KEY: ClassVar[int] = 16
    NAME: ClassVar[str] = "ListGroupsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "groups")
    throttle_time_ms: int
    error_code: int
    groups: list[ListedGroup]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListGroupsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.groups == other.groups
        )

    def __repr__(self) -> str:
        return (
            f"ListGroupsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"groups={self.groups!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ListGroupsResponse", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ListGroupsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ListGroupsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListGroupsResponse", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ListGroupsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ListGroupsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListGroupsResponse", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: ListGroupsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListedGroup", "group_id", len(b1))
        add(_pack_h(n2))
        add(b1)
        b2 = e1.protocol_type.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("ListedGroup", "protocol_type", len(b2))
        add(_pack_h(n3))
        add(b2)
    return out


def _encode_v1(m: ListGroupsResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_ihi(m.throttle_time_ms, m.error_code, n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListedGroup", "group_id", len(b1))
        add(_pack_h(n2))
        add(b1)
        b2 = e1.protocol_type.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("ListedGroup", "protocol_type", len(b2))
        add(_pack_h(n3))
        add(b2)
    return out


def _encode_v3(m: ListGroupsResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListedGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.protocol_type.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("ListedGroup", "protocol_type", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v4(m: ListGroupsResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListedGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.protocol_type.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("ListedGroup", "protocol_type", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.group_state.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("ListedGroup", "group_state", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v5(m: ListGroupsResponse) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListedGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.protocol_type.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("ListedGroup", "protocol_type", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        b3 = e1.group_state.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("ListedGroup", "group_state", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
        b4 = e1.group_type.encode()
        n5 = len(b4) + 1
        if n5 > 32768:
            raise short_string("ListedGroup", "group_type", len(b4))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b4)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        m.throttle_time_ms = 0
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("ListGroupsResponse", "ListGroupsResponse.groups", n1, pos, size)
        l1: list[ListedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = ListedGroup.__new__(ListedGroup)
            l1.append(e1)
            e1.group_state = ""
            e1.group_type = ""
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.protocol_type", n3, pos, size)
            e1.protocol_type = str(data[pos:z2], "utf-8")
            pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihi(data, pos)
        pos += 10
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("ListGroupsResponse", "ListGroupsResponse.groups", n1, pos, size)
        l1: list[ListedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = ListedGroup.__new__(ListedGroup)
            l1.append(e1)
            e1.group_state = ""
            e1.group_type = ""
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.protocol_type", n3, pos, size)
            e1.protocol_type = str(data[pos:z2], "utf-8")
            pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ListGroupsResponse", "ListGroupsResponse.groups", n1, pos, size)
        l1: list[ListedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = ListedGroup.__new__(ListedGroup)
            l1.append(e1)
            e1.group_state = ""
            e1.group_type = ""
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.protocol_type", n3 - 1, pos, size)
            e1.protocol_type = str(data[pos:z2], "utf-8")
            pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("ListGroupsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("ListGroupsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("ListGroupsResponse", "ListGroupsResponse.groups", n1, pos, size)
        l1: list[ListedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = ListedGroup.__new__(ListedGroup)
            l1.append(e1)
            e1.group_type = ""
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.protocol_type", n3 - 1, pos, size)
            e1.protocol_type = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_state", n4 - 1, pos, size)
            e1.group_state = str(data[pos:z3], "utf-8")
            pos = z3
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("ListGroupsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("ListGroupsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    # versions 5
    size = len(data)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("ListGroupsResponse", "ListGroupsResponse.groups", n1, pos, size)
        l1: list[ListedGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = ListedGroup.__new__(ListedGroup)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.protocol_type", n3 - 1, pos, size)
            e1.protocol_type = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z3 = pos + n4 - 1
            if n4 == 0 or z3 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_state", n4 - 1, pos, size)
            e1.group_state = str(data[pos:z3], "utf-8")
            pos = z3
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z4 = pos + n5 - 1
            if n5 == 0 or z4 > size:
                raise overrun("ListGroupsResponse", "ListedGroup.group_type", n5 - 1, pos, size)
            e1.group_type = str(data[pos:z4], "utf-8")
            pos = z4
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("ListGroupsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("ListGroupsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ListGroupsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ListGroupsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
}
