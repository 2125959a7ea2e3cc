"""SaslHandshakeRequest: request body, key 17, versions 0 to 1.

Generated from ``schemas/sasl.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    ENCODE_FAULTS,
    Buffer,
    DecodeError,
    malformed,
    overrun,
    short_string,
    unencodable,
    unsupported,
)

_pack_h: Final = Struct(">h").pack
_unpack_h: Final = Struct(">h").unpack_from


class SaslHandshakeRequest:
    """Which mechanism the client wants to authenticate with. From version 1 on SaslAuthenticate requests follow.

    ``mechanism`` string
    """

    API_KEY: ClassVar[int] = 17
    NAME: ClassVar[str] = "SaslHandshakeRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("mechanism",)
    mechanism: str

    def __init__(
        self,
        *,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaslHandshakeRequest):
            return NotImplemented
        return (
            self.mechanism == other.mechanism
        )

    def __repr__(self) -> str:
        return (
            f"SaslHandshakeRequest(mechanism={self.mechanism!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SaslHandshakeRequest", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SaslHandshakeRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SaslHandshakeRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslHandshakeRequest", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SaslHandshakeRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SaslHandshakeRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslHandshakeRequest", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: SaslHandshakeRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    b1 = m.mechanism.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("SaslHandshakeRequest", "mechanism", len(b1))
    add(_pack_h(n1))
    add(b1)
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SaslHandshakeRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = SaslHandshakeRequest.__new__(SaslHandshakeRequest)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("SaslHandshakeRequest", "SaslHandshakeRequest.mechanism", n1, pos, size)
        m.mechanism = str(data[pos:z1], "utf-8")
        pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("SaslHandshakeRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SaslHandshakeRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SaslHandshakeRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
}
