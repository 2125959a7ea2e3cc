"""ConsumerProtocolAssignment: data, versions 0 to 3.

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


class TopicPartition:
    """Part of :class:`ConsumerProtocolAssignment`.

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


class ConsumerProtocolAssignment:
    """What a consumer is to read: the bytes that SyncGroup carries.

    ``assigned_partitions`` []TopicPartition

    ``user_data`` bytes
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "ConsumerProtocolAssignment"
    KIND: ClassVar[str] = "data"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("assigned_partitions", "user_data")
    assigned_partitions: list[TopicPartition]
    user_data: bytes | None

    def __init__(
        self,
        *,
        assigned_partitions: list[TopicPartition] = EMPTY,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions
        self.user_data = user_data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerProtocolAssignment):
            return NotImplemented
        return (
            self.assigned_partitions == other.assigned_partitions
            and self.user_data == other.user_data
        )

    def __repr__(self) -> str:
        return (
            f"ConsumerProtocolAssignment(assigned_partitions={self.assigned_partitions!r}, "
            f"user_data={show(self.user_data)})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ConsumerProtocolAssignment", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ConsumerProtocolAssignment", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ConsumerProtocolAssignment:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ConsumerProtocolAssignment", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ConsumerProtocolAssignment", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ConsumerProtocolAssignment, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ConsumerProtocolAssignment", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: ConsumerProtocolAssignment) -> list[bytes]:
    # versions 0, 1, 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.assigned_partitions
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("TopicPartition", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        if l2:
            add(encode_array("i", l2))
    if m.user_data is None:
        add(b"\xff\xff\xff\xff")
    else:
        b2 = m.user_data
        n4 = len(b2)
        add(_pack_i(n4))
        add(b2)
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ConsumerProtocolAssignment, int]:
    # versions 0, 1, 2, 3
    size = len(data)
    try:
        m = ConsumerProtocolAssignment.__new__(ConsumerProtocolAssignment)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ConsumerProtocolAssignment", "ConsumerProtocolAssignment.assigned_partitions", n1, pos, size)
        l1: list[TopicPartition] = []
        m.assigned_partitions = l1
        for _ in range(n1):
            e1 = TopicPartition.__new__(TopicPartition)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ConsumerProtocolAssignment", "TopicPartition.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("ConsumerProtocolAssignment", "TopicPartition.partitions", n3, pos, size)
            e1.partitions = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 == -1:
            m.user_data = None
        else:
            z2 = pos + n4
            if n4 < 0 or z2 > size:
                raise overrun("ConsumerProtocolAssignment", "ConsumerProtocolAssignment.user_data", n4, pos, size)
            m.user_data = bytes(data[pos:z2])
            pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("ConsumerProtocolAssignment", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ConsumerProtocolAssignment], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ConsumerProtocolAssignment, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v0,
}
