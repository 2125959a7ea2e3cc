"""DescribeQuorumRequest: request body, key 55, versions 0 to 2.

Generated from ``schemas/quorum.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_ix: Final = Struct(">ix").pack
_unpack_iB: Final = Struct(">iB").unpack_from


class PartitionData:
    """Part of :class:`DescribeQuorumRequest`.

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
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r})"
        )


class TopicData:
    """Part of :class:`DescribeQuorumRequest`.

    ``topic_name`` string

    ``partitions`` []PartitionData
    """

    __slots__ = ("topic_name", "partitions")
    topic_name: str
    partitions: list[PartitionData]

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicData):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicData(topic_name={self.topic_name!r}, "
            f"partitions={self.partitions!r})"
        )


class DescribeQuorumRequest:
    """How far are the voters and observers?

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 55
    NAME: ClassVar[str] = "DescribeQuorumRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("topics",)
    topics: list[TopicData]

    def __init__(
        self,
        *,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeQuorumRequest):
            return NotImplemented
        return (
            self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"DescribeQuorumRequest(topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeQuorumRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeQuorumRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeQuorumRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeQuorumRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeQuorumRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeQuorumRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeQuorumRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DescribeQuorumRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicData", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_ix(e2.partition_index))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeQuorumRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = DescribeQuorumRequest.__new__(DescribeQuorumRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("DescribeQuorumRequest", "DescribeQuorumRequest.topics", n1, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeQuorumRequest", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 5 > size - pos:
                raise overrun("DescribeQuorumRequest", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, k1 = _unpack_iB(data, pos)
                pos += 5
                if k1:
                    pos = skip_tagged("DescribeQuorumRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("DescribeQuorumRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("DescribeQuorumRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeQuorumRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeQuorumRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeQuorumRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
}
