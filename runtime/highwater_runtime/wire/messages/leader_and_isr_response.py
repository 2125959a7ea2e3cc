"""LeaderAndIsrResponse: response body, key 4, versions 0 to 7.

Generated from ``schemas/zookeeper_mode.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_hB: Final = Struct(">hB").pack
_pack_hi: Final = Struct(">hi").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihx: Final = Struct(">ihx").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from


class LeaderAndIsrPartitionError:
    """Part of :class:`LeaderAndIsrResponse`.

    ``topic_name`` string (v0-4)

    ``partition_index`` int32

    ``error_code`` int16
    """

    __slots__ = ("topic_name", "partition_index", "error_code")
    topic_name: str
    partition_index: int
    error_code: int

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrPartitionError):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_index == other.partition_index
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrPartitionError(topic_name={self.topic_name!r}, "
            f"partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r})"
        )


class LeaderAndIsrTopicError:
    """Part of :class:`LeaderAndIsrResponse`.

    ``topic_id`` uuid (v5+)

    ``partition_errors`` []LeaderAndIsrPartitionError (v5+)
    """

    __slots__ = ("topic_id", "partition_errors")
    topic_id: UUID
    partition_errors: list[LeaderAndIsrPartitionError]

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partition_errors: list[LeaderAndIsrPartitionError] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.partition_errors = [] if partition_errors is EMPTY else partition_errors

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrTopicError):
            return NotImplemented
        return (
            self.topic_id == other.topic_id
            and self.partition_errors == other.partition_errors
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrTopicError(topic_id={self.topic_id!r}, "
            f"partition_errors={self.partition_errors!r})"
        )


class LeaderAndIsrResponse:
    """One result for each partition.

    ``error_code`` int16

    ``partition_errors`` []LeaderAndIsrPartitionError (v0-4)

    ``topics`` []LeaderAndIsrTopicError (v5+)
    """

    API_KEY: ClassVar[int] = 4
    NAME: ClassVar[str] = "LeaderAndIsrResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("error_code", "partition_errors", "topics")
    error_code: int
    partition_errors: list[LeaderAndIsrPartitionError]
    topics: list[LeaderAndIsrTopicError]

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_errors: list[LeaderAndIsrPartitionError] = EMPTY,
        topics: list[LeaderAndIsrTopicError] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_errors = [] if partition_errors is EMPTY else partition_errors
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.partition_errors == other.partition_errors
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrResponse(error_code={self.error_code!r}, "
            f"partition_errors={self.partition_errors!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("LeaderAndIsrResponse", version, 0, 7)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("LeaderAndIsrResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> LeaderAndIsrResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaderAndIsrResponse", version, 0, 7)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("LeaderAndIsrResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[LeaderAndIsrResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaderAndIsrResponse", version, 0, 7)
        return decoder(data, position)


def _encode_v0(m: LeaderAndIsrResponse) -> list[bytes]:
    # versions 0, 1, 2, 3
    out: list[bytes] = []
    add = out.append
    if not (not m.topics):
        raise not_in_version("LeaderAndIsrResponse", "LeaderAndIsrResponse.topics", m.topics)
    l1 = m.partition_errors
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("LeaderAndIsrPartitionError", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_ih(e1.partition_index, e1.error_code))
    return out


def _encode_v4(m: LeaderAndIsrResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (not m.topics):
        raise not_in_version("LeaderAndIsrResponse", "LeaderAndIsrResponse.topics", m.topics)
    l1 = m.partition_errors
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("LeaderAndIsrPartitionError", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_ihx(e1.partition_index, e1.error_code))
    add(b"\x00")
    return out


def _encode_v5(m: LeaderAndIsrResponse) -> list[bytes]:
    # versions 5, 6, 7
    out: list[bytes] = []
    add = out.append
    if not (not m.partition_errors):
        raise not_in_version("LeaderAndIsrResponse", "LeaderAndIsrResponse.partition_errors", m.partition_errors)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partition_errors
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            add(_pack_ihx(e2.partition_index, e2.error_code))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[LeaderAndIsrResponse, int]:
    # versions 0, 1, 2, 3
    size = len(data)
    try:
        m = LeaderAndIsrResponse.__new__(LeaderAndIsrResponse)
        m.topics = []
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 8 > size - pos:
            raise overrun("LeaderAndIsrResponse", "LeaderAndIsrResponse.partition_errors", n1, pos, size)
        l1: list[LeaderAndIsrPartitionError] = []
        m.partition_errors = l1
        for _ in range(n1):
            e1 = LeaderAndIsrPartitionError.__new__(LeaderAndIsrPartitionError)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("LeaderAndIsrResponse", "LeaderAndIsrPartitionError.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.error_code = _unpack_ih(data, pos)
            pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[LeaderAndIsrResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = LeaderAndIsrResponse.__new__(LeaderAndIsrResponse)
        m.topics = []
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - pos:
            raise overrun("LeaderAndIsrResponse", "LeaderAndIsrResponse.partition_errors", n1, pos, size)
        l1: list[LeaderAndIsrPartitionError] = []
        m.partition_errors = l1
        for _ in range(n1):
            e1 = LeaderAndIsrPartitionError.__new__(LeaderAndIsrPartitionError)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("LeaderAndIsrResponse", "LeaderAndIsrPartitionError.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.error_code, k1 = _unpack_ihB(data, pos)
            pos += 7
            if k1:
                pos = skip_tagged("LeaderAndIsrResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("LeaderAndIsrResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[LeaderAndIsrResponse, int]:
    # versions 5, 6, 7
    size = len(data)
    try:
        m = LeaderAndIsrResponse.__new__(LeaderAndIsrResponse)
        m.partition_errors = []
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("LeaderAndIsrResponse", "LeaderAndIsrResponse.topics", n1, pos, size)
        l1: list[LeaderAndIsrTopicError] = []
        m.topics = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicError.__new__(LeaderAndIsrTopicError)
            l1.append(e1)
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 7 > size - pos:
                raise overrun("LeaderAndIsrResponse", "LeaderAndIsrTopicError.partition_errors", n2, pos, size)
            l2: list[LeaderAndIsrPartitionError] = []
            e1.partition_errors = l2
            for _ in range(n2):
                e2 = LeaderAndIsrPartitionError.__new__(LeaderAndIsrPartitionError)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.error_code, k1 = _unpack_ihB(data, pos)
                pos += 7
                if k1:
                    pos = skip_tagged("LeaderAndIsrResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("LeaderAndIsrResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("LeaderAndIsrResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[LeaderAndIsrResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v0,
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[LeaderAndIsrResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v0,
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v5,
}
