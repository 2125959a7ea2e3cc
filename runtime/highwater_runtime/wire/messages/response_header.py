"""ResponseHeader: header, versions 0 to 1.

Generated from ``schemas/headers.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_i: Final = Struct(">i").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class ResponseHeader:
    """In front of every response.

    ``correlation_id`` int32
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "ResponseHeader"
    KIND: ClassVar[str] = "header"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1

    __slots__ = ("correlation_id",)
    correlation_id: int

    def __init__(
        self,
        *,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResponseHeader):
            return NotImplemented
        return (
            self.correlation_id == other.correlation_id
        )

    def __repr__(self) -> str:
        return (
            f"ResponseHeader(correlation_id={self.correlation_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ResponseHeader", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ResponseHeader", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ResponseHeader:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ResponseHeader", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ResponseHeader", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ResponseHeader, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ResponseHeader", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: ResponseHeader) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_i(m.correlation_id))
    return out


def _encode_v1(m: ResponseHeader) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    add(_pack_ix(m.correlation_id))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ResponseHeader, int]:
    # versions 0
    size = len(data)
    try:
        m = ResponseHeader.__new__(ResponseHeader)
        (m.correlation_id,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ResponseHeader", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[ResponseHeader, int]:
    # versions 1
    size = len(data)
    try:
        m = ResponseHeader.__new__(ResponseHeader)
        m.correlation_id, k1 = _unpack_iB(data, pos)
        pos += 5
        if k1:
            pos = skip_tagged("ResponseHeader", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ResponseHeader", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ResponseHeader], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ResponseHeader, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
