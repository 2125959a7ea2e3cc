"""UnregisterBrokerResponse: response body, key 64, versions 0.

Generated from ``schemas/broker_lifecycle.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_ih: Final = Struct(">ih").pack
_unpack_ihB: Final = Struct(">ihB").unpack_from


class UnregisterBrokerResponse:
    """Whether the broker is forgotten.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``error_message`` string
    """

    API_KEY: ClassVar[int] = 64
    NAME: ClassVar[str] = "UnregisterBrokerResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message")
    throttle_time_ms: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnregisterBrokerResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"UnregisterBrokerResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UnregisterBrokerResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UnregisterBrokerResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UnregisterBrokerResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UnregisterBrokerResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UnregisterBrokerResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UnregisterBrokerResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UnregisterBrokerResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: UnregisterBrokerResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("UnregisterBrokerResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UnregisterBrokerResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = UnregisterBrokerResponse.__new__(UnregisterBrokerResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("UnregisterBrokerResponse", "UnregisterBrokerResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("UnregisterBrokerResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UnregisterBrokerResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UnregisterBrokerResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UnregisterBrokerResponse, int]]]] = {
    0: _decode_v0,
}
