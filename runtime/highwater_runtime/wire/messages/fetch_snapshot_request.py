"""FetchSnapshotRequest: request body, key 59, versions 0 to 1.

Generated from ``schemas/quorum.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_BBU: Final = Struct(">BB16s").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iiB: Final = Struct(">iiB").pack
_pack_iiqixq: Final = Struct(">iiqixq").pack
_pack_iiqixqx: Final = Struct(">iiqixqx").pack
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_iiB: Final = Struct(">iiB").unpack_from
_unpack_iiqiB: Final = Struct(">iiqiB").unpack_from
_unpack_qB: Final = Struct(">qB").unpack_from


class SnapshotId:
    """Part of :class:`FetchSnapshotRequest`.

    ``end_offset`` int64

    ``epoch`` int32
    """

    __slots__ = ("end_offset", "epoch")
    end_offset: int
    epoch: int

    def __init__(
        self,
        *,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SnapshotId):
            return NotImplemented
        return (
            self.end_offset == other.end_offset
            and self.epoch == other.epoch
        )

    def __repr__(self) -> str:
        return (
            f"SnapshotId(end_offset={self.end_offset!r}, "
            f"epoch={self.epoch!r})"
        )


class PartitionSnapshot:
    """Part of :class:`FetchSnapshotRequest`.

    ``partition`` int32

    ``current_leader_epoch`` int32

    ``snapshot_id`` SnapshotId

    ``position`` int64: Where in the snapshot's bytes to begin.

    ``replica_directory_id`` uuid (v1+, tag 0)
    """

    __slots__ = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")
    partition: int
    current_leader_epoch: int
    snapshot_id: SnapshotId
    position: int
    replica_directory_id: UUID

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId | None = None,
        position: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSnapshot):
            return NotImplemented
        return (
            self.partition == other.partition
            and self.current_leader_epoch == other.current_leader_epoch
            and self.snapshot_id == other.snapshot_id
            and self.position == other.position
            and self.replica_directory_id == other.replica_directory_id
        )

    def __repr__(self) -> str:
        return (
            f"PartitionSnapshot(partition={self.partition!r}, "
            f"current_leader_epoch={self.current_leader_epoch!r}, "
            f"snapshot_id={self.snapshot_id!r}, "
            f"position={self.position!r}, "
            f"replica_directory_id={self.replica_directory_id!r})"
        )


class TopicSnapshot:
    """Part of :class:`FetchSnapshotRequest`.

    ``name`` string

    ``partitions`` []PartitionSnapshot
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[PartitionSnapshot]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[PartitionSnapshot] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicSnapshot):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicSnapshot(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class FetchSnapshotRequest:
    """A piece of a metadata snapshot (KIP-630).

    ``cluster_id`` string (tag 0)

    ``replica_id`` int32

    ``max_bytes`` int32

    ``topics`` []TopicSnapshot
    """

    API_KEY: ClassVar[int] = 59
    NAME: ClassVar[str] = "FetchSnapshotRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics")
    cluster_id: str | None
    replica_id: int
    max_bytes: int
    topics: list[TopicSnapshot]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[TopicSnapshot] = EMPTY,
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchSnapshotRequest):
            return NotImplemented
        return (
            self.cluster_id == other.cluster_id
            and self.replica_id == other.replica_id
            and self.max_bytes == other.max_bytes
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"FetchSnapshotRequest(cluster_id={self.cluster_id!r}, "
            f"replica_id={self.replica_id!r}, "
            f"max_bytes={self.max_bytes!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("FetchSnapshotRequest", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("FetchSnapshotRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> FetchSnapshotRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchSnapshotRequest", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("FetchSnapshotRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[FetchSnapshotRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchSnapshotRequest", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: FetchSnapshotRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiB(m.replica_id, m.max_bytes, n1) if n1 < 128 else _pack_ii(m.replica_id, m.max_bytes) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicSnapshot", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiqixqx(e2.partition, e2.current_leader_epoch, e2.snapshot_id.end_offset, e2.snapshot_id.epoch, e2.position))
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.cluster_id is None):
            k1 += 1
            p1: list[bytes] = []
            b2 = m.cluster_id.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("FetchSnapshotRequest", "cluster_id", len(b2))
            p1.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            p1.append(b2)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v1(m: FetchSnapshotRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiB(m.replica_id, m.max_bytes, n1) if n1 < 128 else _pack_ii(m.replica_id, m.max_bytes) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicSnapshot", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiqixq(e2.partition, e2.current_leader_epoch, e2.snapshot_id.end_offset, e2.snapshot_id.epoch, e2.position))
            if e2.replica_directory_id == ZERO_UUID:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.replica_directory_id == ZERO_UUID):
                    k1 += 1
                    t1.append(_pack_BBU(0, 16, e2.replica_directory_id.bytes))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        k2 = 0
        t2: list[bytes] = []
        if not (m.cluster_id is None):
            k2 += 1
            p2: list[bytes] = []
            b2 = m.cluster_id.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("FetchSnapshotRequest", "cluster_id", len(b2))
            p2.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            p2.append(b2)
            q1 = b"".join(p2)
            t2 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k2] + b"".join(t2))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[FetchSnapshotRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = FetchSnapshotRequest.__new__(FetchSnapshotRequest)
        m.cluster_id = None
        m.replica_id, m.max_bytes, n1 = _unpack_iiB(data, pos)
        pos += 9
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("FetchSnapshotRequest", "FetchSnapshotRequest.topics", n1, pos, size)
        l1: list[TopicSnapshot] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicSnapshot.__new__(TopicSnapshot)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("FetchSnapshotRequest", "TopicSnapshot.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 30 > size - pos:
                raise overrun("FetchSnapshotRequest", "TopicSnapshot.partitions", n3, pos, size)
            l2: list[PartitionSnapshot] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionSnapshot.__new__(PartitionSnapshot)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                o1 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o1
                e2.partition, e2.current_leader_epoch, o1.end_offset, o1.epoch, k1 = _unpack_iiqiB(data, pos)
                pos += 21
                if k1:
                    pos = skip_tagged("FetchSnapshotRequest", data, pos - 1)
                e2.position, k2 = _unpack_qB(data, pos)
                pos += 9
                if k2:
                    pos = skip_tagged("FetchSnapshotRequest", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("FetchSnapshotRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            if k4 > 127:
                k4, pos = uvarint_at(data, pos - 1)
            for _ in range(k4):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("FetchSnapshotRequest", "FetchSnapshotRequest tagged field", s1, pos, size)
                if g1 == 0:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    if n4 == 0:
                        m.cluster_id = None
                    else:
                        z2 = pos + n4 - 1
                        if z2 > size:
                            raise overrun("FetchSnapshotRequest", "FetchSnapshotRequest.cluster_id", n4 - 1, pos, size)
                        m.cluster_id = str(data[pos:z2], "utf-8")
                        pos = z2
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("FetchSnapshotRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchSnapshotRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[FetchSnapshotRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = FetchSnapshotRequest.__new__(FetchSnapshotRequest)
        m.cluster_id = None
        m.replica_id, m.max_bytes, n1 = _unpack_iiB(data, pos)
        pos += 9
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("FetchSnapshotRequest", "FetchSnapshotRequest.topics", n1, pos, size)
        l1: list[TopicSnapshot] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicSnapshot.__new__(TopicSnapshot)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("FetchSnapshotRequest", "TopicSnapshot.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 30 > size - pos:
                raise overrun("FetchSnapshotRequest", "TopicSnapshot.partitions", n3, pos, size)
            l2: list[PartitionSnapshot] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionSnapshot.__new__(PartitionSnapshot)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                o1 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o1
                e2.partition, e2.current_leader_epoch, o1.end_offset, o1.epoch, k1 = _unpack_iiqiB(data, pos)
                pos += 21
                if k1:
                    pos = skip_tagged("FetchSnapshotRequest", data, pos - 1)
                e2.position, k2 = _unpack_qB(data, pos)
                pos += 9
                if k2:
                    if k2 > 127:
                        k2, pos = uvarint_at(data, pos - 1)
                    for _ in range(k2):
                        g1 = data[pos]
                        s1 = data[pos + 1]
                        if g1 > 127 or s1 > 127:
                            g1, pos = uvarint_at(data, pos)
                            s1, pos = uvarint_at(data, pos)
                        else:
                            pos += 2
                        y1 = pos + s1
                        if y1 > size:
                            raise overrun("FetchSnapshotRequest", "PartitionSnapshot tagged field", s1, pos, size)
                        if g1 == 0:
                            (u1,) = _unpack_U(data, pos)
                            pos += 16
                            e2.replica_directory_id = uuid_of(u1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchSnapshotRequest", pos, "tagged field of another length than announced")
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("FetchSnapshotRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            if k4 > 127:
                k4, pos = uvarint_at(data, pos - 1)
            for _ in range(k4):
                g2 = data[pos]
                s2 = data[pos + 1]
                if g2 > 127 or s2 > 127:
                    g2, pos = uvarint_at(data, pos)
                    s2, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y2 = pos + s2
                if y2 > size:
                    raise overrun("FetchSnapshotRequest", "FetchSnapshotRequest tagged field", s2, pos, size)
                if g2 == 0:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    if n4 == 0:
                        m.cluster_id = None
                    else:
                        z2 = pos + n4 - 1
                        if z2 > size:
                            raise overrun("FetchSnapshotRequest", "FetchSnapshotRequest.cluster_id", n4 - 1, pos, size)
                        m.cluster_id = str(data[pos:z2], "utf-8")
                        pos = z2
                else:
                    pos = y2
                if pos != y2:
                    raise DecodeError("FetchSnapshotRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchSnapshotRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[FetchSnapshotRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[FetchSnapshotRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
