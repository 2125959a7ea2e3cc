"""PartitionRecord: record of the metadata log, key 3, versions 0 to 2.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_BBb: Final = Struct(">BBb").pack
_pack_iU: Final = Struct(">i16s").pack
_pack_iUB: Final = Struct(">i16sB").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiiB: Final = Struct(">iiiB").pack
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_iUB: Final = Struct(">i16sB").unpack_from
_unpack_iiiB: Final = Struct(">iiiB").unpack_from


class PartitionRecord:
    """The complete state of a partition.

    ``partition_id`` int32

    ``topic_id`` uuid

    ``replicas`` []int32: In order of preference.

    ``isr`` []int32

    ``removing_replicas`` []int32

    ``adding_replicas`` []int32

    ``leader`` int32: -1 if there is none.

    ``leader_recovery_state`` int8 (tag 0): 1 while the leader recovers from an unclean election.

    ``leader_epoch`` int32

    ``partition_epoch`` int32

    ``directories`` []uuid (v1+): Log directory of each replica (KIP-858).

    ``eligible_leader_replicas`` []int32 (v2+, tag 1): KIP-966.

    ``last_known_elr`` []int32 (v2+, tag 2)
    """

    API_KEY: ClassVar[int] = 3
    NAME: ClassVar[str] = "PartitionRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("partition_id", "topic_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr")
    partition_id: int
    topic_id: UUID
    replicas: list[int]
    isr: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: list[UUID]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: UUID = ZERO_UUID,
        replicas: list[int] = EMPTY,
        isr: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[UUID] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is EMPTY else replicas
        self.isr = [] if isr is EMPTY else isr
        self.removing_replicas = [] if removing_replicas is EMPTY else removing_replicas
        self.adding_replicas = [] if adding_replicas is EMPTY else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is EMPTY else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionRecord):
            return NotImplemented
        return (
            self.partition_id == other.partition_id
            and self.topic_id == other.topic_id
            and self.replicas == other.replicas
            and self.isr == other.isr
            and self.removing_replicas == other.removing_replicas
            and self.adding_replicas == other.adding_replicas
            and self.leader == other.leader
            and self.leader_recovery_state == other.leader_recovery_state
            and self.leader_epoch == other.leader_epoch
            and self.partition_epoch == other.partition_epoch
            and self.directories == other.directories
            and self.eligible_leader_replicas == other.eligible_leader_replicas
            and self.last_known_elr == other.last_known_elr
        )

    def __repr__(self) -> str:
        return (
            f"PartitionRecord(partition_id={self.partition_id!r}, "
            f"topic_id={self.topic_id!r}, "
            f"replicas={self.replicas!r}, "
            f"isr={self.isr!r}, "
            f"removing_replicas={self.removing_replicas!r}, "
            f"adding_replicas={self.adding_replicas!r}, "
            f"leader={self.leader!r}, "
            f"leader_recovery_state={self.leader_recovery_state!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"partition_epoch={self.partition_epoch!r}, "
            f"directories={self.directories!r}, "
            f"eligible_leader_replicas={self.eligible_leader_replicas!r}, "
            f"last_known_elr={self.last_known_elr!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("PartitionRecord", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("PartitionRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> PartitionRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("PartitionRecord", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("PartitionRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[PartitionRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("PartitionRecord", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: PartitionRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.directories):
        raise not_in_version("PartitionRecord", "PartitionRecord.directories", m.directories)
    if not (m.eligible_leader_replicas is None):
        raise not_in_version("PartitionRecord", "PartitionRecord.eligible_leader_replicas", m.eligible_leader_replicas)
    if not (m.last_known_elr is None):
        raise not_in_version("PartitionRecord", "PartitionRecord.last_known_elr", m.last_known_elr)
    l1 = m.replicas
    n1 = len(l1) + 1
    add(_pack_iUB(m.partition_id, m.topic_id.bytes, n1) if n1 < 128 else _pack_iU(m.partition_id, m.topic_id.bytes) + uvarint(n1))
    if l1:
        add(encode_array("i", l1))
    l2 = m.isr
    n2 = len(l2) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    if l2:
        add(encode_array("i", l2))
    l3 = m.removing_replicas
    n3 = len(l3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    if l3:
        add(encode_array("i", l3))
    l4 = m.adding_replicas
    n4 = len(l4) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    if l4:
        add(encode_array("i", l4))
    add(_pack_iii(m.leader, m.leader_epoch, m.partition_epoch))
    if m.leader_recovery_state == 0:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.leader_recovery_state == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.leader_recovery_state))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v1(m: PartitionRecord) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (m.eligible_leader_replicas is None):
        raise not_in_version("PartitionRecord", "PartitionRecord.eligible_leader_replicas", m.eligible_leader_replicas)
    if not (m.last_known_elr is None):
        raise not_in_version("PartitionRecord", "PartitionRecord.last_known_elr", m.last_known_elr)
    l1 = m.replicas
    n1 = len(l1) + 1
    add(_pack_iUB(m.partition_id, m.topic_id.bytes, n1) if n1 < 128 else _pack_iU(m.partition_id, m.topic_id.bytes) + uvarint(n1))
    if l1:
        add(encode_array("i", l1))
    l2 = m.isr
    n2 = len(l2) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    if l2:
        add(encode_array("i", l2))
    l3 = m.removing_replicas
    n3 = len(l3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    if l3:
        add(encode_array("i", l3))
    l4 = m.adding_replicas
    n4 = len(l4) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    if l4:
        add(encode_array("i", l4))
    l5 = m.directories
    n5 = len(l5) + 1
    add(_pack_iiiB(m.leader, m.leader_epoch, m.partition_epoch, n5) if n5 < 128 else _pack_iii(m.leader, m.leader_epoch, m.partition_epoch) + uvarint(n5))
    for e1 in l5:
        add(e1.bytes)
    if m.leader_recovery_state == 0:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.leader_recovery_state == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.leader_recovery_state))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v2(m: PartitionRecord) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.replicas
    n1 = len(l1) + 1
    add(_pack_iUB(m.partition_id, m.topic_id.bytes, n1) if n1 < 128 else _pack_iU(m.partition_id, m.topic_id.bytes) + uvarint(n1))
    if l1:
        add(encode_array("i", l1))
    l2 = m.isr
    n2 = len(l2) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    if l2:
        add(encode_array("i", l2))
    l3 = m.removing_replicas
    n3 = len(l3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    if l3:
        add(encode_array("i", l3))
    l4 = m.adding_replicas
    n4 = len(l4) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    if l4:
        add(encode_array("i", l4))
    l5 = m.directories
    n5 = len(l5) + 1
    add(_pack_iiiB(m.leader, m.leader_epoch, m.partition_epoch, n5) if n5 < 128 else _pack_iii(m.leader, m.leader_epoch, m.partition_epoch) + uvarint(n5))
    for e1 in l5:
        add(e1.bytes)
    if m.leader_recovery_state == 0 and m.eligible_leader_replicas is None and m.last_known_elr is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.leader_recovery_state == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.leader_recovery_state))
        if not (m.eligible_leader_replicas is None):
            k1 += 1
            p2: list[bytes] = []
            l6 = m.eligible_leader_replicas
            n6 = len(l6) + 1
            p2.append(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l6:
                p2.append(encode_array("i", l6))
            q1 = b"".join(p2)
            t1 += (UVARINT[1], uvarint(len(q1)), q1)
        if not (m.last_known_elr is None):
            k1 += 1
            p3: list[bytes] = []
            l7 = m.last_known_elr
            n7 = len(l7) + 1
            p3.append(UVARINT[n7] if n7 < 128 else uvarint(n7))
            if l7:
                p3.append(encode_array("i", l7))
            q2 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q2)), q2)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[PartitionRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = PartitionRecord.__new__(PartitionRecord)
        m.leader_recovery_state = 0
        m.directories = []
        m.eligible_leader_replicas = None
        m.last_known_elr = None
        m.partition_id, u1, n1 = _unpack_iUB(data, pos)
        pos += 21
        m.topic_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.replicas", n1, pos, size)
        m.replicas = decode_array("i", n1, data, pos) if n1 else []
        pos += n1 * 4
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.isr", n2, pos, size)
        m.isr = decode_array("i", n2, data, pos) if n2 else []
        pos += n2 * 4
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.removing_replicas", n3, pos, size)
        m.removing_replicas = decode_array("i", n3, data, pos) if n3 else []
        pos += n3 * 4
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.adding_replicas", n4, pos, size)
        m.adding_replicas = decode_array("i", n4, data, pos) if n4 else []
        pos += n4 * 4
        m.leader, m.leader_epoch, m.partition_epoch, k1 = _unpack_iiiB(data, pos)
        pos += 13
        if k1:
            if k1 > 127:
                k1, pos = uvarint_at(data, pos - 1)
            for _ in range(k1):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("PartitionRecord", "PartitionRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.leader_recovery_state,) = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("PartitionRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("PartitionRecord", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[PartitionRecord, int]:
    # versions 1
    size = len(data)
    try:
        m = PartitionRecord.__new__(PartitionRecord)
        m.leader_recovery_state = 0
        m.eligible_leader_replicas = None
        m.last_known_elr = None
        m.partition_id, u1, n1 = _unpack_iUB(data, pos)
        pos += 21
        m.topic_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.replicas", n1, pos, size)
        m.replicas = decode_array("i", n1, data, pos) if n1 else []
        pos += n1 * 4
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.isr", n2, pos, size)
        m.isr = decode_array("i", n2, data, pos) if n2 else []
        pos += n2 * 4
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.removing_replicas", n3, pos, size)
        m.removing_replicas = decode_array("i", n3, data, pos) if n3 else []
        pos += n3 * 4
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.adding_replicas", n4, pos, size)
        m.adding_replicas = decode_array("i", n4, data, pos) if n4 else []
        pos += n4 * 4
        m.leader, m.leader_epoch, m.partition_epoch, n5 = _unpack_iiiB(data, pos)
        pos += 13
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 16 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.directories", n5, pos, size)
        l5: list[UUID] = []
        m.directories = l5
        for _ in range(n5):
            (e1,) = _unpack_U(data, pos)
            pos += 16
            l5.append(uuid_of(e1))
        k1 = data[pos]
        pos += 1
        if k1:
            if k1 > 127:
                k1, pos = uvarint_at(data, pos - 1)
            for _ in range(k1):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("PartitionRecord", "PartitionRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.leader_recovery_state,) = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("PartitionRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("PartitionRecord", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[PartitionRecord, int]:
    # versions 2
    size = len(data)
    try:
        m = PartitionRecord.__new__(PartitionRecord)
        m.leader_recovery_state = 0
        m.eligible_leader_replicas = None
        m.last_known_elr = None
        m.partition_id, u1, n1 = _unpack_iUB(data, pos)
        pos += 21
        m.topic_id = uuid_of(u1)
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.replicas", n1, pos, size)
        m.replicas = decode_array("i", n1, data, pos) if n1 else []
        pos += n1 * 4
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.isr", n2, pos, size)
        m.isr = decode_array("i", n2, data, pos) if n2 else []
        pos += n2 * 4
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.removing_replicas", n3, pos, size)
        m.removing_replicas = decode_array("i", n3, data, pos) if n3 else []
        pos += n3 * 4
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 4 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.adding_replicas", n4, pos, size)
        m.adding_replicas = decode_array("i", n4, data, pos) if n4 else []
        pos += n4 * 4
        m.leader, m.leader_epoch, m.partition_epoch, n5 = _unpack_iiiB(data, pos)
        pos += 13
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 16 > size - pos:
            raise overrun("PartitionRecord", "PartitionRecord.directories", n5, pos, size)
        l5: list[UUID] = []
        m.directories = l5
        for _ in range(n5):
            (e1,) = _unpack_U(data, pos)
            pos += 16
            l5.append(uuid_of(e1))
        k1 = data[pos]
        pos += 1
        if k1:
            if k1 > 127:
                k1, pos = uvarint_at(data, pos - 1)
            for _ in range(k1):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("PartitionRecord", "PartitionRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.leader_recovery_state,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 1:
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        m.eligible_leader_replicas = None
                    else:
                        n6 -= 1
                        if n6 < 0 or n6 * 4 > size - pos:
                            raise overrun("PartitionRecord", "PartitionRecord.eligible_leader_replicas", n6, pos, size)
                        m.eligible_leader_replicas = decode_array("i", n6, data, pos) if n6 else []
                        pos += n6 * 4
                elif g1 == 2:
                    n7 = data[pos]
                    pos += 1
                    if n7 > 127:
                        n7, pos = uvarint_at(data, pos - 1)
                    if n7 == 0:
                        m.last_known_elr = None
                    else:
                        n7 -= 1
                        if n7 < 0 or n7 * 4 > size - pos:
                            raise overrun("PartitionRecord", "PartitionRecord.last_known_elr", n7, pos, size)
                        m.last_known_elr = decode_array("i", n7, data, pos) if n7 else []
                        pos += n7 * 4
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("PartitionRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("PartitionRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[PartitionRecord], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[PartitionRecord, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
