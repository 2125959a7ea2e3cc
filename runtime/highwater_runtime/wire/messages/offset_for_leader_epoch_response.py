"""OffsetForLeaderEpochResponse: response body, key 23, versions 2 to 4.

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
_pack_hiiq: Final = Struct(">hiiq").pack
_pack_hiiqx: Final = Struct(">hiiqx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hiiq: Final = Struct(">hiiq").unpack_from
_unpack_hiiqB: Final = Struct(">hiiqB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class EpochEndOffset:
    """Part of :class:`OffsetForLeaderEpochResponse`.

    ``error_code`` int16

    ``partition`` int32

    ``leader_epoch`` int32

    ``end_offset`` int64
    """

    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")
    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EpochEndOffset):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.partition == other.partition
            and self.leader_epoch == other.leader_epoch
            and self.end_offset == other.end_offset
        )

    def __repr__(self) -> str:
        return (
            f"EpochEndOffset(error_code={self.error_code!r}, "
            f"partition={self.partition!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"end_offset={self.end_offset!r})"
        )


class OffsetForLeaderTopicResult:
    """Part of :class:`OffsetForLeaderEpochResponse`.

    ``topic`` string

    ``partitions`` []EpochEndOffset
    """

    __slots__ = ("topic", "partitions")
    topic: str
    partitions: list[EpochEndOffset]

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[EpochEndOffset] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetForLeaderTopicResult):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetForLeaderTopicResult(topic={self.topic!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetForLeaderEpochResponse:
    """The largest epoch not above the requested one, and its end offset.

    ``throttle_time_ms`` int32

    ``topics`` []OffsetForLeaderTopicResult
    """

    API_KEY: ClassVar[int] = 23
    NAME: ClassVar[str] = "OffsetForLeaderEpochResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "topics")
    throttle_time_ms: int
    topics: list[OffsetForLeaderTopicResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetForLeaderEpochResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetForLeaderEpochResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetForLeaderEpochResponse", version, 2, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetForLeaderEpochResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetForLeaderEpochResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetForLeaderEpochResponse", version, 2, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetForLeaderEpochResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetForLeaderEpochResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetForLeaderEpochResponse", version, 2, 4)
        return decoder(data, position)


def _encode_v2(m: OffsetForLeaderEpochResponse) -> list[bytes]:
    # versions 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetForLeaderTopicResult", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_hiiq(e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset))
    return out


def _encode_v4(m: OffsetForLeaderEpochResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetForLeaderTopicResult", "topic", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_hiiqx(e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    # versions 2, 3
    size = len(data)
    try:
        m = OffsetForLeaderEpochResponse.__new__(OffsetForLeaderEpochResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetForLeaderEpochResponse", "OffsetForLeaderEpochResponse.topics", n1, pos, size)
        l1: list[OffsetForLeaderTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetForLeaderTopicResult.__new__(OffsetForLeaderTopicResult)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetForLeaderEpochResponse", "OffsetForLeaderTopicResult.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 18 > size - pos:
                raise overrun("OffsetForLeaderEpochResponse", "OffsetForLeaderTopicResult.partitions", n3, pos, size)
            l2: list[EpochEndOffset] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = EpochEndOffset.__new__(EpochEndOffset)
                l2.append(e2)
                e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset = _unpack_hiiq(data, pos)
                pos += 18
    except DECODE_FAULTS as fault:
        raise malformed("OffsetForLeaderEpochResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = OffsetForLeaderEpochResponse.__new__(OffsetForLeaderEpochResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("OffsetForLeaderEpochResponse", "OffsetForLeaderEpochResponse.topics", n1, pos, size)
        l1: list[OffsetForLeaderTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetForLeaderTopicResult.__new__(OffsetForLeaderTopicResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetForLeaderEpochResponse", "OffsetForLeaderTopicResult.topic", n2 - 1, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 19 > size - pos:
                raise overrun("OffsetForLeaderEpochResponse", "OffsetForLeaderTopicResult.partitions", n3, pos, size)
            l2: list[EpochEndOffset] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = EpochEndOffset.__new__(EpochEndOffset)
                l2.append(e2)
                e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset, k1 = _unpack_hiiqB(data, pos)
                pos += 19
                if k1:
                    pos = skip_tagged("OffsetForLeaderEpochResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetForLeaderEpochResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("OffsetForLeaderEpochResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetForLeaderEpochResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetForLeaderEpochResponse], list[bytes]]]] = {
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetForLeaderEpochResponse, int]]]] = {
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v4,
}
