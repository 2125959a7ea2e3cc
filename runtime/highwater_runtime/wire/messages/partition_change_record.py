"""PartitionChangeRecord: record of the metadata log, key 5, versions 0 to 2.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
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
_pack_BBi: Final = Struct(">BBi").pack
_pack_iU: Final = Struct(">i16s").pack
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iUB: Final = Struct(">i16sB").unpack_from


class PartitionChangeRecord:
    """What has changed in a partition. Its partition epoch grows by one; its leader epoch too if ``leader`` is set.

    ``partition_id`` int32

    ``topic_id`` uuid

    ``isr`` []int32 (tag 0): Null for no change, as in all fields below.

    ``leader`` int32 (tag 1): -1: no leader now; -2: no change.

    ``replicas`` []int32 (tag 2)

    ``removing_replicas`` []int32 (tag 3)

    ``adding_replicas`` []int32 (tag 4)

    ``leader_recovery_state`` int8 (tag 5): -1: no change.

    ``eligible_leader_replicas`` []int32 (v2+, tag 6)

    ``last_known_elr`` []int32 (v2+, tag 7)

    ``directories`` []uuid (v1+, tag 8)
    """

    API_KEY: ClassVar[int] = 5
    NAME: ClassVar[str] = "PartitionChangeRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("partition_id", "topic_id", "isr", "leader", "replicas", "removing_replicas", "adding_replicas", "leader_recovery_state", "eligible_leader_replicas", "last_known_elr", "directories")
    partition_id: int
    topic_id: UUID
    isr: list[int] | None
    leader: int
    replicas: list[int] | None
    removing_replicas: list[int] | None
    adding_replicas: list[int] | None
    leader_recovery_state: int
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    directories: list[UUID] | None

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: UUID = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        directories: list[UUID] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.directories = directories

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionChangeRecord):
            return NotImplemented
        return (
            self.partition_id == other.partition_id
            and self.topic_id == other.topic_id
            and self.isr == other.isr
            and self.leader == other.leader
            and self.replicas == other.replicas
            and self.removing_replicas == other.removing_replicas
            and self.adding_replicas == other.adding_replicas
            and self.leader_recovery_state == other.leader_recovery_state
            and self.eligible_leader_replicas == other.eligible_leader_replicas
            and self.last_known_elr == other.last_known_elr
            and self.directories == other.directories
        )

    def __repr__(self) -> str:
        return (
            f"PartitionChangeRecord(partition_id={self.partition_id!r}, "
            f"topic_id={self.topic_id!r}, "
            f"isr={self.isr!r}, "
            f"leader={self.leader!r}, "
            f"replicas={self.replicas!r}, "
            f"removing_replicas={self.removing_replicas!r}, "
            f"adding_replicas={self.adding_replicas!r}, "
            f"leader_recovery_state={self.leader_recovery_state!r}, "
            f"eligible_leader_replicas={self.eligible_leader_replicas!r}, "
            f"last_known_elr={self.last_known_elr!r}, "
            f"directories={self.directories!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("PartitionChangeRecord", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("PartitionChangeRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> PartitionChangeRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("PartitionChangeRecord", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("PartitionChangeRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[PartitionChangeRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("PartitionChangeRecord", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: PartitionChangeRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.eligible_leader_replicas is None):
        raise not_in_version("PartitionChangeRecord", "PartitionChangeRecord.eligible_leader_replicas", m.eligible_leader_replicas)
    if not (m.last_known_elr is None):
        raise not_in_version("PartitionChangeRecord", "PartitionChangeRecord.last_known_elr", m.last_known_elr)
    if not (m.directories is None):
        raise not_in_version("PartitionChangeRecord", "PartitionChangeRecord.directories", m.directories)
    add(_pack_iU(m.partition_id, m.topic_id.bytes))
    if m.isr is None and m.leader == -2 and m.replicas is None and m.removing_replicas is None and m.adding_replicas is None and m.leader_recovery_state == -1:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.isr is None):
            k1 += 1
            p1: list[bytes] = []
            l1 = m.isr
            n1 = len(l1) + 1
            p1.append(UVARINT[n1] if n1 < 128 else uvarint(n1))
            if l1:
                p1.append(encode_array("i", l1))
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.leader == -2):
            k1 += 1
            t1.append(_pack_BBi(1, 4, m.leader))
        if not (m.replicas is None):
            k1 += 1
            p3: list[bytes] = []
            l2 = m.replicas
            n2 = len(l2) + 1
            p3.append(UVARINT[n2] if n2 < 128 else uvarint(n2))
            if l2:
                p3.append(encode_array("i", l2))
            q2 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q2)), q2)
        if not (m.removing_replicas is None):
            k1 += 1
            p4: list[bytes] = []
            l3 = m.removing_replicas
            n3 = len(l3) + 1
            p4.append(UVARINT[n3] if n3 < 128 else uvarint(n3))
            if l3:
                p4.append(encode_array("i", l3))
            q3 = b"".join(p4)
            t1 += (UVARINT[3], uvarint(len(q3)), q3)
        if not (m.adding_replicas is None):
            k1 += 1
            p5: list[bytes] = []
            l4 = m.adding_replicas
            n4 = len(l4) + 1
            p5.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            if l4:
                p5.append(encode_array("i", l4))
            q4 = b"".join(p5)
            t1 += (UVARINT[4], uvarint(len(q4)), q4)
        if not (m.leader_recovery_state == -1):
            k1 += 1
            t1.append(_pack_BBb(5, 1, m.leader_recovery_state))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v1(m: PartitionChangeRecord) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (m.eligible_leader_replicas is None):
        raise not_in_version("PartitionChangeRecord", "PartitionChangeRecord.eligible_leader_replicas", m.eligible_leader_replicas)
    if not (m.last_known_elr is None):
        raise not_in_version("PartitionChangeRecord", "PartitionChangeRecord.last_known_elr", m.last_known_elr)
    add(_pack_iU(m.partition_id, m.topic_id.bytes))
    if m.isr is None and m.leader == -2 and m.replicas is None and m.removing_replicas is None and m.adding_replicas is None and m.leader_recovery_state == -1 and m.directories is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.isr is None):
            k1 += 1
            p1: list[bytes] = []
            l1 = m.isr
            n1 = len(l1) + 1
            p1.append(UVARINT[n1] if n1 < 128 else uvarint(n1))
            if l1:
                p1.append(encode_array("i", l1))
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.leader == -2):
            k1 += 1
            t1.append(_pack_BBi(1, 4, m.leader))
        if not (m.replicas is None):
            k1 += 1
            p3: list[bytes] = []
            l2 = m.replicas
            n2 = len(l2) + 1
            p3.append(UVARINT[n2] if n2 < 128 else uvarint(n2))
            if l2:
                p3.append(encode_array("i", l2))
            q2 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q2)), q2)
        if not (m.removing_replicas is None):
            k1 += 1
            p4: list[bytes] = []
            l3 = m.removing_replicas
            n3 = len(l3) + 1
            p4.append(UVARINT[n3] if n3 < 128 else uvarint(n3))
            if l3:
                p4.append(encode_array("i", l3))
            q3 = b"".join(p4)
            t1 += (UVARINT[3], uvarint(len(q3)), q3)
        if not (m.adding_replicas is None):
            k1 += 1
            p5: list[bytes] = []
            l4 = m.adding_replicas
            n4 = len(l4) + 1
            p5.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            if l4:
                p5.append(encode_array("i", l4))
            q4 = b"".join(p5)
            t1 += (UVARINT[4], uvarint(len(q4)), q4)
        if not (m.leader_recovery_state == -1):
            k1 += 1
            t1.append(_pack_BBb(5, 1, m.leader_recovery_state))
        if not (m.directories is None):
            k1 += 1
            p7: list[bytes] = []
            l5 = m.directories
            n5 = len(l5) + 1
            p7.append(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e1 in l5:
                p7.append(e1.bytes)
            q5 = b"".join(p7)
            t1 += (UVARINT[8], uvarint(len(q5)), q5)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v2(m: PartitionChangeRecord) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_iU(m.partition_id, m.topic_id.bytes))
    if m.isr is None and m.leader == -2 and m.replicas is None and m.removing_replicas is None and m.adding_replicas is None and m.leader_recovery_state == -1 and m.eligible_leader_replicas is None and m.last_known_elr is None and m.directories is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.isr is None):
            k1 += 1
            p1: list[bytes] = []
            l1 = m.isr
            n1 = len(l1) + 1
            p1.append(UVARINT[n1] if n1 < 128 else uvarint(n1))
            if l1:
                p1.append(encode_array("i", l1))
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.leader == -2):
            k1 += 1
            t1.append(_pack_BBi(1, 4, m.leader))
        if not (m.replicas is None):
            k1 += 1
            p3: list[bytes] = []
            l2 = m.replicas
            n2 = len(l2) + 1
            p3.append(UVARINT[n2] if n2 < 128 else uvarint(n2))
            if l2:
                p3.append(encode_array("i", l2))
            q2 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q2)), q2)
        if not (m.removing_replicas is None):
            k1 += 1
            p4: list[bytes] = []
            l3 = m.removing_replicas
            n3 = len(l3) + 1
            p4.append(UVARINT[n3] if n3 < 128 else uvarint(n3))
            if l3:
                p4.append(encode_array("i", l3))
            q3 = b"".join(p4)
            t1 += (UVARINT[3], uvarint(len(q3)), q3)
        if not (m.adding_replicas is None):
            k1 += 1
            p5: list[bytes] = []
            l4 = m.adding_replicas
            n4 = len(l4) + 1
            p5.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            if l4:
                p5.append(encode_array("i", l4))
            q4 = b"".join(p5)
            t1 += (UVARINT[4], uvarint(len(q4)), q4)
        if not (m.leader_recovery_state == -1):
            k1 += 1
            t1.append(_pack_BBb(5, 1, m.leader_recovery_state))
        if not (m.eligible_leader_replicas is None):
            k1 += 1
            p7: list[bytes] = []
            l5 = m.eligible_leader_replicas
            n5 = len(l5) + 1
            p7.append(UVARINT[n5] if n5 < 128 else uvarint(n5))
            if l5:
                p7.append(encode_array("i", l5))
            q5 = b"".join(p7)
            t1 += (UVARINT[6], uvarint(len(q5)), q5)
        if not (m.last_known_elr is None):
            k1 += 1
            p8: list[bytes] = []
            l6 = m.last_known_elr
            n6 = len(l6) + 1
            p8.append(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l6:
                p8.append(encode_array("i", l6))
            q6 = b"".join(p8)
            t1 += (UVARINT[7], uvarint(len(q6)), q6)
        if not (m.directories is None):
            k1 += 1
            p9: list[bytes] = []
            l7 = m.directories
            n7 = len(l7) + 1
            p9.append(UVARINT[n7] if n7 < 128 else uvarint(n7))
            for e1 in l7:
                p9.append(e1.bytes)
            q7 = b"".join(p9)
            t1 += (UVARINT[8], uvarint(len(q7)), q7)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[PartitionChangeRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = PartitionChangeRecord.__new__(PartitionChangeRecord)
        m.isr = None
        m.leader = -2
        m.replicas = None
        m.removing_replicas = None
        m.adding_replicas = None
        m.leader_recovery_state = -1
        m.eligible_leader_replicas = None
        m.last_known_elr = None
        m.directories = None
        m.partition_id, u1, k1 = _unpack_iUB(data, pos)
        pos += 21
        m.topic_id = uuid_of(u1)
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
                    raise overrun("PartitionChangeRecord", "PartitionChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    n1 = data[pos]
                    pos += 1
                    if n1 > 127:
                        n1, pos = uvarint_at(data, pos - 1)
                    if n1 == 0:
                        m.isr = None
                    else:
                        n1 -= 1
                        if n1 < 0 or n1 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.isr", n1, pos, size)
                        m.isr = decode_array("i", n1, data, pos) if n1 else []
                        pos += n1 * 4
                elif g1 == 1:
                    (m.leader,) = _unpack_i(data, pos)
                    pos += 4
                elif g1 == 2:
                    n2 = data[pos]
                    pos += 1
                    if n2 > 127:
                        n2, pos = uvarint_at(data, pos - 1)
                    if n2 == 0:
                        m.replicas = None
                    else:
                        n2 -= 1
                        if n2 < 0 or n2 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.replicas", n2, pos, size)
                        m.replicas = decode_array("i", n2, data, pos) if n2 else []
                        pos += n2 * 4
                elif g1 == 3:
                    n3 = data[pos]
                    pos += 1
                    if n3 > 127:
                        n3, pos = uvarint_at(data, pos - 1)
                    if n3 == 0:
                        m.removing_replicas = None
                    else:
                        n3 -= 1
                        if n3 < 0 or n3 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.removing_replicas", n3, pos, size)
                        m.removing_replicas = decode_array("i", n3, data, pos) if n3 else []
                        pos += n3 * 4
                elif g1 == 4:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    if n4 == 0:
                        m.adding_replicas = None
                    else:
                        n4 -= 1
                        if n4 < 0 or n4 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.adding_replicas", n4, pos, size)
                        m.adding_replicas = decode_array("i", n4, data, pos) if n4 else []
                        pos += n4 * 4
                elif g1 == 5:
                    (m.leader_recovery_state,) = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("PartitionChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("PartitionChangeRecord", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[PartitionChangeRecord, int]:
    # versions 1
    size = len(data)
    try:
        m = PartitionChangeRecord.__new__(PartitionChangeRecord)
        m.isr = None
        m.leader = -2
        m.replicas = None
        m.removing_replicas = None
        m.adding_replicas = None
        m.leader_recovery_state = -1
        m.eligible_leader_replicas = None
        m.last_known_elr = None
        m.directories = None
        m.partition_id, u1, k1 = _unpack_iUB(data, pos)
        pos += 21
        m.topic_id = uuid_of(u1)
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
                    raise overrun("PartitionChangeRecord", "PartitionChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    n1 = data[pos]
                    pos += 1
                    if n1 > 127:
                        n1, pos = uvarint_at(data, pos - 1)
                    if n1 == 0:
                        m.isr = None
                    else:
                        n1 -= 1
                        if n1 < 0 or n1 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.isr", n1, pos, size)
                        m.isr = decode_array("i", n1, data, pos) if n1 else []
                        pos += n1 * 4
                elif g1 == 1:
                    (m.leader,) = _unpack_i(data, pos)
                    pos += 4
                elif g1 == 2:
                    n2 = data[pos]
                    pos += 1
                    if n2 > 127:
                        n2, pos = uvarint_at(data, pos - 1)
                    if n2 == 0:
                        m.replicas = None
                    else:
                        n2 -= 1
                        if n2 < 0 or n2 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.replicas", n2, pos, size)
                        m.replicas = decode_array("i", n2, data, pos) if n2 else []
                        pos += n2 * 4
                elif g1 == 3:
                    n3 = data[pos]
                    pos += 1
                    if n3 > 127:
                        n3, pos = uvarint_at(data, pos - 1)
                    if n3 == 0:
                        m.removing_replicas = None
                    else:
                        n3 -= 1
                        if n3 < 0 or n3 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.removing_replicas", n3, pos, size)
                        m.removing_replicas = decode_array("i", n3, data, pos) if n3 else []
                        pos += n3 * 4
                elif g1 == 4:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    if n4 == 0:
                        m.adding_replicas = None
                    else:
                        n4 -= 1
                        if n4 < 0 or n4 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.adding_replicas", n4, pos, size)
                        m.adding_replicas = decode_array("i", n4, data, pos) if n4 else []
                        pos += n4 * 4
                elif g1 == 5:
                    (m.leader_recovery_state,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 8:
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    if n5 == 0:
                        m.directories = None
                    else:
                        n5 -= 1
                        if n5 < 0 or n5 * 16 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.directories", n5, pos, size)
                        l5: list[UUID] = []
                        m.directories = l5
                        for _ in range(n5):
                            (e1,) = _unpack_U(data, pos)
                            pos += 16
                            l5.append(uuid_of(e1))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("PartitionChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("PartitionChangeRecord", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[PartitionChangeRecord, int]:
    # versions 2
    size = len(data)
    try:
        m = PartitionChangeRecord.__new__(PartitionChangeRecord)
        m.isr = None
        m.leader = -2
        m.replicas = None
        m.removing_replicas = None
        m.adding_replicas = None
        m.leader_recovery_state = -1
        m.eligible_leader_replicas = None
        m.last_known_elr = None
        m.directories = None
        m.partition_id, u1, k1 = _unpack_iUB(data, pos)
        pos += 21
        m.topic_id = uuid_of(u1)
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
                    raise overrun("PartitionChangeRecord", "PartitionChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    n1 = data[pos]
                    pos += 1
                    if n1 > 127:
                        n1, pos = uvarint_at(data, pos - 1)
                    if n1 == 0:
                        m.isr = None
                    else:
                        n1 -= 1
                        if n1 < 0 or n1 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.isr", n1, pos, size)
                        m.isr = decode_array("i", n1, data, pos) if n1 else []
                        pos += n1 * 4
                elif g1 == 1:
                    (m.leader,) = _unpack_i(data, pos)
                    pos += 4
                elif g1 == 2:
                    n2 = data[pos]
                    pos += 1
                    if n2 > 127:
                        n2, pos = uvarint_at(data, pos - 1)
                    if n2 == 0:
                        m.replicas = None
                    else:
                        n2 -= 1
                        if n2 < 0 or n2 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.replicas", n2, pos, size)
                        m.replicas = decode_array("i", n2, data, pos) if n2 else []
                        pos += n2 * 4
                elif g1 == 3:
                    n3 = data[pos]
                    pos += 1
                    if n3 > 127:
                        n3, pos = uvarint_at(data, pos - 1)
                    if n3 == 0:
                        m.removing_replicas = None
                    else:
                        n3 -= 1
                        if n3 < 0 or n3 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.removing_replicas", n3, pos, size)
                        m.removing_replicas = decode_array("i", n3, data, pos) if n3 else []
                        pos += n3 * 4
                elif g1 == 4:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    if n4 == 0:
                        m.adding_replicas = None
                    else:
                        n4 -= 1
                        if n4 < 0 or n4 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.adding_replicas", n4, pos, size)
                        m.adding_replicas = decode_array("i", n4, data, pos) if n4 else []
                        pos += n4 * 4
                elif g1 == 5:
                    (m.leader_recovery_state,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 6:
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    if n5 == 0:
                        m.eligible_leader_replicas = None
                    else:
                        n5 -= 1
                        if n5 < 0 or n5 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.eligible_leader_replicas", n5, pos, size)
                        m.eligible_leader_replicas = decode_array("i", n5, data, pos) if n5 else []
                        pos += n5 * 4
                elif g1 == 7:
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        m.last_known_elr = None
                    else:
                        n6 -= 1
                        if n6 < 0 or n6 * 4 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.last_known_elr", n6, pos, size)
                        m.last_known_elr = decode_array("i", n6, data, pos) if n6 else []
                        pos += n6 * 4
                elif g1 == 8:
                    n7 = data[pos]
                    pos += 1
                    if n7 > 127:
                        n7, pos = uvarint_at(data, pos - 1)
                    if n7 == 0:
                        m.directories = None
                    else:
                        n7 -= 1
                        if n7 < 0 or n7 * 16 > size - pos:
                            raise overrun("PartitionChangeRecord", "PartitionChangeRecord.directories", n7, pos, size)
                        l7: list[UUID] = []
                        m.directories = l7
                        for _ in range(n7):
                            (e1,) = _unpack_U(data, pos)
                            pos += 16
                            l7.append(uuid_of(e1))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("PartitionChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("PartitionChangeRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[PartitionChangeRecord], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[PartitionChangeRecord, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
