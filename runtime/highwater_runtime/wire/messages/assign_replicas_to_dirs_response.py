"""AssignReplicasToDirsResponse: response body, key 73, versions 0.

Generated from ``schemas/assign_replicas_to_dirs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    ZERO_UUID,
    Buffer,
    DecodeError,
    malformed,
    overrun,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_UB: Final = Struct(">16sB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihx: Final = Struct(">ihx").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from


class PartitionData:
    """Part of :class:`AssignReplicasToDirsResponse`.

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
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r})"
        )


class TopicData:
    """Part of :class:`AssignReplicasToDirsResponse`.

    ``topic_id`` uuid

    ``partitions`` []PartitionData
    """

    __slots__ = ("topic_id", "partitions")
    topic_id: UUID
    partitions: list[PartitionData]

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicData):
            return NotImplemented
        return (
            self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicData(topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class DirectoryData:
    """Part of :class:`AssignReplicasToDirsResponse`.

    ``id`` uuid

    ``topics`` []TopicData
    """

    __slots__ = ("id", "topics")
    id: UUID
    topics: list[TopicData]

    def __init__(
        self,
        *,
        id: UUID = ZERO_UUID,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.id = id
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DirectoryData):
            return NotImplemented
        return (
            self.id == other.id
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"DirectoryData(id={self.id!r}, "
            f"topics={self.topics!r})"
        )


class AssignReplicasToDirsResponse:
    """What became of each replica.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``directories`` []DirectoryData
    """

    API_KEY: ClassVar[int] = 73
    NAME: ClassVar[str] = "AssignReplicasToDirsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "directories")
    throttle_time_ms: int
    error_code: int
    directories: list[DirectoryData]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[DirectoryData] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is EMPTY else directories

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AssignReplicasToDirsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.directories == other.directories
        )

    def __repr__(self) -> str:
        return (
            f"AssignReplicasToDirsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"directories={self.directories!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AssignReplicasToDirsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AssignReplicasToDirsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AssignReplicasToDirsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AssignReplicasToDirsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AssignReplicasToDirsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AssignReplicasToDirsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AssignReplicasToDirsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: AssignReplicasToDirsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.directories
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        l2 = e1.topics
        n2 = len(l2) + 1
        add(_pack_UB(e1.id.bytes, n2) if n2 < 128 else e1.id.bytes + uvarint(n2))
        for e2 in l2:
            l3 = e2.partitions
            n3 = len(l3) + 1
            add(_pack_UB(e2.topic_id.bytes, n3) if n3 < 128 else e2.topic_id.bytes + uvarint(n3))
            for e3 in l3:
                add(_pack_ihx(e3.partition_index, e3.error_code))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AssignReplicasToDirsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = AssignReplicasToDirsResponse.__new__(AssignReplicasToDirsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("AssignReplicasToDirsResponse", "AssignReplicasToDirsResponse.directories", n1, pos, size)
        l1: list[DirectoryData] = []
        m.directories = l1
        for _ in range(n1):
            e1 = DirectoryData.__new__(DirectoryData)
            l1.append(e1)
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 18 > size - pos:
                raise overrun("AssignReplicasToDirsResponse", "DirectoryData.topics", n2, pos, size)
            l2: list[TopicData] = []
            e1.topics = l2
            for _ in range(n2):
                e2 = TopicData.__new__(TopicData)
                l2.append(e2)
                u2, n3 = _unpack_UB(data, pos)
                pos += 17
                e2.topic_id = uuid_of(u2)
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 7 > size - pos:
                    raise overrun("AssignReplicasToDirsResponse", "TopicData.partitions", n3, pos, size)
                l3: list[PartitionData] = []
                e2.partitions = l3
                for _ in range(n3):
                    e3 = PartitionData.__new__(PartitionData)
                    l3.append(e3)
                    e3.partition_index, e3.error_code, k1 = _unpack_ihB(data, pos)
                    pos += 7
                    if k1:
                        pos = skip_tagged("AssignReplicasToDirsResponse", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("AssignReplicasToDirsResponse", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("AssignReplicasToDirsResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("AssignReplicasToDirsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AssignReplicasToDirsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AssignReplicasToDirsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AssignReplicasToDirsResponse, int]]]] = {
    0: _decode_v0,
}
