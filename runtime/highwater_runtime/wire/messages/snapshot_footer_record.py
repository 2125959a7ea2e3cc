"""SnapshotFooterRecord: data, versions 0.

Generated from ``schemas/control_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_hx: Final = Struct(">hx").pack
_unpack_hB: Final = Struct(">hB").unpack_from


class SnapshotFooterRecord:
    """The last record of a snapshot: without it the snapshot is incomplete.

    ``version`` int16
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "SnapshotFooterRecord"
    KIND: ClassVar[str] = "data"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("version",)
    version: int

    def __init__(
        self,
        *,
        version: int = 0,
    ) -> None:
        self.version = version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SnapshotFooterRecord):
            return NotImplemented
        return (
            self.version == other.version
        )

    def __repr__(self) -> str:
        return (
            f"SnapshotFooterRecord(version={self.version!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SnapshotFooterRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SnapshotFooterRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SnapshotFooterRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SnapshotFooterRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SnapshotFooterRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SnapshotFooterRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SnapshotFooterRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: SnapshotFooterRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_hx(m.version))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SnapshotFooterRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = SnapshotFooterRecord.__new__(SnapshotFooterRecord)
        m.version, k1 = _unpack_hB(data, pos)
        pos += 3
        if k1:
            pos = skip_tagged("SnapshotFooterRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SnapshotFooterRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SnapshotFooterRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SnapshotFooterRecord, int]]]] = {
    0: _decode_v0,
}
