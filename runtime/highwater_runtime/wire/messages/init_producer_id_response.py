"""InitProducerIdResponse: response body, key 22, versions 0 to 5.

Generated from ``schemas/init_producer_id.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_ihqh: Final = Struct(">ihqh").pack
_pack_ihqhx: Final = Struct(">ihqhx").pack
_unpack_ihqh: Final = Struct(">ihqh").unpack_from
_unpack_ihqhB: Final = Struct(">ihqhB").unpack_from


class InitProducerIdResponse:
    """The producer id and its epoch.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``producer_id`` int64

    ``producer_epoch`` int16
    """

    API_KEY: ClassVar[int] = 22
    NAME: ClassVar[str] = "InitProducerIdResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InitProducerIdResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.producer_id == other.producer_id
            and self.producer_epoch == other.producer_epoch
        )

    def __repr__(self) -> str:
        return (
            f"InitProducerIdResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"producer_id={self.producer_id!r}, "
            f"producer_epoch={self.producer_epoch!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("InitProducerIdResponse", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("InitProducerIdResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> InitProducerIdResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("InitProducerIdResponse", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("InitProducerIdResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[InitProducerIdResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("InitProducerIdResponse", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: InitProducerIdResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    add(_pack_ihqh(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch))
    return out


def _encode_v2(m: InitProducerIdResponse) -> list[bytes]:
    # versions 2, 3, 4, 5
    out: list[bytes] = []
    add = out.append
    add(_pack_ihqhx(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[InitProducerIdResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = InitProducerIdResponse.__new__(InitProducerIdResponse)
        m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch = _unpack_ihqh(data, pos)
        pos += 16
    except DECODE_FAULTS as fault:
        raise malformed("InitProducerIdResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[InitProducerIdResponse, int]:
    # versions 2, 3, 4, 5
    size = len(data)
    try:
        m = InitProducerIdResponse.__new__(InitProducerIdResponse)
        m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch, k1 = _unpack_ihqhB(data, pos)
        pos += 17
        if k1:
            pos = skip_tagged("InitProducerIdResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("InitProducerIdResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[InitProducerIdResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
    5: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[InitProducerIdResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
    5: _decode_v2,
}
