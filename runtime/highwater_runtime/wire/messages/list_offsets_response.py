"""ListOffsetsResponse: response body, key 2, versions 1 to 11.

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
_pack_iB: Final = Struct(">iB").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqi: Final = Struct(">ihqqi").pack
_pack_ihqqix: Final = Struct(">ihqqix").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqi: Final = Struct(">ihqqi").unpack_from
_unpack_ihqqiB: Final = Struct(">ihqqiB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class ListOffsetsPartitionResponse:
    """Part of :class:`ListOffsetsResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``timestamp`` int64

    ``offset`` int64: -1 if there is no such offset.

    ``leader_epoch`` int32 (v4+)
    """

    __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")
    partition_index: int
    error_code: int
    timestamp: int
    offset: int
    leader_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListOffsetsPartitionResponse):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.timestamp == other.timestamp
            and self.offset == other.offset
            and self.leader_epoch == other.leader_epoch
        )

    def __repr__(self) -> str:
        return (
            f"ListOffsetsPartitionResponse(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"timestamp={self.timestamp!r}, "
            f"offset={self.offset!r}, "
            f"leader_epoch={self.leader_epoch!r})"
        )


class ListOffsetsTopicResponse:
    """Part of :class:`ListOffsetsResponse`.

    ``name`` string

    ``partitions`` []ListOffsetsPartitionResponse
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[ListOffsetsPartitionResponse]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListOffsetsTopicResponse):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"ListOffsetsTopicResponse(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class ListOffsetsResponse:
    """One offset for each partition.

    ``throttle_time_ms`` int32 (v2+)

    ``topics`` []ListOffsetsTopicResponse
    """

    API_KEY: ClassVar[int] = 2
    NAME: ClassVar[str] = "ListOffsetsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "topics")
    throttle_time_ms: int
    topics: list[ListOffsetsTopicResponse]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListOffsetsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"ListOffsetsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ListOffsetsResponse", version, 1, 11)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ListOffsetsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ListOffsetsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListOffsetsResponse", version, 1, 11)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ListOffsetsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ListOffsetsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListOffsetsResponse", version, 1, 11)
        return decoder(data, position)


def _encode_v1(m: ListOffsetsResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListOffsetsTopicResponse", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.leader_epoch == -1):
                raise not_in_version("ListOffsetsResponse", "ListOffsetsPartitionResponse.leader_epoch", e2.leader_epoch)
            add(_pack_ihqq(e2.partition_index, e2.error_code, e2.timestamp, e2.offset))
    return out


def _encode_v2(m: ListOffsetsResponse) -> list[bytes]:
    # versions 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListOffsetsTopicResponse", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.leader_epoch == -1):
                raise not_in_version("ListOffsetsResponse", "ListOffsetsPartitionResponse.leader_epoch", e2.leader_epoch)
            add(_pack_ihqq(e2.partition_index, e2.error_code, e2.timestamp, e2.offset))
    return out


def _encode_v4(m: ListOffsetsResponse) -> list[bytes]:
    # versions 4, 5
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ListOffsetsTopicResponse", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ihqqi(e2.partition_index, e2.error_code, e2.timestamp, e2.offset, e2.leader_epoch))
    return out


def _encode_v6(m: ListOffsetsResponse) -> list[bytes]:
    # versions 6, 7, 8, 9, 10, 11
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ListOffsetsTopicResponse", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_ihqqix(e2.partition_index, e2.error_code, e2.timestamp, e2.offset, e2.leader_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = ListOffsetsResponse.__new__(ListOffsetsResponse)
        m.throttle_time_ms = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ListOffsetsResponse", "ListOffsetsResponse.topics", n1, pos, size)
        l1: list[ListOffsetsTopicResponse] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopicResponse.__new__(ListOffsetsTopicResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 22 > size - pos:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.partitions", n3, pos, size)
            l2: list[ListOffsetsPartitionResponse] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartitionResponse.__new__(ListOffsetsPartitionResponse)
                l2.append(e2)
                e2.leader_epoch = -1
                e2.partition_index, e2.error_code, e2.timestamp, e2.offset = _unpack_ihqq(data, pos)
                pos += 22
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    # versions 2, 3
    size = len(data)
    try:
        m = ListOffsetsResponse.__new__(ListOffsetsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ListOffsetsResponse", "ListOffsetsResponse.topics", n1, pos, size)
        l1: list[ListOffsetsTopicResponse] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopicResponse.__new__(ListOffsetsTopicResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 22 > size - pos:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.partitions", n3, pos, size)
            l2: list[ListOffsetsPartitionResponse] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartitionResponse.__new__(ListOffsetsPartitionResponse)
                l2.append(e2)
                e2.leader_epoch = -1
                e2.partition_index, e2.error_code, e2.timestamp, e2.offset = _unpack_ihqq(data, pos)
                pos += 22
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    # versions 4, 5
    size = len(data)
    try:
        m = ListOffsetsResponse.__new__(ListOffsetsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ListOffsetsResponse", "ListOffsetsResponse.topics", n1, pos, size)
        l1: list[ListOffsetsTopicResponse] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopicResponse.__new__(ListOffsetsTopicResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 26 > size - pos:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.partitions", n3, pos, size)
            l2: list[ListOffsetsPartitionResponse] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartitionResponse.__new__(ListOffsetsPartitionResponse)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.timestamp, e2.offset, e2.leader_epoch = _unpack_ihqqi(data, pos)
                pos += 26
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsResponse", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    # versions 6, 7, 8, 9, 10, 11
    size = len(data)
    try:
        m = ListOffsetsResponse.__new__(ListOffsetsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ListOffsetsResponse", "ListOffsetsResponse.topics", n1, pos, size)
        l1: list[ListOffsetsTopicResponse] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ListOffsetsTopicResponse.__new__(ListOffsetsTopicResponse)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 27 > size - pos:
                raise overrun("ListOffsetsResponse", "ListOffsetsTopicResponse.partitions", n3, pos, size)
            l2: list[ListOffsetsPartitionResponse] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ListOffsetsPartitionResponse.__new__(ListOffsetsPartitionResponse)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.timestamp, e2.offset, e2.leader_epoch, k1 = _unpack_ihqqiB(data, pos)
                pos += 27
                if k1:
                    pos = skip_tagged("ListOffsetsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ListOffsetsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ListOffsetsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListOffsetsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ListOffsetsResponse], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v4,
    5: _encode_v4,
    6: _encode_v6,
    7: _encode_v6,
    8: _encode_v6,
    9: _encode_v6,
    10: _encode_v6,
    11: _encode_v6,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ListOffsetsResponse, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v4,
    5: _decode_v4,
    6: _decode_v6,
    7: _decode_v6,
    8: _decode_v6,
    9: _decode_v6,
    10: _decode_v6,
    11: _decode_v6,
}
