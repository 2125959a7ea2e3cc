"""BrokerRegistrationResponse: response body, key 62, versions 0 to 4.

Generated from ``schemas/broker_lifecycle.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    skip_tagged,
    unencodable,
    unsupported,
)

_pack_ihqx: Final = Struct(">ihqx").pack
_unpack_ihqB: Final = Struct(">ihqB").unpack_from


class BrokerRegistrationResponse:
    """The broker epoch.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``broker_epoch`` int64
    """

    API_KEY: ClassVar[int] = 62
    NAME: ClassVar[str] = "BrokerRegistrationResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "broker_epoch")
    throttle_time_ms: int
    error_code: int
    broker_epoch: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BrokerRegistrationResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.broker_epoch == other.broker_epoch
        )

    def __repr__(self) -> str:
        return (
            f"BrokerRegistrationResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"broker_epoch={self.broker_epoch!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("BrokerRegistrationResponse", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("BrokerRegistrationResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> BrokerRegistrationResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerRegistrationResponse", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("BrokerRegistrationResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[BrokerRegistrationResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerRegistrationResponse", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: BrokerRegistrationResponse) -> list[bytes]:
    # versions 0, 1, 2, 3, 4
    out: list[bytes] = []
    add = out.append
    add(_pack_ihqx(m.throttle_time_ms, m.error_code, m.broker_epoch))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[BrokerRegistrationResponse, int]:
    # versions 0, 1, 2, 3, 4
    size = len(data)
    try:
        m = BrokerRegistrationResponse.__new__(BrokerRegistrationResponse)
        m.throttle_time_ms, m.error_code, m.broker_epoch, k1 = _unpack_ihqB(data, pos)
        pos += 15
        if k1:
            pos = skip_tagged("BrokerRegistrationResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[BrokerRegistrationResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v0,
    4: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[BrokerRegistrationResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v0,
    4: _decode_v0,
}
