"""ListOffsetsRequest: request body, key 2, versions 1 to 11.

Generated from ``schemas/list_offsets.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ib: Final = Struct(">ib").pack
_pack_ibB: Final = Struct(">ibB").pack
_pack_ibi: Final = Struct(">ibi").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqx: Final = Struct(">iiqx").pack
_pack_iq: Final = Struct(">iq").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ibB: Final = Struct(">ibB").unpack_from
_unpack_ibi: Final = Struct(">ibi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iiqB: Final = Struct(">iiqB").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from


class ListOffsetsPartition:
    """Part of :class:`ListOffsetsRequest`.

    ``partition_index`` int32

    ``current_leader_epoch`` int32 (v4+)

    ``timestamp`` int64
    """

    __slots__ = ("partition_index", "current_leader_epoch", "timestamp")
    partition_index: int
    current_leader_epoch: int
    timestamp: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListOffsetsPartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.current_leader_epoch == other.current_leader_epoch
            and self.timestamp == other.timestamp
        )

    def __repr__(self) -> str:
        return (
            f"ListOffsetsPartition(partition_index={self.partition_index!r}, "
            f"current_leader_epoch={self.current_leader_epoch!r}, "
            f"timestamp={self.timestamp!r})"
        )


class ListOffsetsTopic:
    """Part of :class:`ListOffsetsRequest`.

    ``name`` string

    ``partitions`` []ListOffsetsPartition
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[ListOffsetsPartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ListOffsetsPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListOffsetsTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"ListOffsetsTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class ListOffsetsRequest:
    """The offset for a timestamp, or the earliest (-2), latest (-1) or largest-timestamp (-3) one.

    ``replica_id`` int32: Broker id of a follower, -1 for a consumer.

    ``isolation_level`` int8 (v2+)

    ``topics`` []ListOffsetsTopic

    ``timeout_ms`` int32 (v10+): For offsets that lie in tiered storage.
    """

    API_KEY: ClassVar[int] = 2
    NAME: ClassVar[str] = "ListOffsetsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")
    replica_id: int
    isolation_level: int
    topics: list[ListOffsetsTopic]
    timeout_ms: int

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListOffsetsRequest):
            return NotImplemented
        return (
            self.replica_id == other.replica_id
            and self.isolation_level == other.isolation_level
            and self.topics == other.topics
            and self.timeout_ms == other.timeout_ms
        )

    def __repr__(self) -> str:
        return (
            f"ListOffsetsRequest(replica_id={self.replica_id!r}, "
            f"isolation_level={self.isolation_level!r}, "
            f"topics={self.topics!r}, "
            f"timeout_ms={self.timeout_ms!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ListOffsetsRequest", version, 1, 11)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ListOffsetsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ListOffsetsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListOffsetsRequest", version, 1, 11)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ListOffsetsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ListOffsetsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListOffsetsRequest", version, 1, 11)
        return decoder(data, position)


def _encode_v1(m: ListOffsetsRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (m.isolation_level == 0):
        raise not_in_version("ListOffsetsRequest", "ListOffsetsRequest.isolation_level", m.isolation_level)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.replica_id, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListOffsetsTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.timestamp))
    return out


def _encode_v2(m: ListOffsetsRequest) -> list[bytes]:
    # versions 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ibi(m.replica_id, m.isolation_level, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListOffsetsTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.timestamp))
    return out


def _encode_v4(m: ListOffsetsRequest) -> list[bytes]:
    # versions 4, 5
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ibi(m.replica_id, m.isolation_level, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListOffsetsTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iiq(e2.partition_index, e2.current_leader_epoch, e2.timestamp))
    return out


