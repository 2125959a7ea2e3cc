"""ElectLeadersRequest: request body, key 43, versions 0 to 2.

Generated from ``schemas/elect_leaders.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_b: Final = Struct(">b").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_bi: Final = Struct(">bi").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class TopicPartitions:
    """Part of :class:`ElectLeadersRequest`.

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
        if not isinstance(other, TopicPartitions):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicPartitions(topic={self.topic!r}, "
            f"partitions={self.partitions!r})"
        )


class ElectLeadersRequest:
    """Elect the preferred replica, or any live one if need be.

    ``election_type`` int8 (v1+): 0 preferred, 1 unclean.

    ``topic_partitions`` []TopicPartitions: Null for all partitions.

    ``timeout_ms`` int32
    """

    API_KEY: ClassVar[int] = 43
    NAME: ClassVar[str] = "ElectLeadersRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("election_type", "topic_partitions", "timeout_ms")
    election_type: int
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: int

    def __init__(
        self,
        *,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = EMPTY,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.timeout_ms = timeout_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ElectLeadersRequest):
            return NotImplemented
        return (
            self.election_type == other.election_type
            and self.topic_partitions == other.topic_partitions
            and self.timeout_ms == other.timeout_ms
        )

    def __repr__(self) -> str:
        return (
            f"ElectLeadersRequest(election_type={self.election_type!r}, "
            f"topic_partitions={self.topic_partitions!r}, "
            f"timeout_ms={self.timeout_ms!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ElectLeadersRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ElectLeadersRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ElectLeadersRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ElectLeadersRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ElectLeadersRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ElectLeadersRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ElectLeadersRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: ElectLeadersRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.election_type == 0):
        raise not_in_version("ElectLeadersRequest", "ElectLeadersRequest.election_type", m.election_type)
    l1 = m.topic_partitions
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n1 = len(l1)
        add(_pack_i(n1))
        for e1 in l1:
            b1 = e1.topic.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("TopicPartitions", "topic", len(b1))
            add(_pack_h(n2))
            add(b1)
            l2 = e1.partitions
            n3 = len(l2)
            add(_pack_i(n3))
            if l2:
                add(encode_array("i", l2))
    add(_pack_i(m.timeout_ms))
    return out


def _encode_v1(m: ElectLeadersRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topic_partitions
    add(_pack_b(m.election_type))
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n1 = len(l1)
        add(_pack_i(n1))
        for e1 in l1:
            b1 = e1.topic.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("TopicPartitions", "topic", len(b1))
            add(_pack_h(n2))
            add(b1)
            l2 = e1.partitions
            n3 = len(l2)
            add(_pack_i(n3))
            if l2:
                add(encode_array("i", l2))
    add(_pack_i(m.timeout_ms))
    return out


def _encode_v2(m: ElectLeadersRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topic_partitions
    add(_pack_b(m.election_type))
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            b1 = e1.topic.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("TopicPartitions", "topic", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
            l2 = e1.partitions
            n3 = len(l2) + 1
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            if l2:
                add(encode_array("i", l2))
            add(b"\x00")
    add(_pack_ix(m.timeout_ms))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ElectLeadersRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = ElectLeadersRequest.__new__(ElectLeadersRequest)
        m.election_type = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 == -1:
            m.topic_partitions = None
        else:
            if n1 < 0 or n1 * 6 > size - pos:
                raise overrun("ElectLeadersRequest", "ElectLeadersRequest.topic_partitions", n1, pos, size)
            l1: list[TopicPartitions] = []
            m.topic_partitions = l1
            for _ in range(n1):
                e1 = TopicPartitions.__new__(TopicPartitions)
                l1.append(e1)
                (n2,) = _unpack_h(data, pos)
                pos += 2
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("ElectLeadersRequest", "TopicPartitions.topic", n2, pos, size)
                e1.topic = str(data[pos:z1], "utf-8")
                pos = z1
                (n3,) = _unpack_i(data, pos)
                pos += 4
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("ElectLeadersRequest", "TopicPartitions.partitions", n3, pos, size)
                e1.partitions = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
        (m.timeout_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ElectLeadersRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[ElectLeadersRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = ElectLeadersRequest.__new__(ElectLeadersRequest)
        m.election_type, n1 = _unpack_bi(data, pos)
        pos += 5
        if n1 == -1:
            m.topic_partitions = None
        else:
            if n1 < 0 or n1 * 6 > size - pos:
                raise overrun("ElectLeadersRequest", "ElectLeadersRequest.topic_partitions", n1, pos, size)
            l1: list[TopicPartitions] = []
            m.topic_partitions = l1
            for _ in range(n1):
                e1 = TopicPartitions.__new__(TopicPartitions)
                l1.append(e1)
                (n2,) = _unpack_h(data, pos)
                pos += 2
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("ElectLeadersRequest", "TopicPartitions.topic", n2, pos, size)
                e1.topic = str(data[pos:z1], "utf-8")
                pos = z1
                (n3,) = _unpack_i(data, pos)
                pos += 4
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("ElectLeadersRequest", "TopicPartitions.partitions", n3, pos, size)
                e1.partitions = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
        (m.timeout_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ElectLeadersRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[ElectLeadersRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = ElectLeadersRequest.__new__(ElectLeadersRequest)
        m.election_type, n1 = _unpack_bB(data, pos)
        pos += 2
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topic_partitions = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - pos:
                raise overrun("ElectLeadersRequest", "ElectLeadersRequest.topic_partitions", n1, pos, size)
            l1: list[TopicPartitions] = []
            m.topic_partitions = l1
            for _ in range(n1):
                e1 = TopicPartitions.__new__(TopicPartitions)
                l1.append(e1)
                n2 = data[pos]
                pos += 1
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                z1 = pos + n2 - 1
                if n2 == 0 or z1 > size:
                    raise overrun("ElectLeadersRequest", "TopicPartitions.topic", n2 - 1, pos, size)
                e1.topic = str(data[pos:z1], "utf-8")
                pos = z1
                n3 = data[pos]
                pos += 1
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("ElectLeadersRequest", "TopicPartitions.partitions", n3, pos, size)
                e1.partitions = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("ElectLeadersRequest", data, pos - 1)
        m.timeout_ms, k2 = _unpack_iB(data, pos)
        pos += 5
        if k2:
            pos = skip_tagged("ElectLeadersRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ElectLeadersRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ElectLeadersRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ElectLeadersRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
