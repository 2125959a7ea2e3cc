"""OffsetCommitKey: record of __consumer_offsets, versions 0 to 1.

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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class OffsetCommitKey:
    """Key of a record of ``__consumer_offsets``: what a group committed for a partition.

    ``group`` string

    ``topic`` string

    ``partition`` int32
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "OffsetCommitKey"
    KIND: ClassVar[str] = "coordinator"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("group", "topic", "partition")
    group: str
    topic: str
    partition: int

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitKey):
            return NotImplemented
        return (
            self.group == other.group
            and self.topic == other.topic
            and self.partition == other.partition
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitKey(group={self.group!r}, "
            f"topic={self.topic!r}, "
            f"partition={self.partition!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetCommitKey", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetCommitKey", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetCommitKey:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitKey", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetCommitKey", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetCommitKey, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitKey", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: OffsetCommitKey) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    b1 = m.group.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitKey", "group", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.topic.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("OffsetCommitKey", "topic", len(b2))
    add(_pack_h(n2))
    add(b2)
    add(_pack_i(m.partition))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[OffsetCommitKey, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = OffsetCommitKey.__new__(OffsetCommitKey)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitKey", "OffsetCommitKey.group", n1, pos, size)
        m.group = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_h(data, pos)
        pos += 2
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("OffsetCommitKey", "OffsetCommitKey.topic", n2, pos, size)
        m.topic = str(data[pos:z2], "utf-8")
        pos = z2
        (m.partition,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitKey", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetCommitKey], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetCommitKey, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
}