def _encode_v6(m: ListOffsetsRequest) -> list[bytes]:
    # versions 6, 7, 8, 9
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ibB(m.replica_id, m.isolation_level, n1) if n1 < 128 else _pack_ib(m.replica_id, m.isolation_level) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListOffsetsTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiqx(e2.partition_index, e2.current_leader_epoch, e2.timestamp))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v10(m: ListOffsetsRequest) -> list[bytes]:
    # versions 10, 11
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ibB(m.replica_id, m.isolation_level, n1) if n1 < 128 else _pack_ib(m.replica_id, m.isolation_level) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListOffsetsTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiqx(e2.partition_index, e2.current_leader_epoch, e2.timestamp))
        add(b"\x00")
    add(_pack_ix(m.timeout_ms))
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[ListOffsetsRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.isolation_level = 0
        m.timeout_ms = 0
        m.replica_id, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ListOffsetsRequest", "ListOffsetsRequest.topics", n1, pos, size)
        l1: list[ListOffsetsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 12 > size - pos:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.partitions", n3, pos, size)
            l2: list[ListOffsetsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                l2.append(e2)
                e2.current_leader_epoch = -1
                e2.partition_index, e2.timestamp = _unpack_iq(data, pos)
                pos += 12
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[ListOffsetsRequest, int]:
    # versions 2, 3
    size = len(data)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.timeout_ms = 0
        m.replica_id, m.isolation_level, n1 = _unpack_ibi(data, pos)
        pos += 9
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ListOffsetsRequest", "ListOffsetsRequest.topics", n1, pos, size)
        l1: list[ListOffsetsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 12 > size - pos:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.partitions", n3, pos, size)
            l2: list[ListOffsetsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                l2.append(e2)
                e2.current_leader_epoch = -1
                e2.partition_index, e2.timestamp = _unpack_iq(data, pos)
                pos += 12
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[ListOffsetsRequest, int]:
    # versions 4, 5
    size = len(data)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.timeout_ms = 0
        m.replica_id, m.isolation_level, n1 = _unpack_ibi(data, pos)
        pos += 9
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ListOffsetsRequest", "ListOffsetsRequest.topics", n1, pos, size)
        l1: list[ListOffsetsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 16 > size - pos:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.partitions", n3, pos, size)
            l2: list[ListOffsetsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                l2.append(e2)
                e2.partition_index, e2.current_leader_epoch, e2.timestamp = _unpack_iiq(data, pos)
                pos += 16
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[ListOffsetsRequest, int]:
    # versions 6, 7, 8, 9
    size = len(data)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.timeout_ms = 0
        m.replica_id, m.isolation_level, n1 = _unpack_ibB(data, pos)
        pos += 6
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ListOffsetsRequest", "ListOffsetsRequest.topics", n1, pos, size)
        l1: list[ListOffsetsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 17 > size - pos:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.partitions", n3, pos, size)
            l2: list[ListOffsetsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                l2.append(e2)
                e2.partition_index, e2.current_leader_epoch, e2.timestamp, k1 = _unpack_iiqB(data, pos)
                pos += 17
                if k1:
                    pos = skip_tagged("ListOffsetsRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ListOffsetsRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ListOffsetsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsRequest", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[ListOffsetsRequest, int]:
    # versions 10, 11
    size = len(data)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.replica_id, m.isolation_level, n1 = _unpack_ibB(data, pos)
        pos += 6
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ListOffsetsRequest", "ListOffsetsRequest.topics", n1, pos, size)
        l1: list[ListOffsetsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 17 > size - pos:
                raise overrun("ListOffsetsRequest", "ListOffsetsTopic.partitions", n3, pos, size)
            l2: list[ListOffsetsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                l2.append(e2)
                e2.partition_index, e2.current_leader_epoch, e2.timestamp, k1 = _unpack_iiqB(data, pos)
                pos += 17
                if k1:
                    pos = skip_tagged("ListOffsetsRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ListOffsetsRequest", data, pos - 1)
        m.timeout_ms, k3 = _unpack_iB(data, pos)
        pos += 5
        if k3:
            pos = skip_tagged("ListOffsetsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ListOffsetsRequest], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v4,
    5: _encode_v4,
    6: _encode_v6,
    7: _encode_v6,
    8: _encode_v6,
    9: _encode_v6,
    10: _encode_v10,
    11: _encode_v10,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ListOffsetsRequest, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v4,
    5: _decode_v4,
    6: _decode_v6,
    7: _decode_v6,
    8: _decode_v6,
    9: _decode_v6,
    10: _decode_v10,
    11: _decode_v10,
}
