"""FetchSnapshotResponse: response body, key 59, versions 0 to 1.

Generated from ``schemas/quorum.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_BBiix: Final = Struct(">BBiix").pack
_pack_Hx: Final = Struct(">Hx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihqixqq: Final = Struct(">ihqixqq").pack
_pack_ihqixqqB: Final = Struct(">ihqixqqB").pack
_unpack_HB: Final = Struct(">HB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihqiB: Final = Struct(">ihqiB").unpack_from
_unpack_iiB: Final = Struct(">iiB").unpack_from
_unpack_qqB: Final = Struct(">qqB").unpack_from


class SnapshotId:
    """Part of :class:`FetchSnapshotResponse`.

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


class LeaderIdAndEpoch:
    """Part of :class:`FetchSnapshotResponse`.

    ``leader_id`` int32

    ``leader_epoch`` int32
    """

    __slots__ = ("leader_id", "leader_epoch")
    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderIdAndEpoch):
            return NotImplemented
        return (
            self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
        )

    def __repr__(self) -> str:
        return (
            f"LeaderIdAndEpoch(leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r})"
        )


class PartitionSnapshot:
    """Part of :class:`FetchSnapshotResponse`.

    ``index`` int32

    ``error_code`` int16

    ``snapshot_id`` SnapshotId

    ``current_leader`` LeaderIdAndEpoch (tag 0)

    ``size`` int64: Size of the whole snapshot in bytes.

    ``position`` int64

    ``unaligned_records`` records: Bytes from position on; batches may be cut anywhere.
    """

    __slots__ = ("index", "error_code", "snapshot_id", "current_leader", "size", "position", "unaligned_records")
    index: int
    error_code: int
    snapshot_id: SnapshotId
    current_leader: LeaderIdAndEpoch
    size: int
    position: int
    unaligned_records: bytes

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: bytes = b"",
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSnapshot):
            return NotImplemented
        return (
            self.index == other.index
            and self.error_code == other.error_code
            and self.snapshot_id == other.snapshot_id
            and self.current_leader == other.current_leader
            and self.size == other.size
            and self.position == other.position
            and self.unaligned_records == other.unaligned_records
        )

    def __repr__(self) -> str:
        return (
            f"PartitionSnapshot(index={self.index!r}, "
            f"error_code={self.error_code!r}, "
            f"snapshot_id={self.snapshot_id!r}, "
            f"current_leader={self.current_leader!r}, "
            f"size={self.size!r}, "
            f"position={self.position!r}, "
            f"unaligned_records={show(self.unaligned_records)})"
        )


