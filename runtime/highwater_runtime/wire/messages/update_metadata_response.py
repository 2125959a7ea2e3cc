"""UpdateMetadataResponse: response body, key 6, versions 0 to 8.

Generated from ``schemas/zookeeper_mode.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_hx: Final = Struct(">hx").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from


class UpdateMetadataResponse:
    """Taken note, or refused as stale.

    ``error_code`` int16
    """

    API_KEY: ClassVar[int] = 6
    NAME: ClassVar[str] = "UpdateMetadataResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 8
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("error_code",)
    error_code: int

    def __init__(
        self,
        *,
        error_code: int = 0,
    ) -> None:
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateMetadataResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"UpdateMetadataResponse(error_code={self.error_code!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UpdateMetadataResponse", version, 0, 8)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UpdateMetadataResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UpdateMetadataResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UpdateMetadataResponse", version, 0, 8)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UpdateMetadataResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UpdateMetadataResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UpdateMetadataResponse", version, 0, 8)
        return decoder(data, position)


def _encode_v0(m: UpdateMetadataResponse) -> list[bytes]:
    # versions 0, 1, 2, 3, 4, 5
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    return out


def _encode_v6(m: UpdateMetadataResponse) -> list[bytes]:
    # versions 6, 7, 8
    out: list[bytes] = []
    add = out.append
    add(_pack_hx(m.error_code))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UpdateMetadataResponse, int]:
    # versions 0, 1, 2, 3, 4, 5
    size = len(data)
    try:
        m = UpdateMetadataResponse.__new__(UpdateMetadataResponse)
        (m.error_code,) = _unpack_h(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[UpdateMetadataResponse, int]:
    # versions 6, 7, 8
    size = len(data)
    try:
        m = UpdateMetadataResponse.__new__(UpdateMetadataResponse)
        m.error_code, k1 = _unpack_hB(data, pos)
        pos += 3
        if k1:
            pos = skip_tagged("UpdateMetadataResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UpdateMetadataResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UpdateMetadataResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v0,
    4: _encode_v0,
    5: _encode_v0,
    6: _encode_v6,
    7: _encode_v6,
    8: _encode_v6,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UpdateMetadataResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v0,
    4: _decode_v0,
    5: _decode_v0,
    6: _decode_v6,
    7: _decode_v6,
    8: _decode_v6,
}
