"""EndQuorumEpochResponse: response body, key 54, versions 0 to 1.

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
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_Hx: Final = Struct(">Hx").pack
_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ihii: Final = Struct(">ihii").pack
_pack_ihiix: Final = Struct(">ihiix").pack
_unpack_HB: Final = Struct(">HB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihii: Final = Struct(">ihii").unpack_from
_unpack_ihiiB: Final = Struct(">ihiiB").unpack_from


class PartitionData:
    """Part of :class:`EndQuorumEpochResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``leader_id`` int32

    ``leader_epoch`` int32
    """

    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch")
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r})"
        )


class TopicData:
    """Part of :class:`EndQuorumEpochResponse`.

    ``topic_name`` string

    ``partitions`` []PartitionData
    """

    __slots__ = ("topic_name", "partitions")
    topic_name: str
    partitions: list[PartitionData]

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicData):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"TopicData(topic_name={self.topic_name!r}, "
            f"partitions={self.partitions!r})"
        )


class NodeEndpoint:
    """Part of :class:`EndQuorumEpochResponse`.

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


class EndQuorumEpochResponse:
    """The leader and epoch that the voter knows.

    ``error_code`` int16

    ``topics`` []TopicData

    ``node_endpoints`` []NodeEndpoint (v1+, tag 0)
    """

    API_KEY: ClassVar[int] = 54
    NAME: ClassVar[str] = "EndQuorumEpochResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1

    __slots__ = ("error_code", "topics", "node_endpoints")
    error_code: int
    topics: list[TopicData]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        error_code: int = 0,
        topics: list[TopicData] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EndQuorumEpochResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.topics == other.topics
            and self.node_endpoints == other.node_endpoints
        )

    def __repr__(self) -> str:
        return (
            f"EndQuorumEpochResponse(error_code={self.error_code!r}, "
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
            raise unsupported("EndQuorumEpochResponse", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("EndQuorumEpochResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> EndQuorumEpochResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("EndQuorumEpochResponse", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("EndQuorumEpochResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[EndQuorumEpochResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("EndQuorumEpochResponse", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: EndQuorumEpochResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("TopicData", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ihii(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch))
    return out


def _encode_v1(m: EndQuorumEpochResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
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
            add(_pack_ihiix(e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch))
        add(b"\x00")
    if not m.node_endpoints:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (not m.node_endpoints):
            k1 += 1
            p1: list[bytes] = []
            l3 = m.node_endpoints
            n4 = len(l3) + 1
            p1.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            for e3 in l3:
                b2 = e3.host.encode()
                n5 = len(b2) + 1
                if n5 > 32768:
                    raise short_string("NodeEndpoint", "host", len(b2))
                p1.append(_pack_iB(e3.node_id, n5) if n5 < 128 else _pack_i(e3.node_id) + uvarint(n5))
                p1.append(b2)
                p1.append(_pack_Hx(e3.port))
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[EndQuorumEpochResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = EndQuorumEpochResponse.__new__(EndQuorumEpochResponse)
        m.node_endpoints = []
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("EndQuorumEpochResponse", "EndQuorumEpochResponse.topics", n1, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("EndQuorumEpochResponse", "TopicData.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 14 > size - pos:
                raise overrun("EndQuorumEpochResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch = _unpack_ihii(data, pos)
                pos += 14
    except DECODE_FAULTS as fault:
        raise malformed("EndQuorumEpochResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[EndQuorumEpochResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = EndQuorumEpochResponse.__new__(EndQuorumEpochResponse)
        m.node_endpoints = []
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("EndQuorumEpochResponse", "EndQuorumEpochResponse.topics", n1, pos, size)
        l1: list[TopicData] = []
        m.topics = l1
        for _ in range(n1):
            e1 = TopicData.__new__(TopicData)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("EndQuorumEpochResponse", "TopicData.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 15 > size - pos:
                raise overrun("EndQuorumEpochResponse", "TopicData.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.partition_index, e2.error_code, e2.leader_id, e2.leader_epoch, k1 = _unpack_ihiiB(data, pos)
                pos += 15
                if k1:
                    pos = skip_tagged("EndQuorumEpochResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("EndQuorumEpochResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            if k3 > 127:
                k3, pos = uvarint_at(data, pos - 1)
            for _ in range(k3):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("EndQuorumEpochResponse", "EndQuorumEpochResponse tagged field", s1, pos, size)
                if g1 == 0:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    n4 -= 1
                    if n4 < 0 or n4 * 8 > size - pos:
                        raise overrun("EndQuorumEpochResponse", "EndQuorumEpochResponse.node_endpoints", n4, pos, size)
                    l3: list[NodeEndpoint] = []
                    m.node_endpoints = l3
                    for _ in range(n4):
                        e3 = NodeEndpoint.__new__(NodeEndpoint)
                        l3.append(e3)
                        e3.node_id, n5 = _unpack_iB(data, pos)
                        pos += 5
                        if n5 > 127:
                            n5, pos = uvarint_at(data, pos - 1)
                        z2 = pos + n5 - 1
                        if n5 == 0 or z2 > size:
                            raise overrun("EndQuorumEpochResponse", "NodeEndpoint.host", n5 - 1, pos, size)
                        e3.host = str(data[pos:z2], "utf-8")
                        pos = z2
                        e3.port, k4 = _unpack_HB(data, pos)
                        pos += 3
                        if k4:
                            pos = skip_tagged("EndQuorumEpochResponse", data, pos - 1)
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("EndQuorumEpochResponse", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("EndQuorumEpochResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[EndQuorumEpochResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[EndQuorumEpochResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
