"""ProduceRequest: request body, key 0, versions 3 to 12.

Generated from ``schemas/produce.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_hiB: Final = Struct(">hiB").pack
_pack_hii: Final = Struct(">hii").pack
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hiB: Final = Struct(">hiB").unpack_from
_unpack_hii: Final = Struct(">hii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class PartitionProduceData:
    """Part of :class:`ProduceRequest`.

    ``index`` int32

    ``records`` records: One record batch.
    """

    __slots__ = ("index", "records")
    index: int
    records: bytes | None

    def __init__(
        self,
        *,
        index: int = 0,
        records: bytes | None = None,
    ) -> None:
        self.index = index
        self.records = records

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionProduceData):
            return NotImplemented
        return (
            self.index == other.index
            and self.records == other.records
        )

    def __repr__(self) -> str:
        return (
            f"PartitionProduceData(index={self.index!r}, "
            f"records={show(self.records)})"
        )


class TopicProduceData:
    """Part of :class:`ProduceRequest`.

    ``name`` string

    ``partition_data`` []PartitionProduceData
    """

    __slots__ = ("name", "partition_data")
    name: str
    partition_data: list[PartitionProduceData]

    def __init__(
        self,
        *,
        name: str = "",
        partition_data: list[PartitionProduceData] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_data = [] if partition_data is EMPTY else partition_data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicProduceData):
            return NotImplemented
        return (
            self.name == other.name
            and self.partition_data == other.partition_data
        )

    def __repr__(self) -> str:
        return (
            f"TopicProduceData(name={self.name!r}, "
            f"partition_data={self.partition_data!r})"
        )


class ProduceRequest:
    """Append record batches to partitions.

    ``transactional_id`` string

    ``acks`` int16: 0: no response at all; 1: the leader has it; -1: every member of the ISR has it.

    ``timeout_ms`` int32: How long the leader may wait for acks=-1.

    ``topic_data`` []TopicProduceData
    """

    API_KEY: ClassVar[int] = 0
    NAME: ClassVar[str] = "ProduceRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 12
    FLEXIBLE_SINCE: ClassVar[int] = 9

    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[TopicProduceData]

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is EMPTY else topic_data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProduceRequest):
            return NotImplemented
        return (
            self.transactional_id == other.transactional_id
            and self.acks == other.acks
            and self.timeout_ms == other.timeout_ms
            and self.topic_data == other.topic_data
        )

    def __repr__(self) -> str:
        return (
            f"ProduceRequest(transactional_id={self.transactional_id!r}, "
            f"acks={self.acks!r}, "
            f"timeout_ms={self.timeout_ms!r}, "
            f"topic_data={self.topic_data!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ProduceRequest", version, 3, 12)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ProduceRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ProduceRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ProduceRequest", version, 3, 12)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ProduceRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ProduceRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ProduceRequest", version, 3, 12)
        return decoder(data, position)


def _encode_v3(m: ProduceRequest) -> list[bytes]:
    # versions 3, 4, 5, 6, 7, 8
    out: list[bytes] = []
    add = out.append
    if m.transactional_id is None:
        add(b"\xff\xff")
    else:
        b1 = m.transactional_id.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("ProduceRequest", "transactional_id", len(b1))
        add(_pack_h(n1))
        add(b1)
    l1 = m.topic_data
    n2 = len(l1)
    add(_pack_hii(m.acks, m.timeout_ms, n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("TopicProduceData", "name", len(b2))
        add(_pack_h(n3))
        add(b2)
        l2 = e1.partition_data
        n4 = len(l2)
        add(_pack_i(n4))
        for e2 in l2:
            add(_pack_i(e2.index))
            if e2.records is None:
                add(b"\xff\xff\xff\xff")
            else:
                b3 = e2.records
                n5 = len(b3)
                add(_pack_i(n5))
                add(b3)
    return out


def _encode_v9(m: ProduceRequest) -> list[bytes]:
    # versions 9, 10, 11, 12
    out: list[bytes] = []
    add = out.append
    if m.transactional_id is None:
        add(b"\x00")
    else:
        b1 = m.transactional_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("ProduceRequest", "transactional_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topic_data
    n2 = len(l1) + 1
    add(_pack_hiB(m.acks, m.timeout_ms, n2) if n2 < 128 else _pack_hi(m.acks, m.timeout_ms) + uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("TopicProduceData", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        l2 = e1.partition_data
        n4 = len(l2) + 1
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        for e2 in l2:
            add(_pack_i(e2.index))
            if e2.records is None:
                add(b"\x00")
            else:
                b3 = e2.records
                n5 = len(b3) + 1
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v3(data: Buffer, pos: int) -> tuple[ProduceRequest, int]:
    # versions 3, 4, 5, 6, 7, 8
    size = len(data)
    try:
        m = ProduceRequest.__new__(ProduceRequest)
        (n1,) = _unpack_h(data, pos)
        pos += 2
        if n1 == -1:
            m.transactional_id = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("ProduceRequest", "ProduceRequest.transactional_id", n1, pos, size)
            m.transactional_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.acks, m.timeout_ms, n2 = _unpack_hii(data, pos)
        pos += 10
        if n2 < 0 or n2 * 6 > size - pos:
            raise overrun("ProduceRequest", "ProduceRequest.topic_data", n2, pos, size)
        l1: list[TopicProduceData] = []
        m.topic_data = l1
        for _ in range(n2):
            e1 = TopicProduceData.__new__(TopicProduceData)
            l1.append(e1)
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("ProduceRequest", "TopicProduceData.name", n3, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_i(data, pos)
            pos += 4
            if n4 < 0 or n4 * 8 > size - pos:
                raise overrun("ProduceRequest", "TopicProduceData.partition_data", n4, pos, size)
            l2: list[PartitionProduceData] = []
            e1.partition_data = l2
            for _ in range(n4):
                e2 = PartitionProduceData.__new__(PartitionProduceData)
                l2.append(e2)
                e2.index, n5 = _unpack_ii(data, pos)
                pos += 8
                if n5 == -1:
                    e2.records = None
                else:
                    z3 = pos + n5
                    if n5 < 0 or z3 > size:
                        raise overrun("ProduceRequest", "PartitionProduceData.records", n5, pos, size)
                    e2.records = bytes(data[pos:z3])
                    pos = z3
    except DECODE_FAULTS as fault:
        raise malformed("ProduceRequest", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[ProduceRequest, int]:
    # versions 9, 10, 11, 12
    size = len(data)
    try:
        m = ProduceRequest.__new__(ProduceRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.transactional_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("ProduceRequest", "ProduceRequest.transactional_id", n1 - 1, pos, size)
            m.transactional_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.acks, m.timeout_ms, n2 = _unpack_hiB(data, pos)
        pos += 7
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("ProduceRequest", "ProduceRequest.topic_data", n2, pos, size)
        l1: list[TopicProduceData] = []
        m.topic_data = l1
        for _ in range(n2):
            e1 = TopicProduceData.__new__(TopicProduceData)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("ProduceRequest", "TopicProduceData.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 6 > size - pos:
                raise overrun("ProduceRequest", "TopicProduceData.partition_data", n4, pos, size)
            l2: list[PartitionProduceData] = []
            e1.partition_data = l2
            for _ in range(n4):
                e2 = PartitionProduceData.__new__(PartitionProduceData)
                l2.append(e2)
                e2.index, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                if n5 == 0:
                    e2.records = None
                else:
                    z3 = pos + n5 - 1
                    if z3 > size:
                        raise overrun("ProduceRequest", "PartitionProduceData.records", n5 - 1, pos, size)
                    e2.records = bytes(data[pos:z3])
                    pos = z3
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("ProduceRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ProduceRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ProduceRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ProduceRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ProduceRequest], list[bytes]]]] = {
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v3,
    6: _encode_v3,
    7: _encode_v3,
    8: _encode_v3,
    9: _encode_v9,
    10: _encode_v9,
    11: _encode_v9,
    12: _encode_v9,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ProduceRequest, int]]]] = {
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v3,
    6: _decode_v3,
    7: _decode_v3,
    8: _decode_v3,
    9: _decode_v9,
    10: _decode_v9,
    11: _decode_v9,
    12: _decode_v9,
}
