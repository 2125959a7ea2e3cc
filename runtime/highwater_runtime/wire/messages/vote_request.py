"""VoteRequest: request body, key 52, versions 0 to 2.

Generated from ``schemas/quorum.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    UVARINT,
    ZERO_UUID,
    Buffer,
    DecodeError,
    malformed,
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_iiiUUiqTx: Final = Struct(">iii16s16siq?x").pack
_pack_iiiUUiqx: Final = Struct(">iii16s16siqx").pack
_pack_iiiiqx: Final = Struct(">iiiiqx").pack
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iiiUUiqB: Final = Struct(">iii16s16siqB").unpack_from
_unpack_iiiUUiqTB: Final = Struct(">iii16s16siq?B").unpack_from
_unpack_iiiiqB: Final = Struct(">iiiiqB").unpack_from


class PartitionData:
    """Part of :class:`VoteRequest`.

    ``partition_index`` int32

    ``replica_epoch`` int32: Epoch of the candidate.

    ``replica_id`` int32: The candidate.

    ``replica_directory_id`` uuid (v1+)

    ``voter_directory_id`` uuid (v1+)

    ``last_offset_epoch`` int32: Epoch of the candidate's last record.

    ``last_offset`` int64: End offset of the candidate's log.

    ``pre_vote`` bool (v2+)
    """

    __slots__ = ("partition_index", "replica_epoch", "replica_id", "replica_directory_id", "voter_directory_id", "last_offset_epoch", "last_offset", "pre_vote")
    partition_index: int
    replica_epoch: int
    replica_id: int
    replica_directory_id: UUID
    voter_directory_id: UUID
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        voter_directory_id: UUID = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.replica_epoch == other.replica_epoch
            and self.replica_id == other.replica_id
            and self.replica_directory_id == other.replica_directory_id
            and self.voter_directory_id == other.voter_directory_id
            and self.last_offset_epoch == other.last_offset_epoch
            and self.last_offset == other.last_offset
            and self.pre_vote == other.pre_vote
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"replica_epoch={self.replica_epoch!r}, "
            f"replica_id={self.replica_id!r}, "
            f"replica_directory_id={self.replica_directory_id!r}, "
            f"voter_directory_id={self.voter_directory_id!r}, "
            f"last_offset_epoch={self.last_offset_epoch!r}, "
            f"last_offset={self.last_offset!r}, "
            f"pre_vote={self.pre_vote!r})"
        )


class TopicData:
    """Part of :class:`VoteRequest`.

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


class VoteRequest:
    """A candidate asks for a vote (KIP-595); with pre_vote, whether it would get one (KIP-996).

    ``cluster_id`` string

    ``voter_id`` int32 (v1+): Whom the request is meant for (KIP-853).

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 52
    NAME: ClassVar[str] = "VoteRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("cluster_id", "voter_id", "topics")
    cluster_id: str | None
    voter_id: int
    topics: list[TopicData]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VoteRequest):
            return NotImplemented
        return (
            self.cluster_id == other.cluster_id
            and self.voter_id == other.voter_id
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"VoteRequest(cluster_id={self.cluster_id!r}, "
            f"voter_id={self.voter_id!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("VoteRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("VoteRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> VoteRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("VoteRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("VoteRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[VoteRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("VoteRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: VoteRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("VoteRequest", "cluster_id", len(b1))
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
            if not (not e2.pre_vote):
                raise not_in_version("VoteRequest", "PartitionData.pre_vote", e2.pre_vote)
            add(_pack_iiiiqx(e2.partition_index, e2.replica_epoch, e2.replica_id, e2.last_offset_epoch, e2.last_offset))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v1(m: VoteRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("VoteRequest", "cluster_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1) + 1
    add(_pack_iB(m.voter_id, n2) if n2 < 128 else _pack_i(m.voter_id) + uvarint(n2))
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
            if not (not e2.pre_vote):
                raise not_in_version("VoteRequest", "PartitionData.pre_vote", e2.pre_vote)
            add(_pack_iiiUUiqx(e2.partition_index, e2.replica_epoch, e2.replica_id, e2.replica_directory_id.bytes, e2.voter_directory_id.bytes, e2.last_offset_epoch, e2.last_offset))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v2(m: VoteRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("VoteRequest", "cluster_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1) + 1
    add(_pack_iB(m.voter_id, n2) if n2 < 128 else _pack_i(m.voter_id) + uvarint(n2))
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
            add(_pack_iiiUUiqTx(e2.partition_index, e2.replica_epoch, e2.replica_id, e2.replica_directory_id.bytes, e2.voter_directory_id.bytes, e2.last_offset_epoch, e2.last_offset, e2.pre_vote))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[VoteRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = VoteRequest.__new__(VoteRequest)
        m.voter_id = -1
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.cluster_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("VoteRequest", "VoteRequest.cluster_id", n1 - 1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("VoteRequest", "VoteRequest.topics", n2, pos, size)
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
                raise overrun("VoteRequest", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 25 > size - pos:
                raise overrun("VoteRequest", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                e2.voter_directory_id = ZERO_UUID
                e2.pre_vote = False
                e2.partition_index, e2.replica_epoch, e2.replica_id, e2.last_offset_epoch, e2.last_offset, k1 = _unpack_iiiiqB(data, pos)
                pos += 25
                if k1:
                    pos = skip_tagged("VoteRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("VoteRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("VoteRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("VoteRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[VoteRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = VoteRequest.__new__(VoteRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.cluster_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("VoteRequest", "VoteRequest.cluster_id", n1 - 1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.voter_id, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("VoteRequest", "VoteRequest.topics", n2, pos, size)
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
                raise overrun("VoteRequest", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 57 > size - pos:
                raise overrun("VoteRequest", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.pre_vote = False
                e2.partition_index, e2.replica_epoch, e2.replica_id, u1, u2, e2.last_offset_epoch, e2.last_offset, k1 = _unpack_iiiUUiqB(data, pos)
                pos += 57
                e2.replica_directory_id = uuid_of(u1)
                e2.voter_directory_id = uuid_of(u2)
                if k1:
                    pos = skip_tagged("VoteRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("VoteRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("VoteRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("VoteRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[VoteRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = VoteRequest.__new__(VoteRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.cluster_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("VoteRequest", "VoteRequest.cluster_id", n1 - 1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.voter_id, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("VoteRequest", "VoteRequest.topics", n2, pos, size)
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
                raise overrun("VoteRequest", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 58 > size - pos:
                raise overrun("VoteRequest", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.replica_epoch, e2.replica_id, u1, u2, e2.last_offset_epoch, e2.last_offset, e2.pre_vote, k1 = _unpack_iiiUUiqTB(data, pos)
                pos += 58
                e2.replica_directory_id = uuid_of(u1)
                e2.voter_directory_id = uuid_of(u2)
                if k1:
                    pos = skip_tagged("VoteRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("VoteRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("VoteRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("VoteRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[VoteRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[VoteRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
