"""OffsetDeleteResponse: response body, key 47, versions 0.

Generated from ``schemas/group_offsets.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    malformed,
    overrun,
    short_string,
    unencodable,
    unsupported,
)

_pack_h: Final = Struct(">h").pack
_pack_hii: Final = Struct(">hii").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hii: Final = Struct(">hii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class OffsetDeleteResponsePartition:
    """Part of :class:`OffsetDeleteResponse`.

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
        if not isinstance(other, OffsetDeleteResponsePartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"OffsetDeleteResponsePartition(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r})"
        )


class OffsetDeleteResponseTopic:
    """Part of :class:`OffsetDeleteResponse`.

    ``name`` string

    ``partitions`` []OffsetDeleteResponsePartition
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[OffsetDeleteResponsePartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetDeleteResponseTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OffsetDeleteResponseTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class OffsetDeleteResponse:
    """One result for each partition, where the request as a whole was fine.

    ``error_code`` int16

    ``throttle_time_ms`` int32

    ``topics`` []OffsetDeleteResponseTopic
    """

    API_KEY: ClassVar[int] = 47
    NAME: ClassVar[str] = "OffsetDeleteResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    __slots__ = ("error_code", "throttle_time_ms", "topics")
    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponseTopic]

    def __init__(
        self,
        *,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetDeleteResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetDeleteResponse(error_code={self.error_code!r}, "
            f"throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetDeleteResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetDeleteResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetDeleteResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetDeleteResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetDeleteResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetDeleteResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetDeleteResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: OffsetDeleteResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_hii(m.error_code, m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("OffsetDeleteResponseTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ih(e2.partition_index, e2.error_code))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[OffsetDeleteResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = OffsetDeleteResponse.__new__(OffsetDeleteResponse)
        m.error_code, m.throttle_time_ms, n1 = _unpack_hii(data, pos)
        pos += 10
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("OffsetDeleteResponse", "OffsetDeleteResponse.topics", n1, pos, size)
        l1: list[OffsetDeleteResponseTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = OffsetDeleteResponseTopic.__new__(OffsetDeleteResponseTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("OffsetDeleteResponse", "OffsetDeleteResponseTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 6 > size - pos:
                raise overrun("OffsetDeleteResponse", "OffsetDeleteResponseTopic.partitions", n3, pos, size)
            l2: list[OffsetDeleteResponsePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = OffsetDeleteResponsePartition.__new__(OffsetDeleteResponsePartition)
                l2.append(e2)
                e2.partition_index, e2.error_code = _unpack_ih(data, pos)
                pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("OffsetDeleteResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetDeleteResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetDeleteResponse, int]]]] = {
    0: _decode_v0,
}
