"""DescribeQuorumResponse: response body, key 55, versions 0 to 1.

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

_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_ihiiq: Final = Struct(">ihiiq").pack
_pack_ihiiqB: Final = Struct(">ihiiqB").pack
_pack_iqqqx: Final = Struct(">iqqqx").pack
_pack_iqx: Final = Struct(">iqx").pack
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_ihiiqB: Final = Struct(">ihiiqB").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from
_unpack_iqqqB: Final = Struct(">iqqqB").unpack_from


class ReplicaState:
    """Part of :class:`DescribeQuorumResponse`.

    ``replica_id`` int32

    ``log_end_offset`` int64: -1 if unknown.

    ``last_fetch_timestamp`` int64 (v1+): Milliseconds by the leader's clock; -1 if unknown.

    ``last_caught_up_timestamp`` int64 (v1+)
    """

    __slots__ = ("replica_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")
    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int

    def __init__(
        self,
        *,
        replica_id: int = 0,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicaState):
            return NotImplemented
        return (
            self.replica_id == other.replica_id
            and self.log_end_offset == other.log_end_offset
            and self.last_fetch_timestamp == other.last_fetch_timestamp
            and self.last_caught_up_timestamp == other.last_caught_up_timestamp
        )

    def __repr__(self) -> str:
        return (
            f"ReplicaState(replica_id={self.replica_id!r}, "
            f"log_end_offset={self.log_end_offset!r}, "
            f"last_fetch_timestamp={self.last_fetch_timestamp!r}, "
            f"last_caught_up_timestamp={self.last_caught_up_timestamp!r})"
        )


class PartitionData:
    """Part of :class:`DescribeQuorumResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``leader_id`` int32

    ``leader_epoch`` int32

    ``high_watermark`` int64

    ``current_voters`` []ReplicaState

    ``observers`` []ReplicaState
    """

    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = EMPTY,
        observers: list[ReplicaState] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is EMPTY else current_voters
        self.observers = [] if observers is EMPTY else observers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
            and self.high_watermark == other.high_watermark
            and self.current_voters == other.current_voters
            and self.observers == other.observers
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"high_watermark={self.high_watermark!r}, "
            f"current_voters={self.current_voters!r}, "
            f"observers={self.observers!r})"
        )


class TopicData:
    """Part of :class:`DescribeQuorumResponse`.

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


class DescribeQuorumResponse:
    """The leader's view of the quorum.

    ``error_code`` int16

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 55
    NAME: ClassVar[str] = "DescribeQuorumResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("error_code", "topics")
    error_code: int
    topics: list[TopicData]

    def __init__(
        self,
        *,
        error_code: int = 0,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeQuorumResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"DescribeQuorumResponse(error_code={self.error_code!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeQuorumResponse", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeQuorumResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeQuorumResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeQuorumResponse", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeQuorumResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeQuorumResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeQuorumResponse", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: DescribeQuorumResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
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
            l3 = e2.current_voters
            n4 = len(l3) + 1
            add(_pack_ihiiqB(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark, n4) if n4 < 128 else _pack_ihiiq(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark) + uvarint(n4))
            for e3 in l3:
                add(_pack_iqx(e3.replica_id, e3.log_end_offset))
            l4 = e2.observers
            n5 = len(l4) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e4 in l4:
                add(_pack_iqx(e4.replica_id, e4.log_end_offset))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v1(m: DescribeQuorumResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
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
            l3 = e2.current_voters
            n4 = len(l3) + 1
            add(_pack_ihiiqB(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark, n4) if n4 < 128 else _pack_ihiiq(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark) + uvarint(n4))
            for e3 in l3:
                add(_pack_iqqqx(e3.replica_id, e3.log_end_offset, e3.last_fetch_timestamp, e3.last_caught_up_timestamp))
            l4 = e2.observers
            n5 = len(l4) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e4 in l4:
                add(_pack_iqqqx(e4.replica_id, e4.log_end_offset, e4.last_fetch_timestamp, e4.last_caught_up_timestamp))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeQuorumResponse.__new__(DescribeQuorumResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("DescribeQuorumResponse", "DescribeQuorumResponse.topics", n1, pos, size)
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
                raise overrun("DescribeQuorumResponse", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 > size - pos:
                raise overrun("DescribeQuorumResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark, n4 = _unpack_ihiiqB(data, pos)
                pos += 23
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.current_voters", n4, pos, size)
                l3: list[ReplicaState] = []
                e2.current_voters = l3
                for _ in range(n4):
                    e3 = ReplicaState.__new__(ReplicaState)
                    l3.append(e3)
                    e3.last_fetch_timestamp = -1
                    e3.last_caught_up_timestamp = -1
                    e3.replica_id, e3.log_end_offset, k1 = _unpack_iqB(data, pos)
                    pos += 13
                    if k1:
                        pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.observers", n5, pos, size)
                l4: list[ReplicaState] = []
                e2.observers = l4
                for _ in range(n5):
                    e4 = ReplicaState.__new__(ReplicaState)
                    l4.append(e4)
                    e4.last_fetch_timestamp = -1
                    e4.last_caught_up_timestamp = -1
                    e4.replica_id, e4.log_end_offset, k2 = _unpack_iqB(data, pos)
                    pos += 13
                    if k2:
                        pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
                k3 = data[pos]
                pos += 1
                if k3:
                    pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeQuorumResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = DescribeQuorumResponse.__new__(DescribeQuorumResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("DescribeQuorumResponse", "DescribeQuorumResponse.topics", n1, pos, size)
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
                raise overrun("DescribeQuorumResponse", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 > size - pos:
                raise overrun("DescribeQuorumResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark, n4 = _unpack_ihiiqB(data, pos)
                pos += 23
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.current_voters", n4, pos, size)
                l3: list[ReplicaState] = []
                e2.current_voters = l3
                for _ in range(n4):
                    e3 = ReplicaState.__new__(ReplicaState)
                    l3.append(e3)
                    e3.replica_id, e3.log_end_offset, e3.last_fetch_timestamp, e3.last_caught_up_timestamp, k1 = _unpack_iqqqB(data, pos)
                    pos += 29
                    if k1:
                        pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.observers", n5, pos, size)
                l4: list[ReplicaState] = []
                e2.observers = l4
                for _ in range(n5):
                    e4 = ReplicaState.__new__(ReplicaState)
                    l4.append(e4)
                    e4.replica_id, e4.log_end_offset, e4.last_fetch_timestamp, e4.last_caught_up_timestamp, k2 = _unpack_iqqqB(data, pos)
                    pos += 29
                    if k2:
                        pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
                k3 = data[pos]
                pos += 1
                if k3:
                    pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeQuorumResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeQuorumResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeQuorumResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
