"""OffsetCommitRequest: request body, key 8, versions 2 to 10.

Generated from ``schemas/group_offsets.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_UB: Final = Struct(">16sB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_qi: Final = Struct(">qi").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqiB: Final = Struct(">iqiB").unpack_from
_unpack_iqih: Final = Struct(">iqih").unpack_from
_unpack_qi: Final = Struct(">qi").unpack_from


class OffsetCommitRequestPartition:
    """Part of :class:`OffsetCommitRequest`.

    ``partition_index`` int32

    ``committed_offset`` int64: The offset to read next.

    ``committed_leader_epoch`` int32 (v6+): Epoch of the last record read; -1 if unknown.

    ``committed_metadata`` string: Whatever the consumer wants to keep with it.
    """

    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitRequestPartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.committed_offset == other.committed_offset
            and self.committed_leader_epoch == other.committed_leader_epoch
            and self.committed_metadata == other.committed_metadata
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitRequestPartition(partition_index={self.partition_index!r}, "
            f"committed_offset={self.committed_offset!r}, "
            f"committed_leader_epoch={self.committed_leader_epoch!r}, "
            f"committed_metadata={self.committed_metadata!r})"
        )


class OffsetCommitRequestTopic:
    """Part of :class:`OffsetCommitRequest`.

    ``name`` string (v2-9)

    ``topic_id`` uuid (v10+)

    ``partitions`` []OffsetCommitRequestPartition
    """

    __slots__ = ("name", "topic_id", "partitions")
    name: str
    topic_id: UUID
    partitions: list[OffsetCommitRequestPartition]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitRequestTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitRequestTopic(name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetCommitRequest:
    """How far a group has read.

    ``group_id`` string

    ``generation_id_or_member_epoch`` int32: -1 from consumers that manage their partitions themselves.

    ``member_id`` string

    ``group_instance_id`` string (v7+)

    ``retention_time_ms`` int64 (v2-4)

    ``topics`` []OffsetCommitRequestTopic
    """

    API_KEY: ClassVar[int] = 8
    NAME: ClassVar[str] = "OffsetCommitRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 8

    __slots__ = ("group_id", "generation_id_or_member_epoch", "member_id", "group_instance_id", "retention_time_ms", "topics")
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[OffsetCommitRequestTopic]

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.generation_id_or_member_epoch == other.generation_id_or_member_epoch
            and self.member_id == other.member_id
            and self.group_instance_id == other.group_instance_id
            and self.retention_time_ms == other.retention_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitRequest(group_id={self.group_id!r}, "
            f"generation_id_or_member_epoch={self.generation_id_or_member_epoch!r}, "
            f"member_id={self.member_id!r}, "
            f"group_instance_id={self.group_instance_id!r}, "
            f"retention_time_ms={self.retention_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetCommitRequest", version, 2, 10)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetCommitRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetCommitRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitRequest", version, 2, 10)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetCommitRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetCommitRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitRequest", version, 2, 10)
        return decoder(data, position)


def _encode_v2(m: OffsetCommitRequest) -> list[bytes]:
    # versions 2, 3, 4
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("OffsetCommitRequest", "OffsetCommitRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("OffsetCommitRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id_or_member_epoch, n2))
    add(b2)
    l1 = m.topics
    n3 = len(l1)
    add(_pack_qi(m.retention_time_ms, n3))
    for e1 in l1:
        b3 = e1.name.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("OffsetCommitRequestTopic", "name", len(b3))
        add(_pack_h(n4))
        add(b3)
        l2 = e1.partitions
        n5 = len(l2)
        add(_pack_i(n5))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.committed_offset))
            if e2.committed_metadata is None:
                add(b"\xff\xff")
            else:
                b4 = e2.committed_metadata.encode()
                n6 = len(b4)
                if n6 > 32767:
                    raise short_string("OffsetCommitRequestPartition", "committed_metadata", len(b4))
                add(_pack_h(n6))
                add(b4)
    return out


def _encode_v5(m: OffsetCommitRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("OffsetCommitRequest", "OffsetCommitRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("OffsetCommitRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id_or_member_epoch, n2))
    add(b2)
    l1 = m.topics
    n3 = len(l1)
    add(_pack_i(n3))
    for e1 in l1:
        b3 = e1.name.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("OffsetCommitRequestTopic", "name", len(b3))
        add(_pack_h(n4))
        add(b3)
        l2 = e1.partitions
        n5 = len(l2)
        add(_pack_i(n5))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.committed_offset))
            if e2.committed_metadata is None:
                add(b"\xff\xff")
            else:
                b4 = e2.committed_metadata.encode()
                n6 = len(b4)
                if n6 > 32767:
                    raise short_string("OffsetCommitRequestPartition", "committed_metadata", len(b4))
                add(_pack_h(n6))
                add(b4)
    return out


def _encode_v6(m: OffsetCommitRequest) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    if not (m.group_instance_id is None):
        raise not_in_version("OffsetCommitRequest", "OffsetCommitRequest.group_instance_id", m.group_instance_id)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("OffsetCommitRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id_or_member_epoch, n2))
    add(b2)
    l1 = m.topics
    n3 = len(l1)
    add(_pack_i(n3))
    for e1 in l1:
        b3 = e1.name.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("OffsetCommitRequestTopic", "name", len(b3))
        add(_pack_h(n4))
        add(b3)
        l2 = e1.partitions
        n5 = len(l2)
        add(_pack_i(n5))
        for e2 in l2:
            add(_pack_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch))
            if e2.committed_metadata is None:
                add(b"\xff\xff")
            else:
                b4 = e2.committed_metadata.encode()
                n6 = len(b4)
                if n6 > 32767:
                    raise short_string("OffsetCommitRequestPartition", "committed_metadata", len(b4))
                add(_pack_h(n6))
                add(b4)
    return out


def _encode_v7(m: OffsetCommitRequest) -> list[bytes]:
    # versions 7
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetCommitRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2)
    if n2 > 32767:
        raise short_string("OffsetCommitRequest", "member_id", len(b2))
    add(_pack_ih(m.generation_id_or_member_epoch, n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3)
        if n3 > 32767:
            raise short_string("OffsetCommitRequest", "group_instance_id", len(b3))
        add(_pack_h(n3))
        add(b3)
    l1 = m.topics
    n4 = len(l1)
    add(_pack_i(n4))
    for e1 in l1:
        b4 = e1.name.encode()
        n5 = len(b4)
        if n5 > 32767:
            raise short_string("OffsetCommitRequestTopic", "name", len(b4))
        add(_pack_h(n5))
        add(b4)
        l2 = e1.partitions
        n6 = len(l2)
        add(_pack_i(n6))
        for e2 in l2:
            add(_pack_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch))
            if e2.committed_metadata is None:
                add(b"\xff\xff")
            else:
                b5 = e2.committed_metadata.encode()
                n7 = len(b5)
                if n7 > 32767:
                    raise short_string("OffsetCommitRequestPartition", "committed_metadata", len(b5))
                add(_pack_h(n7))
                add(b5)
    return out


def _encode_v8(m: OffsetCommitRequest) -> list[bytes]:
    # versions 8, 9
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("OffsetCommitRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("OffsetCommitRequest", "member_id", len(b2))
    add(_pack_iB(m.generation_id_or_member_epoch, n2) if n2 < 128 else _pack_i(m.generation_id_or_member_epoch) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("OffsetCommitRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    l1 = m.topics
    n4 = len(l1) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e1 in l1:
        b4 = e1.name.encode()
        n5 = len(b4) + 1
        if n5 > 32768:
            raise short_string("OffsetCommitRequestTopic", "name", len(b4))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b4)
        l2 = e1.partitions
        n6 = len(l2) + 1
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        for e2 in l2:
            add(_pack_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch))
            if e2.committed_metadata is None:
                add(b"\x00")
            else:
                b5 = e2.committed_metadata.encode()
                n7 = len(b5) + 1
                if n7 > 32768:
                    raise short_string("OffsetCommitRequestPartition", "committed_metadata", len(b5))
                add(UVARINT[n7] if n7 < 128 else uvarint(n7))
                add(b5)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v10(m: OffsetCommitRequest) -> list[bytes]:
    # versions 10
    out: list[bytes] = []
    add = out.append
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("OffsetCommitRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.member_id.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("OffsetCommitRequest", "member_id", len(b2))
    add(_pack_iB(m.generation_id_or_member_epoch, n2) if n2 < 128 else _pack_i(m.generation_id_or_member_epoch) + uvarint(n2))
    add(b2)
    if m.group_instance_id is None:
        add(b"\x00")
    else:
        b3 = m.group_instance_id.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("OffsetCommitRequest", "group_instance_id", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    l1 = m.topics
    n4 = len(l1) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e1 in l1:
        l2 = e1.partitions
        n5 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n5) if n5 < 128 else e1.topic_id.bytes + uvarint(n5))
        for e2 in l2:
            add(_pack_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch))
            if e2.committed_metadata is None:
                add(b"\x00")
            else:
                b4 = e2.committed_metadata.encode()
                n6 = len(b4) + 1
                if n6 > 32768:
                    raise short_string("OffsetCommitRequestPartition", "committed_metadata", len(b4))
                add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                add(b4)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[OffsetCommitRequest, int]:
    # versions 2, 3, 4
    size = len(data)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        m.group_instance_id = None
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id_or_member_epoch, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        m.retention_time_ms, n3 = _unpack_qi(data, pos)
        pos += 12
        if n3 < 0 or n3 * 6 > size - pos:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.topics", n3, pos, size)
        l1: list[OffsetCommitRequestTopic] = []
        m.topics = l1
        for _ in range(n3):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.name", n4, pos, size)
            e1.name = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_i(data, pos)
            pos += 4
            if n5 < 0 or n5 * 14 > size - pos:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.partitions", n5, pos, size)
            l2: list[OffsetCommitRequestPartition] = []
            e1.partitions = l2
            for _ in range(n5):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                l2.append(e2)
                e2.committed_leader_epoch = -1
                e2.partition_index, e2.committed_offset, n6 = _unpack_iqh(data, pos)
                pos += 14
                if n6 == -1:
                    e2.committed_metadata = None
                else:
                    z4 = pos + n6
                    if n6 < 0 or z4 > size:
                        raise overrun("OffsetCommitRequest", "OffsetCommitRequestPartition.committed_metadata", n6, pos, size)
                    e2.committed_metadata = str(data[pos:z4], "utf-8")
                    pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[OffsetCommitRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        m.group_instance_id = None
        m.retention_time_ms = -1
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id_or_member_epoch, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 < 0 or n3 * 6 > size - pos:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.topics", n3, pos, size)
        l1: list[OffsetCommitRequestTopic] = []
        m.topics = l1
        for _ in range(n3):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.name", n4, pos, size)
            e1.name = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_i(data, pos)
            pos += 4
            if n5 < 0 or n5 * 14 > size - pos:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.partitions", n5, pos, size)
            l2: list[OffsetCommitRequestPartition] = []
            e1.partitions = l2
            for _ in range(n5):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                l2.append(e2)
                e2.committed_leader_epoch = -1
                e2.partition_index, e2.committed_offset, n6 = _unpack_iqh(data, pos)
                pos += 14
                if n6 == -1:
                    e2.committed_metadata = None
                else:
                    z4 = pos + n6
                    if n6 < 0 or z4 > size:
                        raise overrun("OffsetCommitRequest", "OffsetCommitRequestPartition.committed_metadata", n6, pos, size)
                    e2.committed_metadata = str(data[pos:z4], "utf-8")
                    pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[OffsetCommitRequest, int]:
    # versions 6
    size = len(data)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        m.group_instance_id = None
        m.retention_time_ms = -1
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id_or_member_epoch, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 < 0 or n3 * 6 > size - pos:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.topics", n3, pos, size)
        l1: list[OffsetCommitRequestTopic] = []
        m.topics = l1
        for _ in range(n3):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n4,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.name", n4, pos, size)
            e1.name = str(data[pos:z3], "utf-8")
            pos = z3
            (n5,) = _unpack_i(data, pos)
            pos += 4
            if n5 < 0 or n5 * 18 > size - pos:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.partitions", n5, pos, size)
            l2: list[OffsetCommitRequestPartition] = []
            e1.partitions = l2
            for _ in range(n5):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                l2.append(e2)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n6 = _unpack_iqih(data, pos)
                pos += 18
                if n6 == -1:
                    e2.committed_metadata = None
                else:
                    z4 = pos + n6
                    if n6 < 0 or z4 > size:
                        raise overrun("OffsetCommitRequest", "OffsetCommitRequestPartition.committed_metadata", n6, pos, size)
                    e2.committed_metadata = str(data[pos:z4], "utf-8")
                    pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitRequest", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[OffsetCommitRequest, int]:
    # versions 7
    size = len(data)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        m.retention_time_ms = -1
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id_or_member_epoch, n2 = _unpack_ih(data, pos)
        pos += 6
        z2 = pos + n2
        if n2 < 0 or z2 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.member_id", n2, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        (n3,) = _unpack_h(data, pos)
        pos += 2
        if n3 == -1:
            m.group_instance_id = None
        else:
            z3 = pos + n3
            if n3 < 0 or z3 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_instance_id", n3, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.topics", n4, pos, size)
        l1: list[OffsetCommitRequestTopic] = []
        m.topics = l1
        for _ in range(n4):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z4 = pos + n5
            if n5 < 0 or z4 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.name", n5, pos, size)
            e1.name = str(data[pos:z4], "utf-8")
            pos = z4
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 18 > size - pos:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.partitions", n6, pos, size)
            l2: list[OffsetCommitRequestPartition] = []
            e1.partitions = l2
            for _ in range(n6):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                l2.append(e2)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n7 = _unpack_iqih(data, pos)
                pos += 18
                if n7 == -1:
                    e2.committed_metadata = None
                else:
                    z5 = pos + n7
                    if n7 < 0 or z5 > size:
                        raise overrun("OffsetCommitRequest", "OffsetCommitRequestPartition.committed_metadata", n7, pos, size)
                    e2.committed_metadata = str(data[pos:z5], "utf-8")
                    pos = z5
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitRequest", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[OffsetCommitRequest, int]:
    # versions 8, 9
    size = len(data)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        m.retention_time_ms = -1
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id_or_member_epoch, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.member_id", n2 - 1, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        if n3 == 0:
            m.group_instance_id = None
        else:
            z3 = pos + n3 - 1
            if z3 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 3 > size - pos:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.topics", n4, pos, size)
        l1: list[OffsetCommitRequestTopic] = []
        m.topics = l1
        for _ in range(n4):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z4 = pos + n5 - 1
            if n5 == 0 or z4 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.name", n5 - 1, pos, size)
            e1.name = str(data[pos:z4], "utf-8")
            pos = z4
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            n6 -= 1
            if n6 < 0 or n6 * 18 > size - pos:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.partitions", n6, pos, size)
            l2: list[OffsetCommitRequestPartition] = []
            e1.partitions = l2
            for _ in range(n6):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                l2.append(e2)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n7 = _unpack_iqiB(data, pos)
                pos += 17
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                if n7 == 0:
                    e2.committed_metadata = None
                else:
                    z5 = pos + n7 - 1
                    if z5 > size:
                        raise overrun("OffsetCommitRequest", "OffsetCommitRequestPartition.committed_metadata", n7 - 1, pos, size)
                    e2.committed_metadata = str(data[pos:z5], "utf-8")
                    pos = z5
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("OffsetCommitRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetCommitRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("OffsetCommitRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitRequest", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[OffsetCommitRequest, int]:
    # versions 10
    size = len(data)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        m.retention_time_ms = -1
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        m.generation_id_or_member_epoch, n2 = _unpack_iB(data, pos)
        pos += 5
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.member_id", n2 - 1, pos, size)
        m.member_id = str(data[pos:z2], "utf-8")
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        if n3 == 0:
            m.group_instance_id = None
        else:
            z3 = pos + n3 - 1
            if z3 > size:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequest.group_instance_id", n3 - 1, pos, size)
            m.group_instance_id = str(data[pos:z3], "utf-8")
            pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 18 > size - pos:
            raise overrun("OffsetCommitRequest", "OffsetCommitRequest.topics", n4, pos, size)
        l1: list[OffsetCommitRequestTopic] = []
        m.topics = l1
        for _ in range(n4):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            l1.append(e1)
            e1.name = ""
            u1, n5 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            n5 -= 1
            if n5 < 0 or n5 * 18 > size - pos:
                raise overrun("OffsetCommitRequest", "OffsetCommitRequestTopic.partitions", n5, pos, size)
            l2: list[OffsetCommitRequestPartition] = []
            e1.partitions = l2
            for _ in range(n5):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                l2.append(e2)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n6 = _unpack_iqiB(data, pos)
                pos += 17
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                if n6 == 0:
                    e2.committed_metadata = None
                else:
                    z4 = pos + n6 - 1
                    if z4 > size:
                        raise overrun("OffsetCommitRequest", "OffsetCommitRequestPartition.committed_metadata", n6 - 1, pos, size)
                    e2.committed_metadata = str(data[pos:z4], "utf-8")
                    pos = z4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("OffsetCommitRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetCommitRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("OffsetCommitRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetCommitRequest], list[bytes]]]] = {
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
    5: _encode_v5,
    6: _encode_v6,
    7: _encode_v7,
    8: _encode_v8,
    9: _encode_v8,
    10: _encode_v10,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetCommitRequest, int]]]] = {
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
    5: _decode_v5,
    6: _decode_v6,
    7: _decode_v7,
    8: _decode_v8,
    9: _decode_v8,
    10: _decode_v10,
}
