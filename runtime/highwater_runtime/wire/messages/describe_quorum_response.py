"""DescribeQuorumResponse: response body, key 55, versions 0 to 2.

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

_pack_Hx: Final = Struct(">Hx").pack
_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_iUqqqx: Final = Struct(">i16sqqqx").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihiiq: Final = Struct(">ihiiq").pack
_pack_ihiiqB: Final = Struct(">ihiiqB").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqB: Final = Struct(">iiqB").pack
_pack_iqqqx: Final = Struct(">iqqqx").pack
_pack_iqx: Final = Struct(">iqx").pack
_unpack_HB: Final = Struct(">HB").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iUqqqB: Final = Struct(">i16sqqqB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihiiqB: Final = Struct(">ihiiqB").unpack_from
_unpack_iiqB: Final = Struct(">iiqB").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from
_unpack_iqqqB: Final = Struct(">iqqqB").unpack_from


class ReplicaState:
    """Part of :class:`DescribeQuorumResponse`.

    ``replica_id`` int32

    ``replica_directory_id`` uuid (v2+): Zero if unknown (KIP-853).

    ``log_end_offset`` int64: -1 if unknown.

    ``last_fetch_timestamp`` int64 (v1+): Milliseconds by the leader's clock; -1 if unknown.

    ``last_caught_up_timestamp`` int64 (v1+)
    """

    __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")
    replica_id: int
    replica_directory_id: UUID
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int

    def __init__(
        self,
        *,
        replica_id: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicaState):
            return NotImplemented
        return (
            self.replica_id == other.replica_id
            and self.replica_directory_id == other.replica_directory_id
            and self.log_end_offset == other.log_end_offset
            and self.last_fetch_timestamp == other.last_fetch_timestamp
            and self.last_caught_up_timestamp == other.last_caught_up_timestamp
        )

    def __repr__(self) -> str:
        return (
            f"ReplicaState(replica_id={self.replica_id!r}, "
            f"replica_directory_id={self.replica_directory_id!r}, "
            f"log_end_offset={self.log_end_offset!r}, "
            f"last_fetch_timestamp={self.last_fetch_timestamp!r}, "
            f"last_caught_up_timestamp={self.last_caught_up_timestamp!r})"
        )


class PartitionData:
    """Part of :class:`DescribeQuorumResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``error_message`` string (v2+)

    ``leader_id`` int32

    ``leader_epoch`` int32

    ``high_watermark`` int64

    ``current_voters`` []ReplicaState

    ``observers`` []ReplicaState
    """

    __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")
    partition_index: int
    error_code: int
    error_message: str | None
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
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = EMPTY,
        observers: list[ReplicaState] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
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
            and self.error_message == other.error_message
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
            f"error_message={self.error_message!r}, "
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


class Listener:
    """Part of :class:`DescribeQuorumResponse`.

    ``name`` string (v2+)

    ``host`` string (v2+)

    ``port`` uint16 (v2+)
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
        if not isinstance(other, Listener):
            return NotImplemented
        return (
            self.name == other.name
            and self.host == other.host
            and self.port == other.port
        )

    def __repr__(self) -> str:
        return (
            f"Listener(name={self.name!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r})"
        )


class Node:
    """Part of :class:`DescribeQuorumResponse`.

    ``node_id`` int32 (v2+)

    ``listeners`` []Listener (v2+)
    """

    __slots__ = ("node_id", "listeners")
    node_id: int
    listeners: list[Listener]

    def __init__(
        self,
        *,
        node_id: int = 0,
        listeners: list[Listener] = EMPTY,
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is EMPTY else listeners

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return (
            self.node_id == other.node_id
            and self.listeners == other.listeners
        )

    def __repr__(self) -> str:
        return (
            f"Node(node_id={self.node_id!r}, "
            f"listeners={self.listeners!r})"
        )


class DescribeQuorumResponse:
    """The leader's view of the quorum.

    ``error_code`` int16

    ``error_message`` string (v2+)

    ``topics`` []TopicData

    ``nodes`` []Node (v2+): Where the replicas can be reached.
    """

    API_KEY: ClassVar[int] = 55
    NAME: ClassVar[str] = "DescribeQuorumResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("error_code", "error_message", "topics", "nodes")
    error_code: int
    error_message: str | None
    topics: list[TopicData]
    nodes: list[Node]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[TopicData] = EMPTY,
        nodes: list[Node] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics
        self.nodes = [] if nodes is EMPTY else nodes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeQuorumResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.topics == other.topics
            and self.nodes == other.nodes
        )

    def __repr__(self) -> str:
        return (
            f"DescribeQuorumResponse(error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"topics={self.topics!r}, "
            f"nodes={self.nodes!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeQuorumResponse", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeQuorumResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeQuorumResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeQuorumResponse", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeQuorumResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeQuorumResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeQuorumResponse", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DescribeQuorumResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.nodes):
        raise not_in_version("DescribeQuorumResponse", "DescribeQuorumResponse.nodes", m.nodes)
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
                if not (e3.replica_directory_id == ZERO_UUID):
                    raise not_in_version("DescribeQuorumResponse", "ReplicaState.replica_directory_id", e3.replica_directory_id)
                add(_pack_iqx(e3.replica_id, e3.log_end_offset))
            l4 = e2.observers
            n5 = len(l4) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e4 in l4:
                if not (e4.replica_directory_id == ZERO_UUID):
                    raise not_in_version("DescribeQuorumResponse", "ReplicaState.replica_directory_id", e4.replica_directory_id)
                add(_pack_iqx(e4.replica_id, e4.log_end_offset))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v1(m: DescribeQuorumResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.nodes):
        raise not_in_version("DescribeQuorumResponse", "DescribeQuorumResponse.nodes", m.nodes)
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
                if not (e3.replica_directory_id == ZERO_UUID):
                    raise not_in_version("DescribeQuorumResponse", "ReplicaState.replica_directory_id", e3.replica_directory_id)
                add(_pack_iqqqx(e3.replica_id, e3.log_end_offset, e3.last_fetch_timestamp, e3.last_caught_up_timestamp))
            l4 = e2.observers
            n5 = len(l4) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e4 in l4:
                if not (e4.replica_directory_id == ZERO_UUID):
                    raise not_in_version("DescribeQuorumResponse", "ReplicaState.replica_directory_id", e4.replica_directory_id)
                add(_pack_iqqqx(e4.replica_id, e4.log_end_offset, e4.last_fetch_timestamp, e4.last_caught_up_timestamp))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v2(m: DescribeQuorumResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("DescribeQuorumResponse", "error_message", len(b1))
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
            add(_pack_ih(e2.partition_index, e2.error_code))
            if e2.error_message is None:
                add(b"\x00")
            else:
                b3 = e2.error_message.encode()
                n5 = len(b3) + 1
                if n5 > 32768:
                    raise short_string("PartitionData", "error_message", len(b3))
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
            l3 = e2.current_voters
            n6 = len(l3) + 1
            add(_pack_iiqB(e2.leader_id, e2.leader_epoch, e2.high_watermark, n6) if n6 < 128 else _pack_iiq(e2.leader_id, e2.leader_epoch, e2.high_watermark) + uvarint(n6))
            for e3 in l3:
                add(_pack_iUqqqx(e3.replica_id, e3.replica_directory_id.bytes, e3.log_end_offset, e3.last_fetch_timestamp, e3.last_caught_up_timestamp))
            l4 = e2.observers
            n7 = len(l4) + 1
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            for e4 in l4:
                add(_pack_iUqqqx(e4.replica_id, e4.replica_directory_id.bytes, e4.log_end_offset, e4.last_fetch_timestamp, e4.last_caught_up_timestamp))
            add(b"\x00")
        add(b"\x00")
    l5 = m.nodes
    n8 = len(l5) + 1
    add(UVARINT[n8] if n8 < 128 else uvarint(n8))
    for e5 in l5:
        l6 = e5.listeners
        n9 = len(l6) + 1
        add(_pack_iB(e5.node_id, n9) if n9 < 128 else _pack_i(e5.node_id) + uvarint(n9))
        for e6 in l6:
            b4 = e6.name.encode()
            n10 = len(b4) + 1
            if n10 > 32768:
                raise short_string("Listener", "name", len(b4))
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            add(b4)
            b5 = e6.host.encode()
            n11 = len(b5) + 1
            if n11 > 32768:
                raise short_string("Listener", "host", len(b5))
            add(UVARINT[n11] if n11 < 128 else uvarint(n11))
            add(b5)
            add(_pack_Hx(e6.port))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeQuorumResponse.__new__(DescribeQuorumResponse)
        m.error_message = ""
        m.nodes = []
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
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
            if n3 < 0 or n3 * 25 > size - pos:
                raise overrun("DescribeQuorumResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.error_message = ""
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark, n4 = _unpack_ihiiqB(data, pos)
                pos += 23
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 13 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.current_voters", n4, pos, size)
                l3: list[ReplicaState] = []
                e2.current_voters = l3
                for _ in range(n4):
                    e3 = ReplicaState.__new__(ReplicaState)
                    l3.append(e3)
                    e3.replica_directory_id = ZERO_UUID
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
                if n5 < 0 or n5 * 13 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.observers", n5, pos, size)
                l4: list[ReplicaState] = []
                e2.observers = l4
                for _ in range(n5):
                    e4 = ReplicaState.__new__(ReplicaState)
                    l4.append(e4)
                    e4.replica_directory_id = ZERO_UUID
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
        m.error_message = ""
        m.nodes = []
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
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
            if n3 < 0 or n3 * 25 > size - pos:
                raise overrun("DescribeQuorumResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.error_message = ""
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, e2.high_watermark, n4 = _unpack_ihiiqB(data, pos)
                pos += 23
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 29 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.current_voters", n4, pos, size)
                l3: list[ReplicaState] = []
                e2.current_voters = l3
                for _ in range(n4):
                    e3 = ReplicaState.__new__(ReplicaState)
                    l3.append(e3)
                    e3.replica_directory_id = ZERO_UUID
                    e3.replica_id, e3.log_end_offset, e3.last_fetch_timestamp, e3.last_caught_up_timestamp, k1 = _unpack_iqqqB(data, pos)
                    pos += 29
                    if k1:
                        pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 29 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.observers", n5, pos, size)
                l4: list[ReplicaState] = []
                e2.observers = l4
                for _ in range(n5):
                    e4 = ReplicaState.__new__(ReplicaState)
                    l4.append(e4)
                    e4.replica_directory_id = ZERO_UUID
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


def _decode_v2(data: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = DescribeQuorumResponse.__new__(DescribeQuorumResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("DescribeQuorumResponse", "DescribeQuorumResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("DescribeQuorumResponse", "DescribeQuorumResponse.topics", n2, pos, size)
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
                raise overrun("DescribeQuorumResponse", "TopicData.topic_name", n3 - 1, pos, size)
            e1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 26 > size - pos:
                raise overrun("DescribeQuorumResponse", "TopicData.partitions", n4, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, n5 = _unpack_ihB(data, pos)
                pos += 7
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                if n5 == 0:
                    e2.error_message = None
                else:
                    z3 = pos + n5 - 1
                    if z3 > size:
                        raise overrun("DescribeQuorumResponse", "PartitionData.error_message", n5 - 1, pos, size)
                    e2.error_message = str(data[pos:z3], "utf-8")
                    pos = z3
                e2.leader_id, e2.leader_epoch, e2.high_watermark, n6 = _unpack_iiqB(data, pos)
                pos += 17
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 45 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.current_voters", n6, pos, size)
                l3: list[ReplicaState] = []
                e2.current_voters = l3
                for _ in range(n6):
                    e3 = ReplicaState.__new__(ReplicaState)
                    l3.append(e3)
                    e3.replica_id, u1, e3.log_end_offset, e3.last_fetch_timestamp, e3.last_caught_up_timestamp, k1 = _unpack_iUqqqB(data, pos)
                    pos += 45
                    e3.replica_directory_id = uuid_of(u1)
                    if k1:
                        pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 45 > size - pos:
                    raise overrun("DescribeQuorumResponse", "PartitionData.observers", n7, pos, size)
                l4: list[ReplicaState] = []
                e2.observers = l4
                for _ in range(n7):
                    e4 = ReplicaState.__new__(ReplicaState)
                    l4.append(e4)
                    e4.replica_id, u2, e4.log_end_offset, e4.last_fetch_timestamp, e4.last_caught_up_timestamp, k2 = _unpack_iUqqqB(data, pos)
                    pos += 45
                    e4.replica_directory_id = uuid_of(u2)
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
        n8 = data[pos]
        pos += 1
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 6 > size - pos:
            raise overrun("DescribeQuorumResponse", "DescribeQuorumResponse.nodes", n8, pos, size)
        l5: list[Node] = []
        m.nodes = l5
        for _ in range(n8):
            e5 = Node.__new__(Node)
            l5.append(e5)
            e5.node_id, n9 = _unpack_iB(data, pos)
            pos += 5
            if n9 > 127:
                n9, pos = uvarint_at(data, pos - 1)
            n9 -= 1
            if n9 < 0 or n9 * 5 > size - pos:
                raise overrun("DescribeQuorumResponse", "Node.listeners", n9, pos, size)
            l6: list[Listener] = []
            e5.listeners = l6
            for _ in range(n9):
                e6 = Listener.__new__(Listener)
                l6.append(e6)
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                z4 = pos + n10 - 1
                if n10 == 0 or z4 > size:
                    raise overrun("DescribeQuorumResponse", "Listener.name", n10 - 1, pos, size)
                e6.name = str(data[pos:z4], "utf-8")
                pos = z4
                n11 = data[pos]
                pos += 1
                if n11 > 127:
                    n11, pos = uvarint_at(data, pos - 1)
                z5 = pos + n11 - 1
                if n11 == 0 or z5 > size:
                    raise overrun("DescribeQuorumResponse", "Listener.host", n11 - 1, pos, size)
                e6.host = str(data[pos:z5], "utf-8")
                pos = z5
                e6.port, k5 = _unpack_HB(data, pos)
                pos += 3
                if k5:
                    pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
            k6 = data[pos]
            pos += 1
            if k6:
                pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
        k7 = data[pos]
        pos += 1
        if k7:
            pos = skip_tagged("DescribeQuorumResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeQuorumResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeQuorumResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeQuorumResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
