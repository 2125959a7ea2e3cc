"""EndQuorumEpochRequest: request body, key 54, versions 0 to 1.

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
    decode_array,
    encode_array,
    malformed,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_Hx: Final = Struct(">Hx").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iUx: Final = Struct(">i16sx").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiiB: Final = Struct(">iiiB").pack
_pack_iiii: Final = Struct(">iiii").pack
_unpack_HB: Final = Struct(">HB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iUB: Final = Struct(">i16sB").unpack_from
_unpack_iiiB: Final = Struct(">iiiB").unpack_from
_unpack_iiii: Final = Struct(">iiii").unpack_from


class ReplicaInfo:
    """Part of :class:`EndQuorumEpochRequest`.

    ``candidate_id`` int32 (v1+)

    ``candidate_directory_id`` uuid (v1+)
    """

    __slots__ = ("candidate_id", "candidate_directory_id")
    candidate_id: int
    candidate_directory_id: UUID

    def __init__(
        self,
        *,
        candidate_id: int = 0,
        candidate_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicaInfo):
            return NotImplemented
        return (
            self.candidate_id == other.candidate_id
            and self.candidate_directory_id == other.candidate_directory_id
        )

    def __repr__(self) -> str:
        return (
            f"ReplicaInfo(candidate_id={self.candidate_id!r}, "
            f"candidate_directory_id={self.candidate_directory_id!r})"
        )


class PartitionData:
    """Part of :class:`EndQuorumEpochRequest`.

    ``partition_index`` int32

    ``leader_id`` int32

    ``leader_epoch`` int32

    ``preferred_successors`` []int32 (v0-0)

    ``preferred_candidates`` []ReplicaInfo (v1+)
    """

    __slots__ = ("partition_index", "leader_id", "leader_epoch", "preferred_successors", "preferred_candidates")
    partition_index: int
    leader_id: int
    leader_epoch: int
    preferred_successors: list[int]
    preferred_candidates: list[ReplicaInfo]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = EMPTY,
        preferred_candidates: list[ReplicaInfo] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors = [] if preferred_successors is EMPTY else preferred_successors
        self.preferred_candidates = [] if preferred_candidates is EMPTY else preferred_candidates

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
            and self.preferred_successors == other.preferred_successors
            and self.preferred_candidates == other.preferred_candidates
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"preferred_successors={self.preferred_successors!r}, "
            f"preferred_candidates={self.preferred_candidates!r})"
        )


class TopicData:
    """Part of :class:`EndQuorumEpochRequest`.

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


class LeaderEndpoint:
    """Part of :class:`EndQuorumEpochRequest`.

    ``name`` string (v1+)

    ``host`` string (v1+)

    ``port`` uint16 (v1+)
    """

    __slots__ = ("name", "host", "port")
    name: str
    host: str
    port: int

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderEndpoint):
            return NotImplemented
        return (
            self.name == other.name
            and self.host == other.host
            and self.port == other.port
        )

    def __repr__(self) -> str:
        return (
            f"LeaderEndpoint(name={self.name!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r})"
        )


