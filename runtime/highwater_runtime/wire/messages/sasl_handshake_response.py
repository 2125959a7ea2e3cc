"""SaslHandshakeResponse: response body, key 17, versions 0 to 1.

Generated from ``schemas/sasl.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
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
_pack_hi: Final = Struct(">hi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from


class SaslHandshakeResponse:
    """Whether the listener has the mechanism.

    ``error_code`` int16

    ``mechanisms`` []string: Those that it has.
    """

    API_KEY: ClassVar[int] = 17
    NAME: ClassVar[str] = "SaslHandshakeResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("error_code", "mechanisms")
    error_code: int
    mechanisms: list[str]

    def __init__(
        self,
        *,
        error_code: int = 0,
        mechanisms: list[str] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is EMPTY else mechanisms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaslHandshakeResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.mechanisms == other.mechanisms
        )

    def __repr__(self) -> str:
        return (
            f"SaslHandshakeResponse(error_code={self.error_code!r}, "
            f"mechanisms={self.mechanisms!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SaslHandshakeResponse", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SaslHandshakeResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SaslHandshakeResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslHandshakeResponse", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SaslHandshakeResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SaslHandshakeResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SaslHandshakeResponse", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: SaslHandshakeResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.mechanisms
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("SaslHandshakeResponse", "mechanisms", len(b1))
        add(_pack_h(n2))
        add(b1)
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SaslHandshakeResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = SaslHandshakeResponse.__new__(SaslHandshakeResponse)
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("SaslHandshakeResponse", "SaslHandshakeResponse.mechanisms", n1, pos, size)
        l1: list[str] = []
        m.mechanisms = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("SaslHandshakeResponse", "SaslHandshakeResponse.mechanisms", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
    except DECODE_FAULTS as fault:
        raise malformed("SaslHandshakeResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SaslHandshakeResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SaslHandshakeResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
}
