"""DescribeGroupsRequest: request body, key 15, versions 0 to 6.

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
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_T: Final = Struct(">?").pack
_pack_Tx: Final = Struct(">?x").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_T: Final = Struct(">?").unpack_from
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class DescribeGroupsRequest:
    """Who is in these groups, and what do they read?

    ``groups`` []string

    ``include_authorized_operations`` bool (v3+)
    """

    API_KEY: ClassVar[int] = 15
    NAME: ClassVar[str] = "DescribeGroupsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 5

    __slots__ = ("groups", "include_authorized_operations")
    groups: list[str]
    include_authorized_operations: bool

    def __init__(
        self,
        *,
        groups: list[str] = EMPTY,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = [] if groups is EMPTY else groups
        self.include_authorized_operations = include_authorized_operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeGroupsRequest):
            return NotImplemented
        return (
            self.groups == other.groups
            and self.include_authorized_operations == other.include_authorized_operations
        )

    def __repr__(self) -> str:
        return (
            f"DescribeGroupsRequest(groups={self.groups!r}, "
            f"include_authorized_operations={self.include_authorized_operations!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeGroupsRequest", version, 0, 6)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeGroupsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeGroupsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeGroupsRequest", version, 0, 6)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeGroupsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeGroupsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeGroupsRequest", version, 0, 6)
        return decoder(data, position)


def _encode_v0(m: DescribeGroupsRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.include_authorized_operations):
        raise not_in_version("DescribeGroupsRequest", "DescribeGroupsRequest.include_authorized_operations", m.include_authorized_operations)
    l1 = m.groups
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribeGroupsRequest", "groups", len(b1))
        add(_pack_h(n2))
        add(b1)
    return out


def _encode_v3(m: DescribeGroupsRequest) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribeGroupsRequest", "groups", len(b1))
        add(_pack_h(n2))
        add(b1)
    add(_pack_T(m.include_authorized_operations))
    return out


def _encode_v5(m: DescribeGroupsRequest) -> list[bytes]:
    # versions 5, 6
    out: list[bytes] = []
    add = out.append
    l1 = m.groups
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DescribeGroupsRequest", "groups", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
    add(_pack_Tx(m.include_authorized_operations))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeGroupsRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = DescribeGroupsRequest.__new__(DescribeGroupsRequest)
        m.include_authorized_operations = False
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("DescribeGroupsRequest", "DescribeGroupsRequest.groups", n1, pos, size)
        l1: list[str] = []
        m.groups = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeGroupsRequest", "DescribeGroupsRequest.groups", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[DescribeGroupsRequest, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = DescribeGroupsRequest.__new__(DescribeGroupsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("DescribeGroupsRequest", "DescribeGroupsRequest.groups", n1, pos, size)
        l1: list[str] = []
        m.groups = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeGroupsRequest", "DescribeGroupsRequest.groups", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        (m.include_authorized_operations,) = _unpack_T(data, pos)
        pos += 1
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[DescribeGroupsRequest, int]:
    # versions 5, 6
    size = len(data)
    try:
        m = DescribeGroupsRequest.__new__(DescribeGroupsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("DescribeGroupsRequest", "DescribeGroupsRequest.groups", n1, pos, size)
        l1: list[str] = []
        m.groups = l1
        for _ in range(n1):
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeGroupsRequest", "DescribeGroupsRequest.groups", n2 - 1, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        m.include_authorized_operations, k1 = _unpack_TB(data, pos)
        pos += 2
        if k1:
            pos = skip_tagged("DescribeGroupsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeGroupsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeGroupsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v5,
    6: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeGroupsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v5,
    6: _decode_v5,
}
