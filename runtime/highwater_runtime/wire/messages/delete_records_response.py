"""DeleteRecordsResponse: response body, key 21, versions 0 to 2.

Generated from ``schemas/delete_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iqh: Final = Struct(">iqh").pack
_pack_iqhx: Final = Struct(">iqhx").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqhB: Final = Struct(">iqhB").unpack_from


class DeleteRecordsPartitionResult:
    """Part of :class:`DeleteRecordsResponse`.

    ``partition_index`` int32

    ``low_watermark`` int64: The least log start of all replicas; -1 if unknown.

    ``error_code`` int16
    """

    __slots__ = ("partition_index", "low_watermark", "error_code")
    partition_index: int
    low_watermark: int
    error_code: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteRecordsPartitionResult):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.low_watermark == other.low_watermark
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"DeleteRecordsPartitionResult(partition_index={self.partition_index!r}, "
            f"low_watermark={self.low_watermark!r}, "
            f"error_code={self.error_code!r})"
        )


class DeleteRecordsTopicResult:
    """Part of :class:`DeleteRecordsResponse`.

    ``name`` string

    ``partitions`` []DeleteRecordsPartitionResult
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[DeleteRecordsPartitionResult]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteRecordsTopicResult):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"DeleteRecordsTopicResult(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class DeleteRecordsResponse:
    """One result for each partition.

    ``throttle_time_ms`` int32

    ``topics`` []DeleteRecordsTopicResult
    """

    API_KEY: ClassVar[int] = 21
    NAME: ClassVar[str] = "DeleteRecordsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "topics")
    throttle_time_ms: int
    topics: list[DeleteRecordsTopicResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteRecordsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"DeleteRecordsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DeleteRecordsResponse", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DeleteRecordsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DeleteRecordsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteRecordsResponse", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DeleteRecordsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DeleteRecordsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteRecordsResponse", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DeleteRecordsResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DeleteRecordsTopicResult", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iqh(e2.partition_index, e2.low_watermark, e2.error_code))
    return out


def _encode_v2(m: DeleteRecordsResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeleteRecordsTopicResult", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iqhx(e2.partition_index, e2.low_watermark, e2.error_code))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DeleteRecordsResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = DeleteRecordsResponse.__new__(DeleteRecordsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("DeleteRecordsResponse", "DeleteRecordsResponse.topics", n1, pos, size)
        l1: list[DeleteRecordsTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = DeleteRecordsTopicResult.__new__(DeleteRecordsTopicResult)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DeleteRecordsResponse", "DeleteRecordsTopicResult.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 14 > size - pos:
                raise overrun("DeleteRecordsResponse", "DeleteRecordsTopicResult.partitions", n3, pos, size)
            l2: list[DeleteRecordsPartitionResult] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = DeleteRecordsPartitionResult.__new__(DeleteRecordsPartitionResult)
                l2.append(e2)
                e2.partition_index, e2.low_watermark, e2.error_code = _unpack_iqh(data, pos)
                pos += 14
    except DECODE_FAULTS as fault:
        raise malformed("DeleteRecordsResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DeleteRecordsResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = DeleteRecordsResponse.__new__(DeleteRecordsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("DeleteRecordsResponse", "DeleteRecordsResponse.topics", n1, pos, size)
        l1: list[DeleteRecordsTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = DeleteRecordsTopicResult.__new__(DeleteRecordsTopicResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteRecordsResponse", "DeleteRecordsTopicResult.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 15 > size - pos:
                raise overrun("DeleteRecordsResponse", "DeleteRecordsTopicResult.partitions", n3, pos, size)
            l2: list[DeleteRecordsPartitionResult] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = DeleteRecordsPartitionResult.__new__(DeleteRecordsPartitionResult)
                l2.append(e2)
                e2.partition_index, e2.low_watermark, e2.error_code, k1 = _unpack_iqhB(data, pos)
                pos += 15
                if k1:
                    pos = skip_tagged("DeleteRecordsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("DeleteRecordsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("DeleteRecordsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteRecordsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DeleteRecordsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DeleteRecordsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
}