class TopicSnapshot:
    """Part of :class:`FetchSnapshotResponse`.

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


class NodeEndpoint:
    """Part of :class:`FetchSnapshotResponse`.

    ``node_id`` int32 (v1+)

    ``host`` string (v1+)

    ``port`` uint16 (v1+)
    """

    __slots__ = ("node_id", "host", "port")
    node_id: int
    host: str
    port: int

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeEndpoint):
            return NotImplemented
        return (
            self.node_id == other.node_id
            and self.host == other.host
            and self.port == other.port
        )

    def __repr__(self) -> str:
        return (
            f"NodeEndpoint(node_id={self.node_id!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r})"
        )


class FetchSnapshotResponse:
    """Bytes of a snapshot.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``topics`` []TopicSnapshot

    ``node_endpoints`` []NodeEndpoint (v1+, tag 0)
    """

    API_KEY: ClassVar[int] = 59
    NAME: ClassVar[str] = "FetchSnapshotResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "topics", "node_endpoints")
    throttle_time_ms: int
    error_code: int
    topics: list[TopicSnapshot]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[TopicSnapshot] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchSnapshotResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.topics == other.topics
            and self.node_endpoints == other.node_endpoints
        )

    def __repr__(self) -> str:
        return (
            f"FetchSnapshotResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"topics={self.topics!r}, "
            f"node_endpoints={self.node_endpoints!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("FetchSnapshotResponse", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("FetchSnapshotResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> FetchSnapshotResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchSnapshotResponse", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("FetchSnapshotResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[FetchSnapshotResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchSnapshotResponse", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: FetchSnapshotResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
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
            b2 = e2.unaligned_records
            n4 = len(b2) + 1
            add(_pack_ihqixqqB(e2.index, e2.error_code, e2.snapshot_id.end_offset, e2.snapshot_id.epoch, e2.size, e2.position, n4) if n4 < 128 else _pack_ihqixqq(e2.index, e2.error_code, e2.snapshot_id.end_offset, e2.snapshot_id.epoch, e2.size, e2.position) + uvarint(n4))
            add(b2)
            if e2.current_leader.leader_id == 0 and e2.current_leader.leader_epoch == 0:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.current_leader.leader_id == 0 and e2.current_leader.leader_epoch == 0):
                    k1 += 1
                    t1.append(_pack_BBiix(0, 9, e2.current_leader.leader_id, e2.current_leader.leader_epoch))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v1(m: FetchSnapshotResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
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
            b2 = e2.unaligned_records
            n4 = len(b2) + 1
            add(_pack_ihqixqqB(e2.index, e2.error_code, e2.snapshot_id.end_offset, e2.snapshot_id.epoch, e2.size, e2.position, n4) if n4 < 128 else _pack_ihqixqq(e2.index, e2.error_code, e2.snapshot_id.end_offset, e2.snapshot_id.epoch, e2.size, e2.position) + uvarint(n4))
            add(b2)
            if e2.current_leader.leader_id == 0 and e2.current_leader.leader_epoch == 0:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.current_leader.leader_id == 0 and e2.current_leader.leader_epoch == 0):
                    k1 += 1
                    t1.append(_pack_BBiix(0, 9, e2.current_leader.leader_id, e2.current_leader.leader_epoch))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    if not m.node_endpoints:
        add(b"\x00")
    else:
        k2 = 0
        t2: list[bytes] = []
        if not (not m.node_endpoints):
            k2 += 1
            p2: list[bytes] = []
            l3 = m.node_endpoints
            n5 = len(l3) + 1
            p2.append(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e3 in l3:
                b3 = e3.host.encode()
                n6 = len(b3) + 1
                if n6 > 32768:
                    raise short_string("NodeEndpoint", "host", len(b3))
                p2.append(_pack_iB(e3.node_id, n6) if n6 < 128 else _pack_i(e3.node_id) + uvarint(n6))
                p2.append(b3)
                p2.append(_pack_Hx(e3.port))
            q1 = b"".join(p2)
            t2 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k2] + b"".join(t2))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[FetchSnapshotResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = FetchSnapshotResponse.__new__(FetchSnapshotResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("FetchSnapshotResponse", "FetchSnapshotResponse.topics", n1, pos, size)
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
                raise overrun("FetchSnapshotResponse", "TopicSnapshot.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 37 > size - pos:
                raise overrun("FetchSnapshotResponse", "TopicSnapshot.partitions", n3, pos, size)
            l2: list[PartitionSnapshot] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionSnapshot.__new__(PartitionSnapshot)
                l2.append(e2)
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = 0
                o1.leader_epoch = 0
                o2 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o2
                e2.index, e2.error_code, o2.end_offset, o2.epoch, k1 = _unpack_ihqiB(data, pos)
                pos += 19
                if k1:
                    pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
                e2.size, e2.position, n4 = _unpack_qqB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("FetchSnapshotResponse", "PartitionSnapshot.unaligned_records", n4 - 1, pos, size)
                e2.unaligned_records = bytes(data[pos:z2])
                pos = z2
                k2 = data[pos]
                pos += 1
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
                            raise overrun("FetchSnapshotResponse", "PartitionSnapshot tagged field", s1, pos, size)
                        if g1 == 0:
                            o1.leader_id, o1.leader_epoch, k3 = _unpack_iiB(data, pos)
                            pos += 9
                            if k3:
                                pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchSnapshotResponse", pos, "tagged field of another length than announced")
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FetchSnapshotResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[FetchSnapshotResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = FetchSnapshotResponse.__new__(FetchSnapshotResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("FetchSnapshotResponse", "FetchSnapshotResponse.topics", n1, pos, size)
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
                raise overrun("FetchSnapshotResponse", "TopicSnapshot.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 37 > size - pos:
                raise overrun("FetchSnapshotResponse", "TopicSnapshot.partitions", n3, pos, size)
            l2: list[PartitionSnapshot] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionSnapshot.__new__(PartitionSnapshot)
                l2.append(e2)
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = 0
                o1.leader_epoch = 0
                o2 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o2
                e2.index, e2.error_code, o2.end_offset, o2.epoch, k1 = _unpack_ihqiB(data, pos)
                pos += 19
                if k1:
                    pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
                e2.size, e2.position, n4 = _unpack_qqB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("FetchSnapshotResponse", "PartitionSnapshot.unaligned_records", n4 - 1, pos, size)
                e2.unaligned_records = bytes(data[pos:z2])
                pos = z2
                k2 = data[pos]
                pos += 1
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
                            raise overrun("FetchSnapshotResponse", "PartitionSnapshot tagged field", s1, pos, size)
                        if g1 == 0:
                            o1.leader_id, o1.leader_epoch, k3 = _unpack_iiB(data, pos)
                            pos += 9
                            if k3:
                                pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchSnapshotResponse", pos, "tagged field of another length than announced")
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
        k5 = data[pos]
        pos += 1
        if k5:
            if k5 > 127:
                k5, pos = uvarint_at(data, pos - 1)
            for _ in range(k5):
                g2 = data[pos]
                s2 = data[pos + 1]
                if g2 > 127 or s2 > 127:
                    g2, pos = uvarint_at(data, pos)
                    s2, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y2 = pos + s2
                if y2 > size:
                    raise overrun("FetchSnapshotResponse", "FetchSnapshotResponse tagged field", s2, pos, size)
                if g2 == 0:
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    n5 -= 1
                    if n5 < 0 or n5 * 8 > size - pos:
                        raise overrun("FetchSnapshotResponse", "FetchSnapshotResponse.node_endpoints", n5, pos, size)
                    l3: list[NodeEndpoint] = []
                    m.node_endpoints = l3
                    for _ in range(n5):
                        e3 = NodeEndpoint.__new__(NodeEndpoint)
                        l3.append(e3)
                        e3.node_id, n6 = _unpack_iB(data, pos)
                        pos += 5
                        if n6 > 127:
                            n6, pos = uvarint_at(data, pos - 1)
                        z3 = pos + n6 - 1
                        if n6 == 0 or z3 > size:
                            raise overrun("FetchSnapshotResponse", "NodeEndpoint.host", n6 - 1, pos, size)
                        e3.host = str(data[pos:z3], "utf-8")
                        pos = z3
                        e3.port, k6 = _unpack_HB(data, pos)
                        pos += 3
                        if k6:
                            pos = skip_tagged("FetchSnapshotResponse", data, pos - 1)
                else:
                    pos = y2
                if pos != y2:
                    raise DecodeError("FetchSnapshotResponse", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchSnapshotResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[FetchSnapshotResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[FetchSnapshotResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
