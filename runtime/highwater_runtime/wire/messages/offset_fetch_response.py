"""OffsetFetchResponse: response body, key 9, versions 1 to 10.

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
_pack_hx: Final = Struct(">hx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqiB: Final = Struct(">iqiB").unpack_from
_unpack_iqih: Final = Struct(">iqih").unpack_from


class OffsetFetchResponsePartition:
    """Part of :class:`OffsetFetchResponse`.

    ``partition_index`` int32 (v1-7)

    ``committed_offset`` int64 (v1-7)

    ``committed_leader_epoch`` int32 (v5-7)

    ``metadata`` string (v1-7)

    ``error_code`` int16 (v1-7)
    """

    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchResponsePartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.committed_offset == other.committed_offset
            and self.committed_leader_epoch == other.committed_leader_epoch
            and self.metadata == other.metadata
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchResponsePartition(partition_index={self.partition_index!r}, "
            f"committed_offset={self.committed_offset!r}, "
            f"committed_leader_epoch={self.committed_leader_epoch!r}, "
            f"metadata={self.metadata!r}, "
            f"error_code={self.error_code!r})"
        )


class OffsetFetchResponseTopic:
    """Part of :class:`OffsetFetchResponse`.

    ``name`` string (v1-7)

    ``partitions`` []OffsetFetchResponsePartition (v1-7)
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[OffsetFetchResponsePartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchResponseTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchResponseTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetFetchResponsePartitions:
    """Part of :class:`OffsetFetchResponse`.

    ``partition_index`` int32 (v8+)

    ``committed_offset`` int64 (v8+)

    ``committed_leader_epoch`` int32 (v8+)

    ``metadata`` string (v8+)

    ``error_code`` int16 (v8+)
    """

    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchResponsePartitions):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.committed_offset == other.committed_offset
            and self.committed_leader_epoch == other.committed_leader_epoch
            and self.metadata == other.metadata
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchResponsePartitions(partition_index={self.partition_index!r}, "
            f"committed_offset={self.committed_offset!r}, "
            f"committed_leader_epoch={self.committed_leader_epoch!r}, "
            f"metadata={self.metadata!r}, "
            f"error_code={self.error_code!r})"
        )


class OffsetFetchResponseTopics:
    """Part of :class:`OffsetFetchResponse`.

    ``name`` string (v8-9)

    ``topic_id`` uuid (v10+)

    ``partitions`` []OffsetFetchResponsePartitions (v8+)
    """

    __slots__ = ("name", "topic_id", "partitions")
    name: str
    topic_id: UUID
    partitions: list[OffsetFetchResponsePartitions]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchResponseTopics):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchResponseTopics(name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetFetchResponseGroup:
    """Part of :class:`OffsetFetchResponse`.

    ``group_id`` string (v8+)

    ``topics`` []OffsetFetchResponseTopics (v8+)

    ``error_code`` int16 (v8+)
    """

    __slots__ = ("group_id", "topics", "error_code")
    group_id: str
    topics: list[OffsetFetchResponseTopics]
    error_code: int

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = EMPTY,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchResponseGroup):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.topics == other.topics
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchResponseGroup(group_id={self.group_id!r}, "
            f"topics={self.topics!r}, "
            f"error_code={self.error_code!r})"
        )


class OffsetFetchResponse:
    """Committed offsets; -1 where there is none.

    ``throttle_time_ms`` int32 (v3+)

    ``topics`` []OffsetFetchResponseTopic (v1-7)

    ``error_code`` int16 (v2-7)

    ``groups`` []OffsetFetchResponseGroup (v8+)
    """

    API_KEY: ClassVar[int] = 9
    NAME: ClassVar[str] = "OffsetFetchResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")
    throttle_time_ms: int
    topics: list[OffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponseGroup]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = EMPTY,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
            and self.error_code == other.error_code
            and self.groups == other.groups
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r}, "
            f"error_code={self.error_code!r}, "
            f"groups={self.groups!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetFetchResponse", version, 1, 10)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetFetchResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetFetchResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetFetchResponse", version, 1, 10)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetFetchResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetFetchResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetFetchResponse", version, 1, 10)
        return decoder(data, position)


