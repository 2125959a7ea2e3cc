"""NoOpRecord: record of the metadata log, key 20, versions 0.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
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



class NoOpRecord:
    """Nothing: lets the high watermark advance and brokers see that they are current (KIP-835)."""

    API_KEY: ClassVar[int] = 20
    NAME: ClassVar[str] = "NoOpRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NoOpRecord):
            return NotImplemented
        return (
            True
        )

    def __repr__(self) -> str:
        return "NoOpRecord()"

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("NoOpRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("NoOpRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> NoOpRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("NoOpRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("NoOpRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[NoOpRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("NoOpRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: NoOpRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[NoOpRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = NoOpRecord.__new__(NoOpRecord)
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("NoOpRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("NoOpRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[NoOpRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[NoOpRecord, int]]]] = {
    0: _decode_v0,
}
