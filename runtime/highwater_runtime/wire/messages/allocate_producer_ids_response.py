"""AllocateProducerIdsResponse: response body, key 67, versions 0.

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

_pack_ihqix: Final = Struct(">ihqix").pack
_unpack_ihqiB: Final = Struct(">ihqiB").unpack_from


class AllocateProducerIdsResponse:
    """A block of producer ids that is the broker's alone.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``producer_id_start`` int64

    ``producer_id_len`` int32
    """

    API_KEY: ClassVar[int] = 67
    NAME: ClassVar[str] = "AllocateProducerIdsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len")
    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AllocateProducerIdsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.producer_id_start == other.producer_id_start
            and self.producer_id_len == other.producer_id_len
        )

    def __repr__(self) -> str:
        return (
            f"AllocateProducerIdsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"producer_id_start={self.producer_id_start!r}, "
            f"producer_id_len={self.producer_id_len!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AllocateProducerIdsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AllocateProducerIdsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AllocateProducerIdsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AllocateProducerIdsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AllocateProducerIdsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AllocateProducerIdsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AllocateProducerIdsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: AllocateProducerIdsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_ihqix(m.throttle_time_ms, m.error_code, m.producer_id_start, m.producer_id_len))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AllocateProducerIdsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = AllocateProducerIdsResponse.__new__(AllocateProducerIdsResponse)
        m.throttle_time_ms, m.error_code, m.producer_id_start, m.producer_id_len, k1 = _unpack_ihqiB(data, pos)
        pos += 19
        if k1:
            pos = skip_tagged("AllocateProducerIdsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AllocateProducerIdsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AllocateProducerIdsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AllocateProducerIdsResponse, int]]]] = {
    0: _decode_v0,
}
