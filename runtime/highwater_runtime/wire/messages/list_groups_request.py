"""ListGroupsRequest: request body, key 16, versions 0 to 5.

Generated from ``schemas/group_administration.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
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



class ListGroupsRequest:
    """The groups that this broker coordinates.

    ``states_filter`` []string (v4+): States to list; empty for all (KIP-518).

    ``types_filter`` []string (v5+): Types to list; empty for all (KIP-848).
    """

    API_KEY: ClassVar[int] = 16
    NAME: ClassVar[str] = "ListGroupsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("states_filter", "types_filter")
    states_filter: list[str]
    types_filter: list[str]

    def __init__(
        self,
        *,
        states_filter: list[str] = EMPTY,
        types_filter: list[str] = EMPTY,
    ) -> None:
        self.states_filter = [] if states_filter is EMPTY else states_filter
        self.types_filter = [] if types_filter is EMPTY else types_filter

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListGroupsRequest):
            return NotImplemented
        return (
            self.states_filter == other.states_filter
            and self.types_filter == other.types_filter
        )

    def __repr__(self) -> str:
        return (
            f"ListGroupsRequest(states_filter={self.states_filter!r}, "
            f"types_filter={self.types_filter!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ListGroupsRequest", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ListGroupsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ListGroupsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListGroupsRequest", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ListGroupsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ListGroupsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListGroupsRequest", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: ListGroupsRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.states_filter):
        raise not_in_version("ListGroupsRequest", "ListGroupsRequest.states_filter", m.states_filter)
    if not (not m.types_filter):
        raise not_in_version("ListGroupsRequest", "ListGroupsRequest.types_filter", m.types_filter)
    return out


def _encode_v3(m: ListGroupsRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (not m.states_filter):
        raise not_in_version("ListGroupsRequest", "ListGroupsRequest.states_filter", m.states_filter)
    if not (not m.types_filter):
        raise not_in_version("ListGroupsRequest", "ListGroupsRequest.types_filter", m.types_filter)
    add(b"\x00")
    return out


def _encode_v4(m: ListGroupsRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (not m.types_filter):
        raise not_in_version("ListGroupsRequest", "ListGroupsRequest.types_filter", m.types_filter)
    l1 = m.states_filter
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListGroupsRequest", "states_filter", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
    add(b"\x00")
    return out


def _encode_v5(m: ListGroupsRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    l1 = m.states_filter
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListGroupsRequest", "states_filter", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
    l2 = m.types_filter
    n3 = len(l2) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    for e2 in l2:
        b2 = e2.encode()
        n4 = len(b2) + 1
        if n4 > 32768:
            raise short_string("ListGroupsRequest", "types_filter", len(b2))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b2)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ListGroupsRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = ListGroupsRequest.__new__(ListGroupsRequest)
        m.states_filter = []
        m.types_filter = []
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ListGroupsRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = ListGroupsRequest.__new__(ListGroupsRequest)
        m.states_filter = []
        m.types_filter = []
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("ListGroupsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[ListGroupsRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = ListGroupsRequest.__new__(ListGroupsRequest)
        m.types_filter = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("ListGroupsRequest", "ListGroupsRequest.states_filter", n1, pos, size)
        l1: list[str] = []
        m.states_filter = l1
        for _ in range(n1):
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListGroupsRequest", "ListGroupsRequest.states_filter", n2 - 1, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("ListGroupsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[ListGroupsRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = ListGroupsRequest.__new__(ListGroupsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("ListGroupsRequest", "ListGroupsRequest.states_filter", n1, pos, size)
        l1: list[str] = []
        m.states_filter = l1
        for _ in range(n1):
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListGroupsRequest", "ListGroupsRequest.states_filter", n2 - 1, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 > size - pos:
            raise overrun("ListGroupsRequest", "ListGroupsRequest.types_filter", n3, pos, size)
        l2: list[str] = []
        m.types_filter = l2
        for _ in range(n3):
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z2 = pos + n4 - 1
            if n4 == 0 or z2 > size:
                raise overrun("ListGroupsRequest", "ListGroupsRequest.types_filter", n4 - 1, pos, size)
            e2 = str(data[pos:z2], "utf-8")
            pos = z2
            l2.append(e2)
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("ListGroupsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListGroupsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ListGroupsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ListGroupsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
}
