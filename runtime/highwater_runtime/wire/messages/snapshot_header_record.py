"""SnapshotHeaderRecord: data, versions 0.

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

_pack_hqx: Final = Struct(">hqx").pack
_unpack_hqB: Final = Struct(">hqB").unpack_from


class SnapshotHeaderRecord:
    """The first record of a snapshot.

    ``version`` int16

    ``last_contained_log_timestamp`` int64: Milliseconds since 1970, of the last record in the snapshot.
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "SnapshotHeaderRecord"
    KIND: ClassVar[str] = "data"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("version", "last_contained_log_timestamp")
    version: int
    last_contained_log_timestamp: int

    def __init__(
        self,
        *,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SnapshotHeaderRecord):
            return NotImplemented
        return (
            self.version == other.version
            and self.last_contained_log_timestamp == other.last_contained_log_timestamp
        )

    def __repr__(self) -> str:
        return (
            f"SnapshotHeaderRecord(version={self.version!r}, "
            f"last_contained_log_timestamp={self.last_contained_log_timestamp!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("SnapshotHeaderRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("SnapshotHeaderRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> SnapshotHeaderRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SnapshotHeaderRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("SnapshotHeaderRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[SnapshotHeaderRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("SnapshotHeaderRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: SnapshotHeaderRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_hqx(m.version, m.last_contained_log_timestamp))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[SnapshotHeaderRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = SnapshotHeaderRecord.__new__(SnapshotHeaderRecord)
        m.version, m.last_contained_log_timestamp, k1 = _unpack_hqB(data, pos)
        pos += 11
        if k1:
            pos = skip_tagged("SnapshotHeaderRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("SnapshotHeaderRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[SnapshotHeaderRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[SnapshotHeaderRecord, int]]]] = {
    0: _decode_v0,
}
