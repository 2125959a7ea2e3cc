"""ReadOffsetRequest: request body, key 10000, versions 0.

Generated from ``schemas/linearizable_reads.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_q: Final = Struct(">q").pack
_pack_qB: Final = Struct(">qB").pack
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_qB: Final = Struct(">qB").unpack_from


class PartitionData:
    """Part of :class:`ReadOffsetRequest`.

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
    """Part of :class:`ReadOffsetRequest`.

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


class ReadOffsetRequest:
    """How far has the quorum's leader applied the log? (KIP-650; an API of ours, in the range that Kafka does not use.)

    ``cluster_id`` string

    ``read_timestamp`` int64: When the read began, in milliseconds by the wall clock of the node that asks.

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 10000
    NAME: ClassVar[str] = "ReadOffsetRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("cluster_id", "read_timestamp", "topics")
    cluster_id: str | None
    read_timestamp: int
    topics: list[TopicData]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        read_timestamp: int = 0,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.cluster_id = cluster_id
        self.read_timestamp = read_timestamp
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReadOffsetRequest):
            return NotImplemented
        return (
            self.cluster_id == other.cluster_id
            and self.read_timestamp == other.read_timestamp
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"ReadOffsetRequest(cluster_id={self.cluster_id!r}, "
            f"read_timestamp={self.read_timestamp!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ReadOffsetRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ReadOffsetRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ReadOffsetRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ReadOffsetRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ReadOffsetRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ReadOffsetRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ReadOffsetRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: ReadOffsetRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("ReadOffsetRequest", "cluster_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1) + 1
    add(_pack_qB(m.read_timestamp, n2) if n2 < 128 else _pack_q(m.read_timestamp) + uvarint(n2))
    for e1 in l1:
        b2 = e1.topic_name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("TopicData", "topic_name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        l2 = e1.partitions
        n4 = len(l2) + 1
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        for e2 in l2:
            add(_pack_ix(e2.partition_index))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ReadOffsetRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = ReadOffsetRequest.__new__(ReadOffsetRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.cluster_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("ReadOffsetRequest", "ReadOffsetRequest.cluster_id", n1 - 1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.read_timestamp, n2 = _unpack_qB(data, pos)
        pos += 9
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("ReadOffsetRequest", "ReadOffsetRequest.topics", n2, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n2):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("ReadOffsetRequest", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 5 > size - pos:
                raise overrun("ReadOffsetRequest", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, k1 = _unpack_iB(data, pos)
                pos += 5
                if k1:
                    pos = skip_tagged("ReadOffsetRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ReadOffsetRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ReadOffsetRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ReadOffsetRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ReadOffsetRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ReadOffsetRequest, int]]]] = {
    0: _decode_v0,
}
