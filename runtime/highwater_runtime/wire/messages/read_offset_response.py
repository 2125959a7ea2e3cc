"""ReadOffsetResponse: response body, key 10000, versions 0.

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

_pack_h: Final = Struct(">h").pack
_pack_ihqiix: Final = Struct(">ihqiix").pack
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_ihqiiB: Final = Struct(">ihqiiB").unpack_from


class PartitionData:
    """Part of :class:`ReadOffsetResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``applied_offset`` int64: The last applied offset on the leader; -1 with an error.

    ``leader_id`` int32: -1 if unknown.

    ``leader_epoch`` int32
    """

    __slots__ = ("partition_index", "error_code", "applied_offset", "leader_id", "leader_epoch")
    partition_index: int
    error_code: int
    applied_offset: int
    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        applied_offset: int = -1,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.applied_offset = applied_offset
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.applied_offset == other.applied_offset
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"applied_offset={self.applied_offset!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r})"
        )


class TopicData:
    """Part of :class:`ReadOffsetResponse`.

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


class ReadOffsetResponse:
    """What a read must have applied before it is answered. The errors and the leader are additions to the draft.

    ``error_code`` int16

    ``cluster_id`` string

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 10000
    NAME: ClassVar[str] = "ReadOffsetResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("error_code", "cluster_id", "topics")
    error_code: int
    cluster_id: str | None
    topics: list[TopicData]

    def __init__(
        self,
        *,
        error_code: int = 0,
        cluster_id: str | None = None,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.cluster_id = cluster_id
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReadOffsetResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.cluster_id == other.cluster_id
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"ReadOffsetResponse(error_code={self.error_code!r}, "
            f"cluster_id={self.cluster_id!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ReadOffsetResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ReadOffsetResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ReadOffsetResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ReadOffsetResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ReadOffsetResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ReadOffsetResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ReadOffsetResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: ReadOffsetResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("ReadOffsetResponse", "cluster_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
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
            add(_pack_ihqiix(e2.partition_index, e2.error_code, e2.applied_offset, e2.leader_id, e2.leader_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ReadOffsetResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = ReadOffsetResponse.__new__(ReadOffsetResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.cluster_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("ReadOffsetResponse", "ReadOffsetResponse.cluster_id", n1 - 1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("ReadOffsetResponse", "ReadOffsetResponse.topics", n2, pos, size)
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
                raise overrun("ReadOffsetResponse", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 23 > size - pos:
                raise overrun("ReadOffsetResponse", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.applied_offset, e2.leader_id, e2.leader_epoch, k1 = _unpack_ihqiiB(data, pos)
                pos += 23
                if k1:
                    pos = skip_tagged("ReadOffsetResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ReadOffsetResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ReadOffsetResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ReadOffsetResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ReadOffsetResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ReadOffsetResponse, int]]]] = {
    0: _decode_v0,
}
