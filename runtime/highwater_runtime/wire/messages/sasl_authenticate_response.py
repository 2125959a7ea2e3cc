"""SaslAuthenticateResponse: response body, key 36, versions 0 to 2.

Generated from ``schemas/sasl.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    ENCODE_FAULTS,
    UVARINT,
    Buffer,
    DecodeError,
    malformed,
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
_pack_q: Final = Struct(">q").pack
_pack_qx: Final = Struct(">qx").pack
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qB: Final = Struct(">qB").unpack_from


class SaslAuthenticateResponse:
    """The server's next message, or why it has refused.

    ``error_code`` int16

    ``error_message`` string

    ``auth_bytes`` bytes

    ``session_lifetime_ms`` int64 (v1+): When to authenticate anew (KIP-368); 0 for never.
    """

    API_KEY: ClassVar[int] = 36
    NAME: ClassVar[str] = "SaslAuthenticateResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")
    error_code: int
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaslAuthenticateResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.auth_bytes == other.auth_bytes
            and self.session_lifetime_ms == other.session_lifetime_ms
        )

    def __repr__(self) -> str:
        return (
            f"SaslAuthenticateResponse(error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"auth_bytes={show(self.auth_bytes)}, "
            f"session_lifetime_ms={self.session_lifetime_ms!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SaslAuthenticateResponse", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SaslAuthenticateResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SaslAuthenticateResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslAuthenticateResponse", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SaslAuthenticateResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SaslAuthenticateResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslAuthenticateResponse", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: SaslAuthenticateResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    if m.error_message is None:
        add(b"\xff\xff")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("SaslAuthenticateResponse", "error_message", len(b1))
        add(_pack_h(n1))
        add(b1)
    b2 = m.auth_bytes
    n2 = len(b2)
    add(_pack_i(n2))
    add(b2)
    return out


def _encode_v1(m: SaslAuthenticateResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    if m.error_message is None:
        add(b"\xff\xff")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("SaslAuthenticateResponse", "error_message", len(b1))
        add(_pack_h(n1))
        add(b1)
    b2 = m.auth_bytes
    n2 = len(b2)
    add(_pack_i(n2))
    add(b2)
    add(_pack_q(m.session_lifetime_ms))
    return out


def _encode_v2(m: SaslAuthenticateResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("SaslAuthenticateResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    b2 = m.auth_bytes
    n2 = len(b2) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    add(b2)
    add(_pack_qx(m.session_lifetime_ms))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = SaslAuthenticateResponse.__new__(SaslAuthenticateResponse)
        m.session_lifetime_ms = 0
        m.error_code, n1 = _unpack_hh(data, pos)
        pos += 4
        if n1 == -1:
            m.error_message = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("SaslAuthenticateResponse", "SaslAuthenticateResponse.error_message", n1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("SaslAuthenticateResponse", "SaslAuthenticateResponse.auth_bytes", n2, pos, size)
        m.auth_bytes = bytes(data[pos:z2])
        pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("SaslAuthenticateResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = SaslAuthenticateResponse.__new__(SaslAuthenticateResponse)
        m.error_code, n1 = _unpack_hh(data, pos)
        pos += 4
        if n1 == -1:
            m.error_message = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("SaslAuthenticateResponse", "SaslAuthenticateResponse.error_message", n1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("SaslAuthenticateResponse", "SaslAuthenticateResponse.auth_bytes", n2, pos, size)
        m.auth_bytes = bytes(data[pos:z2])
        pos = z2
        (m.session_lifetime_ms,) = _unpack_q(data, pos)
        pos += 8
    except DECODE_FAULTS as fault:
        raise malformed("SaslAuthenticateResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = SaslAuthenticateResponse.__new__(SaslAuthenticateResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("SaslAuthenticateResponse", "SaslAuthenticateResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("SaslAuthenticateResponse", "SaslAuthenticateResponse.auth_bytes", n2 - 1, pos, size)
        m.auth_bytes = bytes(data[pos:z2])
        pos = z2
        m.session_lifetime_ms, k1 = _unpack_qB(data, pos)
        pos += 9
        if k1:
            pos = skip_tagged("SaslAuthenticateResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SaslAuthenticateResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SaslAuthenticateResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SaslAuthenticateResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
