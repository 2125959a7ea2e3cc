"""OffsetDeleteRequest: request body, key 47, versions 0.

Generated from ``schemas/group_offsets.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
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


class OffsetDeleteRequestPartition:
    """Part of :class:`OffsetDeleteRequest`.

    ``partition_index`` int32
    """

    __slots__ = ("partition_index",)
    partition_index: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetDeleteRequestPartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
        )

    def __repr__(self) -> str:
        return (
            f"OffsetDeleteRequestPartition(partition_index={self.partition_index!r})"
        )


class OffsetDeleteRequestTopic:
    """Part of :class:`OffsetDeleteRequest`.

    ``name`` string

    ``partitions`` []OffsetDeleteRequestPartition
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[OffsetDeleteRequestPartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetDeleteRequestTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetDeleteRequestTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetDeleteRequest:
    """Forget what a group committed for partitions that it no longer reads (KIP-496).

    ``group_id`` string

    ``topics`` []OffsetDeleteRequestTopic
    """

    API_KEY: ClassVar[int] = 47
    NAME: ClassVar[str] = "OffsetDeleteRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("group_id", "topics")
    group_id: str
    topics: list[OffsetDeleteRequestTopic]

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetDeleteRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetDeleteRequest(group_id={self.group_id!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetDeleteRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetDeleteRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetDeleteRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetDeleteRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetDeleteRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetDeleteRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetDeleteRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: OffsetDeleteRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetDeleteRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    l1 = m.topics
    n2 = len(l1)
    add(_pack_i(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("OffsetDeleteRequestTopic", "name", len(b2))
        add(_pack_h(n3))
        add(b2)
        l2 = e1.partitions
        n4 = len(l2)
        add(_pack_i(n4))
        for e2 in l2:
            add(_pack_i(e2.partition_index))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[OffsetDeleteRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = OffsetDeleteRequest.__new__(OffsetDeleteRequest)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetDeleteRequest", "OffsetDeleteRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        if n2 < 0 or n2 * 6 > size - pos:
            raise overrun("OffsetDeleteRequest", "OffsetDeleteRequest.topics", n2, pos, size)
        l1: list[OffsetDeleteRequestTopic] = []
        m.topics = l1
        for _ in range(n2):
            e1 = OffsetDeleteRequestTopic.__new__(OffsetDeleteRequestTopic)
            l1.append(e1)
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("OffsetDeleteRequest", "OffsetDeleteRequestTopic.name", n3, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_i(data, pos)
            pos += 4
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("OffsetDeleteRequest", "OffsetDeleteRequestTopic.partitions", n4, pos, size)
            l2: list[OffsetDeleteRequestPartition] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = OffsetDeleteRequestPartition.__new__(OffsetDeleteRequestPartition)
                l2.append(e2)
                (e2.partition_index,) = _unpack_i(data, pos)
                pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetDeleteRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetDeleteRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetDeleteRequest, int]]]] = {
    0: _decode_v0,
}
