"""MetadataReadResponse: response body, key 10001, versions 0.

Generated from ``schemas/linearizable_reads.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_iiiiB: Final = Struct(">iiiiB").pack
_pack_q: Final = Struct(">q").pack
_pack_qB: Final = Struct(">qB").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_iiiiB: Final = Struct(">iiiiB").unpack_from
_unpack_qB: Final = Struct(">qB").unpack_from


class PartitionState:
    """Part of :class:`MetadataReadResponse`.

    ``partition_index`` int32

    ``leader_id`` int32: -1: none.

    ``leader_epoch`` int32

    ``partition_epoch`` int32

    ``replicas`` []int32

    ``isr`` []int32
    """

    __slots__ = ("partition_index", "leader_id", "leader_epoch", "partition_epoch", "replicas", "isr")
    partition_index: int
    leader_id: int
    leader_epoch: int
    partition_epoch: int
    replicas: list[int]
    isr: list[int]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        replicas: list[int] = EMPTY,
        isr: list[int] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.replicas = [] if replicas is EMPTY else replicas
        self.isr = [] if isr is EMPTY else isr

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionState):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
            and self.partition_epoch == other.partition_epoch
            and self.replicas == other.replicas
            and self.isr == other.isr
        )

    def __repr__(self) -> str:
        return (
            f"PartitionState(partition_index={self.partition_index!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"partition_epoch={self.partition_epoch!r}, "
            f"replicas={self.replicas!r}, "
            f"isr={self.isr!r})"
        )


class TopicProperty:
    """Part of :class:`MetadataReadResponse`.

    ``name`` string

    ``value`` string
    """

    __slots__ = ("name", "value")
    name: str
    value: str

    def __init__(
        self,
        *,
        name: str = "",
        value: str = "",
    ) -> None:
        self.name = name
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicProperty):
            return NotImplemented
        return (
            self.name == other.name
            and self.value == other.value
        )

    def __repr__(self) -> str:
        return (
            f"TopicProperty(name={self.name!r}, "
            f"value={self.value!r})"
        )


class TopicState:
    """Part of :class:`MetadataReadResponse`.

    ``error_code`` int16

    ``name`` string

    ``topic_id`` uuid

    ``partitions`` []PartitionState

    ``configs`` []TopicProperty: Those that are set.
    """

    __slots__ = ("error_code", "name", "topic_id", "partitions", "configs")
    error_code: int
    name: str
    topic_id: UUID
    partitions: list[PartitionState]
    configs: list[TopicProperty]

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionState] = EMPTY,
        configs: list[TopicProperty] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.configs = [] if configs is EMPTY else configs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicState):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.name == other.name
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
            and self.configs == other.configs
        )

    def __repr__(self) -> str:
        return (
            f"TopicState(error_code={self.error_code!r}, "
            f"name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r}, "
            f"configs={self.configs!r})"
        )


class MetadataReadResponse:
    """The metadata as of one offset.

    ``error_code`` int16

    ``error_message`` string

    ``applied_offset`` int64: The offset of the metadata log up to which this answer is complete.

    ``topics`` []TopicState
    """

    API_KEY: ClassVar[int] = 10001
    NAME: ClassVar[str] = "MetadataReadResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("error_code", "error_message", "applied_offset", "topics")
    error_code: int
    error_message: str | None
    applied_offset: int
    topics: list[TopicState]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        applied_offset: int = -1,
        topics: list[TopicState] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.applied_offset = applied_offset
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataReadResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.applied_offset == other.applied_offset
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"MetadataReadResponse(error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"applied_offset={self.applied_offset!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("MetadataReadResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("MetadataReadResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> MetadataReadResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataReadResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("MetadataReadResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[MetadataReadResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataReadResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: MetadataReadResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_h(m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("MetadataReadResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1) + 1
    add(_pack_qB(m.applied_offset, n2) if n2 < 128 else _pack_q(m.applied_offset) + uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("TopicState", "name", len(b2))
        add(_pack_hB(e1.error_code, n3) if n3 < 128 else _pack_h(e1.error_code) + uvarint(n3))
        add(b2)
        l2 = e1.partitions
        n4 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n4) if n4 < 128 else e1.topic_id.bytes + uvarint(n4))
        for e2 in l2:
            l3 = e2.replicas
            n5 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.leader_id, e2.leader_epoch, e2.partition_epoch, n5) if n5 < 128 else _pack_iiii(e2.partition_index, e2.leader_id, e2.leader_epoch, e2.partition_epoch) + uvarint(n5))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.isr
            n6 = len(l4) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l4:
                add(encode_array("i", l4))
            add(b"\x00")
        l5 = e1.configs
        n7 = len(l5) + 1
        add(UVARINT[n7] if n7 < 128 else uvarint(n7))
        for e3 in l5:
            b3 = e3.name.encode()
            n8 = len(b3) + 1
            if n8 > 32768:
                raise short_string("TopicProperty", "name", len(b3))
            add(UVARINT[n8] if n8 < 128 else uvarint(n8))
            add(b3)
            b4 = e3.value.encode()
            n9 = len(b4) + 1
            if n9 > 32768:
                raise short_string("TopicProperty", "value", len(b4))
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            add(b4)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[MetadataReadResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = MetadataReadResponse.__new__(MetadataReadResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("MetadataReadResponse", "MetadataReadResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        m.applied_offset, n2 = _unpack_qB(data, pos)
        pos += 9
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 22 > size - pos:
            raise overrun("MetadataReadResponse", "MetadataReadResponse.topics", n2, pos, size)
        l1: list[TopicState] = []
        m.topics = l1
        for _ in range(n2):
            e1 = TopicState.__new__(TopicState)
            l1.append(e1)
            e1.error_code, n3 = _unpack_hB(data, pos)
            pos += 3
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("MetadataReadResponse", "TopicState.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            u1, n4 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 19 > size - pos:
                raise overrun("MetadataReadResponse", "TopicState.partitions", n4, pos, size)
            l2: list[PartitionState] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = PartitionState.__new__(PartitionState)
                l2.append(e2)
                e2.partition_index, e2.leader_id, e2.leader_epoch, e2.partition_epoch, n5 = _unpack_iiiiB(data, pos)
                pos += 17
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("MetadataReadResponse", "PartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("MetadataReadResponse", "PartitionState.isr", n6, pos, size)
                e2.isr = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("MetadataReadResponse", data, pos - 1)
            n7 = data[pos]
            pos += 1
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 3 > size - pos:
                raise overrun("MetadataReadResponse", "TopicState.configs", n7, pos, size)
            l5: list[TopicProperty] = []
            e1.configs = l5
            for _ in range(n7):
                e3 = TopicProperty.__new__(TopicProperty)
                l5.append(e3)
                n8 = data[pos]
                pos += 1
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                z3 = pos + n8 - 1
                if n8 == 0 or z3 > size:
                    raise overrun("MetadataReadResponse", "TopicProperty.name", n8 - 1, pos, size)
                e3.name = str(data[pos:z3], "utf-8")
                pos = z3
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                z4 = pos + n9 - 1
                if n9 == 0 or z4 > size:
                    raise overrun("MetadataReadResponse", "TopicProperty.value", n9 - 1, pos, size)
                e3.value = str(data[pos:z4], "utf-8")
                pos = z4
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("MetadataReadResponse", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("MetadataReadResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("MetadataReadResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataReadResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[MetadataReadResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[MetadataReadResponse, int]]]] = {
    0: _decode_v0,
}
