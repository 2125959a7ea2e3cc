"""SaslAuthenticateRequest: request body, key 36, versions 0 to 2.

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
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_i: Final = Struct(">i").pack
_unpack_i: Final = Struct(">i").unpack_from


class SaslAuthenticateRequest:
    """One message of the mechanism's conversation.

    ``auth_bytes`` bytes
    """

    API_KEY: ClassVar[int] = 36
    NAME: ClassVar[str] = "SaslAuthenticateRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("auth_bytes",)
    auth_bytes: bytes

    def __init__(
        self,
        *,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaslAuthenticateRequest):
            return NotImplemented
        return (
            self.auth_bytes == other.auth_bytes
        )

    def __repr__(self) -> str:
        return (
            f"SaslAuthenticateRequest(auth_bytes={show(self.auth_bytes)})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SaslAuthenticateRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SaslAuthenticateRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SaslAuthenticateRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslAuthenticateRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SaslAuthenticateRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SaslAuthenticateRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslAuthenticateRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: SaslAuthenticateRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    b1 = m.auth_bytes
    n1 = len(b1)
    add(_pack_i(n1))
    add(b1)
    return out


def _encode_v2(m: SaslAuthenticateRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    b1 = m.auth_bytes
    n1 = len(b1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SaslAuthenticateRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = SaslAuthenticateRequest.__new__(SaslAuthenticateRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("SaslAuthenticateRequest", "SaslAuthenticateRequest.auth_bytes", n1, pos, size)
        m.auth_bytes = bytes(data[pos:z1])
        pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("SaslAuthenticateRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[SaslAuthenticateRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = SaslAuthenticateRequest.__new__(SaslAuthenticateRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("SaslAuthenticateRequest", "SaslAuthenticateRequest.auth_bytes", n1 - 1, pos, size)
        m.auth_bytes = bytes(data[pos:z1])
        pos = z1
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("SaslAuthenticateRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SaslAuthenticateRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SaslAuthenticateRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SaslAuthenticateRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
}
