"""ConsumerProtocolSubscription: data, versions 0 to 3.

Generated from ``schemas/group_membership.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    Buffer,
    DecodeError,
    decode_array,
    encode_array,
    malformed,
    overrun,
    short_string,
    show,
    unencodable,
    unsupported,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class TopicPartition:
    """Part of :class:`ConsumerProtocolSubscription`.

    ``topic`` string (v1+)

    ``partitions`` []int32 (v1+)
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
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicPartition(topic={self.topic!r}, "
            f"partitions={self.partitions!r})"
        )


class ConsumerProtocolSubscription:
    """What a consumer wants to read: the metadata of its JoinGroup.

    ``topics`` []string

    ``user_data`` bytes

    ``owned_partitions`` []TopicPartition (v1+): What it reads now, for cooperative rebalances (KIP-429).

    ``generation_id`` int32 (v2+): The generation in which it came to own them.

    ``rack_id`` string (v3+)
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "ConsumerProtocolSubscription"
    KIND: ClassVar[str] = "data"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None

    def __init__(
        self,
        *,
        topics: list[str] = EMPTY,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = EMPTY,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is EMPTY else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerProtocolSubscription):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.user_data == other.user_data
            and self.owned_partitions == other.owned_partitions
            and self.generation_id == other.generation_id
            and self.rack_id == other.rack_id
        )

    def __repr__(self) -> str:
        return (
            f"ConsumerProtocolSubscription(topics={self.topics!r}, "
            f"user_data={show(self.user_data)}, "
            f"owned_partitions={self.owned_partitions!r}, "
            f"generation_id={self.generation_id!r}, "
            f"rack_id={self.rack_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ConsumerProtocolSubscription", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ConsumerProtocolSubscription", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ConsumerProtocolSubscription:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ConsumerProtocolSubscription", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ConsumerProtocolSubscription", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ConsumerProtocolSubscription, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ConsumerProtocolSubscription", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: ConsumerProtocolSubscription) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ConsumerProtocolSubscription", "topics", len(b1))
        add(_pack_h(n2))
        add(b1)
    if m.user_data is None:
        add(b"\xff\xff\xff\xff")
    else:
        b2 = m.user_data
        n3 = len(b2)
        add(_pack_i(n3))
        add(b2)
    return out


def _encode_v1(m: ConsumerProtocolSubscription) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ConsumerProtocolSubscription", "topics", len(b1))
        add(_pack_h(n2))
        add(b1)
    if m.user_data is None:
        add(b"\xff\xff\xff\xff")
    else:
        b2 = m.user_data
        n3 = len(b2)
        add(_pack_i(n3))
        add(b2)
    l2 = m.owned_partitions
    n4 = len(l2)
    add(_pack_i(n4))
    for e2 in l2:
        b3 = e2.topic.encode()
        n5 = len(b3)
        if n5 > 32767:
            raise short_string("TopicPartition", "topic", len(b3))
        add(_pack_h(n5))
        add(b3)
        l3 = e2.partitions
        n6 = len(l3)
        add(_pack_i(n6))
        if l3:
            add(encode_array("i", l3))
    return out


def _encode_v2(m: ConsumerProtocolSubscription) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ConsumerProtocolSubscription", "topics", len(b1))
        add(_pack_h(n2))
        add(b1)
    if m.user_data is None:
        add(b"\xff\xff\xff\xff")
    else:
        b2 = m.user_data
        n3 = len(b2)
        add(_pack_i(n3))
        add(b2)
    l2 = m.owned_partitions
    n4 = len(l2)
    add(_pack_i(n4))
    for e2 in l2:
        b3 = e2.topic.encode()
        n5 = len(b3)
        if n5 > 32767:
            raise short_string("TopicPartition", "topic", len(b3))
        add(_pack_h(n5))
        add(b3)
        l3 = e2.partitions
        n6 = len(l3)
        add(_pack_i(n6))
        if l3:
            add(encode_array("i", l3))
    add(_pack_i(m.generation_id))
    return out


def _encode_v3(m: ConsumerProtocolSubscription) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ConsumerProtocolSubscription", "topics", len(b1))
        add(_pack_h(n2))
        add(b1)
    if m.user_data is None:
        add(b"\xff\xff\xff\xff")
    else:
        b2 = m.user_data
        n3 = len(b2)
        add(_pack_i(n3))
        add(b2)
    l2 = m.owned_partitions
    n4 = len(l2)
    add(_pack_i(n4))
    for e2 in l2:
        b3 = e2.topic.encode()
        n5 = len(b3)
        if n5 > 32767:
            raise short_string("TopicPartition", "topic", len(b3))
        add(_pack_h(n5))
        add(b3)
        l3 = e2.partitions
        n6 = len(l3)
        add(_pack_i(n6))
        if l3:
            add(encode_array("i", l3))
    add(_pack_i(m.generation_id))
    if m.rack_id is None:
        add(b"\xff\xff")
    else:
        b4 = m.rack_id.encode()
        n7 = len(b4)
        if n7 > 32767:
            raise short_string("ConsumerProtocolSubscription", "rack_id", len(b4))
        add(_pack_h(n7))
        add(b4)
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # versions 0
    size = len(data)
    try:
        m = ConsumerProtocolSubscription.__new__(ConsumerProtocolSubscription)
        m.owned_partitions = []
        m.generation_id = -1
        m.rack_id = None
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n1, pos, size)
        l1: list[str] = []
        m.topics = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 == -1:
            m.user_data = None
        else:
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.user_data", n3, pos, size)
            m.user_data = bytes(data[pos:z2])
            pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("ConsumerProtocolSubscription", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # versions 1
    size = len(data)
    try:
        m = ConsumerProtocolSubscription.__new__(ConsumerProtocolSubscription)
        m.generation_id = -1
        m.rack_id = None
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n1, pos, size)
        l1: list[str] = []
        m.topics = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 == -1:
            m.user_data = None
        else:
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.user_data", n3, pos, size)
            m.user_data = bytes(data[pos:z2])
            pos = z2
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.owned_partitions", n4, pos, size)
        l2: list[TopicPartition] = []
        m.owned_partitions = l2
        for _ in range(n4):
            e2 = TopicPartition.__new__(TopicPartition)
            l2.append(e2)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n5
            if n5 < 0 or z3 > size:
                raise overrun("ConsumerProtocolSubscription", "TopicPartition.topic", n5, pos, size)
            e2.topic = str(data[pos:z3], "utf-8")
            pos = z3
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("ConsumerProtocolSubscription", "TopicPartition.partitions", n6, pos, size)
            e2.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
    except DECODE_FAULTS as fault:
        raise malformed("ConsumerProtocolSubscription", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # versions 2
    size = len(data)
    try:
        m = ConsumerProtocolSubscription.__new__(ConsumerProtocolSubscription)
        m.rack_id = None
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n1, pos, size)
        l1: list[str] = []
        m.topics = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 == -1:
            m.user_data = None
        else:
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.user_data", n3, pos, size)
            m.user_data = bytes(data[pos:z2])
            pos = z2
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.owned_partitions", n4, pos, size)
        l2: list[TopicPartition] = []
        m.owned_partitions = l2
        for _ in range(n4):
            e2 = TopicPartition.__new__(TopicPartition)
            l2.append(e2)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n5
            if n5 < 0 or z3 > size:
                raise overrun("ConsumerProtocolSubscription", "TopicPartition.topic", n5, pos, size)
            e2.topic = str(data[pos:z3], "utf-8")
            pos = z3
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("ConsumerProtocolSubscription", "TopicPartition.partitions", n6, pos, size)
            e2.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
        (m.generation_id,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ConsumerProtocolSubscription", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # versions 3
    size = len(data)
    try:
        m = ConsumerProtocolSubscription.__new__(ConsumerProtocolSubscription)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n1, pos, size)
        l1: list[str] = []
        m.topics = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.topics", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 == -1:
            m.user_data = None
        else:
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.user_data", n3, pos, size)
            m.user_data = bytes(data[pos:z2])
            pos = z2
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.owned_partitions", n4, pos, size)
        l2: list[TopicPartition] = []
        m.owned_partitions = l2
        for _ in range(n4):
            e2 = TopicPartition.__new__(TopicPartition)
            l2.append(e2)
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z3 = pos + n5
            if n5 < 0 or z3 > size:
                raise overrun("ConsumerProtocolSubscription", "TopicPartition.topic", n5, pos, size)
            e2.topic = str(data[pos:z3], "utf-8")
            pos = z3
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("ConsumerProtocolSubscription", "TopicPartition.partitions", n6, pos, size)
            e2.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
        m.generation_id, n7 = _unpack_ih(data, pos)
        pos += 6
        if n7 == -1:
            m.rack_id = None
        else:
            z4 = pos + n7
            if n7 < 0 or z4 > size:
                raise overrun("ConsumerProtocolSubscription", "ConsumerProtocolSubscription.rack_id", n7, pos, size)
            m.rack_id = str(data[pos:z4], "utf-8")
            pos = z4
    except DECODE_FAULTS as fault:
        raise malformed("ConsumerProtocolSubscription", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ConsumerProtocolSubscription], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ConsumerProtocolSubscription, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
}
