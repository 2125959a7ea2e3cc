"""OffsetForLeaderEpochRequest: request body, key 23, versions 2 to 4.

Generated from ``schemas/offset_for_leader_epoch.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiix: Final = Struct(">iiix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiiB: Final = Struct(">iiiB").unpack_from


class OffsetForLeaderPartition:
    """Part of :class:`OffsetForLeaderEpochRequest`.

    ``partition`` int32

    ``current_leader_epoch`` int32: Fences the request.

    ``leader_epoch`` int32: The epoch whose end is asked for.
    """

    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")
    partition: int
    current_leader_epoch: int
    leader_epoch: int

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetForLeaderPartition):
            return NotImplemented
        return (
            self.partition == other.partition
            and self.current_leader_epoch == other.current_leader_epoch
            and self.leader_epoch == other.leader_epoch
        )

    def __repr__(self) -> str:
        return (
            f"OffsetForLeaderPartition(partition={self.partition!r}, "
            f"current_leader_epoch={self.current_leader_epoch!r}, "
            f"leader_epoch={self.leader_epoch!r})"
        )


class OffsetForLeaderTopic:
    """Part of :class:`OffsetForLeaderEpochRequest`.

    ``topic`` string

    ``partitions`` []OffsetForLeaderPartition
    """

    __slots__ = ("topic", "partitions")
    topic: str
    partitions: list[OffsetForLeaderPartition]

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetForLeaderTopic):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetForLeaderTopic(topic={self.topic!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetForLeaderEpochRequest:
    """Where does an epoch end in the leader's log (KIP-101, KIP-279, KIP-320)?

    ``replica_id`` int32 (v3+): Broker id of a follower, -1 for a consumer, -2 for debugging.

    ``topics`` []OffsetForLeaderTopic
    """

    API_KEY: ClassVar[int] = 23
    NAME: ClassVar[str] = "OffsetForLeaderEpochRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("replica_id", "topics")
    replica_id: int
    topics: list[OffsetForLeaderTopic]

    def __init__(
        self,
        *,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = EMPTY,
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetForLeaderEpochRequest):
            return NotImplemented
        return (
            self.replica_id == other.replica_id
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetForLeaderEpochRequest(replica_id={self.replica_id!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetForLeaderEpochRequest", version, 2, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetForLeaderEpochRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetForLeaderEpochRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetForLeaderEpochRequest", version, 2, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetForLeaderEpochRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetForLeaderEpochRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetForLeaderEpochRequest", version, 2, 4)
        return decoder(data, position)


def _encode_v2(m: OffsetForLeaderEpochRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetForLeaderTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iii(e2.partition, e2.current_leader_epoch, e2.leader_epoch))
    return out


def _encode_v3(m: OffsetForLeaderEpochRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.replica_id, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetForLeaderTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iii(e2.partition, e2.current_leader_epoch, e2.leader_epoch))
    return out


def _encode_v4(m: OffsetForLeaderEpochRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.replica_id, n1) if n1 < 128 else _pack_i(m.replica_id) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetForLeaderTopic", "topic", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiix(e2.partition, e2.current_leader_epoch, e2.leader_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[OffsetForLeaderEpochRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = OffsetForLeaderEpochRequest.__new__(OffsetForLeaderEpochRequest)
        m.replica_id = -2
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderEpochRequest.topics", n1, pos, size)
        l1: list[OffsetForLeaderTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetForLeaderTopic.__new__(OffsetForLeaderTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 12 > size - pos:
                raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderTopic.partitions", n3, pos, size)
            l2: list[OffsetForLeaderPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetForLeaderPartition.__new__(OffsetForLeaderPartition)
                l2.append(e2)
                e2.partition, e2.current_leader_epoch, e2.leader_epoch = _unpack_iii(data, pos)
                pos += 12
    except DECODE_FAULTS as fault:
        raise malformed("OffsetForLeaderEpochRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[OffsetForLeaderEpochRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = OffsetForLeaderEpochRequest.__new__(OffsetForLeaderEpochRequest)
        m.replica_id, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderEpochRequest.topics", n1, pos, size)
        l1: list[OffsetForLeaderTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetForLeaderTopic.__new__(OffsetForLeaderTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 12 > size - pos:
                raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderTopic.partitions", n3, pos, size)
            l2: list[OffsetForLeaderPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetForLeaderPartition.__new__(OffsetForLeaderPartition)
                l2.append(e2)
                e2.partition, e2.current_leader_epoch, e2.leader_epoch = _unpack_iii(data, pos)
                pos += 12
    except DECODE_FAULTS as fault:
        raise malformed("OffsetForLeaderEpochRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[OffsetForLeaderEpochRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = OffsetForLeaderEpochRequest.__new__(OffsetForLeaderEpochRequest)
        m.replica_id, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderEpochRequest.topics", n1, pos, size)
        l1: list[OffsetForLeaderTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetForLeaderTopic.__new__(OffsetForLeaderTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderTopic.topic", n2 - 1, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 13 > size - pos:
                raise overrun("OffsetForLeaderEpochRequest", "OffsetForLeaderTopic.partitions", n3, pos, size)
            l2: list[OffsetForLeaderPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetForLeaderPartition.__new__(OffsetForLeaderPartition)
                l2.append(e2)
                e2.partition, e2.current_leader_epoch, e2.leader_epoch, k1 = _unpack_iiiB(data, pos)
                pos += 13
                if k1:
                    pos = skip_tagged("OffsetForLeaderEpochRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetForLeaderEpochRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("OffsetForLeaderEpochRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetForLeaderEpochRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetForLeaderEpochRequest], list[bytes]]]] = {
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetForLeaderEpochRequest, int]]]] = {
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v4,
}