class EndQuorumEpochRequest:
    """A leader resigns and names its successors in order of preference.

    ``cluster_id`` string

    ``topics`` []TopicData

    ``leader_endpoints`` []LeaderEndpoint (v1+)
    """

    API_KEY: ClassVar[int] = 54
    NAME: ClassVar[str] = "EndQuorumEpochRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1

    __slots__ = ("cluster_id", "topics", "leader_endpoints")
    cluster_id: str | None
    topics: list[TopicData]
    leader_endpoints: list[LeaderEndpoint]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        topics: list[TopicData] = EMPTY,
        leader_endpoints: list[LeaderEndpoint] = EMPTY,
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = [] if topics is EMPTY else topics
        self.leader_endpoints = [] if leader_endpoints is EMPTY else leader_endpoints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EndQuorumEpochRequest):
            return NotImplemented
        return (
            self.cluster_id == other.cluster_id
            and self.topics == other.topics
            and self.leader_endpoints == other.leader_endpoints
        )

    def __repr__(self) -> str:
        return (
            f"EndQuorumEpochRequest(cluster_id={self.cluster_id!r}, "
            f"topics={self.topics!r}, "
            f"leader_endpoints={self.leader_endpoints!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("EndQuorumEpochRequest", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("EndQuorumEpochRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> EndQuorumEpochRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("EndQuorumEpochRequest", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("EndQuorumEpochRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[EndQuorumEpochRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("EndQuorumEpochRequest", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: EndQuorumEpochRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if m.cluster_id is None:
        add(b"\xff\xff")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("EndQuorumEpochRequest", "cluster_id", len(b1))
        add(_pack_h(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1)
    add(_pack_i(n2))
    for e1 in l1:
        b2 = e1.topic_name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("TopicData", "topic_name", len(b2))
        add(_pack_h(n3))
        add(b2)
        l2 = e1.partitions
        n4 = len(l2)
        add(_pack_i(n4))
        for e2 in l2:
            l3 = e2.preferred_successors
            n5 = len(l3)
            add(_pack_iiii(e2.partition_index, e2.leader_id, e2.leader_epoch, n5))
            if l3:
                add(encode_array("i", l3))
    return out


def _encode_v1(m: EndQuorumEpochRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b1 = m.cluster_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("EndQuorumEpochRequest", "cluster_id", len(b1))
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
            l3 = e2.preferred_candidates
            n5 = len(l3) + 1
            add(_pack_iiiB(e2.partition_index, e2.leader_id, e2.leader_epoch, n5) if n5 < 128 else _pack_iii(e2.partition_index, e2.leader_id, e2.leader_epoch) + uvarint(n5))
            for e3 in l3:
                add(_pack_iUx(e3.candidate_id, e3.candidate_directory_id.bytes))
            add(b"\x00")
        add(b"\x00")
    l4 = m.leader_endpoints
    n6 = len(l4) + 1
    add(UVARINT[n6] if n6 < 128 else uvarint(n6))
    for e4 in l4:
        b3 = e4.name.encode()
        n7 = len(b3) + 1
        if n7 > 32768:
            raise short_string("LeaderEndpoint", "name", len(b3))
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        add(b3)
        b4 = e4.host.encode()
        n8 = len(b4) + 1
        if n8 > 32768:
            raise short_string("LeaderEndpoint", "host", len(b4))
        add(UVARINT[n8] if n8 < 128 else uvarint(n8))
        add(b4)
        add(_pack_Hx(e4.port))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[EndQuorumEpochRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = EndQuorumEpochRequest.__new__(EndQuorumEpochRequest)
        m.leader_endpoints = []
        (n1,) = _unpack_h(data, pos)
        pos += 2
        if n1 == -1:
            m.cluster_id = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("EndQuorumEpochRequest", "EndQuorumEpochRequest.cluster_id", n1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        if n2 < 0 or n2 * 6 > size - pos:
            raise overrun("EndQuorumEpochRequest", "EndQuorumEpochRequest.topics", n2, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n2):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("EndQuorumEpochRequest", "TopicData.topic_name", n3, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_i(data, pos)
            pos += 4
            if n4 < 0 or n4 * 16 > size - pos:
                raise overrun("EndQuorumEpochRequest", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.preferred_candidates = []
                e2.partition_index, e2.leader_id, e2.leader_epoch, n5 = _unpack_iiii(data, pos)
                pos += 16
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("EndQuorumEpochRequest", "PartitionData.preferred_successors", n5, pos, size)
                e2.preferred_successors = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
    except DECODE_FAULTS as fault:
        raise malformed("EndQuorumEpochRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[EndQuorumEpochRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = EndQuorumEpochRequest.__new__(EndQuorumEpochRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.cluster_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("EndQuorumEpochRequest", "EndQuorumEpochRequest.cluster_id", n1 - 1, pos, size)
            m.cluster_id = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("EndQuorumEpochRequest", "EndQuorumEpochRequest.topics", n2, pos, size)
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
                raise overrun("EndQuorumEpochRequest", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 14 > size - pos:
                raise overrun("EndQuorumEpochRequest", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.preferred_successors = []
                e2.partition_index, e2.leader_id, e2.leader_epoch, n5 = _unpack_iiiB(data, pos)
                pos += 13
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 21 > size - pos:
                    raise overrun("EndQuorumEpochRequest", "PartitionData.preferred_candidates", n5, pos, size)
                l3: list[ReplicaInfo] = []
                e2.preferred_candidates = l3
                for _ in range(n5):
                    e3 = ReplicaInfo.__new__(ReplicaInfo)
                    l3.append(e3)
                    e3.candidate_id, u1, k1 = _unpack_iUB(data, pos)
                    pos += 21
                    e3.candidate_directory_id = uuid_of(u1)
                    if k1:
                        pos = skip_tagged("EndQuorumEpochRequest", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("EndQuorumEpochRequest", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("EndQuorumEpochRequest", data, pos - 1)
        n6 = data[pos]
        pos += 1
        if n6 > 127:
            n6, pos = uvarint_at(data, pos - 1)
        n6 -= 1
        if n6 < 0 or n6 * 5 > size - pos:
            raise overrun("EndQuorumEpochRequest", "EndQuorumEpochRequest.leader_endpoints", n6, pos, size)
        l4: list[LeaderEndpoint] = []
        m.leader_endpoints = l4
        for _ in range(n6):
            e4 = LeaderEndpoint.__new__(LeaderEndpoint)
            l4.append(e4)
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            z3 = pos + n7 - 1
            if n7 == 0 or z3 > size:
                raise overrun("EndQuorumEpochRequest", "LeaderEndpoint.name", n7 - 1, pos, size)
            e4.name = str(data[pos:z3], "utf-8")
            pos = z3
            n8 = data[pos]
            pos += 1
            if n8 > 127:
                n8, pos = uvarint_at(data, pos - 1)
            z4 = pos + n8 - 1
            if n8 == 0 or z4 > size:
                raise overrun("EndQuorumEpochRequest", "LeaderEndpoint.host", n8 - 1, pos, size)
            e4.host = str(data[pos:z4], "utf-8")
            pos = z4
            e4.port, k4 = _unpack_HB(data, pos)
            pos += 3
            if k4:
                pos = skip_tagged("EndQuorumEpochRequest", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            pos = skip_tagged("EndQuorumEpochRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("EndQuorumEpochRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[EndQuorumEpochRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[EndQuorumEpochRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
