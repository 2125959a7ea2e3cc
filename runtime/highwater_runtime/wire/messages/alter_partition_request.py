"""AlterPartitionRequest: request body, key 56, versions 0 to 3.

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
_pack_bix: Final = Struct(">bix").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iiB: Final = Struct(">iiB").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqB: Final = Struct(">iqB").pack
_pack_iqx: Final = Struct(">iqx").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_biB: Final = Struct(">biB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iiB: Final = Struct(">iiB").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from


class BrokerState:
    """Part of :class:`AlterPartitionRequest`.

    ``broker_id`` int32 (v3+)

    ``broker_epoch`` int64 (v3+): -1 if the epoch is not to be checked.
    """

    __slots__ = ("broker_id", "broker_epoch")
    broker_id: int
    broker_epoch: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BrokerState):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.broker_epoch == other.broker_epoch
        )

    def __repr__(self) -> str:
        return (
            f"BrokerState(broker_id={self.broker_id!r}, "
            f"broker_epoch={self.broker_epoch!r})"
        )


class PartitionData:
    """Part of :class:`AlterPartitionRequest`.

    ``partition_index`` int32

    ``leader_epoch`` int32

    ``new_isr`` []int32 (v0-2)

    ``new_isr_with_epochs`` []BrokerState (v3+)

    ``leader_recovery_state`` int8 (v1+): 1 while recovering from an unclean election.

    ``partition_epoch`` int32: The epoch that the change is based on.
    """

    __slots__ = ("partition_index", "leader_epoch", "new_isr", "new_isr_with_epochs", "leader_recovery_state", "partition_epoch")
    partition_index: int
    leader_epoch: int
    new_isr: list[int]
    new_isr_with_epochs: list[BrokerState]
    leader_recovery_state: int
    partition_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = EMPTY,
        new_isr_with_epochs: list[BrokerState] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is EMPTY else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is EMPTY else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.leader_epoch == other.leader_epoch
            and self.new_isr == other.new_isr
            and self.new_isr_with_epochs == other.new_isr_with_epochs
            and self.leader_recovery_state == other.leader_recovery_state
            and self.partition_epoch == other.partition_epoch
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"new_isr={self.new_isr!r}, "
            f"new_isr_with_epochs={self.new_isr_with_epochs!r}, "
            f"leader_recovery_state={self.leader_recovery_state!r}, "
            f"partition_epoch={self.partition_epoch!r})"
        )


class TopicData:
    """Part of :class:`AlterPartitionRequest`.

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


