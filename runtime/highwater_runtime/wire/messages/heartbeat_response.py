"""HeartbeatResponse: response body, key 12, versions 0 to 4.

Generated from ``schemas/group_membership.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihx: Final = Struct(">ihx").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from


class HeartbeatResponse:
    """Nothing new, or REBALANCE_IN_PROGRESS: join again.

    ``throttle_time_ms`` int32 (v1+)

    ``error_code`` int16
    """

    API_KEY: ClassVar[int] = 12
    NAME: ClassVar[str] = "HeartbeatResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code")
    throttle_time_ms: int
    error_code: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeartbeatResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"HeartbeatResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("HeartbeatResponse", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("HeartbeatResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> HeartbeatResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("HeartbeatResponse", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("HeartbeatResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[HeartbeatResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("HeartbeatResponse", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: HeartbeatResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    return out


def _encode_v1(m: HeartbeatResponse) -> list[bytes]:
    # versions 1, 2, 3
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    return out


def _encode_v4(m: HeartbeatResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    add(_pack_ihx(m.throttle_time_ms, m.error_code))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[HeartbeatResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = HeartbeatResponse.__new__(HeartbeatResponse)
        m.throttle_time_ms = 0
        (m.error_code,) = _unpack_h(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("HeartbeatResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[HeartbeatResponse, int]:
    # versions 1, 2, 3
    size = len(data)
    try:
        m = HeartbeatResponse.__new__(HeartbeatResponse)
        m.throttle_time_ms, m.error_code = _unpack_ih(data, pos)
        pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("HeartbeatResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[HeartbeatResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = HeartbeatResponse.__new__(HeartbeatResponse)
        m.throttle_time_ms, m.error_code, k1 = _unpack_ihB(data, pos)
        pos += 7
        if k1:
            pos = skip_tagged("HeartbeatResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("HeartbeatResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[HeartbeatResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v1,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[HeartbeatResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v1,
    4: _decode_v4,
}
