"""DeleteRecordsRequest: request body, key 21, versions 0 to 2.

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
_pack_iq: Final = Struct(">iq").pack
_pack_iqx: Final = Struct(">iqx").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from


class DeleteRecordsPartition:
    """Part of :class:`DeleteRecordsRequest`.

    ``partition_index`` int32

    ``offset`` int64: The new log start; -1 for the high watermark.
    """

    __slots__ = ("partition_index", "offset")
    partition_index: int
    offset: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteRecordsPartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.offset == other.offset
        )

    def __repr__(self) -> str:
        return (
            f"DeleteRecordsPartition(partition_index={self.partition_index!r}, "
            f"offset={self.offset!r})"
        )


class DeleteRecordsTopic:
    """Part of :class:`DeleteRecordsRequest`.

    ``name`` string

    ``partitions`` []DeleteRecordsPartition
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[DeleteRecordsPartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteRecordsTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"DeleteRecordsTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class DeleteRecordsRequest:
    """Delete what is before an offset (KIP-107).

    ``topics`` []DeleteRecordsTopic

    ``timeout_ms`` int32
    """

    API_KEY: ClassVar[int] = 21
    NAME: ClassVar[str] = "DeleteRecordsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("topics", "timeout_ms")
    topics: list[DeleteRecordsTopic]
    timeout_ms: int

    def __init__(
        self,
        *,
        topics: list[DeleteRecordsTopic] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteRecordsRequest):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.timeout_ms == other.timeout_ms
        )

    def __repr__(self) -> str:
        return (
            f"DeleteRecordsRequest(topics={self.topics!r}, "
            f"timeout_ms={self.timeout_ms!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DeleteRecordsRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DeleteRecordsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DeleteRecordsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteRecordsRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DeleteRecordsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DeleteRecordsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteRecordsRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DeleteRecordsRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DeleteRecordsTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_iq(e2.partition_index, e2.offset))
    add(_pack_i(m.timeout_ms))
    return out


def _encode_v2(m: DeleteRecordsRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeleteRecordsTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iqx(e2.partition_index, e2.offset))
        add(b"\x00")
    add(_pack_ix(m.timeout_ms))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DeleteRecordsRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = DeleteRecordsRequest.__new__(DeleteRecordsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("DeleteRecordsRequest", "DeleteRecordsRequest.topics", n1, pos, size)
        l1: list[DeleteRecordsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = DeleteRecordsTopic.__new__(DeleteRecordsTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DeleteRecordsRequest", "DeleteRecordsTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 12 > size - pos:
                raise overrun("DeleteRecordsRequest", "DeleteRecordsTopic.partitions", n3, pos, size)
            l2: list[DeleteRecordsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = DeleteRecordsPartition.__new__(DeleteRecordsPartition)
                l2.append(e2)
                e2.partition_index, e2.offset = _unpack_iq(data, pos)
                pos += 12
        (m.timeout_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("DeleteRecordsRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DeleteRecordsRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = DeleteRecordsRequest.__new__(DeleteRecordsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("DeleteRecordsRequest", "DeleteRecordsRequest.topics", n1, pos, size)
        l1: list[DeleteRecordsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = DeleteRecordsTopic.__new__(DeleteRecordsTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteRecordsRequest", "DeleteRecordsTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 13 > size - pos:
                raise overrun("DeleteRecordsRequest", "DeleteRecordsTopic.partitions", n3, pos, size)
            l2: list[DeleteRecordsPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = DeleteRecordsPartition.__new__(DeleteRecordsPartition)
                l2.append(e2)
                e2.partition_index, e2.offset, k1 = _unpack_iqB(data, pos)
                pos += 13
                if k1:
                    pos = skip_tagged("DeleteRecordsRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("DeleteRecordsRequest", data, pos - 1)
        m.timeout_ms, k3 = _unpack_iB(data, pos)
        pos += 5
        if k3:
            pos = skip_tagged("DeleteRecordsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteRecordsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DeleteRecordsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DeleteRecordsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
}
