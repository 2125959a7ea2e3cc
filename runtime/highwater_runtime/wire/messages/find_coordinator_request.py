"""FindCoordinatorRequest: request body, key 10, versions 0 to 6.

Generated from ``schemas/find_coordinator.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_bx: Final = Struct(">bx").pack
_pack_h: Final = Struct(">h").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from


class FindCoordinatorRequest:
    """The coordinator of a group (key type 0) or of a transactional id (1).

    ``key`` string (v0-3)

    ``key_type`` int8 (v1+)

    ``coordinator_keys`` []string (v4+)
    """

    API_KEY: ClassVar[int] = 10
    NAME: ClassVar[str] = "FindCoordinatorRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("key", "key_type", "coordinator_keys")
    key: str
    key_type: int
    coordinator_keys: list[str]

    def __init__(
        self,
        *,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = EMPTY,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is EMPTY else coordinator_keys

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FindCoordinatorRequest):
            return NotImplemented
        return (
            self.key == other.key
            and self.key_type == other.key_type
            and self.coordinator_keys == other.coordinator_keys
        )

    def __repr__(self) -> str:
        return (
            f"FindCoordinatorRequest(key={self.key!r}, "
            f"key_type={self.key_type!r}, "
            f"coordinator_keys={self.coordinator_keys!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("FindCoordinatorRequest", version, 0, 6)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("FindCoordinatorRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> FindCoordinatorRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FindCoordinatorRequest", version, 0, 6)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("FindCoordinatorRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[FindCoordinatorRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FindCoordinatorRequest", version, 0, 6)
        return decoder(data, position)


def _encode_v0(m: FindCoordinatorRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.key_type == 0):
        raise not_in_version("FindCoordinatorRequest", "FindCoordinatorRequest.key_type", m.key_type)
    if not (not m.coordinator_keys):
        raise not_in_version("FindCoordinatorRequest", "FindCoordinatorRequest.coordinator_keys", m.coordinator_keys)
    b1 = m.key.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("FindCoordinatorRequest", "key", len(b1))
    add(_pack_h(n1))
    add(b1)
    return out


def _encode_v1(m: FindCoordinatorRequest) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.coordinator_keys):
        raise not_in_version("FindCoordinatorRequest", "FindCoordinatorRequest.coordinator_keys", m.coordinator_keys)
    b1 = m.key.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("FindCoordinatorRequest", "key", len(b1))
    add(_pack_h(n1))
    add(b1)
    add(_pack_b(m.key_type))
    return out


def _encode_v3(m: FindCoordinatorRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (not m.coordinator_keys):
        raise not_in_version("FindCoordinatorRequest", "FindCoordinatorRequest.coordinator_keys", m.coordinator_keys)
    b1 = m.key.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("FindCoordinatorRequest", "key", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    add(_pack_bx(m.key_type))
    return out


def _encode_v4(m: FindCoordinatorRequest) -> list[bytes]:
    # versions 4, 5, 6
    out: list[bytes] = []
    add = out.append
    if not (m.key == ""):
        raise not_in_version("FindCoordinatorRequest", "FindCoordinatorRequest.key", m.key)
    l1 = m.coordinator_keys
    n1 = len(l1) + 1
    add(_pack_bB(m.key_type, n1) if n1 < 128 else _pack_b(m.key_type) + uvarint(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("FindCoordinatorRequest", "coordinator_keys", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = FindCoordinatorRequest.__new__(FindCoordinatorRequest)
        m.key_type = 0
        m.coordinator_keys = []
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("FindCoordinatorRequest", "FindCoordinatorRequest.key", n1, pos, size)
        m.key = str(data[pos:z1], "utf-8")
        pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = FindCoordinatorRequest.__new__(FindCoordinatorRequest)
        m.coordinator_keys = []
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("FindCoordinatorRequest", "FindCoordinatorRequest.key", n1, pos, size)
        m.key = str(data[pos:z1], "utf-8")
        pos = z1
        (m.key_type,) = _unpack_b(data, pos)
        pos += 1
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = FindCoordinatorRequest.__new__(FindCoordinatorRequest)
        m.coordinator_keys = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("FindCoordinatorRequest", "FindCoordinatorRequest.key", n1 - 1, pos, size)
        m.key = str(data[pos:z1], "utf-8")
        pos = z1
        m.key_type, k1 = _unpack_bB(data, pos)
        pos += 2
        if k1:
            pos = skip_tagged("FindCoordinatorRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # versions 4, 5, 6
    size = len(data)
    try:
        m = FindCoordinatorRequest.__new__(FindCoordinatorRequest)
        m.key = ""
        m.key_type, n1 = _unpack_bB(data, pos)
        pos += 2
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("FindCoordinatorRequest", "FindCoordinatorRequest.coordinator_keys", n1, pos, size)
        l1: list[str] = []
        m.coordinator_keys = l1
        for _ in range(n1):
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("FindCoordinatorRequest", "FindCoordinatorRequest.coordinator_keys", n2 - 1, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("FindCoordinatorRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[FindCoordinatorRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v4,
    6: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[FindCoordinatorRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v4,
    6: _decode_v4,
}
