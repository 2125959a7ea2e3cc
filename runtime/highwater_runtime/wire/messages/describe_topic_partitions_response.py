"""DescribeTopicPartitionsResponse: response body, key 75, versions 0.

Generated from ``schemas/describe_topic_partitions.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_UT: Final = Struct(">16s?").pack
_pack_UTB: Final = Struct(">16s?B").pack
_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_h: Final = Struct(">h").pack
_pack_hiii: Final = Struct(">hiii").pack
_pack_hiiiB: Final = Struct(">hiiiB").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_UTB: Final = Struct(">16s?B").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hiiiB: Final = Struct(">hiiiB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class DescribeTopicPartitionsResponsePartition:
    """Part of :class:`DescribeTopicPartitionsResponse`.

    ``error_code`` int16

    ``partition_index`` int32

    ``leader_id`` int32: -1 if there is none.

    ``leader_epoch`` int32

    ``replica_nodes`` []int32

    ``isr_nodes`` []int32

    ``eligible_leader_replicas`` []int32

    ``last_known_elr`` []int32

    ``offline_replicas`` []int32
    """

    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    offline_replicas: list[int]

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeTopicPartitionsResponsePartition):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.partition_index == other.partition_index
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
            and self.replica_nodes == other.replica_nodes
            and self.isr_nodes == other.isr_nodes
            and self.eligible_leader_replicas == other.eligible_leader_replicas
            and self.last_known_elr == other.last_known_elr
            and self.offline_replicas == other.offline_replicas
        )

    def __repr__(self) -> str:
        return (
            f"DescribeTopicPartitionsResponsePartition(error_code={self.error_code!r}, "
            f"partition_index={self.partition_index!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"replica_nodes={self.replica_nodes!r}, "
            f"isr_nodes={self.isr_nodes!r}, "
            f"eligible_leader_replicas={self.eligible_leader_replicas!r}, "
            f"last_known_elr={self.last_known_elr!r}, "
            f"offline_replicas={self.offline_replicas!r})"
        )


class DescribeTopicPartitionsResponseTopic:
    """Part of :class:`DescribeTopicPartitionsResponse`.

    ``error_code`` int16

    ``name`` string

    ``topic_id`` uuid

    ``is_internal`` bool

    ``partitions`` []DescribeTopicPartitionsResponsePartition

    ``topic_authorized_operations`` int32: Bit set; the minimum means "not asked".
    """

    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    error_code: int
    name: str | None
    topic_id: UUID
    is_internal: bool
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeTopicPartitionsResponseTopic):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.name == other.name
            and self.topic_id == other.topic_id
            and self.is_internal == other.is_internal
            and self.partitions == other.partitions
            and self.topic_authorized_operations == other.topic_authorized_operations
        )

    def __repr__(self) -> str:
        return (
            f"DescribeTopicPartitionsResponseTopic(error_code={self.error_code!r}, "
            f"name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"is_internal={self.is_internal!r}, "
            f"partitions={self.partitions!r}, "
            f"topic_authorized_operations={self.topic_authorized_operations!r})"
        )


class Cursor:
    """Part of :class:`DescribeTopicPartitionsResponse`.

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


