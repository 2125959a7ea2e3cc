"""FetchRequest: request body, key 1, versions 4 to 17.

Generated from ``schemas/fetch.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_BBU: Final = Struct(">BB16s").pack
_pack_BBiqx: Final = Struct(">BBiqx").pack
_pack_UB: Final = Struct(">16sB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iiibii: Final = Struct(">iiibii").pack
_pack_iiibiiB: Final = Struct(">iiibiiB").pack
_pack_iiiibi: Final = Struct(">iiiibi").pack
_pack_iiiibii: Final = Struct(">iiiibii").pack
_pack_iiiibiiB: Final = Struct(">iiiibiiB").pack
_pack_iiiibiii: Final = Struct(">iiiibiii").pack
_pack_iiqiqi: Final = Struct(">iiqiqi").pack
_pack_iiqiqix: Final = Struct(">iiqiqix").pack
_pack_iiqqi: Final = Struct(">iiqqi").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_iqqi: Final = Struct(">iqqi").pack
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iiibiiB: Final = Struct(">iiibiiB").unpack_from
_unpack_iiiibi: Final = Struct(">iiiibi").unpack_from
_unpack_iiiibiiB: Final = Struct(">iiiibiiB").unpack_from
_unpack_iiiibiii: Final = Struct(">iiiibiii").unpack_from
_unpack_iiqiqiB: Final = Struct(">iiqiqiB").unpack_from
_unpack_iiqqi: Final = Struct(">iiqqi").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_iqqi: Final = Struct(">iqqi").unpack_from


class ReplicaState:
    """Part of :class:`FetchRequest`.

    ``replica_id`` int32 (v15+): Broker id of a follower, -1 for a consumer.

    ``replica_epoch`` int64 (v15+): The follower's broker epoch, -1 if unknown.
    """

    __slots__ = ("replica_id", "replica_epoch")
    replica_id: int
    replica_epoch: int

    def __init__(
        self,
        *,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicaState):
            return NotImplemented
        return (
            self.replica_id == other.replica_id
            and self.replica_epoch == other.replica_epoch
        )

    def __repr__(self) -> str:
        return (
            f"ReplicaState(replica_id={self.replica_id!r}, "
            f"replica_epoch={self.replica_epoch!r})"
        )


class FetchPartition:
    """Part of :class:`FetchRequest`.

    ``partition`` int32

    ``current_leader_epoch`` int32 (v9+): Fences the request (KIP-320); -1 if unknown.

    ``fetch_offset`` int64

    ``last_fetched_epoch`` int32 (v12+): Epoch of the last record before fetch_offset; -1 if none.

    ``log_start_offset`` int64 (v5+): The follower's own log start; -1 for consumers.

    ``partition_max_bytes`` int32

    ``replica_directory_id`` uuid (v17+, tag 0): The follower's log directory (KIP-853).
    """

    __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id")
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_directory_id: UUID

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchPartition):
            return NotImplemented
        return (
            self.partition == other.partition
            and self.current_leader_epoch == other.current_leader_epoch
            and self.fetch_offset == other.fetch_offset
            and self.last_fetched_epoch == other.last_fetched_epoch
            and self.log_start_offset == other.log_start_offset
            and self.partition_max_bytes == other.partition_max_bytes
            and self.replica_directory_id == other.replica_directory_id
        )

    def __repr__(self) -> str:
        return (
            f"FetchPartition(partition={self.partition!r}, "
            f"current_leader_epoch={self.current_leader_epoch!r}, "
            f"fetch_offset={self.fetch_offset!r}, "
            f"last_fetched_epoch={self.last_fetched_epoch!r}, "
            f"log_start_offset={self.log_start_offset!r}, "
            f"partition_max_bytes={self.partition_max_bytes!r}, "
            f"replica_directory_id={self.replica_directory_id!r})"
        )


class FetchTopic:
    """Part of :class:`FetchRequest`.

    ``topic`` string (v4-12)

    ``topic_id`` uuid (v13+)

    ``partitions`` []FetchPartition
    """

    __slots__ = ("topic", "topic_id", "partitions")
    topic: str
    topic_id: UUID
    partitions: list[FetchPartition]

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[FetchPartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchTopic):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"FetchTopic(topic={self.topic!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class ForgottenTopic:
    """Part of :class:`FetchRequest`.

    ``topic`` string (v7-12)

    ``topic_id`` uuid (v13+)

    ``partitions`` []int32 (v7+)
    """

    __slots__ = ("topic", "topic_id", "partitions")
    topic: str
    topic_id: UUID
    partitions: list[int]

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForgottenTopic):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"ForgottenTopic(topic={self.topic!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class FetchRequest:
    """Read from partitions: consumers, followers, and (KIP-595) voters and observers of the metadata log.

    ``cluster_id`` string (v12+, tag 0): Checked before a broker has registered.

    ``replica_id`` int32 (v4-14): Broker id of a follower, -1 for a consumer.

    ``replica_state`` ReplicaState (v15+, tag 1): Who follows, and in which incarnation (KIP-903).

    ``max_wait_ms`` int32: How long to wait for min_bytes.

    ``min_bytes`` int32

    ``max_bytes`` int32: Soft limit: the first batch is sent whatever its size (KIP-74).

    ``isolation_level`` int8: 0 read uncommitted, 1 read committed.

    ``session_id`` int32 (v7+): Fetch session (KIP-227); 0 for none.

    ``session_epoch`` int32 (v7+): -1: no session.

    ``topics`` []FetchTopic

    ``forgotten_topics_data`` []ForgottenTopic (v7+): Partitions to drop from the session.

    ``rack_id`` string (v11+): The consumer's rack (KIP-392).
    """

    API_KEY: ClassVar[int] = 1
    NAME: ClassVar[str] = "FetchRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 17
    FLEXIBLE_SINCE: ClassVar[int] = 12

    __slots__ = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")
    cluster_id: str | None
    replica_id: int
    replica_state: ReplicaState
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]
    rack_id: str

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = ReplicaState() if replica_state is None else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is EMPTY else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        self.rack_id = rack_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchRequest):
            return NotImplemented
        return (
            self.cluster_id == other.cluster_id
            and self.replica_id == other.replica_id
            and self.replica_state == other.replica_state
            and self.max_wait_ms == other.max_wait_ms
            and self.min_bytes == other.min_bytes
            and self.max_bytes == other.max_bytes
            and self.isolation_level == other.isolation_level
            and self.session_id == other.session_id
            and self.session_epoch == other.session_epoch
            and self.topics == other.topics
            and self.forgotten_topics_data == other.forgotten_topics_data
            and self.rack_id == other.rack_id
        )

    def __repr__(self) -> str:
        return (
            f"FetchRequest(cluster_id={self.cluster_id!r}, "
            f"replica_id={self.replica_id!r}, "
            f"replica_state={self.replica_state!r}, "
            f"max_wait_ms={self.max_wait_ms!r}, "
            f"min_bytes={self.min_bytes!r}, "
            f"max_bytes={self.max_bytes!r}, "
            f"isolation_level={self.isolation_level!r}, "
            f"session_id={self.session_id!r}, "
            f"session_epoch={self.session_epoch!r}, "
            f"topics={self.topics!r}, "
            f"forgotten_topics_data={self.forgotten_topics_data!r}, "
            f"rack_id={self.rack_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("FetchRequest", version, 4, 17)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("FetchRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> FetchRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchRequest", version, 4, 17)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("FetchRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[FetchRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchRequest", version, 4, 17)
        return decoder(data, position)


def _encode_v4(m: FetchRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    if not (not m.forgotten_topics_data):
        raise not_in_version("FetchRequest", "FetchRequest.forgotten_topics_data", m.forgotten_topics_data)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_iiiibi(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.last_fetched_epoch == -1):
                raise not_in_version("FetchRequest", "FetchPartition.last_fetched_epoch", e2.last_fetched_epoch)
            add(_pack_iqi(e2.partition, e2.fetch_offset, e2.partition_max_bytes))
    return out


def _encode_v5(m: FetchRequest) -> list[bytes]:
    # versions 5, 6
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    if not (not m.forgotten_topics_data):
        raise not_in_version("FetchRequest", "FetchRequest.forgotten_topics_data", m.forgotten_topics_data)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_iiiibi(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.last_fetched_epoch == -1):
                raise not_in_version("FetchRequest", "FetchPartition.last_fetched_epoch", e2.last_fetched_epoch)
            add(_pack_iqqi(e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes))
    return out


def _encode_v7(m: FetchRequest) -> list[bytes]:
    # versions 7, 8
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.last_fetched_epoch == -1):
                raise not_in_version("FetchRequest", "FetchPartition.last_fetched_epoch", e2.last_fetched_epoch)
            add(_pack_iqqi(e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes))
    l3 = m.forgotten_topics_data
    n4 = len(l3)
    add(_pack_i(n4))
    for e3 in l3:
        b2 = e3.topic.encode()
        n5 = len(b2)
        if n5 > 32767:
            raise short_string("ForgottenTopic", "topic", len(b2))
        add(_pack_h(n5))
        add(b2)
        l4 = e3.partitions
        n6 = len(l4)
        add(_pack_i(n6))
        if l4:
            add(encode_array("i", l4))
    return out


def _encode_v9(m: FetchRequest) -> list[bytes]:
    # versions 9, 10
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.last_fetched_epoch == -1):
                raise not_in_version("FetchRequest", "FetchPartition.last_fetched_epoch", e2.last_fetched_epoch)
            add(_pack_iiqqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes))
    l3 = m.forgotten_topics_data
    n4 = len(l3)
    add(_pack_i(n4))
    for e3 in l3:
        b2 = e3.topic.encode()
        n5 = len(b2)
        if n5 > 32767:
            raise short_string("ForgottenTopic", "topic", len(b2))
        add(_pack_h(n5))
        add(b2)
        l4 = e3.partitions
        n6 = len(l4)
        add(_pack_i(n6))
        if l4:
            add(encode_array("i", l4))
    return out


def _encode_v11(m: FetchRequest) -> list[bytes]:
    # versions 11
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchTopic", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.last_fetched_epoch == -1):
                raise not_in_version("FetchRequest", "FetchPartition.last_fetched_epoch", e2.last_fetched_epoch)
            add(_pack_iiqqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes))
    l3 = m.forgotten_topics_data
    n4 = len(l3)
    add(_pack_i(n4))
    for e3 in l3:
        b2 = e3.topic.encode()
        n5 = len(b2)
        if n5 > 32767:
            raise short_string("ForgottenTopic", "topic", len(b2))
        add(_pack_h(n5))
        add(b2)
        l4 = e3.partitions
        n6 = len(l4)
        add(_pack_i(n6))
        if l4:
            add(encode_array("i", l4))
    b3 = m.rack_id.encode()
    n7 = len(b3)
    if n7 > 32767:
        raise short_string("FetchRequest", "rack_id", len(b3))
    add(_pack_h(n7))
    add(b3)
    return out


def _encode_v12(m: FetchRequest) -> list[bytes]:
    # versions 12
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiiibiiB(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1) if n1 < 128 else _pack_iiiibii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("FetchTopic", "topic", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiqiqix(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes))
        add(b"\x00")
    l3 = m.forgotten_topics_data
    n4 = len(l3) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    for e3 in l3:
        b2 = e3.topic.encode()
        n5 = len(b2) + 1
        if n5 > 32768:
            raise short_string("ForgottenTopic", "topic", len(b2))
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        add(b2)
        l4 = e3.partitions
        n6 = len(l4) + 1
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        if l4:
            add(encode_array("i", l4))
        add(b"\x00")
    b3 = m.rack_id.encode()
    n7 = len(b3) + 1
    if n7 > 32768:
        raise short_string("FetchRequest", "rack_id", len(b3))
    add(UVARINT[n7] if n7 < 128 else uvarint(n7))
    add(b3)
    if m.cluster_id is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.cluster_id is None):
            k1 += 1
            p1: list[bytes] = []
            b4 = m.cluster_id.encode()
            n8 = len(b4) + 1
            if n8 > 32768:
                raise short_string("FetchRequest", "cluster_id", len(b4))
            p1.append(UVARINT[n8] if n8 < 128 else uvarint(n8))
            p1.append(b4)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v13(m: FetchRequest) -> list[bytes]:
    # versions 13, 14
    out: list[bytes] = []
    add = out.append
    if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_state", m.replica_state)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiiibiiB(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1) if n1 < 128 else _pack_iiiibii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            add(_pack_iiqiqix(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes))
        add(b"\x00")
    l3 = m.forgotten_topics_data
    n3 = len(l3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    for e3 in l3:
        l4 = e3.partitions
        n4 = len(l4) + 1
        add(_pack_UB(e3.topic_id.bytes, n4) if n4 < 128 else e3.topic_id.bytes + uvarint(n4))
        if l4:
            add(encode_array("i", l4))
        add(b"\x00")
    b1 = m.rack_id.encode()
    n5 = len(b1) + 1
    if n5 > 32768:
        raise short_string("FetchRequest", "rack_id", len(b1))
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    add(b1)
    if m.cluster_id is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.cluster_id is None):
            k1 += 1
            p1: list[bytes] = []
            b2 = m.cluster_id.encode()
            n6 = len(b2) + 1
            if n6 > 32768:
                raise short_string("FetchRequest", "cluster_id", len(b2))
            p1.append(UVARINT[n6] if n6 < 128 else uvarint(n6))
            p1.append(b2)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v15(m: FetchRequest) -> list[bytes]:
    # versions 15, 16
    out: list[bytes] = []
    add = out.append
    if not (m.replica_id == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_id", m.replica_id)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiibiiB(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1) if n1 < 128 else _pack_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            add(_pack_iiqiqix(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes))
        add(b"\x00")
    l3 = m.forgotten_topics_data
    n3 = len(l3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    for e3 in l3:
        l4 = e3.partitions
        n4 = len(l4) + 1
        add(_pack_UB(e3.topic_id.bytes, n4) if n4 < 128 else e3.topic_id.bytes + uvarint(n4))
        if l4:
            add(encode_array("i", l4))
        add(b"\x00")
    b1 = m.rack_id.encode()
    n5 = len(b1) + 1
    if n5 > 32768:
        raise short_string("FetchRequest", "rack_id", len(b1))
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    add(b1)
    if m.cluster_id is None and m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.cluster_id is None):
            k1 += 1
            p1: list[bytes] = []
            b2 = m.cluster_id.encode()
            n6 = len(b2) + 1
            if n6 > 32768:
                raise short_string("FetchRequest", "cluster_id", len(b2))
            p1.append(UVARINT[n6] if n6 < 128 else uvarint(n6))
            p1.append(b2)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
            k1 += 1
            t1.append(_pack_BBiqx(1, 13, m.replica_state.replica_id, m.replica_state.replica_epoch))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v17(m: FetchRequest) -> list[bytes]:
    # versions 17
    out: list[bytes] = []
    add = out.append
    if not (m.replica_id == -1):
        raise not_in_version("FetchRequest", "FetchRequest.replica_id", m.replica_id)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiibiiB(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1) if n1 < 128 else _pack_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            add(_pack_iiqiqi(e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes))
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
    l3 = m.forgotten_topics_data
    n3 = len(l3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    for e3 in l3:
        l4 = e3.partitions
        n4 = len(l4) + 1
        add(_pack_UB(e3.topic_id.bytes, n4) if n4 < 128 else e3.topic_id.bytes + uvarint(n4))
        if l4:
            add(encode_array("i", l4))
        add(b"\x00")
    b1 = m.rack_id.encode()
    n5 = len(b1) + 1
    if n5 > 32768:
        raise short_string("FetchRequest", "rack_id", len(b1))
    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
    add(b1)
    if m.cluster_id is None and m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1:
        add(b"\x00")
    else:
        k2 = 0
        t2: list[bytes] = []
        if not (m.cluster_id is None):
            k2 += 1
            p2: list[bytes] = []
            b2 = m.cluster_id.encode()
            n6 = len(b2) + 1
            if n6 > 32768:
                raise short_string("FetchRequest", "cluster_id", len(b2))
            p2.append(UVARINT[n6] if n6 < 128 else uvarint(n6))
            p2.append(b2)
            q1 = b"".join(p2)
            t2 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.replica_state.replica_id == -1 and m.replica_state.replica_epoch == -1):
            k2 += 1
            t2.append(_pack_BBiqx(1, 13, m.replica_state.replica_id, m.replica_state.replica_epoch))
        add(UVARINT[k2] + b"".join(t2))
    return out


def _decode_v4(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.session_id = 0
        m.session_epoch = -1
        m.forgotten_topics_data = []
        m.rack_id = ""
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n1 = _unpack_iiiibi(data, pos)
        pos += 21
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchRequest", "FetchTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 16 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n3, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.current_leader_epoch = -1
                e2.last_fetched_epoch = -1
                e2.log_start_offset = -1
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.fetch_offset, e2.partition_max_bytes = _unpack_iqi(data, pos)
                pos += 16
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 5, 6
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.session_id = 0
        m.session_epoch = -1
        m.forgotten_topics_data = []
        m.rack_id = ""
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n1 = _unpack_iiiibi(data, pos)
        pos += 21
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchRequest", "FetchTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 24 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n3, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.current_leader_epoch = -1
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _unpack_iqqi(data, pos)
                pos += 24
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 7, 8
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.rack_id = ""
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiiibiii(data, pos)
        pos += 29
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchRequest", "FetchTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 24 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n3, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.current_leader_epoch = -1
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _unpack_iqqi(data, pos)
                pos += 24
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n4, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n4):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic_id = ZERO_UUID
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n5
            if n5 < 0 or z2 > size:
                raise overrun("FetchRequest", "ForgottenTopic.topic", n5, pos, size)
            e3.topic = str(data[pos:z2], "utf-8")
            pos = z2
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n6, pos, size)
            e3.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 9, 10
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.rack_id = ""
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiiibiii(data, pos)
        pos += 29
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchRequest", "FetchTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 28 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n3, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _unpack_iiqqi(data, pos)
                pos += 28
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n4, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n4):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic_id = ZERO_UUID
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n5
            if n5 < 0 or z2 > size:
                raise overrun("FetchRequest", "ForgottenTopic.topic", n5, pos, size)
            e3.topic = str(data[pos:z2], "utf-8")
            pos = z2
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n6, pos, size)
            e3.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v11(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 11
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiiibiii(data, pos)
        pos += 29
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchRequest", "FetchTopic.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 28 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n3, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.last_fetched_epoch = -1
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.log_start_offset, e2.partition_max_bytes = _unpack_iiqqi(data, pos)
                pos += 28
        (n4,) = _unpack_i(data, pos)
        pos += 4
        if n4 < 0 or n4 * 6 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n4, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n4):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic_id = ZERO_UUID
            (n5,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n5
            if n5 < 0 or z2 > size:
                raise overrun("FetchRequest", "ForgottenTopic.topic", n5, pos, size)
            e3.topic = str(data[pos:z2], "utf-8")
            pos = z2
            (n6,) = _unpack_i(data, pos)
            pos += 4
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n6, pos, size)
            e3.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
        (n7,) = _unpack_h(data, pos)
        pos += 2
        z3 = pos + n7
        if n7 < 0 or z3 > size:
            raise overrun("FetchRequest", "FetchRequest.rack_id", n7, pos, size)
        m.rack_id = str(data[pos:z3], "utf-8")
        pos = z3
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v12(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 12
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiiibiiB(data, pos)
        pos += 26
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("FetchRequest", "FetchTopic.topic", n2 - 1, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n3, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, k1 = _unpack_iiqiqiB(data, pos)
                pos += 33
                if k1:
                    pos = skip_tagged("FetchRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        n4 -= 1
        if n4 < 0 or n4 * 3 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n4, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n4):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic_id = ZERO_UUID
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z2 = pos + n5 - 1
            if n5 == 0 or z2 > size:
                raise overrun("FetchRequest", "ForgottenTopic.topic", n5 - 1, pos, size)
            e3.topic = str(data[pos:z2], "utf-8")
            pos = z2
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            n6 -= 1
            if n6 < 0 or n6 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n6, pos, size)
            e3.partitions = decode_array("i", n6, data, pos) if n6 else []
            pos += n6 * 4
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n7 = data[pos]
        pos += 1
        if n7 > 127:
            n7, pos = uvarint_at(data, pos - 1)
        z3 = pos + n7 - 1
        if n7 == 0 or z3 > size:
            raise overrun("FetchRequest", "FetchRequest.rack_id", n7 - 1, pos, size)
        m.rack_id = str(data[pos:z3], "utf-8")
        pos = z3
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
                    raise overrun("FetchRequest", "FetchRequest tagged field", s1, pos, size)
                if g1 == 0:
                    n8 = data[pos]
                    pos += 1
                    if n8 > 127:
                        n8, pos = uvarint_at(data, pos - 1)
                    if n8 == 0:
                        m.cluster_id = None
                    else:
                        z4 = pos + n8 - 1
                        if z4 > size:
                            raise overrun("FetchRequest", "FetchRequest.cluster_id", n8 - 1, pos, size)
                        m.cluster_id = str(data[pos:z4], "utf-8")
                        pos = z4
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("FetchRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v13(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 13, 14
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiiibiiB(data, pos)
        pos += 26
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 33 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n2, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, k1 = _unpack_iiqiqiB(data, pos)
                pos += 33
                if k1:
                    pos = skip_tagged("FetchRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 18 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n3, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic = ""
            u2, n4 = _unpack_UB(data, pos)
            pos += 17
            e3.topic_id = uuid_of(u2)
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n4, pos, size)
            e3.partitions = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        z1 = pos + n5 - 1
        if n5 == 0 or z1 > size:
            raise overrun("FetchRequest", "FetchRequest.rack_id", n5 - 1, pos, size)
        m.rack_id = str(data[pos:z1], "utf-8")
        pos = z1
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
                    raise overrun("FetchRequest", "FetchRequest tagged field", s1, pos, size)
                if g1 == 0:
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        m.cluster_id = None
                    else:
                        z2 = pos + n6 - 1
                        if z2 > size:
                            raise overrun("FetchRequest", "FetchRequest.cluster_id", n6 - 1, pos, size)
                        m.cluster_id = str(data[pos:z2], "utf-8")
                        pos = z2
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("FetchRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v15(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 15, 16
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_id = -1
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiibiiB(data, pos)
        pos += 22
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 33 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n2, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, k1 = _unpack_iiqiqiB(data, pos)
                pos += 33
                if k1:
                    pos = skip_tagged("FetchRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 18 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n3, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic = ""
            u2, n4 = _unpack_UB(data, pos)
            pos += 17
            e3.topic_id = uuid_of(u2)
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n4, pos, size)
            e3.partitions = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        z1 = pos + n5 - 1
        if n5 == 0 or z1 > size:
            raise overrun("FetchRequest", "FetchRequest.rack_id", n5 - 1, pos, size)
        m.rack_id = str(data[pos:z1], "utf-8")
        pos = z1
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
                    raise overrun("FetchRequest", "FetchRequest tagged field", s1, pos, size)
                if g1 == 0:
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        m.cluster_id = None
                    else:
                        z2 = pos + n6 - 1
                        if z2 > size:
                            raise overrun("FetchRequest", "FetchRequest.cluster_id", n6 - 1, pos, size)
                        m.cluster_id = str(data[pos:z2], "utf-8")
                        pos = z2
                elif g1 == 1:
                    o1.replica_id, o1.replica_epoch, k5 = _unpack_iqB(data, pos)
                    pos += 13
                    if k5:
                        pos = skip_tagged("FetchRequest", data, pos - 1)
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("FetchRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


def _decode_v17(data: Buffer, pos: int) -> tuple[FetchRequest, int]:
    # versions 17
    size = len(data)
    try:
        m = FetchRequest.__new__(FetchRequest)
        m.cluster_id = None
        m.replica_id = -1
        o1 = ReplicaState.__new__(ReplicaState)
        m.replica_state = o1
        o1.replica_id = -1
        o1.replica_epoch = -1
        m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n1 = _unpack_iiibiiB(data, pos)
        pos += 22
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.topics", n1, pos, size)
        l1: list[FetchTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = FetchTopic.__new__(FetchTopic)
            l1.append(e1)
            e1.topic = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 33 > size - pos:
                raise overrun("FetchRequest", "FetchTopic.partitions", n2, pos, size)
            l2: list[FetchPartition] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = FetchPartition.__new__(FetchPartition)
                l2.append(e2)
                e2.replica_directory_id = ZERO_UUID
                e2.partition, e2.current_leader_epoch, e2.fetch_offset, e2.last_fetched_epoch, e2.log_start_offset, e2.partition_max_bytes, k1 = _unpack_iiqiqiB(data, pos)
                pos += 33
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
                            raise overrun("FetchRequest", "FetchPartition tagged field", s1, pos, size)
                        if g1 == 0:
                            (u2,) = _unpack_U(data, pos)
                            pos += 16
                            e2.replica_directory_id = uuid_of(u2)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchRequest", pos, "tagged field of another length than announced")
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 18 > size - pos:
            raise overrun("FetchRequest", "FetchRequest.forgotten_topics_data", n3, pos, size)
        l3: list[ForgottenTopic] = []
        m.forgotten_topics_data = l3
        for _ in range(n3):
            e3 = ForgottenTopic.__new__(ForgottenTopic)
            l3.append(e3)
            e3.topic = ""
            u3, n4 = _unpack_UB(data, pos)
            pos += 17
            e3.topic_id = uuid_of(u3)
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("FetchRequest", "ForgottenTopic.partitions", n4, pos, size)
            e3.partitions = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("FetchRequest", data, pos - 1)
        n5 = data[pos]
        pos += 1
        if n5 > 127:
            n5, pos = uvarint_at(data, pos - 1)
        z1 = pos + n5 - 1
        if n5 == 0 or z1 > size:
            raise overrun("FetchRequest", "FetchRequest.rack_id", n5 - 1, pos, size)
        m.rack_id = str(data[pos:z1], "utf-8")
        pos = z1
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
                    raise overrun("FetchRequest", "FetchRequest tagged field", s2, pos, size)
                if g2 == 0:
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        m.cluster_id = None
                    else:
                        z2 = pos + n6 - 1
                        if z2 > size:
                            raise overrun("FetchRequest", "FetchRequest.cluster_id", n6 - 1, pos, size)
                        m.cluster_id = str(data[pos:z2], "utf-8")
                        pos = z2
                elif g2 == 1:
                    o1.replica_id, o1.replica_epoch, k5 = _unpack_iqB(data, pos)
                    pos += 13
                    if k5:
                        pos = skip_tagged("FetchRequest", data, pos - 1)
                else:
                    pos = y2
                if pos != y2:
                    raise DecodeError("FetchRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[FetchRequest], list[bytes]]]] = {
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v7,
    8: _encode_v7,
    9: _encode_v9,
    10: _encode_v9,
    11: _encode_v11,
    12: _encode_v12,
    13: _encode_v13,
    14: _encode_v13,
    15: _encode_v15,
    16: _encode_v15,
    17: _encode_v17,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[FetchRequest, int]]]] = {
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v7,
    8: _decode_v7,
    9: _decode_v9,
    10: _decode_v9,
    11: _decode_v11,
    12: _decode_v12,
    13: _decode_v13,
    14: _decode_v13,
    15: _decode_v15,
    16: _decode_v15,
    17: _decode_v17,
}
