"""OffsetCommitValue: record of __consumer_offsets, versions 0 to 3.

Generated from ``schemas/group_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    overrun,
    short_string,
    unencodable,
    unsupported,
)

_pack_q: Final = Struct(">q").pack
_pack_qh: Final = Struct(">qh").pack
_pack_qih: Final = Struct(">qih").pack
_pack_qq: Final = Struct(">qq").pack
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qh: Final = Struct(">qh").unpack_from
_unpack_qih: Final = Struct(">qih").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from


class OffsetCommitValue:
    """Value under an OffsetCommitKey; a record without value takes the commit back.

    ``offset`` int64: The offset to read next.

    ``leader_epoch`` int32 (v3+)

    ``metadata`` string

    ``commit_timestamp`` int64: Milliseconds since 1970.

    ``expire_timestamp`` int64 (v1-1)
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "OffsetCommitValue"
    KIND: ClassVar[str] = "coordinator"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp")
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitValue):
            return NotImplemented
        return (
            self.offset == other.offset
            and self.leader_epoch == other.leader_epoch
            and self.metadata == other.metadata
            and self.commit_timestamp == other.commit_timestamp
            and self.expire_timestamp == other.expire_timestamp
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitValue(offset={self.offset!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"metadata={self.metadata!r}, "
            f"commit_timestamp={self.commit_timestamp!r}, "
            f"expire_timestamp={self.expire_timestamp!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetCommitValue", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetCommitValue", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetCommitValue:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitValue", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetCommitValue", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetCommitValue, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitValue", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: OffsetCommitValue) -> list[bytes]:
    # versions 0, 2
    out: list[bytes] = []
    add = out.append
    b1 = m.metadata.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitValue", "metadata", len(b1))
    add(_pack_qh(m.offset, n1))
    add(b1)
    add(_pack_q(m.commit_timestamp))
    return out


def _encode_v1(m: OffsetCommitValue) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    b1 = m.metadata.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitValue", "metadata", len(b1))
    add(_pack_qh(m.offset, n1))
    add(b1)
    add(_pack_qq(m.commit_timestamp, m.expire_timestamp))
    return out


def _encode_v3(m: OffsetCommitValue) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    b1 = m.metadata.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitValue", "metadata", len(b1))
    add(_pack_qih(m.offset, m.leader_epoch, n1))
    add(b1)
    add(_pack_q(m.commit_timestamp))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    # versions 0, 2
    size = len(data)
    try:
        m = OffsetCommitValue.__new__(OffsetCommitValue)
        m.leader_epoch = -1
        m.expire_timestamp = -1
        m.offset, n1 = _unpack_qh(data, pos)
        pos += 10
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitValue", "OffsetCommitValue.metadata", n1, pos, size)
        m.metadata = str(data[pos:z1], "utf-8")
        pos = z1
        (m.commit_timestamp,) = _unpack_q(data, pos)
        pos += 8
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitValue", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    # versions 1
    size = len(data)
    try:
        m = OffsetCommitValue.__new__(OffsetCommitValue)
        m.leader_epoch = -1
        m.offset, n1 = _unpack_qh(data, pos)
        pos += 10
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitValue", "OffsetCommitValue.metadata", n1, pos, size)
        m.metadata = str(data[pos:z1], "utf-8")
        pos = z1
        m.commit_timestamp, m.expire_timestamp = _unpack_qq(data, pos)
        pos += 16
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitValue", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    # versions 3
    size = len(data)
    try:
        m = OffsetCommitValue.__new__(OffsetCommitValue)
        m.expire_timestamp = -1
        m.offset, m.leader_epoch, n1 = _unpack_qih(data, pos)
        pos += 14
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitValue", "OffsetCommitValue.metadata", n1, pos, size)
        m.metadata = str(data[pos:z1], "utf-8")
        pos = z1
        (m.commit_timestamp,) = _unpack_q(data, pos)
        pos += 8
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitValue", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetCommitValue], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v0,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetCommitValue, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v0,
    3: _decode_v3,
}
