"""OffsetCommitResponse: response body, key 8, versions 2 to 10.

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
_pack_ihx: Final = Struct(">ihx").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class OffsetCommitResponsePartition:
    """Part of :class:`OffsetCommitResponse`.

    ``partition_index`` int32

    ``error_code`` int16
    """

    __slots__ = ("partition_index", "error_code")
    partition_index: int
    error_code: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitResponsePartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitResponsePartition(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r})"
        )


class OffsetCommitResponseTopic:
    """Part of :class:`OffsetCommitResponse`.

    ``name`` string (v2-9)

    ``topic_id`` uuid (v10+)

    ``partitions`` []OffsetCommitResponsePartition
    """

    __slots__ = ("name", "topic_id", "partitions")
    name: str
    topic_id: UUID
    partitions: list[OffsetCommitResponsePartition]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitResponseTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitResponseTopic(name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetCommitResponse:
    """One result for each partition.

    ``throttle_time_ms`` int32 (v3+)

    ``topics`` []OffsetCommitResponseTopic
    """

    API_KEY: ClassVar[int] = 8
    NAME: ClassVar[str] = "OffsetCommitResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 8

    __slots__ = ("throttle_time_ms", "topics")
    throttle_time_ms: int
    topics: list[OffsetCommitResponseTopic]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetCommitResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetCommitResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetCommitResponse", version, 2, 10)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetCommitResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetCommitResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitResponse", version, 2, 10)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetCommitResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetCommitResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetCommitResponse", version, 2, 10)
        return decoder(data, position)


def _encode_v2(m: OffsetCommitResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetCommitResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ih(e2.partition_index, e2.error_code))
    return out


def _encode_v3(m: OffsetCommitResponse) -> list[bytes]:
    # versions 3, 4, 5, 6, 7
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetCommitResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ih(e2.partition_index, e2.error_code))
    return out


def _encode_v8(m: OffsetCommitResponse) -> list[bytes]:
    # versions 8, 9
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetCommitResponseTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_ihx(e2.partition_index, e2.error_code))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v10(m: OffsetCommitResponse) -> list[bytes]:
    # versions 10
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            add(_pack_ihx(e2.partition_index, e2.error_code))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = OffsetCommitResponse.__new__(OffsetCommitResponse)
        m.throttle_time_ms = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetCommitResponse", "OffsetCommitResponse.topics", n1, pos, size)
        l1: list[OffsetCommitResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 6 > size - pos:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetCommitResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.error_code = _unpack_ih(data, pos)
                pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    # versions 3, 4, 5, 6, 7
    size = len(data)
    try:
        m = OffsetCommitResponse.__new__(OffsetCommitResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetCommitResponse", "OffsetCommitResponse.topics", n1, pos, size)
        l1: list[OffsetCommitResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 6 > size - pos:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetCommitResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.error_code = _unpack_ih(data, pos)
                pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitResponse", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    # versions 8, 9
    size = len(data)
    try:
        m = OffsetCommitResponse.__new__(OffsetCommitResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("OffsetCommitResponse", "OffsetCommitResponse.topics", n1, pos, size)
        l1: list[OffsetCommitResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 7 > size - pos:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetCommitResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.error_code, k1 = _unpack_ihB(data, pos)
                pos += 7
                if k1:
                    pos = skip_tagged("OffsetCommitResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetCommitResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("OffsetCommitResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitResponse", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    # versions 10
    size = len(data)
    try:
        m = OffsetCommitResponse.__new__(OffsetCommitResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("OffsetCommitResponse", "OffsetCommitResponse.topics", n1, pos, size)
        l1: list[OffsetCommitResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
            l1.append(e1)
            e1.name = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 7 > size - pos:
                raise overrun("OffsetCommitResponse", "OffsetCommitResponseTopic.partitions", n2, pos, size)
            l2: list[OffsetCommitResponsePartition] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.error_code, k1 = _unpack_ihB(data, pos)
                pos += 7
                if k1:
                    pos = skip_tagged("OffsetCommitResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetCommitResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("OffsetCommitResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetCommitResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetCommitResponse], list[bytes]]]] = {
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v3,
    6: _encode_v3,
    7: _encode_v3,
    8: _encode_v8,
    9: _encode_v8,
    10: _encode_v10,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetCommitResponse, int]]]] = {
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v3,
    6: _decode_v3,
    7: _decode_v3,
    8: _decode_v8,
    9: _decode_v8,
    10: _decode_v10,
}
