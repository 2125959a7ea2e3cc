"""DescribeLogDirsRequest: request body, key 35, versions 1 to 4.

Generated from ``schemas/describe_log_dirs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    decode_array,
    encode_array,
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
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class DescribableLogDirTopic:
    """Part of :class:`DescribeLogDirsRequest`.

    ``topic`` string

    ``partitions`` []int32
    """

    __slots__ = ("topic", "partitions")
    topic: str
    partitions: list[int]

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribableLogDirTopic):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"DescribableLogDirTopic(topic={self.topic!r}, "
            f"partitions={self.partitions!r})"
        )


class DescribeLogDirsRequest:
    """How large is what this broker has (KIP-113)?

    ``topics`` []DescribableLogDirTopic: Null for all.
    """

    API_KEY: ClassVar[int] = 35
    NAME: ClassVar[str] = "DescribeLogDirsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("topics",)
    topics: list[DescribableLogDirTopic] | None

    def __init__(
        self,
        *,
        topics: list[DescribableLogDirTopic] | None = EMPTY,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeLogDirsRequest):
            return NotImplemented
        return (
            self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"DescribeLogDirsRequest(topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeLogDirsRequest", version, 1, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeLogDirsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeLogDirsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeLogDirsRequest", version, 1, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeLogDirsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeLogDirsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeLogDirsRequest", version, 1, 4)
        return decoder(data, position)


def _encode_v1(m: DescribeLogDirsRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n1 = len(l1)
        add(_pack_i(n1))
        for e1 in l1:
            b1 = e1.topic.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("DescribableLogDirTopic", "topic", len(b1))
            add(_pack_h(n2))
            add(b1)
            l2 = e1.partitions
            n3 = len(l2)
            add(_pack_i(n3))
            if l2:
                add(encode_array("i", l2))
    return out


def _encode_v2(m: DescribeLogDirsRequest) -> list[bytes]:
    # versions 2, 3, 4
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            b1 = e1.topic.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("DescribableLogDirTopic", "topic", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
            l2 = e1.partitions
            n3 = len(l2) + 1
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            if l2:
                add(encode_array("i", l2))
            add(b"\x00")
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeLogDirsRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = DescribeLogDirsRequest.__new__(DescribeLogDirsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 == -1:
            m.topics = None
        else:
            if n1 < 0 or n1 * 6 > size - pos:
                raise overrun("DescribeLogDirsRequest", "DescribeLogDirsRequest.topics", n1, pos, size)
            l1: list[DescribableLogDirTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = DescribableLogDirTopic.__new__(DescribableLogDirTopic)
                l1.append(e1)
                (n2,) = _unpack_h(data, pos)
                pos += 2
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("DescribeLogDirsRequest", "DescribableLogDirTopic.topic", n2, pos, size)
                e1.topic = str(data[pos:z1], "utf-8")
                pos = z1
                (n3,) = _unpack_i(data, pos)
                pos += 4
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("DescribeLogDirsRequest", "DescribableLogDirTopic.partitions", n3, pos, size)
                e1.partitions = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
    except DECODE_FAULTS as fault:
        raise malformed("DescribeLogDirsRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DescribeLogDirsRequest, int]:
    # versions 2, 3, 4
    size = len(data)
    try:
        m = DescribeLogDirsRequest.__new__(DescribeLogDirsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - pos:
                raise overrun("DescribeLogDirsRequest", "DescribeLogDirsRequest.topics", n1, pos, size)
            l1: list[DescribableLogDirTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = DescribableLogDirTopic.__new__(DescribableLogDirTopic)
                l1.append(e1)
                n2 = data[pos]
                pos += 1
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                z1 = pos + n2 - 1
                if n2 == 0 or z1 > size:
                    raise overrun("DescribeLogDirsRequest", "DescribableLogDirTopic.topic", n2 - 1, pos, size)
                e1.topic = str(data[pos:z1], "utf-8")
                pos = z1
                n3 = data[pos]
                pos += 1
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("DescribeLogDirsRequest", "DescribableLogDirTopic.partitions", n3, pos, size)
                e1.partitions = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("DescribeLogDirsRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("DescribeLogDirsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeLogDirsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeLogDirsRequest], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeLogDirsRequest, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
}