class AlterPartitionRequest:
    """A leader proposes a new ISR (KIP-497); from version 3 on with the broker epoch of every member (KIP-903).

    ``broker_id`` int32

    ``broker_epoch`` int64

    ``topics`` []TopicData
    """

    API_KEY: ClassVar[int] = 56
    NAME: ClassVar[str] = "AlterPartitionRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "topics")
    broker_id: int
    broker_epoch: int
    topics: list[TopicData]

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterPartitionRequest):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.broker_epoch == other.broker_epoch
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"AlterPartitionRequest(broker_id={self.broker_id!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterPartitionRequest", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterPartitionRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterPartitionRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionRequest", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterPartitionRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterPartitionRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionRequest", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: AlterPartitionRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iqB(m.broker_id, m.broker_epoch, n1) if n1 < 128 else _pack_iq(m.broker_id, m.broker_epoch) + uvarint(n1))
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
            if not (not e2.new_isr_with_epochs):
                raise not_in_version("AlterPartitionRequest", "PartitionData.new_isr_with_epochs", e2.new_isr_with_epochs)
            if not (e2.leader_recovery_state == 0):
                raise not_in_version("AlterPartitionRequest", "PartitionData.leader_recovery_state", e2.leader_recovery_state)
            l3 = e2.new_isr
            n4 = len(l3) + 1
            add(_pack_iiB(e2.partition_index, e2.leader_epoch, n4) if n4 < 128 else _pack_ii(e2.partition_index, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            add(_pack_ix(e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v1(m: AlterPartitionRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iqB(m.broker_id, m.broker_epoch, n1) if n1 < 128 else _pack_iq(m.broker_id, m.broker_epoch) + uvarint(n1))
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
            if not (not e2.new_isr_with_epochs):
                raise not_in_version("AlterPartitionRequest", "PartitionData.new_isr_with_epochs", e2.new_isr_with_epochs)
            l3 = e2.new_isr
            n4 = len(l3) + 1
            add(_pack_iiB(e2.partition_index, e2.leader_epoch, n4) if n4 < 128 else _pack_ii(e2.partition_index, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            add(_pack_bix(e2.leader_recovery_state, e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v2(m: AlterPartitionRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iqB(m.broker_id, m.broker_epoch, n1) if n1 < 128 else _pack_iq(m.broker_id, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            if not (not e2.new_isr_with_epochs):
                raise not_in_version("AlterPartitionRequest", "PartitionData.new_isr_with_epochs", e2.new_isr_with_epochs)
            l3 = e2.new_isr
            n3 = len(l3) + 1
            add(_pack_iiB(e2.partition_index, e2.leader_epoch, n3) if n3 < 128 else _pack_ii(e2.partition_index, e2.leader_epoch) + uvarint(n3))
            if l3:
                add(encode_array("i", l3))
            add(_pack_bix(e2.leader_recovery_state, e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v3(m: AlterPartitionRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iqB(m.broker_id, m.broker_epoch, n1) if n1 < 128 else _pack_iq(m.broker_id, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            if not (not e2.new_isr):
                raise not_in_version("AlterPartitionRequest", "PartitionData.new_isr", e2.new_isr)
            l3 = e2.new_isr_with_epochs
            n3 = len(l3) + 1
            add(_pack_iiB(e2.partition_index, e2.leader_epoch, n3) if n3 < 128 else _pack_ii(e2.partition_index, e2.leader_epoch) + uvarint(n3))
            for e3 in l3:
                add(_pack_iqx(e3.broker_id, e3.broker_epoch))
            add(_pack_bix(e2.leader_recovery_state, e2.partition_epoch))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterPartitionRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = AlterPartitionRequest.__new__(AlterPartitionRequest)
        m.broker_id, m.broker_epoch, n1 = _unpack_iqB(data, pos)
        pos += 13
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("AlterPartitionRequest", "AlterPartitionRequest.topics", n1, pos, size)
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
                raise overrun("AlterPartitionRequest", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 14 > size - pos:
                raise overrun("AlterPartitionRequest", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.new_isr_with_epochs = []
                e2.leader_recovery_state = 0
                e2.partition_index, e2.leader_epoch, n4 = _unpack_iiB(data, pos)
                pos += 9
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("AlterPartitionRequest", "PartitionData.new_isr", n4, pos, size)
                e2.new_isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, k1 = _unpack_iB(data, pos)
                pos += 5
                if k1:
                    pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[AlterPartitionRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = AlterPartitionRequest.__new__(AlterPartitionRequest)
        m.broker_id, m.broker_epoch, n1 = _unpack_iqB(data, pos)
        pos += 13
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("AlterPartitionRequest", "AlterPartitionRequest.topics", n1, pos, size)
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
                raise overrun("AlterPartitionRequest", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 15 > size - pos:
                raise overrun("AlterPartitionRequest", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.new_isr_with_epochs = []
                e2.partition_index, e2.leader_epoch, n4 = _unpack_iiB(data, pos)
                pos += 9
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("AlterPartitionRequest", "PartitionData.new_isr", n4, pos, size)
                e2.new_isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.leader_recovery_state, e2.partition_epoch, k1 = _unpack_biB(data, pos)
                pos += 6
                if k1:
                    pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[AlterPartitionRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = AlterPartitionRequest.__new__(AlterPartitionRequest)
        m.broker_id, m.broker_epoch, n1 = _unpack_iqB(data, pos)
        pos += 13
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("AlterPartitionRequest", "AlterPartitionRequest.topics", n1, pos, size)
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
            if n2 < 0 or n2 * 15 > size - pos:
                raise overrun("AlterPartitionRequest", "TopicData.partitions", n2, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.new_isr_with_epochs = []
                e2.partition_index, e2.leader_epoch, n3 = _unpack_iiB(data, pos)
                pos += 9
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("AlterPartitionRequest", "PartitionData.new_isr", n3, pos, size)
                e2.new_isr = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
                e2.leader_recovery_state, e2.partition_epoch, k1 = _unpack_biB(data, pos)
                pos += 6
                if k1:
                    pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[AlterPartitionRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = AlterPartitionRequest.__new__(AlterPartitionRequest)
        m.broker_id, m.broker_epoch, n1 = _unpack_iqB(data, pos)
        pos += 13
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("AlterPartitionRequest", "AlterPartitionRequest.topics", n1, pos, size)
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
            if n2 < 0 or n2 * 15 > size - pos:
                raise overrun("AlterPartitionRequest", "TopicData.partitions", n2, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.new_isr = []
                e2.partition_index, e2.leader_epoch, n3 = _unpack_iiB(data, pos)
                pos += 9
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 13 > size - pos:
                    raise overrun("AlterPartitionRequest", "PartitionData.new_isr_with_epochs", n3, pos, size)
                l3: list[BrokerState] = []
                e2.new_isr_with_epochs = l3
                for _ in range(n3):
                    e3 = BrokerState.__new__(BrokerState)
                    l3.append(e3)
                    e3.broker_id, e3.broker_epoch, k1 = _unpack_iqB(data, pos)
                    pos += 13
                    if k1:
                        pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
                e2.leader_recovery_state, e2.partition_epoch, k2 = _unpack_biB(data, pos)
                pos += 6
                if k2:
                    pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("AlterPartitionRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterPartitionRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterPartitionRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
}
