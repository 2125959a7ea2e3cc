"""FetchResponse: response body, key 1, versions 4 to 17.

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
    malformed,
    not_in_version,
    overrun,
    short_string,
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_BBiix: Final = Struct(">BBiix").pack
_pack_BBiqx: Final = Struct(">BBiqx").pack
_pack_BBqix: Final = Struct(">BBqix").pack
_pack_UB: Final = Struct(">16sB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ihiB: Final = Struct(">ihiB").pack
_pack_ihii: Final = Struct(">ihii").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqq: Final = Struct(">ihqqq").pack
_pack_ii: Final = Struct(">ii").pack
_pack_qq: Final = Struct(">qq").pack
_pack_qqx: Final = Struct(">qqx").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihiB: Final = Struct(">ihiB").unpack_from
_unpack_ihii: Final = Struct(">ihii").unpack_from
_unpack_ihqqi: Final = Struct(">ihqqi").unpack_from
_unpack_ihqqqB: Final = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi: Final = Struct(">ihqqqi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iiB: Final = Struct(">iiB").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from
_unpack_qiB: Final = Struct(">qiB").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from
_unpack_qqB: Final = Struct(">qqB").unpack_from


class EpochEndOffset:
    """Part of :class:`FetchResponse`.

    ``epoch`` int32 (v12+): The leader's largest epoch not above the fetcher's last one.

    ``end_offset`` int64 (v12+): Where that epoch ends in the leader's log.
    """

    __slots__ = ("epoch", "end_offset")
    epoch: int
    end_offset: int

    def __init__(
        self,
        *,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EpochEndOffset):
            return NotImplemented
        return (
            self.epoch == other.epoch
            and self.end_offset == other.end_offset
        )

    def __repr__(self) -> str:
        return (
            f"EpochEndOffset(epoch={self.epoch!r}, "
            f"end_offset={self.end_offset!r})"
        )


class LeaderIdAndEpoch:
    """Part of :class:`FetchResponse`.

    ``leader_id`` int32 (v12+)

    ``leader_epoch`` int32 (v12+)
    """

    __slots__ = ("leader_id", "leader_epoch")
    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
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


class SnapshotId:
    """Part of :class:`FetchResponse`.

    ``end_offset`` int64

    ``epoch`` int32
    """

    __slots__ = ("end_offset", "epoch")
    end_offset: int
    epoch: int

    def __init__(
        self,
        *,
        end_offset: int = -1,
        epoch: int = -1,
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


class AbortedTransaction:
    """Part of :class:`FetchResponse`.

    ``producer_id`` int64

    ``first_offset`` int64
    """

    __slots__ = ("producer_id", "first_offset")
    producer_id: int
    first_offset: int

    def __init__(
        self,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbortedTransaction):
            return NotImplemented
        return (
            self.producer_id == other.producer_id
            and self.first_offset == other.first_offset
        )

    def __repr__(self) -> str:
        return (
            f"AbortedTransaction(producer_id={self.producer_id!r}, "
            f"first_offset={self.first_offset!r})"
        )


class PartitionData:
    """Part of :class:`FetchResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``high_watermark`` int64: -1 if unknown.

    ``last_stable_offset`` int64

    ``log_start_offset`` int64 (v5+)

    ``diverging_epoch`` EpochEndOffset (v12+, tag 0): Set if the fetcher has records that the leader has not.

    ``current_leader`` LeaderIdAndEpoch (v12+, tag 1)

    ``snapshot_id`` SnapshotId (v12+, tag 2): Fetch this snapshot first: the offset is below the log's start.

    ``aborted_transactions`` []AbortedTransaction

    ``preferred_read_replica`` int32 (v11+)

    ``records`` records: Whole batches; the last may be cut off.
    """

    __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "aborted_transactions", "preferred_read_replica", "records")
    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging_epoch: EpochEndOffset
    current_leader: LeaderIdAndEpoch
    snapshot_id: SnapshotId
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: int
    records: bytes | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: list[AbortedTransaction] | None = EMPTY,
        preferred_read_replica: int = -1,
        records: bytes | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = EpochEndOffset() if diverging_epoch is None else diverging_epoch
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.aborted_transactions = [] if aborted_transactions is EMPTY else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionData):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.high_watermark == other.high_watermark
            and self.last_stable_offset == other.last_stable_offset
            and self.log_start_offset == other.log_start_offset
            and self.diverging_epoch == other.diverging_epoch
            and self.current_leader == other.current_leader
            and self.snapshot_id == other.snapshot_id
            and self.aborted_transactions == other.aborted_transactions
            and self.preferred_read_replica == other.preferred_read_replica
            and self.records == other.records
        )

    def __repr__(self) -> str:
        return (
            f"PartitionData(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"high_watermark={self.high_watermark!r}, "
            f"last_stable_offset={self.last_stable_offset!r}, "
            f"log_start_offset={self.log_start_offset!r}, "
            f"diverging_epoch={self.diverging_epoch!r}, "
            f"current_leader={self.current_leader!r}, "
            f"snapshot_id={self.snapshot_id!r}, "
            f"aborted_transactions={self.aborted_transactions!r}, "
            f"preferred_read_replica={self.preferred_read_replica!r}, "
            f"records={show(self.records)})"
        )


class FetchableTopicResponse:
    """Part of :class:`FetchResponse`.

    ``topic`` string (v4-12)

    ``topic_id`` uuid (v13+)

    ``partitions`` []PartitionData
    """

    __slots__ = ("topic", "topic_id", "partitions")
    topic: str
    topic_id: UUID
    partitions: list[PartitionData]

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchableTopicResponse):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"FetchableTopicResponse(topic={self.topic!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partitions={self.partitions!r})"
        )


class NodeEndpoint:
    """Part of :class:`FetchResponse`.

    ``node_id`` int32 (v16+)

    ``host`` string (v16+)

    ``port`` int32 (v16+)

    ``rack`` string (v16+)
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
        if not isinstance(other, NodeEndpoint):
            return NotImplemented
        return (
            self.node_id == other.node_id
            and self.host == other.host
            and self.port == other.port
            and self.rack == other.rack
        )

    def __repr__(self) -> str:
        return (
            f"NodeEndpoint(node_id={self.node_id!r}, "
            f"host={self.host!r}, "
            f"port={self.port!r}, "
            f"rack={self.rack!r})"
        )


class FetchResponse:
    """Records, high watermarks, and where the fetcher's log diverges.

    ``throttle_time_ms`` int32

    ``error_code`` int16 (v7+)

    ``session_id`` int32 (v7+)

    ``responses`` []FetchableTopicResponse

    ``node_endpoints`` []NodeEndpoint (v16+, tag 0): Endpoints of the current leaders.
    """

    API_KEY: ClassVar[int] = 1
    NAME: ClassVar[str] = "FetchResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 17
    FLEXIBLE_SINCE: ClassVar[int] = 12

    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FetchResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.session_id == other.session_id
            and self.responses == other.responses
            and self.node_endpoints == other.node_endpoints
        )

    def __repr__(self) -> str:
        return (
            f"FetchResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"session_id={self.session_id!r}, "
            f"responses={self.responses!r}, "
            f"node_endpoints={self.node_endpoints!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("FetchResponse", version, 4, 17)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("FetchResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> FetchResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchResponse", version, 4, 17)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("FetchResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[FetchResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("FetchResponse", version, 4, 17)
        return decoder(data, position)


def _encode_v4(m: FetchResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (m.session_id == 0):
        raise not_in_version("FetchResponse", "FetchResponse.session_id", m.session_id)
    if not (not m.node_endpoints):
        raise not_in_version("FetchResponse", "FetchResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchableTopicResponse", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                raise not_in_version("FetchResponse", "PartitionData.diverging_epoch", e2.diverging_epoch)
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.current_leader", e2.current_leader)
            if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.snapshot_id", e2.snapshot_id)
            if not (e2.preferred_read_replica == -1):
                raise not_in_version("FetchResponse", "PartitionData.preferred_read_replica", e2.preferred_read_replica)
            l3 = e2.aborted_transactions
            add(_pack_ihqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset))
            if l3 is None:
                add(b"\xff\xff\xff\xff")
            else:
                n4 = len(l3)
                add(_pack_i(n4))
                for e3 in l3:
                    add(_pack_qq(e3.producer_id, e3.first_offset))
            if e2.records is None:
                add(b"\xff\xff\xff\xff")
            else:
                b2 = e2.records
                n5 = len(b2)
                add(_pack_i(n5))
                add(b2)
    return out


def _encode_v5(m: FetchResponse) -> list[bytes]:
    # versions 5, 6
    out: list[bytes] = []
    add = out.append
    if not (m.session_id == 0):
        raise not_in_version("FetchResponse", "FetchResponse.session_id", m.session_id)
    if not (not m.node_endpoints):
        raise not_in_version("FetchResponse", "FetchResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchableTopicResponse", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                raise not_in_version("FetchResponse", "PartitionData.diverging_epoch", e2.diverging_epoch)
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.current_leader", e2.current_leader)
            if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.snapshot_id", e2.snapshot_id)
            if not (e2.preferred_read_replica == -1):
                raise not_in_version("FetchResponse", "PartitionData.preferred_read_replica", e2.preferred_read_replica)
            l3 = e2.aborted_transactions
            add(_pack_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset))
            if l3 is None:
                add(b"\xff\xff\xff\xff")
            else:
                n4 = len(l3)
                add(_pack_i(n4))
                for e3 in l3:
                    add(_pack_qq(e3.producer_id, e3.first_offset))
            if e2.records is None:
                add(b"\xff\xff\xff\xff")
            else:
                b2 = e2.records
                n5 = len(b2)
                add(_pack_i(n5))
                add(b2)
    return out


def _encode_v7(m: FetchResponse) -> list[bytes]:
    # versions 7, 8, 9, 10
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("FetchResponse", "FetchResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_ihii(m.throttle_time_ms, m.error_code, m.session_id, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchableTopicResponse", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                raise not_in_version("FetchResponse", "PartitionData.diverging_epoch", e2.diverging_epoch)
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.current_leader", e2.current_leader)
            if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.snapshot_id", e2.snapshot_id)
            if not (e2.preferred_read_replica == -1):
                raise not_in_version("FetchResponse", "PartitionData.preferred_read_replica", e2.preferred_read_replica)
            l3 = e2.aborted_transactions
            add(_pack_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset))
            if l3 is None:
                add(b"\xff\xff\xff\xff")
            else:
                n4 = len(l3)
                add(_pack_i(n4))
                for e3 in l3:
                    add(_pack_qq(e3.producer_id, e3.first_offset))
            if e2.records is None:
                add(b"\xff\xff\xff\xff")
            else:
                b2 = e2.records
                n5 = len(b2)
                add(_pack_i(n5))
                add(b2)
    return out


def _encode_v11(m: FetchResponse) -> list[bytes]:
    # versions 11
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("FetchResponse", "FetchResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_ihii(m.throttle_time_ms, m.error_code, m.session_id, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("FetchableTopicResponse", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                raise not_in_version("FetchResponse", "PartitionData.diverging_epoch", e2.diverging_epoch)
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.current_leader", e2.current_leader)
            if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                raise not_in_version("FetchResponse", "PartitionData.snapshot_id", e2.snapshot_id)
            l3 = e2.aborted_transactions
            add(_pack_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset))
            if l3 is None:
                add(b"\xff\xff\xff\xff")
            else:
                n4 = len(l3)
                add(_pack_i(n4))
                for e3 in l3:
                    add(_pack_qq(e3.producer_id, e3.first_offset))
            add(_pack_i(e2.preferred_read_replica))
            if e2.records is None:
                add(b"\xff\xff\xff\xff")
            else:
                b2 = e2.records
                n5 = len(b2)
                add(_pack_i(n5))
                add(b2)
    return out


def _encode_v12(m: FetchResponse) -> list[bytes]:
    # versions 12
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("FetchResponse", "FetchResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_ihiB(m.throttle_time_ms, m.error_code, m.session_id, n1) if n1 < 128 else _pack_ihi(m.throttle_time_ms, m.error_code, m.session_id) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("FetchableTopicResponse", "topic", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.aborted_transactions
            add(_pack_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset))
            if l3 is None:
                add(b"\x00")
            else:
                n4 = len(l3) + 1
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                for e3 in l3:
                    add(_pack_qqx(e3.producer_id, e3.first_offset))
            add(_pack_i(e2.preferred_read_replica))
            if e2.records is None:
                add(b"\x00")
            else:
                b2 = e2.records
                n5 = len(b2) + 1
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b2)
            if e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1 and e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1 and e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                    k1 += 1
                    t1.append(_pack_BBiqx(0, 13, e2.diverging_epoch.epoch, e2.diverging_epoch.end_offset))
                if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBiix(1, 9, e2.current_leader.leader_id, e2.current_leader.leader_epoch))
                if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBqix(2, 13, e2.snapshot_id.end_offset, e2.snapshot_id.epoch))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v13(m: FetchResponse) -> list[bytes]:
    # versions 13, 14, 15
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("FetchResponse", "FetchResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_ihiB(m.throttle_time_ms, m.error_code, m.session_id, n1) if n1 < 128 else _pack_ihi(m.throttle_time_ms, m.error_code, m.session_id) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            l3 = e2.aborted_transactions
            add(_pack_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset))
            if l3 is None:
                add(b"\x00")
            else:
                n3 = len(l3) + 1
                add(UVARINT[n3] if n3 < 128 else uvarint(n3))
                for e3 in l3:
                    add(_pack_qqx(e3.producer_id, e3.first_offset))
            add(_pack_i(e2.preferred_read_replica))
            if e2.records is None:
                add(b"\x00")
            else:
                b1 = e2.records
                n4 = len(b1) + 1
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                add(b1)
            if e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1 and e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1 and e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                    k1 += 1
                    t1.append(_pack_BBiqx(0, 13, e2.diverging_epoch.epoch, e2.diverging_epoch.end_offset))
                if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBiix(1, 9, e2.current_leader.leader_id, e2.current_leader.leader_epoch))
                if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBqix(2, 13, e2.snapshot_id.end_offset, e2.snapshot_id.epoch))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v16(m: FetchResponse) -> list[bytes]:
    # versions 16, 17
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_ihiB(m.throttle_time_ms, m.error_code, m.session_id, n1) if n1 < 128 else _pack_ihi(m.throttle_time_ms, m.error_code, m.session_id) + uvarint(n1))
    for e1 in l1:
        l2 = e1.partitions
        n2 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n2) if n2 < 128 else e1.topic_id.bytes + uvarint(n2))
        for e2 in l2:
            l3 = e2.aborted_transactions
            add(_pack_ihqqq(e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset))
            if l3 is None:
                add(b"\x00")
            else:
                n3 = len(l3) + 1
                add(UVARINT[n3] if n3 < 128 else uvarint(n3))
                for e3 in l3:
                    add(_pack_qqx(e3.producer_id, e3.first_offset))
            add(_pack_i(e2.preferred_read_replica))
            if e2.records is None:
                add(b"\x00")
            else:
                b1 = e2.records
                n4 = len(b1) + 1
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                add(b1)
            if e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1 and e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1 and e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.diverging_epoch.epoch == -1 and e2.diverging_epoch.end_offset == -1):
                    k1 += 1
                    t1.append(_pack_BBiqx(0, 13, e2.diverging_epoch.epoch, e2.diverging_epoch.end_offset))
                if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBiix(1, 9, e2.current_leader.leader_id, e2.current_leader.leader_epoch))
                if not (e2.snapshot_id.end_offset == -1 and e2.snapshot_id.epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBqix(2, 13, e2.snapshot_id.end_offset, e2.snapshot_id.epoch))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    if not m.node_endpoints:
        add(b"\x00")
    else:
        k2 = 0
        t2: list[bytes] = []
        if not (not m.node_endpoints):
            k2 += 1
            p4: list[bytes] = []
            l4 = m.node_endpoints
            n5 = len(l4) + 1
            p4.append(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e4 in l4:
                b2 = e4.host.encode()
                n6 = len(b2) + 1
                if n6 > 32768:
                    raise short_string("NodeEndpoint", "host", len(b2))
                p4.append(_pack_iB(e4.node_id, n6) if n6 < 128 else _pack_i(e4.node_id) + uvarint(n6))
                p4.append(b2)
                p4.append(_pack_i(e4.port))
                if e4.rack is None:
                    p4.append(b"\x00")
                else:
                    b3 = e4.rack.encode()
                    n7 = len(b3) + 1
                    if n7 > 32768:
                        raise short_string("NodeEndpoint", "rack", len(b3))
                    p4.append(UVARINT[n7] if n7 < 128 else uvarint(n7))
                    p4.append(b3)
                p4.append(b"\x00")
            q1 = b"".join(p4)
            t2 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k2] + b"".join(t2))
    return out


def _decode_v4(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.error_code = 0
        m.session_id = 0
        m.node_endpoints = []
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchResponse", "FetchableTopicResponse.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 30 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                e2.log_start_offset = -1
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.preferred_read_replica = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, n4 = _unpack_ihqqi(data, pos)
                pos += 26
                if n4 == -1:
                    e2.aborted_transactions = None
                else:
                    if n4 < 0 or n4 * 16 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n4, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n4):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset = _unpack_qq(data, pos)
                        pos += 16
                (n5,) = _unpack_i(data, pos)
                pos += 4
                if n5 == -1:
                    e2.records = None
                else:
                    z2 = pos + n5
                    if n5 < 0 or z2 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n5, pos, size)
                    e2.records = bytes(data[pos:z2])
                    pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 5, 6
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.error_code = 0
        m.session_id = 0
        m.node_endpoints = []
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchResponse", "FetchableTopicResponse.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 38 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.preferred_read_replica = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n4 = _unpack_ihqqqi(data, pos)
                pos += 34
                if n4 == -1:
                    e2.aborted_transactions = None
                else:
                    if n4 < 0 or n4 * 16 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n4, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n4):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset = _unpack_qq(data, pos)
                        pos += 16
                (n5,) = _unpack_i(data, pos)
                pos += 4
                if n5 == -1:
                    e2.records = None
                else:
                    z2 = pos + n5
                    if n5 < 0 or z2 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n5, pos, size)
                    e2.records = bytes(data[pos:z2])
                    pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 7, 8, 9, 10
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, m.session_id, n1 = _unpack_ihii(data, pos)
        pos += 14
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchResponse", "FetchableTopicResponse.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 38 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.preferred_read_replica = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n4 = _unpack_ihqqqi(data, pos)
                pos += 34
                if n4 == -1:
                    e2.aborted_transactions = None
                else:
                    if n4 < 0 or n4 * 16 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n4, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n4):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset = _unpack_qq(data, pos)
                        pos += 16
                (n5,) = _unpack_i(data, pos)
                pos += 4
                if n5 == -1:
                    e2.records = None
                else:
                    z2 = pos + n5
                    if n5 < 0 or z2 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n5, pos, size)
                    e2.records = bytes(data[pos:z2])
                    pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


def _decode_v11(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 11
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, m.session_id, n1 = _unpack_ihii(data, pos)
        pos += 14
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("FetchResponse", "FetchableTopicResponse.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 42 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n4 = _unpack_ihqqqi(data, pos)
                pos += 34
                if n4 == -1:
                    e2.aborted_transactions = None
                else:
                    if n4 < 0 or n4 * 16 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n4, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n4):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset = _unpack_qq(data, pos)
                        pos += 16
                e2.preferred_read_replica, n5 = _unpack_ii(data, pos)
                pos += 8
                if n5 == -1:
                    e2.records = None
                else:
                    z2 = pos + n5
                    if n5 < 0 or z2 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n5, pos, size)
                    e2.records = bytes(data[pos:z2])
                    pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


def _decode_v12(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 12
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, m.session_id, n1 = _unpack_ihiB(data, pos)
        pos += 11
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("FetchResponse", "FetchableTopicResponse.topic", n2 - 1, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 37 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n3, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n4 = _unpack_ihqqqB(data, pos)
                pos += 31
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                if n4 == 0:
                    e2.aborted_transactions = None
                else:
                    n4 -= 1
                    if n4 < 0 or n4 * 17 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n4, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n4):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset, k1 = _unpack_qqB(data, pos)
                        pos += 17
                        if k1:
                            pos = skip_tagged("FetchResponse", data, pos - 1)
                e2.preferred_read_replica, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                if n5 == 0:
                    e2.records = None
                else:
                    z2 = pos + n5 - 1
                    if z2 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n5 - 1, pos, size)
                    e2.records = bytes(data[pos:z2])
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
                            raise overrun("FetchResponse", "PartitionData tagged field", s1, pos, size)
                        if g1 == 0:
                            o1.epoch, o1.end_offset, k3 = _unpack_iqB(data, pos)
                            pos += 13
                            if k3:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        elif g1 == 1:
                            o2.leader_id, o2.leader_epoch, k4 = _unpack_iiB(data, pos)
                            pos += 9
                            if k4:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        elif g1 == 2:
                            o3.end_offset, o3.epoch, k5 = _unpack_qiB(data, pos)
                            pos += 13
                            if k5:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchResponse", pos, "tagged field of another length than announced")
            k6 = data[pos]
            pos += 1
            if k6:
                pos = skip_tagged("FetchResponse", data, pos - 1)
        k7 = data[pos]
        pos += 1
        if k7:
            pos = skip_tagged("FetchResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


def _decode_v13(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 13, 14, 15
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, m.session_id, n1 = _unpack_ihiB(data, pos)
        pos += 11
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 37 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n2, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n3 = _unpack_ihqqqB(data, pos)
                pos += 31
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                if n3 == 0:
                    e2.aborted_transactions = None
                else:
                    n3 -= 1
                    if n3 < 0 or n3 * 17 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n3, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset, k1 = _unpack_qqB(data, pos)
                        pos += 17
                        if k1:
                            pos = skip_tagged("FetchResponse", data, pos - 1)
                e2.preferred_read_replica, n4 = _unpack_iB(data, pos)
                pos += 5
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                if n4 == 0:
                    e2.records = None
                else:
                    z1 = pos + n4 - 1
                    if z1 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n4 - 1, pos, size)
                    e2.records = bytes(data[pos:z1])
                    pos = z1
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
                            raise overrun("FetchResponse", "PartitionData tagged field", s1, pos, size)
                        if g1 == 0:
                            o1.epoch, o1.end_offset, k3 = _unpack_iqB(data, pos)
                            pos += 13
                            if k3:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        elif g1 == 1:
                            o2.leader_id, o2.leader_epoch, k4 = _unpack_iiB(data, pos)
                            pos += 9
                            if k4:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        elif g1 == 2:
                            o3.end_offset, o3.epoch, k5 = _unpack_qiB(data, pos)
                            pos += 13
                            if k5:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchResponse", pos, "tagged field of another length than announced")
            k6 = data[pos]
            pos += 1
            if k6:
                pos = skip_tagged("FetchResponse", data, pos - 1)
        k7 = data[pos]
        pos += 1
        if k7:
            pos = skip_tagged("FetchResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


def _decode_v16(data: Buffer, pos: int) -> tuple[FetchResponse, int]:
    # versions 16, 17
    size = len(data)
    try:
        m = FetchResponse.__new__(FetchResponse)
        m.node_endpoints = []
        m.throttle_time_ms, m.error_code, m.session_id, n1 = _unpack_ihiB(data, pos)
        pos += 11
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("FetchResponse", "FetchResponse.responses", n1, pos, size)
        l1: list[FetchableTopicResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = FetchableTopicResponse.__new__(FetchableTopicResponse)
            l1.append(e1)
            e1.topic = ""
            u1, n2 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            n2 -= 1
            if n2 < 0 or n2 * 37 > size - pos:
                raise overrun("FetchResponse", "FetchableTopicResponse.partitions", n2, pos, size)
            l2: list[PartitionData] = []
            e1.partitions = l2
            for _ in range(n2):
                e2 = PartitionData.__new__(PartitionData)
                l2.append(e2)
                o1 = EpochEndOffset.__new__(EpochEndOffset)
                e2.diverging_epoch = o1
                o1.epoch = -1
                o1.end_offset = -1
                o2 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o2
                o2.leader_id = -1
                o2.leader_epoch = -1
                o3 = SnapshotId.__new__(SnapshotId)
                e2.snapshot_id = o3
                o3.end_offset = -1
                o3.epoch = -1
                e2.partition_index, e2.error_code, e2.high_watermark, e2.last_stable_offset, e2.log_start_offset, n3 = _unpack_ihqqqB(data, pos)
                pos += 31
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                if n3 == 0:
                    e2.aborted_transactions = None
                else:
                    n3 -= 1
                    if n3 < 0 or n3 * 17 > size - pos:
                        raise overrun("FetchResponse", "PartitionData.aborted_transactions", n3, pos, size)
                    l3: list[AbortedTransaction] = []
                    e2.aborted_transactions = l3
                    for _ in range(n3):
                        e3 = AbortedTransaction.__new__(AbortedTransaction)
                        l3.append(e3)
                        e3.producer_id, e3.first_offset, k1 = _unpack_qqB(data, pos)
                        pos += 17
                        if k1:
                            pos = skip_tagged("FetchResponse", data, pos - 1)
                e2.preferred_read_replica, n4 = _unpack_iB(data, pos)
                pos += 5
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                if n4 == 0:
                    e2.records = None
                else:
                    z1 = pos + n4 - 1
                    if z1 > size:
                        raise overrun("FetchResponse", "PartitionData.records", n4 - 1, pos, size)
                    e2.records = bytes(data[pos:z1])
                    pos = z1
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
                            raise overrun("FetchResponse", "PartitionData tagged field", s1, pos, size)
                        if g1 == 0:
                            o1.epoch, o1.end_offset, k3 = _unpack_iqB(data, pos)
                            pos += 13
                            if k3:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        elif g1 == 1:
                            o2.leader_id, o2.leader_epoch, k4 = _unpack_iiB(data, pos)
                            pos += 9
                            if k4:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        elif g1 == 2:
                            o3.end_offset, o3.epoch, k5 = _unpack_qiB(data, pos)
                            pos += 13
                            if k5:
                                pos = skip_tagged("FetchResponse", data, pos - 1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("FetchResponse", pos, "tagged field of another length than announced")
            k6 = data[pos]
            pos += 1
            if k6:
                pos = skip_tagged("FetchResponse", data, pos - 1)
        k7 = data[pos]
        pos += 1
        if k7:
            if k7 > 127:
                k7, pos = uvarint_at(data, pos - 1)
            for _ in range(k7):
                g2 = data[pos]
                s2 = data[pos + 1]
                if g2 > 127 or s2 > 127:
                    g2, pos = uvarint_at(data, pos)
                    s2, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y2 = pos + s2
                if y2 > size:
                    raise overrun("FetchResponse", "FetchResponse tagged field", s2, pos, size)
                if g2 == 0:
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    n5 -= 1
                    if n5 < 0 or n5 * 11 > size - pos:
                        raise overrun("FetchResponse", "FetchResponse.node_endpoints", n5, pos, size)
                    l4: list[NodeEndpoint] = []
                    m.node_endpoints = l4
                    for _ in range(n5):
                        e4 = NodeEndpoint.__new__(NodeEndpoint)
                        l4.append(e4)
                        e4.node_id, n6 = _unpack_iB(data, pos)
                        pos += 5
                        if n6 > 127:
                            n6, pos = uvarint_at(data, pos - 1)
                        z2 = pos + n6 - 1
                        if n6 == 0 or z2 > size:
                            raise overrun("FetchResponse", "NodeEndpoint.host", n6 - 1, pos, size)
                        e4.host = str(data[pos:z2], "utf-8")
                        pos = z2
                        e4.port, n7 = _unpack_iB(data, pos)
                        pos += 5
                        if n7 > 127:
                            n7, pos = uvarint_at(data, pos - 1)
                        if n7 == 0:
                            e4.rack = None
                        else:
                            z3 = pos + n7 - 1
                            if z3 > size:
                                raise overrun("FetchResponse", "NodeEndpoint.rack", n7 - 1, pos, size)
                            e4.rack = str(data[pos:z3], "utf-8")
                            pos = z3
                        k8 = data[pos]
                        pos += 1
                        if k8:
                            pos = skip_tagged("FetchResponse", data, pos - 1)
                else:
                    pos = y2
                if pos != y2:
                    raise DecodeError("FetchResponse", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("FetchResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[FetchResponse], list[bytes]]]] = {
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v7,
    8: _encode_v7,
    9: _encode_v7,
    10: _encode_v7,
    11: _encode_v11,
    12: _encode_v12,
    13: _encode_v13,
    14: _encode_v13,
    15: _encode_v13,
    16: _encode_v16,
    17: _encode_v16,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[FetchResponse, int]]]] = {
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v7,
    8: _decode_v7,
    9: _decode_v7,
    10: _decode_v7,
    11: _decode_v11,
    12: _decode_v12,
    13: _decode_v13,
    14: _decode_v13,
    15: _decode_v13,
    16: _decode_v16,
    17: _decode_v16,
}
