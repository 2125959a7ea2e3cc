"""DeleteGroupsRequest: request body, key 42, versions 0 to 2.

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
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class DeleteGroupsRequest:
    """Forget groups that have no members, with everything that they committed.

    ``groups_names`` []string
    """

    API_KEY: ClassVar[int] = 42
    NAME: ClassVar[str] = "DeleteGroupsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("groups_names",)
    groups_names: list[str]

    def __init__(
        self,
        *,
        groups_names: list[str] = EMPTY,
    ) -> None:
        self.groups_names = [] if groups_names is EMPTY else groups_names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteGroupsRequest):
            return NotImplemented
        return (
            self.groups_names == other.groups_names
        )

    def __repr__(self) -> str:
        return (
            f"DeleteGroupsRequest(groups_names={self.groups_names!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DeleteGroupsRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DeleteGroupsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DeleteGroupsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteGroupsRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DeleteGroupsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DeleteGroupsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteGroupsRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DeleteGroupsRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.groups_names
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DeleteGroupsRequest", "groups_names", len(b1))
        add(_pack_h(n2))
        add(b1)
    return out


def _encode_v2(m: DeleteGroupsRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.groups_names
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeleteGroupsRequest", "groups_names", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DeleteGroupsRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = DeleteGroupsRequest.__new__(DeleteGroupsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("DeleteGroupsRequest", "DeleteGroupsRequest.groups_names", n1, pos, size)
        l1: list[str] = []
        m.groups_names = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DeleteGroupsRequest", "DeleteGroupsRequest.groups_names", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteGroupsRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DeleteGroupsRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = DeleteGroupsRequest.__new__(DeleteGroupsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("DeleteGroupsRequest", "DeleteGroupsRequest.groups_names", n1, pos, size)
        l1: list[str] = []
        m.groups_names = l1
        for _ in range(n1):
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteGroupsRequest", "DeleteGroupsRequest.groups_names", n2 - 1, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("DeleteGroupsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteGroupsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DeleteGroupsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DeleteGroupsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
}