class DescribeTopicPartitionsResponse:
    """One page.

    ``throttle_time_ms`` int32

    ``topics`` []DescribeTopicPartitionsResponseTopic

    ``next_cursor`` Cursor: Where the next page begins; null if there is none.
    """

    API_KEY: ClassVar[int] = 75
    NAME: ClassVar[str] = "DescribeTopicPartitionsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "topics", "next_cursor")
    throttle_time_ms: int
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.next_cursor = next_cursor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeTopicPartitionsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
            and self.next_cursor == other.next_cursor
        )

    def __repr__(self) -> str:
        return (
            f"DescribeTopicPartitionsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r}, "
            f"next_cursor={self.next_cursor!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeTopicPartitionsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeTopicPartitionsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeTopicPartitionsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeTopicPartitionsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeTopicPartitionsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeTopicPartitionsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeTopicPartitionsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: DescribeTopicPartitionsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.name is None:
            add(b"\x00")
        else:
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("DescribeTopicPartitionsResponseTopic", "name", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(_pack_UTB(e1.topic_id.bytes, e1.is_internal, n3) if n3 < 128 else _pack_UT(e1.topic_id.bytes, e1.is_internal) + uvarint(n3))
        for e2 in l2:
            l3 = e2.replica_nodes
            n4 = len(l3) + 1
            add(_pack_hiiiB(e2.error_code, e2.partition_index, e2.leader_id, e2.leader_epoch, n4) if n4 < 128 else _pack_hiii(e2.error_code, e2.partition_index, e2.leader_id, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.isr_nodes
            n5 = len(l4) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.eligible_leader_replicas
            if l5 is None:
                add(b"\x00")
            else:
                n6 = len(l5) + 1
                add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                if l5:
                    add(encode_array("i", l5))
            l6 = e2.last_known_elr
            if l6 is None:
                add(b"\x00")
            else:
                n7 = len(l6) + 1
                add(UVARINT[n7] if n7 < 128 else uvarint(n7))
                if l6:
                    add(encode_array("i", l6))
            l7 = e2.offline_replicas
            n8 = len(l7) + 1
            add(UVARINT[n8] if n8 < 128 else uvarint(n8))
            if l7:
                add(encode_array("i", l7))
            add(b"\x00")
        add(_pack_ix(e1.topic_authorized_operations))
    if m.next_cursor is None:
        add(b"\xff")
    else:
        b2 = m.next_cursor.topic_name.encode()
        n9 = len(b2) + 1
        if n9 > 32768:
            raise short_string("Cursor", "topic_name", len(b2))
        add(_pack_bB(1, n9) if n9 < 128 else _pack_b(1) + uvarint(n9))
        add(b2)
        add(_pack_ix(m.next_cursor.partition_index))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeTopicPartitionsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeTopicPartitionsResponse.__new__(DescribeTopicPartitionsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 26 > size - pos:
            raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponse.topics", n1, pos, size)
        l1: list[DescribeTopicPartitionsResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = DescribeTopicPartitionsResponseTopic.__new__(DescribeTopicPartitionsResponseTopic)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            if n2 == 0:
                e1.name = None
            else:
                z1 = pos + n2 - 1
                if z1 > size:
                    raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponseTopic.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
            u1, e1.is_internal, n3 = _unpack_UTB(data, pos)
            pos += 18
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 20 > size - pos:
                raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponseTopic.partitions", n3, pos, size)
            l2: list[DescribeTopicPartitionsResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = DescribeTopicPartitionsResponsePartition.__new__(DescribeTopicPartitionsResponsePartition)
                l2.append(e2)
                e2.error_code, e2.partition_index, e2.leader_id, e2.leader_epoch, n4 = _unpack_hiiiB(data, pos)
                pos += 15
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponsePartition.replica_nodes", n4, pos, size)
                e2.replica_nodes = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponsePartition.isr_nodes", n5, pos, size)
                e2.isr_nodes = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                if n6 == 0:
                    e2.eligible_leader_replicas = None
                else:
                    n6 -= 1
                    if n6 < 0 or n6 * 4 > size - pos:
                        raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponsePartition.eligible_leader_replicas", n6, pos, size)
                    e2.eligible_leader_replicas = decode_array("i", n6, data, pos) if n6 else []
                    pos += n6 * 4
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                if n7 == 0:
                    e2.last_known_elr = None
                else:
                    n7 -= 1
                    if n7 < 0 or n7 * 4 > size - pos:
                        raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponsePartition.last_known_elr", n7, pos, size)
                    e2.last_known_elr = decode_array("i", n7, data, pos) if n7 else []
                    pos += n7 * 4
                n8 = data[pos]
                pos += 1
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponsePartition.offline_replicas", n8, pos, size)
                e2.offline_replicas = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("DescribeTopicPartitionsResponse", data, pos - 1)
            e1.topic_authorized_operations, k2 = _unpack_iB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("DescribeTopicPartitionsResponse", data, pos - 1)
        (h1,) = _unpack_b(data, pos)
        pos += 1
        if h1 < 0:
            m.next_cursor = None
        else:
            o1 = Cursor.__new__(Cursor)
            m.next_cursor = o1
            n9 = data[pos]
            pos += 1
            if n9 > 127:
                n9, pos = uvarint_at(data, pos - 1)
            z2 = pos + n9 - 1
            if n9 == 0 or z2 > size:
                raise overrun("DescribeTopicPartitionsResponse", "Cursor.topic_name", n9 - 1, pos, size)
            o1.topic_name = str(data[pos:z2], "utf-8")
            pos = z2
            o1.partition_index, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("DescribeTopicPartitionsResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("DescribeTopicPartitionsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeTopicPartitionsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeTopicPartitionsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeTopicPartitionsResponse, int]]]] = {
    0: _decode_v0,
}
