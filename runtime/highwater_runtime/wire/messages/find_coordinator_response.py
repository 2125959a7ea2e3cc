"""FindCoordinatorResponse: response body, key 10, versions 0 to 6.

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

_pack_h: Final = Struct(">h").pack
_pack_hih: Final = Struct(">hih").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_hih: Final = Struct(">hih").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from


class Coordinator:
    """Part of :class:`FindCoordinatorResponse`.

    ``key`` string (v4+)

    ``node_id`` int32 (v4+)

    ``host`` string (v4+)

    ``port`` int32 (v4+)

    ``error_code`` int16 (v4+)

    ``error_message`` string (v4+)
    """

    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")
    key: str
    node_id: int
    host: str
    port: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coordinator):
            return NotImplemented
        return (
            self.key == other.key
            and self.node_id == other.node_id
            and self.host == other.host
            and self.port == other.port
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"Coordinator(key={self.key!r}, "
            f"node_id={self.node_id!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )


class FindCoordinatorResponse:
    """Where the coordinators are.

    ``throttle_time_ms`` int32 (v1+)

    ``error_code`` int16 (v0-3)

    ``error_message`` string (v1-3)

    ``node_id`` int32 (v0-3)

    ``host`` string (v0-3)

    ``port`` int32 (v0-3)

    ``coordinators`` []Coordinator (v4+)
    """

    API_KEY: ClassVar[int] = 10
    NAME: ClassVar[str] = "FindCoordinatorResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: list[Coordinator]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is EMPTY else coordinators

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FindCoordinatorResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.node_id == other.node_id
            and self.host == other.host
            and self.port == other.port
            and self.coordinators == other.coordinators
        )

    def __repr__(self) -> str:
        return (
            f"FindCoordinatorResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"node_id={self.node_id!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"coordinators={self.coordinators!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("FindCoordinatorResponse", version, 0, 6)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("FindCoordinatorResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> FindCoordinatorResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FindCoordinatorResponse", version, 0, 6)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("FindCoordinatorResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[FindCoordinatorResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FindCoordinatorResponse", version, 0, 6)
        return decoder(data, position)


def _encode_v0(m: FindCoordinatorResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.coordinators):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.coordinators", m.coordinators)
    b1 = m.host.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("FindCoordinatorResponse", "host", len(b1))
    add(_pack_hih(m.error_code, m.node_id, n1))
    add(b1)
    add(_pack_i(m.port))
    return out


def _encode_v1(m: FindCoordinatorResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.coordinators):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.coordinators", m.coordinators)
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\xff\xff")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("FindCoordinatorResponse", "error_message", len(b1))
        add(_pack_h(n1))
        add(b1)
    b2 = m.host.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("FindCoordinatorResponse", "host", len(b2))
    add(_pack_ih(m.node_id, n2))
    add(b2)
    add(_pack_i(m.port))
    return out


def _encode_v3(m: FindCoordinatorResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (not m.coordinators):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.coordinators", m.coordinators)
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("FindCoordinatorResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    b2 = m.host.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("FindCoordinatorResponse", "host", len(b2))
    add(_pack_iB(m.node_id, n2) if n2 < 128 else _pack_i(m.node_id) + uvarint(n2))
    add(b2)
    add(_pack_ix(m.port))
    return out


def _encode_v4(m: FindCoordinatorResponse) -> list[bytes]:
    # versions 4, 5, 6
    out: list[bytes] = []
    add = out.append
    if not (m.error_code == 0):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.error_code", m.error_code)
    if not (m.node_id == 0):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.node_id", m.node_id)
    if not (m.host == ""):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.host", m.host)
    if not (m.port == 0):
        raise not_in_version("FindCoordinatorResponse", "FindCoordinatorResponse.port", m.port)
    l1 = m.coordinators
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.key.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("Coordinator", "key", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        b2 = e1.host.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("Coordinator", "host", len(b2))
        add(_pack_iB(e1.node_id, n3) if n3 < 128 else _pack_i(e1.node_id) + uvarint(n3))
        add(b2)
        add(_pack_ih(e1.port, e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b3 = e1.error_message.encode()
            n4 = len(b3) + 1
            if n4 > 32768:
                raise short_string("Coordinator", "error_message", len(b3))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b3)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = FindCoordinatorResponse.__new__(FindCoordinatorResponse)
        m.throttle_time_ms = 0
        m.error_message = ""
        m.coordinators = []
        m.error_code, m.node_id, n1 = _unpack_hih(data, pos)
        pos += 8
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("FindCoordinatorResponse", "FindCoordinatorResponse.host", n1, pos, size)
        m.host = str(data[pos:z1], "utf-8")
        pos = z1
        (m.port,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = FindCoordinatorResponse.__new__(FindCoordinatorResponse)
        m.coordinators = []
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihh(data, pos)
        pos += 8
        if n1 == -1:
            m.error_message = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("FindCoordinatorResponse", "FindCoordinatorResponse.error_message", n1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        m.node_id, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("FindCoordinatorResponse", "FindCoordinatorResponse.host", n2, pos, size)
        m.host = str(data[pos:z2], "utf-8")
        pos = z2
        (m.port,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = FindCoordinatorResponse.__new__(FindCoordinatorResponse)
        m.coordinators = []
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("FindCoordinatorResponse", "FindCoordinatorResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        m.node_id, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("FindCoordinatorResponse", "FindCoordinatorResponse.host", n2 - 1, pos, size)
        m.host = str(data[pos:z2], "utf-8")
        pos = z2
        m.port, k1 = _unpack_iB(data, pos)
        pos += 5
        if k1:
            pos = skip_tagged("FindCoordinatorResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # versions 4, 5, 6
    size = len(data)
    try:
        m = FindCoordinatorResponse.__new__(FindCoordinatorResponse)
        m.error_code = 0
        m.error_message = ""
        m.node_id = 0
        m.host = ""
        m.port = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 14 > size - pos:
            raise overrun("FindCoordinatorResponse", "FindCoordinatorResponse.coordinators", n1, pos, size)
        l1: list[Coordinator] = []
        m.coordinators = l1
        for _ in range(n1):
            e1 = Coordinator.__new__(Coordinator)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("FindCoordinatorResponse", "Coordinator.key", n2 - 1, pos, size)
            e1.key = str(data[pos:z1], "utf-8")
            pos = z1
            e1.node_id, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("FindCoordinatorResponse", "Coordinator.host", n3 - 1, pos, size)
            e1.host = str(data[pos:z2], "utf-8")
            pos = z2
            e1.port, e1.error_code, n4 = _unpack_ihB(data, pos)
            pos += 7
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.error_message = None
            else:
                z3 = pos + n4 - 1
                if z3 > size:
                    raise overrun("FindCoordinatorResponse", "Coordinator.error_message", n4 - 1, pos, size)
                e1.error_message = str(data[pos:z3], "utf-8")
                pos = z3
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("FindCoordinatorResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("FindCoordinatorResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FindCoordinatorResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[FindCoordinatorResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v4,
    6: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[FindCoordinatorResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v4,
    6: _decode_v4,
}
