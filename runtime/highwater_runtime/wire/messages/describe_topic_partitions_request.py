"""DescribeTopicPartitionsRequest: request body, key 75, versions 0.

Generated from ``schemas/describe_topic_partitions.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    UVARINT,
    Buffer,
    DecodeError,
    malformed,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_i: Final = Struct(">i").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ib: Final = Struct(">ib").unpack_from


class TopicRequest:
    """Part of :class:`DescribeTopicPartitionsRequest`.

    ``name`` string
    """

    __slots__ = ("name",)
    name: str

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicRequest):
            return NotImplemented
        return (
            self.name == other.name
        )

    def __repr__(self) -> str:
        return (
            f"TopicRequest(name={self.name!r})"
        )


class Cursor:
    """Part of :class:`DescribeTopicPartitionsRequest`.

    ``topic_name`` string

    ``partition_index`` int32
    """

    __slots__ = ("topic_name", "partition_index")
    topic_name: str
    partition_index: int

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cursor):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_index == other.partition_index
        )

    def __repr__(self) -> str:
        return (
            f"Cursor(topic_name={self.topic_name!r}, "
            f"partition_index={self.partition_index!r})"
        )


class DescribeTopicPartitionsRequest:
    """Topics and their partitions, page by page (KIP-966).

    ``topics`` []TopicRequest: Empty for all.

    ``response_partition_limit`` int32: At most so many partitions in one answer.

    ``cursor`` Cursor: Where to begin.
    """

    API_KEY: ClassVar[int] = 75
    NAME: ClassVar[str] = "DescribeTopicPartitionsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("topics", "response_partition_limit", "cursor")
    topics: list[TopicRequest]
    response_partition_limit: int
    cursor: Cursor | None

    def __init__(
        self,
        *,
        topics: list[TopicRequest] = EMPTY,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeTopicPartitionsRequest):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.response_partition_limit == other.response_partition_limit
            and self.cursor == other.cursor
        )

    def __repr__(self) -> str:
        return (
            f"DescribeTopicPartitionsRequest(topics={self.topics!r}, "
            f"response_partition_limit={self.response_partition_limit!r}, "
            f"cursor={self.cursor!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeTopicPartitionsRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeTopicPartitionsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeTopicPartitionsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeTopicPartitionsRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeTopicPartitionsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeTopicPartitionsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeTopicPartitionsRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: DescribeTopicPartitionsRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicRequest", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(b"\x00")
    add(_pack_i(m.response_partition_limit))
    if m.cursor is None:
        add(b"\xff")
    else:
        b2 = m.cursor.topic_name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("Cursor", "topic_name", len(b2))
        add(_pack_bB(1, n3) if n3 < 128 else _pack_b(1) + uvarint(n3))
        add(b2)
        add(_pack_ix(m.cursor.partition_index))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeTopicPartitionsRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeTopicPartitionsRequest.__new__(DescribeTopicPartitionsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("DescribeTopicPartitionsRequest", "DescribeTopicPartitionsRequest.topics", n1, pos, size)
        l1: list[TopicRequest] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicRequest.__new__(TopicRequest)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeTopicPartitionsRequest", "TopicRequest.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("DescribeTopicPartitionsRequest", data, pos - 1)
        m.response_partition_limit, h1 = _unpack_ib(data, pos)
        pos += 5
        if h1 < 0:
            m.cursor = None
        else:
            o1 = Cursor.__new__(Cursor)
            m.cursor = o1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("DescribeTopicPartitionsRequest", "Cursor.topic_name", n3 - 1, pos, size)
            o1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            o1.partition_index, k2 = _unpack_iB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("DescribeTopicPartitionsRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("DescribeTopicPartitionsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeTopicPartitionsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeTopicPartitionsRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeTopicPartitionsRequest, int]]]] = {
    0: _decode_v0,
}
