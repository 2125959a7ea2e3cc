"""MetadataResponse: response body, key 3, versions 0 to 13.

Generated from ``schemas/metadata.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_T: Final = Struct(">?").pack
_pack_TB: Final = Struct(">?B").pack
_pack_Ti: Final = Struct(">?i").pack
_pack_UT: Final = Struct(">16s?").pack
_pack_UTB: Final = Struct(">16s?B").pack
_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_hh: Final = Struct(">hh").pack
_pack_hiii: Final = Struct(">hiii").pack
_pack_hiiiB: Final = Struct(">hiiiB").pack
_pack_hiiii: Final = Struct(">hiiii").pack
_pack_hx: Final = Struct(">hx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_Ti: Final = Struct(">?i").unpack_from
_unpack_UTB: Final = Struct(">16s?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_hiii: Final = Struct(">hiii").unpack_from
_unpack_hiiiB: Final = Struct(">hiiiB").unpack_from
_unpack_hiiii: Final = Struct(">hiiii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class MetadataResponseBroker:
    """Part of :class:`MetadataResponse`.

    ``node_id`` int32

    ``host`` string

    ``port`` int32

    ``rack`` string (v1+)
    """

    __slots__ = ("node_id", "host", "port", "rack")
    node_id: int
    host: str
    port: int
    rack: str | None

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataResponseBroker):
            return NotImplemented
        return (
            self.node_id == other.node_id
            and self.host == other.host
            and self.port == other.port
            and self.rack == other.rack
        )

    def __repr__(self) -> str:
        return (
            f"MetadataResponseBroker(node_id={self.node_id!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"rack={self.rack!r})"
        )


class MetadataResponsePartition:
    """Part of :class:`MetadataResponse`.

    ``error_code`` int16

    ``partition_index`` int32

    ``leader_id`` int32: -1 if there is none.

    ``leader_epoch`` int32 (v7+)

    ``replica_nodes`` []int32

    ``isr_nodes`` []int32

    ``offline_replicas`` []int32 (v5+)
    """

    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataResponsePartition):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.partition_index == other.partition_index
            and self.leader_id == other.leader_id
            and self.leader_epoch == other.leader_epoch
            and self.replica_nodes == other.replica_nodes
            and self.isr_nodes == other.isr_nodes
            and self.offline_replicas == other.offline_replicas
        )

    def __repr__(self) -> str:
        return (
            f"MetadataResponsePartition(error_code={self.error_code!r}, "
            f"partition_index={self.partition_index!r}, "
            f"leader_id={self.leader_id!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"replica_nodes={self.replica_nodes!r}, "
            f"isr_nodes={self.isr_nodes!r}, "
            f"offline_replicas={self.offline_replicas!r})"
        )


class MetadataResponseTopic:
    """Part of :class:`MetadataResponse`.

    ``error_code`` int16

    ``name`` string

    ``topic_id`` uuid (v10+)

    ``is_internal`` bool (v1+)

    ``partitions`` []MetadataResponsePartition

    ``topic_authorized_operations`` int32 (v8+): Bit set; the minimum means "not asked".
    """

    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    error_code: int
    name: str | None
    topic_id: UUID
    is_internal: bool
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataResponseTopic):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.name == other.name
            and self.topic_id == other.topic_id
            and self.is_internal == other.is_internal
            and self.partitions == other.partitions
            and self.topic_authorized_operations == other.topic_authorized_operations
        )

    def __repr__(self) -> str:
        return (
            f"MetadataResponseTopic(error_code={self.error_code!r}, "
            f"name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"is_internal={self.is_internal!r}, "
            f"partitions={self.partitions!r}, "
            f"topic_authorized_operations={self.topic_authorized_operations!r})"
        )


class MetadataResponse:
    """The answering broker's view of the cluster.

    ``throttle_time_ms`` int32 (v3+)

    ``brokers`` []MetadataResponseBroker: Brokers that are alive.

    ``cluster_id`` string (v2+)

    ``controller_id`` int32 (v1+): In KRaft some live broker: it forwards.

    ``topics`` []MetadataResponseTopic

    ``cluster_authorized_operations`` int32 (v8-10)

    ``error_code`` int16 (v13+)
    """

    API_KEY: ClassVar[int] = 3
    NAME: ClassVar[str] = "MetadataResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int] = 9

    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")
    throttle_time_ms: int
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None
    controller_id: int
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int
    error_code: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = EMPTY,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is EMPTY else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.brokers == other.brokers
            and self.cluster_id == other.cluster_id
            and self.controller_id == other.controller_id
            and self.topics == other.topics
            and self.cluster_authorized_operations == other.cluster_authorized_operations
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"MetadataResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"brokers={self.brokers!r}, "
            f"cluster_id={self.cluster_id!r}, "
            f"controller_id={self.controller_id!r}, "
            f"topics={self.topics!r}, "
            f"cluster_authorized_operations={self.cluster_authorized_operations!r}, "
            f"error_code={self.error_code!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("MetadataResponse", version, 0, 13)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("MetadataResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> MetadataResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataResponse", version, 0, 13)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("MetadataResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[MetadataResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataResponse", version, 0, 13)
        return decoder(data, position)


def _encode_v0(m: MetadataResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
    l2 = m.topics
    n3 = len(l2)
    add(_pack_i(n3))
    for e2 in l2:
        if not (e2.topic_authorized_operations == -2147483648):
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.topic_authorized_operations", e2.topic_authorized_operations)
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b2 = e2.name.encode()
        n4 = len(b2)
        if n4 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b2))
        add(_pack_hh(e2.error_code, n4))
        add(b2)
        l3 = e2.partitions
        n5 = len(l3)
        add(_pack_i(n5))
        for e3 in l3:
            l4 = e3.replica_nodes
            n6 = len(l4)
            add(_pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, n6))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n7 = len(l5)
            add(_pack_i(n7))
            if l5:
                add(encode_array("i", l5))
    return out


def _encode_v1(m: MetadataResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\xff\xff")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(_pack_h(n3))
            add(b2)
    l2 = m.topics
    n4 = len(l2)
    add(_pack_ii(m.controller_id, n4))
    for e2 in l2:
        if not (e2.topic_authorized_operations == -2147483648):
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.topic_authorized_operations", e2.topic_authorized_operations)
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b3 = e2.name.encode()
        n5 = len(b3)
        if n5 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b3))
        add(_pack_hh(e2.error_code, n5))
        add(b3)
        l3 = e2.partitions
        n6 = len(l3)
        add(_pack_Ti(e2.is_internal, n6))
        for e3 in l3:
            l4 = e3.replica_nodes
            n7 = len(l4)
            add(_pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, n7))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n8 = len(l5)
            add(_pack_i(n8))
            if l5:
                add(encode_array("i", l5))
    return out


def _encode_v2(m: MetadataResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\xff\xff")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(_pack_h(n3))
            add(b2)
    if m.cluster_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(_pack_h(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2)
    add(_pack_ii(m.controller_id, n5))
    for e2 in l2:
        if not (e2.topic_authorized_operations == -2147483648):
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.topic_authorized_operations", e2.topic_authorized_operations)
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4)
        if n6 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hh(e2.error_code, n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3)
        add(_pack_Ti(e2.is_internal, n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4)
            add(_pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5)
            add(_pack_i(n9))
            if l5:
                add(encode_array("i", l5))
    return out


def _encode_v3(m: MetadataResponse) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\xff\xff")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(_pack_h(n3))
            add(b2)
    if m.cluster_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(_pack_h(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2)
    add(_pack_ii(m.controller_id, n5))
    for e2 in l2:
        if not (e2.topic_authorized_operations == -2147483648):
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.topic_authorized_operations", e2.topic_authorized_operations)
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4)
        if n6 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hh(e2.error_code, n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3)
        add(_pack_Ti(e2.is_internal, n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4)
            add(_pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5)
            add(_pack_i(n9))
            if l5:
                add(encode_array("i", l5))
    return out


def _encode_v5(m: MetadataResponse) -> list[bytes]:
    # versions 5, 6
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\xff\xff")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(_pack_h(n3))
            add(b2)
    if m.cluster_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(_pack_h(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2)
    add(_pack_ii(m.controller_id, n5))
    for e2 in l2:
        if not (e2.topic_authorized_operations == -2147483648):
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.topic_authorized_operations", e2.topic_authorized_operations)
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4)
        if n6 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hh(e2.error_code, n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3)
        add(_pack_Ti(e2.is_internal, n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4)
            add(_pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5)
            add(_pack_i(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6)
            add(_pack_i(n10))
            if l6:
                add(encode_array("i", l6))
    return out


def _encode_v7(m: MetadataResponse) -> list[bytes]:
    # versions 7
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\xff\xff")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(_pack_h(n3))
            add(b2)
    if m.cluster_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(_pack_h(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2)
    add(_pack_ii(m.controller_id, n5))
    for e2 in l2:
        if not (e2.topic_authorized_operations == -2147483648):
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.topic_authorized_operations", e2.topic_authorized_operations)
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4)
        if n6 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hh(e2.error_code, n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3)
        add(_pack_Ti(e2.is_internal, n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4)
            add(_pack_hiiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5)
            add(_pack_i(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6)
            add(_pack_i(n10))
            if l6:
                add(encode_array("i", l6))
    return out


def _encode_v8(m: MetadataResponse) -> list[bytes]:
    # versions 8
    out: list[bytes] = []
    add = out.append
    l1 = m.brokers
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_ih(e1.node_id, n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\xff\xff")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(_pack_h(n3))
            add(b2)
    if m.cluster_id is None:
        add(b"\xff\xff")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3)
        if n4 > 32767:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(_pack_h(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2)
    add(_pack_ii(m.controller_id, n5))
    for e2 in l2:
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4)
        if n6 > 32767:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hh(e2.error_code, n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3)
        add(_pack_Ti(e2.is_internal, n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4)
            add(_pack_hiiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5)
            add(_pack_i(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6)
            add(_pack_i(n10))
            if l6:
                add(encode_array("i", l6))
        add(_pack_i(e2.topic_authorized_operations))
    add(_pack_i(m.cluster_authorized_operations))
    return out


def _encode_v9(m: MetadataResponse) -> list[bytes]:
    # versions 9
    out: list[bytes] = []
    add = out.append
    l1 = m.brokers
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_iB(e1.node_id, n2) if n2 < 128 else _pack_i(e1.node_id) + uvarint(n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2) + 1
    add(_pack_iB(m.controller_id, n5) if n5 < 128 else _pack_i(m.controller_id) + uvarint(n5))
    for e2 in l2:
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hB(e2.error_code, n6) if n6 < 128 else _pack_h(e2.error_code) + uvarint(n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3) + 1
        add(_pack_TB(e2.is_internal, n7) if n7 < 128 else _pack_T(e2.is_internal) + uvarint(n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4) + 1
            add(_pack_hiiiB(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8) if n8 < 128 else _pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch) + uvarint(n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5) + 1
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6) + 1
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            if l6:
                add(encode_array("i", l6))
            add(b"\x00")
        add(_pack_ix(e2.topic_authorized_operations))
    add(_pack_ix(m.cluster_authorized_operations))
    return out


def _encode_v10(m: MetadataResponse) -> list[bytes]:
    # versions 10
    out: list[bytes] = []
    add = out.append
    l1 = m.brokers
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_iB(e1.node_id, n2) if n2 < 128 else _pack_i(e1.node_id) + uvarint(n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2) + 1
    add(_pack_iB(m.controller_id, n5) if n5 < 128 else _pack_i(m.controller_id) + uvarint(n5))
    for e2 in l2:
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hB(e2.error_code, n6) if n6 < 128 else _pack_h(e2.error_code) + uvarint(n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3) + 1
        add(_pack_UTB(e2.topic_id.bytes, e2.is_internal, n7) if n7 < 128 else _pack_UT(e2.topic_id.bytes, e2.is_internal) + uvarint(n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4) + 1
            add(_pack_hiiiB(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8) if n8 < 128 else _pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch) + uvarint(n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5) + 1
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6) + 1
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            if l6:
                add(encode_array("i", l6))
            add(b"\x00")
        add(_pack_ix(e2.topic_authorized_operations))
    add(_pack_ix(m.cluster_authorized_operations))
    return out


def _encode_v11(m: MetadataResponse) -> list[bytes]:
    # versions 11
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_iB(e1.node_id, n2) if n2 < 128 else _pack_i(e1.node_id) + uvarint(n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2) + 1
    add(_pack_iB(m.controller_id, n5) if n5 < 128 else _pack_i(m.controller_id) + uvarint(n5))
    for e2 in l2:
        if e2.name is None:
            raise not_in_version("MetadataResponse", "MetadataResponseTopic.name", None)
        b4 = e2.name.encode()
        n6 = len(b4) + 1
        if n6 > 32768:
            raise short_string("MetadataResponseTopic", "name", len(b4))
        add(_pack_hB(e2.error_code, n6) if n6 < 128 else _pack_h(e2.error_code) + uvarint(n6))
        add(b4)
        l3 = e2.partitions
        n7 = len(l3) + 1
        add(_pack_UTB(e2.topic_id.bytes, e2.is_internal, n7) if n7 < 128 else _pack_UT(e2.topic_id.bytes, e2.is_internal) + uvarint(n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4) + 1
            add(_pack_hiiiB(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8) if n8 < 128 else _pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch) + uvarint(n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5) + 1
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6) + 1
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            if l6:
                add(encode_array("i", l6))
            add(b"\x00")
        add(_pack_ix(e2.topic_authorized_operations))
    add(b"\x00")
    return out


def _encode_v12(m: MetadataResponse) -> list[bytes]:
    # versions 12
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_iB(e1.node_id, n2) if n2 < 128 else _pack_i(e1.node_id) + uvarint(n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2) + 1
    add(_pack_iB(m.controller_id, n5) if n5 < 128 else _pack_i(m.controller_id) + uvarint(n5))
    for e2 in l2:
        add(_pack_h(e2.error_code))
        if e2.name is None:
            add(b"\x00")
        else:
            b4 = e2.name.encode()
            n6 = len(b4) + 1
            if n6 > 32768:
                raise short_string("MetadataResponseTopic", "name", len(b4))
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            add(b4)
        l3 = e2.partitions
        n7 = len(l3) + 1
        add(_pack_UTB(e2.topic_id.bytes, e2.is_internal, n7) if n7 < 128 else _pack_UT(e2.topic_id.bytes, e2.is_internal) + uvarint(n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4) + 1
            add(_pack_hiiiB(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8) if n8 < 128 else _pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch) + uvarint(n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5) + 1
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6) + 1
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            if l6:
                add(encode_array("i", l6))
            add(b"\x00")
        add(_pack_ix(e2.topic_authorized_operations))
    add(b"\x00")
    return out


def _encode_v13(m: MetadataResponse) -> list[bytes]:
    # versions 13
    out: list[bytes] = []
    add = out.append
    if not (m.cluster_authorized_operations == -2147483648):
        raise not_in_version("MetadataResponse", "MetadataResponse.cluster_authorized_operations", m.cluster_authorized_operations)
    l1 = m.brokers
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.host.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("MetadataResponseBroker", "host", len(b1))
        add(_pack_iB(e1.node_id, n2) if n2 < 128 else _pack_i(e1.node_id) + uvarint(n2))
        add(b1)
        add(_pack_i(e1.port))
        if e1.rack is None:
            add(b"\x00")
        else:
            b2 = e1.rack.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("MetadataResponseBroker", "rack", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    if m.cluster_id is None:
        add(b"\x00")
    else:
        b3 = m.cluster_id.encode()
        n4 = len(b3) + 1
        if n4 > 32768:
            raise short_string("MetadataResponse", "cluster_id", len(b3))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b3)
    l2 = m.topics
    n5 = len(l2) + 1
    add(_pack_iB(m.controller_id, n5) if n5 < 128 else _pack_i(m.controller_id) + uvarint(n5))
    for e2 in l2:
        add(_pack_h(e2.error_code))
        if e2.name is None:
            add(b"\x00")
        else:
            b4 = e2.name.encode()
            n6 = len(b4) + 1
            if n6 > 32768:
                raise short_string("MetadataResponseTopic", "name", len(b4))
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            add(b4)
        l3 = e2.partitions
        n7 = len(l3) + 1
        add(_pack_UTB(e2.topic_id.bytes, e2.is_internal, n7) if n7 < 128 else _pack_UT(e2.topic_id.bytes, e2.is_internal) + uvarint(n7))
        for e3 in l3:
            l4 = e3.replica_nodes
            n8 = len(l4) + 1
            add(_pack_hiiiB(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8) if n8 < 128 else _pack_hiii(e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch) + uvarint(n8))
            if l4:
                add(encode_array("i", l4))
            l5 = e3.isr_nodes
            n9 = len(l5) + 1
            add(UVARINT[n9] if n9 < 128 else uvarint(n9))
            if l5:
                add(encode_array("i", l5))
            l6 = e3.offline_replicas
            n10 = len(l6) + 1
            add(UVARINT[n10] if n10 < 128 else uvarint(n10))
            if l6:
                add(encode_array("i", l6))
            add(b"\x00")
        add(_pack_ix(e2.topic_authorized_operations))
    add(_pack_hx(m.error_code))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.throttle_time_ms = 0
        m.cluster_id = None
        m.controller_id = -1
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 10 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.rack = None
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            (e1.port,) = _unpack_i(data, pos)
            pos += 4
        (n3,) = _unpack_i(data, pos)
        pos += 4
        if n3 < 0 or n3 * 8 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n3, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n3):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.is_internal = False
            e2.topic_authorized_operations = -2147483648
            e2.error_code, n4 = _unpack_hh(data, pos)
            pos += 4
            z2 = pos + n4
            if n4 < 0 or z2 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n4, pos, size)
            e2.name = str(data[pos:z2], "utf-8")
            pos = z2
            (n5,) = _unpack_i(data, pos)
            pos += 4
            if n5 < 0 or n5 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n5, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n5):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.leader_epoch = -1
                e3.offline_replicas = []
                e3.error_code, e3.partition_index, e3.leader_id, n6 = _unpack_hiii(data, pos)
                pos += 14
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n6, pos, size)
                e3.replica_nodes = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                (n7,) = _unpack_i(data, pos)
                pos += 4
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n7, pos, size)
                e3.isr_nodes = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.throttle_time_ms = 0
        m.cluster_id = None
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_ih(data, pos)
            pos += 6
            if n3 == -1:
                e1.rack = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
        m.controller_id, n4 = _unpack_ii(data, pos)
        pos += 8
        if n4 < 0 or n4 * 9 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n4, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n4):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.topic_authorized_operations = -2147483648
            e2.error_code, n5 = _unpack_hh(data, pos)
            pos += 4
            z3 = pos + n5
            if n5 < 0 or z3 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n5, pos, size)
            e2.name = str(data[pos:z3], "utf-8")
            pos = z3
            e2.is_internal, n6 = _unpack_Ti(data, pos)
            pos += 5
            if n6 < 0 or n6 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n6, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n6):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.leader_epoch = -1
                e3.offline_replicas = []
                e3.error_code, e3.partition_index, e3.leader_id, n7 = _unpack_hiii(data, pos)
                pos += 14
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n7, pos, size)
                e3.replica_nodes = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                (n8,) = _unpack_i(data, pos)
                pos += 4
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n8, pos, size)
                e3.isr_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.throttle_time_ms = 0
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_ih(data, pos)
            pos += 6
            if n3 == -1:
                e1.rack = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
        (n4,) = _unpack_h(data, pos)
        pos += 2
        if n4 == -1:
            m.cluster_id = None
        else:
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_ii(data, pos)
        pos += 8
        if n5 < 0 or n5 * 9 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.topic_authorized_operations = -2147483648
            e2.error_code, n6 = _unpack_hh(data, pos)
            pos += 4
            z4 = pos + n6
            if n6 < 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.is_internal, n7 = _unpack_Ti(data, pos)
            pos += 5
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.leader_epoch = -1
                e3.offline_replicas = []
                e3.error_code, e3.partition_index, e3.leader_id, n8 = _unpack_hiii(data, pos)
                pos += 14
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                (n9,) = _unpack_i(data, pos)
                pos += 4
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_ih(data, pos)
            pos += 6
            if n3 == -1:
                e1.rack = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
        (n4,) = _unpack_h(data, pos)
        pos += 2
        if n4 == -1:
            m.cluster_id = None
        else:
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_ii(data, pos)
        pos += 8
        if n5 < 0 or n5 * 9 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.topic_authorized_operations = -2147483648
            e2.error_code, n6 = _unpack_hh(data, pos)
            pos += 4
            z4 = pos + n6
            if n6 < 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.is_internal, n7 = _unpack_Ti(data, pos)
            pos += 5
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.leader_epoch = -1
                e3.offline_replicas = []
                e3.error_code, e3.partition_index, e3.leader_id, n8 = _unpack_hiii(data, pos)
                pos += 14
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                (n9,) = _unpack_i(data, pos)
                pos += 4
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 5, 6
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_ih(data, pos)
            pos += 6
            if n3 == -1:
                e1.rack = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
        (n4,) = _unpack_h(data, pos)
        pos += 2
        if n4 == -1:
            m.cluster_id = None
        else:
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_ii(data, pos)
        pos += 8
        if n5 < 0 or n5 * 9 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.topic_authorized_operations = -2147483648
            e2.error_code, n6 = _unpack_hh(data, pos)
            pos += 4
            z4 = pos + n6
            if n6 < 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.is_internal, n7 = _unpack_Ti(data, pos)
            pos += 5
            if n7 < 0 or n7 * 22 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.leader_epoch = -1
                e3.error_code, e3.partition_index, e3.leader_id, n8 = _unpack_hiii(data, pos)
                pos += 14
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                (n9,) = _unpack_i(data, pos)
                pos += 4
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                (n10,) = _unpack_i(data, pos)
                pos += 4
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 7
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_ih(data, pos)
            pos += 6
            if n3 == -1:
                e1.rack = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
        (n4,) = _unpack_h(data, pos)
        pos += 2
        if n4 == -1:
            m.cluster_id = None
        else:
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_ii(data, pos)
        pos += 8
        if n5 < 0 or n5 * 9 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.topic_authorized_operations = -2147483648
            e2.error_code, n6 = _unpack_hh(data, pos)
            pos += 4
            z4 = pos + n6
            if n6 < 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.is_internal, n7 = _unpack_Ti(data, pos)
            pos += 5
            if n7 < 0 or n7 * 26 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiii(data, pos)
                pos += 18
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                (n9,) = _unpack_i(data, pos)
                pos += 4
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                (n10,) = _unpack_i(data, pos)
                pos += 4
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 8
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_ih(data, pos)
            pos += 6
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_ih(data, pos)
            pos += 6
            if n3 == -1:
                e1.rack = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
        (n4,) = _unpack_h(data, pos)
        pos += 2
        if n4 == -1:
            m.cluster_id = None
        else:
            z3 = pos + n4
            if n4 < 0 or z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_ii(data, pos)
        pos += 8
        if n5 < 0 or n5 * 13 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.error_code, n6 = _unpack_hh(data, pos)
            pos += 4
            z4 = pos + n6
            if n6 < 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.is_internal, n7 = _unpack_Ti(data, pos)
            pos += 5
            if n7 < 0 or n7 * 26 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiii(data, pos)
                pos += 18
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                (n9,) = _unpack_i(data, pos)
                pos += 4
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                (n10,) = _unpack_i(data, pos)
                pos += 4
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
            (e2.topic_authorized_operations,) = _unpack_i(data, pos)
            pos += 4
        (m.cluster_authorized_operations,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 9
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_iB(data, pos)
            pos += 5
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2 - 1, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.rack = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3 - 1, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        if n4 == 0:
            m.cluster_id = None
        else:
            z3 = pos + n4 - 1
            if z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4 - 1, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_iB(data, pos)
        pos += 5
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 10 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.topic_id = ZERO_UUID
            e2.error_code, n6 = _unpack_hB(data, pos)
            pos += 3
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            e2.is_internal, n7 = _unpack_TB(data, pos)
            pos += 2
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiiB(data, pos)
                pos += 15
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                n10 -= 1
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("MetadataResponse", data, pos - 1)
            e2.topic_authorized_operations, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        m.cluster_authorized_operations, k4 = _unpack_iB(data, pos)
        pos += 5
        if k4:
            pos = skip_tagged("MetadataResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 10
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_iB(data, pos)
            pos += 5
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2 - 1, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.rack = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3 - 1, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        if n4 == 0:
            m.cluster_id = None
        else:
            z3 = pos + n4 - 1
            if z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4 - 1, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_iB(data, pos)
        pos += 5
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 26 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.error_code, n6 = _unpack_hB(data, pos)
            pos += 3
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            u1, e2.is_internal, n7 = _unpack_UTB(data, pos)
            pos += 18
            e2.topic_id = uuid_of(u1)
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiiB(data, pos)
                pos += 15
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                n10 -= 1
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("MetadataResponse", data, pos - 1)
            e2.topic_authorized_operations, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        m.cluster_authorized_operations, k4 = _unpack_iB(data, pos)
        pos += 5
        if k4:
            pos = skip_tagged("MetadataResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v11(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 11
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_iB(data, pos)
            pos += 5
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2 - 1, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.rack = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3 - 1, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        if n4 == 0:
            m.cluster_id = None
        else:
            z3 = pos + n4 - 1
            if z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4 - 1, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_iB(data, pos)
        pos += 5
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 26 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.error_code, n6 = _unpack_hB(data, pos)
            pos += 3
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6 - 1, pos, size)
            e2.name = str(data[pos:z4], "utf-8")
            pos = z4
            u1, e2.is_internal, n7 = _unpack_UTB(data, pos)
            pos += 18
            e2.topic_id = uuid_of(u1)
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiiB(data, pos)
                pos += 15
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                n10 -= 1
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("MetadataResponse", data, pos - 1)
            e2.topic_authorized_operations, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("MetadataResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v12(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 12
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.cluster_authorized_operations = -2147483648
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_iB(data, pos)
            pos += 5
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2 - 1, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.rack = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3 - 1, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        if n4 == 0:
            m.cluster_id = None
        else:
            z3 = pos + n4 - 1
            if z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4 - 1, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_iB(data, pos)
        pos += 5
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 26 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.error_code, n6 = _unpack_hB(data, pos)
            pos += 3
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            if n6 == 0:
                e2.name = None
            else:
                z4 = pos + n6 - 1
                if z4 > size:
                    raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6 - 1, pos, size)
                e2.name = str(data[pos:z4], "utf-8")
                pos = z4
            u1, e2.is_internal, n7 = _unpack_UTB(data, pos)
            pos += 18
            e2.topic_id = uuid_of(u1)
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiiB(data, pos)
                pos += 15
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                n10 -= 1
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("MetadataResponse", data, pos - 1)
            e2.topic_authorized_operations, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("MetadataResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


def _decode_v13(data: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    # versions 13
    size = len(data)
    try:
        m = MetadataResponse.__new__(MetadataResponse)
        m.cluster_authorized_operations = -2147483648
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.brokers", n1, pos, size)
        l1: list[MetadataResponseBroker] = []
        m.brokers = l1
        for _ in range(n1):
            e1 = MetadataResponseBroker.__new__(MetadataResponseBroker)
            l1.append(e1)
            e1.node_id, n2 = _unpack_iB(data, pos)
            pos += 5
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("MetadataResponse", "MetadataResponseBroker.host", n2 - 1, pos, size)
            e1.host = str(data[pos:z1], "utf-8")
            pos = z1
            e1.port, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.rack = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("MetadataResponse", "MetadataResponseBroker.rack", n3 - 1, pos, size)
                e1.rack = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        if n4 == 0:
            m.cluster_id = None
        else:
            z3 = pos + n4 - 1
            if z3 > size:
                raise overrun("MetadataResponse", "MetadataResponse.cluster_id", n4 - 1, pos, size)
            m.cluster_id = str(data[pos:z3], "utf-8")
            pos = z3
        m.controller_id, n5 = _unpack_iB(data, pos)
        pos += 5
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        n5 -= 1
        if n5 < 0 or n5 * 26 > size - pos:
            raise overrun("MetadataResponse", "MetadataResponse.topics", n5, pos, size)
        l2: list[MetadataResponseTopic] = []
        m.topics = l2
        for _ in range(n5):
            e2 = MetadataResponseTopic.__new__(MetadataResponseTopic)
            l2.append(e2)
            e2.error_code, n6 = _unpack_hB(data, pos)
            pos += 3
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            if n6 == 0:
                e2.name = None
            else:
                z4 = pos + n6 - 1
                if z4 > size:
                    raise overrun("MetadataResponse", "MetadataResponseTopic.name", n6 - 1, pos, size)
                e2.name = str(data[pos:z4], "utf-8")
                pos = z4
            u1, e2.is_internal, n7 = _unpack_UTB(data, pos)
            pos += 18
            e2.topic_id = uuid_of(u1)
            if n7 > 127:
                n7, pos = uvarint_at(data, pos - 1)
            n7 -= 1
            if n7 < 0 or n7 * 18 > size - pos:
                raise overrun("MetadataResponse", "MetadataResponseTopic.partitions", n7, pos, size)
            l3: list[MetadataResponsePartition] = []
            e2.partitions = l3
            for _ in range(n7):
                e3 = MetadataResponsePartition.__new__(MetadataResponsePartition)
                l3.append(e3)
                e3.error_code, e3.partition_index, e3.leader_id, e3.leader_epoch, n8 = _unpack_hiiiB(data, pos)
                pos += 15
                if n8 > 127:
                    n8, pos = uvarint_at(data, pos - 1)
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.replica_nodes", n8, pos, size)
                e3.replica_nodes = decode_array("i", n8, data, pos) if n8 else []
                pos += n8 * 4
                n9 = data[pos]
                pos += 1
                if n9 > 127:
                    n9, pos = uvarint_at(data, pos - 1)
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.isr_nodes", n9, pos, size)
                e3.isr_nodes = decode_array("i", n9, data, pos) if n9 else []
                pos += n9 * 4
                n10 = data[pos]
                pos += 1
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                n10 -= 1
                if n10 < 0 or n10 * 4 > size - pos:
                    raise overrun("MetadataResponse", "MetadataResponsePartition.offline_replicas", n10, pos, size)
                e3.offline_replicas = decode_array("i", n10, data, pos) if n10 else []
                pos += n10 * 4
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("MetadataResponse", data, pos - 1)
            e2.topic_authorized_operations, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("MetadataResponse", data, pos - 1)
        m.error_code, k4 = _unpack_hB(data, pos)
        pos += 3
        if k4:
            pos = skip_tagged("MetadataResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[MetadataResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v7,
    8: _encode_v8,
    9: _encode_v9,
    10: _encode_v10,
    11: _encode_v11,
    12: _encode_v12,
    13: _encode_v13,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[MetadataResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v7,
    8: _decode_v8,
    9: _decode_v9,
    10: _decode_v10,
    11: _decode_v11,
    12: _decode_v12,
    13: _decode_v13,
}
