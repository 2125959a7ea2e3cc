"""AlterPartitionResponse: response body, key 56, versions 0 to 3.

Generated from ``schemas/alter_partition.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    decode_array,
    encode_array,
    malformed,
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
_pack_bix: Final = Struct(">bix").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihii: Final = Struct(">ihii").pack
_pack_ihiiB: Final = Struct(">ihiiB").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_biB: Final = Struct(">biB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihiiB: Final = Struct(">ihiiB").unpack_from


class PartitionData:
    """Part of :class:`AlterPartitionResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``leader_id`` int32

    ``leader_epoch`` int32

    ``isr`` []int32

    ``leader_recovery_state`` int8 (v1+)

    ``partition_epoch`` int32
    """

    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "isr", "leader_recovery_state", "partition_epoch")
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: list[int]
    leader_recovery_state: int
    partition_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is EMPTY else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
            and self.isr == other.isr
            and self.leader_recovery_state == other.leader_recovery_state
            and self.partition_epoch == other.partition_epoch
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"isr={self.isr!r}, "
            f"leader_recovery_state={self.leader_recovery_state!r}, "
            f"partition_epoch={self.partition_epoch!r})"
        )


class TopicData:
    """Part of :class:`AlterPartitionResponse`.

    ``topic_name`` string (v0-1)

    ``topic_id`` uuid (v2+)

    ``partitions`` []PartitionData
    """

    __slots__ = ("topic_name", "topic_id", "partitions")
    topic_name: str
    topic_id: UUID
    partitions: list[PartitionData]

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicData):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicData(topic_name={self.topic_name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class AlterPartitionResponse:
    """The committed state of each partition, or why the proposal was refused.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 56
    NAME: ClassVar[str] = "AlterPartitionResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "topics")
    throttle_time_ms: int
    error_code: int
    topics: list[TopicData]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterPartitionResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"AlterPartitionResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterPartitionResponse", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterPartitionResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterPartitionResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionResponse", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterPartitionResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterPartitionResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionResponse", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: AlterPartitionResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicData", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_ihiiB(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, n4) if n4 < 128 else _pack_ihii(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            add(_pack_ix(e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v1(m: AlterPartitionResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicData", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_ihiiB(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, n4) if n4 < 128 else _pack_ihii(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            add(_pack_bix(e2.leader_recovery_state, e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v2(m: AlterPartitionResponse) -> list[bytes]:
    # versions 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            l3 = e2.isr
            n3 = len(l3) + 1
            add(_pack_ihiiB(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, n3) if n3 < 128 else _pack_ihii(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch) + uvarint(n3))
            if l3:
                add(encode_array("i", l3))
            add(_pack_bix(e2.leader_recovery_state, e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterPartitionResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = AlterPartitionResponse.__new__(AlterPartitionResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("AlterPartitionResponse", "AlterPartitionResponse.topics", n1, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("AlterPartitionResponse", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 20 > size - pos:
                raise overrun("AlterPartitionResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.leader_recovery_state = 0
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, n4 = _unpack_ihiiB(data, pos)
                pos += 15
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("AlterPartitionResponse", "PartitionData.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, k1 = _unpack_iB(data, pos)
                pos += 5
                if k1:
                    pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[AlterPartitionResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = AlterPartitionResponse.__new__(AlterPartitionResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("AlterPartitionResponse", "AlterPartitionResponse.topics", n1, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("AlterPartitionResponse", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 21 > size - pos:
                raise overrun("AlterPartitionResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, n4 = _unpack_ihiiB(data, pos)
                pos += 15
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("AlterPartitionResponse", "PartitionData.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.leader_recovery_state, e2.partition_epoch, k1 = _unpack_biB(data, pos)
                pos += 6
                if k1:
                    pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[AlterPartitionResponse, int]:
    # versions 2, 3
    size = len(data)
    try:
        m = AlterPartitionResponse.__new__(AlterPartitionResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("AlterPartitionResponse", "AlterPartitionResponse.topics", n1, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            e1.topic_name = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 21 > size - pos:
                raise overrun("AlterPartitionResponse", "TopicData.partitions", n2, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, n3 = _unpack_ihiiB(data, pos)
                pos += 15
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("AlterPartitionResponse", "PartitionData.isr", n3, pos, size)
                e2.isr = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
                e2.leader_recovery_state, e2.partition_epoch, k1 = _unpack_biB(data, pos)
                pos += 6
                if k1:
                    pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterPartitionResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterPartitionResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v2,
}
