"""BrokerHeartbeatResponse: response body, key 63, versions 0 to 1.

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

_pack_ihTTTx: Final = Struct(">ih???x").pack
_unpack_ihTTTB: Final = Struct(">ih???B").unpack_from


class BrokerHeartbeatResponse:
    """What the controller holds of the broker.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``is_caught_up`` bool

    ``is_fenced`` bool

    ``should_shut_down`` bool
    """

    API_KEY: ClassVar[int] = 63
    NAME: ClassVar[str] = "BrokerHeartbeatResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")
    throttle_time_ms: int
    error_code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BrokerHeartbeatResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.is_caught_up == other.is_caught_up
            and self.is_fenced == other.is_fenced
            and self.should_shut_down == other.should_shut_down
        )

    def __repr__(self) -> str:
        return (
            f"BrokerHeartbeatResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"is_caught_up={self.is_caught_up!r}, "
            f"is_fenced={self.is_fenced!r}, "
            f"should_shut_down={self.should_shut_down!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("BrokerHeartbeatResponse", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("BrokerHeartbeatResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> BrokerHeartbeatResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerHeartbeatResponse", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("BrokerHeartbeatResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[BrokerHeartbeatResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerHeartbeatResponse", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: BrokerHeartbeatResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    add(_pack_ihTTTx(m.throttle_time_ms, m.error_code, m.is_caught_up, m.is_fenced, m.should_shut_down))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[BrokerHeartbeatResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = BrokerHeartbeatResponse.__new__(BrokerHeartbeatResponse)
        m.throttle_time_ms, m.error_code, m.is_caught_up, m.is_fenced, m.should_shut_down, k1 = _unpack_ihTTTB(data, pos)
        pos += 10
        if k1:
            pos = skip_tagged("BrokerHeartbeatResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerHeartbeatResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[BrokerHeartbeatResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[BrokerHeartbeatResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
}