def _encode_v1(m: OffsetFetchResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.groups", m.groups)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetFetchResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.committed_offset))
            if e2.metadata is None:
                add(b"\xff\xff")
            else:
                b2 = e2.metadata.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("OffsetFetchResponsePartition", "metadata", len(b2))
                add(_pack_h(n4))
                add(b2)
            add(_pack_h(e2.error_code))
    return out


def _encode_v2(m: OffsetFetchResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.groups", m.groups)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetFetchResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.committed_offset))
            if e2.metadata is None:
                add(b"\xff\xff")
            else:
                b2 = e2.metadata.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("OffsetFetchResponsePartition", "metadata", len(b2))
                add(_pack_h(n4))
                add(b2)
            add(_pack_h(e2.error_code))
    add(_pack_h(m.error_code))
    return out


def _encode_v3(m: OffsetFetchResponse) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.groups", m.groups)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetFetchResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.committed_offset))
            if e2.metadata is None:
                add(b"\xff\xff")
            else:
                b2 = e2.metadata.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("OffsetFetchResponsePartition", "metadata", len(b2))
                add(_pack_h(n4))
                add(b2)
            add(_pack_h(e2.error_code))
    add(_pack_h(m.error_code))
    return out


def _encode_v5(m: OffsetFetchResponse) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.groups", m.groups)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetFetchResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch))
            if e2.metadata is None:
                add(b"\xff\xff")
            else:
                b2 = e2.metadata.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("OffsetFetchResponsePartition", "metadata", len(b2))
                add(_pack_h(n4))
                add(b2)
            add(_pack_h(e2.error_code))
    add(_pack_h(m.error_code))
    return out


def _encode_v6(m: OffsetFetchResponse) -> list[bytes]:
    # versions 6, 7
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.groups", m.groups)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetFetchResponseTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch))
            if e2.metadata is None:
                add(b"\x00")
            else:
                b2 = e2.metadata.encode()
                n4 = len(b2) + 1
                if n4 > 32768:
                    raise short_string("OffsetFetchResponsePartition", "metadata", len(b2))
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                add(b2)
            add(_pack_hx(e2.error_code))
        add(b"\x00")
    add(_pack_hx(m.error_code))
    return out


def _encode_v8(m: OffsetFetchResponse) -> list[bytes]:
    # versions 8, 9
    out: list[bytes] = []
    add = out.append
    if not (not m.topics):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.topics", m.topics)
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetFetchResponseGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.topics
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("OffsetFetchResponseTopics", "name", len(b2))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b2)
            l3 = e2.partitions
            n5 = len(l3) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e3 in l3:
                add(_pack_iqi(e3.partition_index, e3.committed_offset, e3.committed_leader_epoch))
                if e3.metadata is None:
                    add(b"\x00")
                else:
                    b3 = e3.metadata.encode()
                    n6 = len(b3) + 1
                    if n6 > 32768:
                        raise short_string("OffsetFetchResponsePartitions", "metadata", len(b3))
                    add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                    add(b3)
                add(_pack_hx(e3.error_code))
            add(b"\x00")
        add(_pack_hx(e1.error_code))
    add(b"\x00")
    return out


def _encode_v10(m: OffsetFetchResponse) -> list[bytes]:
    # versions 10
    out: list[bytes] = []
    add = out.append
    if not (not m.topics):
        raise not_in_version("OffsetFetchResponse", "OffsetFetchResponse.topics", m.topics)
    l1 = m.groups
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetFetchResponseGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.topics
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.partitions
            n4 = len(l3) + 1
            add(_pack_UB(e2.topic_id.bytes, n4) if n4 < 128 else e2.topic_id.bytes + uvarint(n4))
            for e3 in l3:
                add(_pack_iqi(e3.partition_index, e3.committed_offset, e3.committed_leader_epoch))
                if e3.metadata is None:
                    add(b"\x00")
                else:
                    b2 = e3.metadata.encode()
                    n5 = len(b2) + 1
                    if n5 > 32768:
                        raise short_string("OffsetFetchResponsePartitions", "metadata", len(b2))
                    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                    add(b2)
                add(_pack_hx(e3.error_code))
            add(b"\x00")
        add(_pack_hx(e1.error_code))
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.throttle_time_ms = 0
        m.error_code = 0
        m.groups = []
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.topics", n1, pos, size)
        l1: list[OffsetFetchResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 16 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetFetchResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                l2.append(e2)
                e2.committed_leader_epoch = -1
                e2.partition_index, e2.committed_offset, n4 = _unpack_iqh(data, pos)
                pos += 14
                if n4 == -1:
                    e2.metadata = None
                else:
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartition.metadata", n4, pos, size)
                    e2.metadata = str(data[pos:z2], "utf-8")
                    pos = z2
                (e2.error_code,) = _unpack_h(data, pos)
                pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.throttle_time_ms = 0
        m.groups = []
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.topics", n1, pos, size)
        l1: list[OffsetFetchResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 16 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetFetchResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                l2.append(e2)
                e2.committed_leader_epoch = -1
                e2.partition_index, e2.committed_offset, n4 = _unpack_iqh(data, pos)
                pos += 14
                if n4 == -1:
                    e2.metadata = None
                else:
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartition.metadata", n4, pos, size)
                    e2.metadata = str(data[pos:z2], "utf-8")
                    pos = z2
                (e2.error_code,) = _unpack_h(data, pos)
                pos += 2
        (m.error_code,) = _unpack_h(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.groups = []
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.topics", n1, pos, size)
        l1: list[OffsetFetchResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 16 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetFetchResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                l2.append(e2)
                e2.committed_leader_epoch = -1
                e2.partition_index, e2.committed_offset, n4 = _unpack_iqh(data, pos)
                pos += 14
                if n4 == -1:
                    e2.metadata = None
                else:
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartition.metadata", n4, pos, size)
                    e2.metadata = str(data[pos:z2], "utf-8")
                    pos = z2
                (e2.error_code,) = _unpack_h(data, pos)
                pos += 2
        (m.error_code,) = _unpack_h(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 5
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.groups = []
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.topics", n1, pos, size)
        l1: list[OffsetFetchResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 20 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetFetchResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n4 = _unpack_iqih(data, pos)
                pos += 18
                if n4 == -1:
                    e2.metadata = None
                else:
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartition.metadata", n4, pos, size)
                    e2.metadata = str(data[pos:z2], "utf-8")
                    pos = z2
                (e2.error_code,) = _unpack_h(data, pos)
                pos += 2
        (m.error_code,) = _unpack_h(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 6, 7
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.groups = []
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.topics", n1, pos, size)
        l1: list[OffsetFetchResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseTopic.__new__(OffsetFetchResponseTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 20 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetFetchResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetFetchResponsePartition.__new__(OffsetFetchResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n4 = _unpack_iqiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                if n4 == 0:
                    e2.metadata = None
                else:
                    z2 = pos + n4 - 1
                    if z2 > size:
                        raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartition.metadata", n4 - 1, pos, size)
                    e2.metadata = str(data[pos:z2], "utf-8")
                    pos = z2
                e2.error_code, k1 = _unpack_hB(data, pos)
                pos += 3
                if k1:
                    pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
        m.error_code, k3 = _unpack_hB(data, pos)
        pos += 3
        if k3:
            pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 8, 9
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.topics = []
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.groups", n1, pos, size)
        l1: list[OffsetFetchResponseGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseGroup.__new__(OffsetFetchResponseGroup)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseGroup.topics", n3, pos, size)
            l2: list[OffsetFetchResponseTopics] = []
            e1.topics = l2
            for _ in range(n3):
                e2 = OffsetFetchResponseTopics.__new__(OffsetFetchResponseTopics)
                l2.append(e2)
                e2.topic_id = ZERO_UUID
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopics.name", n4 - 1, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 20 > size - pos:
                    raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopics.partitions", n5, pos, size)
                l3: list[OffsetFetchResponsePartitions] = []
                e2.partitions = l3
                for _ in range(n5):
                    e3 = OffsetFetchResponsePartitions.__new__(OffsetFetchResponsePartitions)
                    l3.append(e3)
                    e3.partition_index, e3.committed_offset, e3.committed_leader_epoch, n6 = _unpack_iqiB(data, pos)
                    pos += 17
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        e3.metadata = None
                    else:
                        z3 = pos + n6 - 1
                        if z3 > size:
                            raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartitions.metadata", n6 - 1, pos, size)
                        e3.metadata = str(data[pos:z3], "utf-8")
                        pos = z3
                    e3.error_code, k1 = _unpack_hB(data, pos)
                    pos += 3
                    if k1:
                        pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
            e1.error_code, k3 = _unpack_hB(data, pos)
            pos += 3
            if k3:
                pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    # versions 10
    size = len(data)
    try:
        m = OffsetFetchResponse.__new__(OffsetFetchResponse)
        m.topics = []
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("OffsetFetchResponse", "OffsetFetchResponse.groups", n1, pos, size)
        l1: list[OffsetFetchResponseGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = OffsetFetchResponseGroup.__new__(OffsetFetchResponseGroup)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 18 > size - pos:
                raise overrun("OffsetFetchResponse", "OffsetFetchResponseGroup.topics", n3, pos, size)
            l2: list[OffsetFetchResponseTopics] = []
            e1.topics = l2
            for _ in range(n3):
                e2 = OffsetFetchResponseTopics.__new__(OffsetFetchResponseTopics)
                l2.append(e2)
                e2.name = ""
                u1, n4 = _unpack_UB(data, pos)
                pos += 17
                e2.topic_id = uuid_of(u1)
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 20 > size - pos:
                    raise overrun("OffsetFetchResponse", "OffsetFetchResponseTopics.partitions", n4, pos, size)
                l3: list[OffsetFetchResponsePartitions] = []
                e2.partitions = l3
                for _ in range(n4):
                    e3 = OffsetFetchResponsePartitions.__new__(OffsetFetchResponsePartitions)
                    l3.append(e3)
                    e3.partition_index, e3.committed_offset, e3.committed_leader_epoch, n5 = _unpack_iqiB(data, pos)
                    pos += 17
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    if n5 == 0:
                        e3.metadata = None
                    else:
                        z2 = pos + n5 - 1
                        if z2 > size:
                            raise overrun("OffsetFetchResponse", "OffsetFetchResponsePartitions.metadata", n5 - 1, pos, size)
                        e3.metadata = str(data[pos:z2], "utf-8")
                        pos = z2
                    e3.error_code, k1 = _unpack_hB(data, pos)
                    pos += 3
                    if k1:
                        pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
            e1.error_code, k3 = _unpack_hB(data, pos)
            pos += 3
            if k3:
                pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("OffsetFetchResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetFetchResponse], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v5,
    6: _encode_v6,
    7: _encode_v6,
    8: _encode_v8,
    9: _encode_v8,
    10: _encode_v10,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetFetchResponse, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v5,
    6: _decode_v6,
    7: _decode_v6,
    8: _decode_v8,
    9: _decode_v8,
    10: _decode_v10,
}
