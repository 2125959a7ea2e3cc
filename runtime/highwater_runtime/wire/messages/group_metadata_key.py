"""GroupMetadataKey: record of __consumer_offsets, versions 2.

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
_unpack_h: Final = Struct(">h").unpack_from


class GroupMetadataKey:
    """Key of a record of ``__consumer_offsets``: a group. Its version tells it from an OffsetCommitKey.

    ``group`` string
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "GroupMetadataKey"
    KIND: ClassVar[str] = "coordinator"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("group",)
    group: str

    def __init__(
        self,
        *,
        group: str = "",
    ) -> None:
        self.group = group

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupMetadataKey):
            return NotImplemented
        return (
            self.group == other.group
        )

    def __repr__(self) -> str:
        return (
            f"GroupMetadataKey(group={self.group!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("GroupMetadataKey", version, 2, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("GroupMetadataKey", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> GroupMetadataKey:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("GroupMetadataKey", version, 2, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("GroupMetadataKey", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[GroupMetadataKey, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("GroupMetadataKey", version, 2, 2)
        return decoder(data, position)


def _encode_v2(m: GroupMetadataKey) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    b1 = m.group.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("GroupMetadataKey", "group", len(b1))
    add(_pack_h(n1))
    add(b1)
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[GroupMetadataKey, int]:
    # versions 2
    size = len(data)
    try:
        m = GroupMetadataKey.__new__(GroupMetadataKey)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("GroupMetadataKey", "GroupMetadataKey.group", n1, pos, size)
        m.group = str(data[pos:z1], "utf-8")
        pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("GroupMetadataKey", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[GroupMetadataKey], list[bytes]]]] = {
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[GroupMetadataKey, int]]]] = {
    2: _decode_v2,
}
