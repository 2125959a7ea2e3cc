"""ProduceResponse: response body, key 0, versions 3 to 12.

Generated from ``schemas/produce.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_BBiix: Final = Struct(">BBiix").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqq: Final = Struct(">ihqqq").pack
_pack_ihqqqB: Final = Struct(">ihqqqB").pack
_pack_ihqqqi: Final = Struct(">ihqqqi").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqq: Final = Struct(">ihqqq").unpack_from
_unpack_ihqqqB: Final = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi: Final = Struct(">ihqqqi").unpack_from
_unpack_iiB: Final = Struct(">iiB").unpack_from


class BatchIndexAndErrorMessage:
    """Part of :class:`ProduceResponse`.

    ``batch_index`` int32 (v8+)

    ``batch_index_error_message`` string (v8+)
    """

    __slots__ = ("batch_index", "batch_index_error_message")
    batch_index: int
    batch_index_error_message: str | None

    def __init__(
        self,
        *,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BatchIndexAndErrorMessage):
            return NotImplemented
        return (
            self.batch_index == other.batch_index
            and self.batch_index_error_message == other.batch_index_error_message
        )

    def __repr__(self) -> str:
        return (
            f"BatchIndexAndErrorMessage(batch_index={self.batch_index!r}, "
            f"batch_index_error_message={self.batch_index_error_message!r})"
        )


class LeaderIdAndEpoch:
    """Part of :class:`ProduceResponse`.

    ``leader_id`` int32 (v10+)

    ``leader_epoch`` int32 (v10+)
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


class PartitionProduceResponse:
    """Part of :class:`ProduceResponse`.

    ``index`` int32

    ``error_code`` int16

    ``base_offset`` int64: Offset of the batch's first record; -1 if it is unknown.

    ``log_append_time_ms`` int64

    ``log_start_offset`` int64 (v5+)

    ``record_errors`` []BatchIndexAndErrorMessage (v8+): Which records caused the batch to be refused (KIP-467).

    ``error_message`` string (v8+)

    ``current_leader`` LeaderIdAndEpoch (v10+, tag 0): The new leader, if this broker is not it (KIP-951).
    """

    __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")
    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: list[BatchIndexAndErrorMessage]
    error_message: str | None
    current_leader: LeaderIdAndEpoch

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = EMPTY,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is EMPTY else record_errors
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionProduceResponse):
            return NotImplemented
        return (
            self.index == other.index
            and self.error_code == other.error_code
            and self.base_offset == other.base_offset
            and self.log_append_time_ms == other.log_append_time_ms
            and self.log_start_offset == other.log_start_offset
            and self.record_errors == other.record_errors
            and self.error_message == other.error_message
            and self.current_leader == other.current_leader
        )

    def __repr__(self) -> str:
        return (
            f"PartitionProduceResponse(index={self.index!r}, "
            f"error_code={self.error_code!r}, "
            f"base_offset={self.base_offset!r}, "
            f"log_append_time_ms={self.log_append_time_ms!r}, "
            f"log_start_offset={self.log_start_offset!r}, "
            f"record_errors={self.record_errors!r}, "
            f"error_message={self.error_message!r}, "
            f"current_leader={self.current_leader!r})"
        )


class TopicProduceResponse:
    """Part of :class:`ProduceResponse`.

    ``name`` string

    ``partition_responses`` []PartitionProduceResponse
    """

    __slots__ = ("name", "partition_responses")
    name: str
    partition_responses: list[PartitionProduceResponse]

    def __init__(
        self,
        *,
        name: str = "",
        partition_responses: list[PartitionProduceResponse] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_responses = [] if partition_responses is EMPTY else partition_responses

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicProduceResponse):
            return NotImplemented
        return (
            self.name == other.name
            and self.partition_responses == other.partition_responses
        )

    def __repr__(self) -> str:
        return (
            f"TopicProduceResponse(name={self.name!r}, "
            f"partition_responses={self.partition_responses!r})"
        )


class NodeEndpoint:
    """Part of :class:`ProduceResponse`.

    ``node_id`` int32 (v10+)

    ``host`` string (v10+)

    ``port`` int32 (v10+)

    ``rack`` string (v10+)
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


class ProduceResponse:
    """Where the batches have been appended.

    ``responses`` []TopicProduceResponse

    ``throttle_time_ms`` int32

    ``node_endpoints`` []NodeEndpoint (v10+, tag 0): Endpoints of the current leaders.
    """

    API_KEY: ClassVar[int] = 0
    NAME: ClassVar[str] = "ProduceResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 12
    FLEXIBLE_SINCE: ClassVar[int] = 9

    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")
    responses: list[TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        responses: list[TopicProduceResponse] = EMPTY,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.responses = [] if responses is EMPTY else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProduceResponse):
            return NotImplemented
        return (
            self.responses == other.responses
            and self.throttle_time_ms == other.throttle_time_ms
            and self.node_endpoints == other.node_endpoints
        )

    def __repr__(self) -> str:
        return (
            f"ProduceResponse(responses={self.responses!r}, "
            f"throttle_time_ms={self.throttle_time_ms!r}, "
            f"node_endpoints={self.node_endpoints!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ProduceResponse", version, 3, 12)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ProduceResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ProduceResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ProduceResponse", version, 3, 12)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ProduceResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ProduceResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ProduceResponse", version, 3, 12)
        return decoder(data, position)


def _encode_v3(m: ProduceResponse) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("ProduceResponse", "ProduceResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("TopicProduceResponse", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_responses
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("ProduceResponse", "PartitionProduceResponse.current_leader", e2.current_leader)
            add(_pack_ihqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms))
    add(_pack_i(m.throttle_time_ms))
    return out


def _encode_v5(m: ProduceResponse) -> list[bytes]:
    # versions 5, 6, 7
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("ProduceResponse", "ProduceResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("TopicProduceResponse", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_responses
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("ProduceResponse", "PartitionProduceResponse.current_leader", e2.current_leader)
            add(_pack_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset))
    add(_pack_i(m.throttle_time_ms))
    return out


def _encode_v8(m: ProduceResponse) -> list[bytes]:
    # versions 8
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("ProduceResponse", "ProduceResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("TopicProduceResponse", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_responses
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("ProduceResponse", "PartitionProduceResponse.current_leader", e2.current_leader)
            l3 = e2.record_errors
            n4 = len(l3)
            add(_pack_ihqqqi(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n4))
            for e3 in l3:
                add(_pack_i(e3.batch_index))
                if e3.batch_index_error_message is None:
                    add(b"\xff\xff")
                else:
                    b2 = e3.batch_index_error_message.encode()
                    n5 = len(b2)
                    if n5 > 32767:
                        raise short_string("BatchIndexAndErrorMessage", "batch_index_error_message", len(b2))
                    add(_pack_h(n5))
                    add(b2)
            if e2.error_message is None:
                add(b"\xff\xff")
            else:
                b3 = e2.error_message.encode()
                n6 = len(b3)
                if n6 > 32767:
                    raise short_string("PartitionProduceResponse", "error_message", len(b3))
                add(_pack_h(n6))
                add(b3)
    add(_pack_i(m.throttle_time_ms))
    return out


def _encode_v9(m: ProduceResponse) -> list[bytes]:
    # versions 9
    out: list[bytes] = []
    add = out.append
    if not (not m.node_endpoints):
        raise not_in_version("ProduceResponse", "ProduceResponse.node_endpoints", m.node_endpoints)
    l1 = m.responses
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicProduceResponse", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_responses
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                raise not_in_version("ProduceResponse", "PartitionProduceResponse.current_leader", e2.current_leader)
            l3 = e2.record_errors
            n4 = len(l3) + 1
            add(_pack_ihqqqB(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n4) if n4 < 128 else _pack_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset) + uvarint(n4))
            for e3 in l3:
                add(_pack_i(e3.batch_index))
                if e3.batch_index_error_message is None:
                    add(b"\x00")
                else:
                    b2 = e3.batch_index_error_message.encode()
                    n5 = len(b2) + 1
                    if n5 > 32768:
                        raise short_string("BatchIndexAndErrorMessage", "batch_index_error_message", len(b2))
                    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                    add(b2)
                add(b"\x00")
            if e2.error_message is None:
                add(b"\x00")
            else:
                b3 = e2.error_message.encode()
                n6 = len(b3) + 1
                if n6 > 32768:
                    raise short_string("PartitionProduceResponse", "error_message", len(b3))
                add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                add(b3)
            add(b"\x00")
        add(b"\x00")
    add(_pack_ix(m.throttle_time_ms))
    return out


def _encode_v10(m: ProduceResponse) -> list[bytes]:
    # versions 10, 11, 12
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("TopicProduceResponse", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_responses
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.record_errors
            n4 = len(l3) + 1
            add(_pack_ihqqqB(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n4) if n4 < 128 else _pack_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset) + uvarint(n4))
            for e3 in l3:
                add(_pack_i(e3.batch_index))
                if e3.batch_index_error_message is None:
                    add(b"\x00")
                else:
                    b2 = e3.batch_index_error_message.encode()
                    n5 = len(b2) + 1
                    if n5 > 32768:
                        raise short_string("BatchIndexAndErrorMessage", "batch_index_error_message", len(b2))
                    add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                    add(b2)
                add(b"\x00")
            if e2.error_message is None:
                add(b"\x00")
            else:
                b3 = e2.error_message.encode()
                n6 = len(b3) + 1
                if n6 > 32768:
                    raise short_string("PartitionProduceResponse", "error_message", len(b3))
                add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                add(b3)
            if e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1:
                add(b"\x00")
            else:
                k1 = 0
                t1: list[bytes] = []
                if not (e2.current_leader.leader_id == -1 and e2.current_leader.leader_epoch == -1):
                    k1 += 1
                    t1.append(_pack_BBiix(0, 9, e2.current_leader.leader_id, e2.current_leader.leader_epoch))
                add(UVARINT[k1] + b"".join(t1))
        add(b"\x00")
    add(_pack_i(m.throttle_time_ms))
    if not m.node_endpoints:
        add(b"\x00")
    else:
        k2 = 0
        t2: list[bytes] = []
        if not (not m.node_endpoints):
            k2 += 1
            p2: list[bytes] = []
            l4 = m.node_endpoints
            n7 = len(l4) + 1
            p2.append(UVARINT[n7] if n7 < 128 else uvarint(n7))
            for e4 in l4:
                b4 = e4.host.encode()
                n8 = len(b4) + 1
                if n8 > 32768:
                    raise short_string("NodeEndpoint", "host", len(b4))
                p2.append(_pack_iB(e4.node_id, n8) if n8 < 128 else _pack_i(e4.node_id) + uvarint(n8))
                p2.append(b4)
                p2.append(_pack_i(e4.port))
                if e4.rack is None:
                    p2.append(b"\x00")
                else:
                    b5 = e4.rack.encode()
                    n9 = len(b5) + 1
                    if n9 > 32768:
                        raise short_string("NodeEndpoint", "rack", len(b5))
                    p2.append(UVARINT[n9] if n9 < 128 else uvarint(n9))
                    p2.append(b5)
                p2.append(b"\x00")
            q1 = b"".join(p2)
            t2 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k2] + b"".join(t2))
    return out


def _decode_v3(data: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        m.node_endpoints = []
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ProduceResponse", "ProduceResponse.responses", n1, pos, size)
        l1: list[TopicProduceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ProduceResponse", "TopicProduceResponse.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 22 > size - pos:
                raise overrun("ProduceResponse", "TopicProduceResponse.partition_responses", n3, pos, size)
            l2: list[PartitionProduceResponse] = []
            e1.partition_responses = l2
            for _ in range(n3):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                l2.append(e2)
                e2.log_start_offset = -1
                e2.record_errors = []
                e2.error_message = None
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = -1
                o1.leader_epoch = -1
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms = _unpack_ihqq(data, pos)
                pos += 22
        (m.throttle_time_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ProduceResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    # versions 5, 6, 7
    size = len(data)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        m.node_endpoints = []
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ProduceResponse", "ProduceResponse.responses", n1, pos, size)
        l1: list[TopicProduceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ProduceResponse", "TopicProduceResponse.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 30 > size - pos:
                raise overrun("ProduceResponse", "TopicProduceResponse.partition_responses", n3, pos, size)
            l2: list[PartitionProduceResponse] = []
            e1.partition_responses = l2
            for _ in range(n3):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                l2.append(e2)
                e2.record_errors = []
                e2.error_message = None
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = -1
                o1.leader_epoch = -1
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset = _unpack_ihqqq(data, pos)
                pos += 30
        (m.throttle_time_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ProduceResponse", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    # versions 8
    size = len(data)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        m.node_endpoints = []
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ProduceResponse", "ProduceResponse.responses", n1, pos, size)
        l1: list[TopicProduceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ProduceResponse", "TopicProduceResponse.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 36 > size - pos:
                raise overrun("ProduceResponse", "TopicProduceResponse.partition_responses", n3, pos, size)
            l2: list[PartitionProduceResponse] = []
            e1.partition_responses = l2
            for _ in range(n3):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                l2.append(e2)
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = -1
                o1.leader_epoch = -1
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n4 = _unpack_ihqqqi(data, pos)
                pos += 34
                if n4 < 0 or n4 * 6 > size - pos:
                    raise overrun("ProduceResponse", "PartitionProduceResponse.record_errors", n4, pos, size)
                l3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = l3
                for _ in range(n4):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    l3.append(e3)
                    e3.batch_index, n5 = _unpack_ih(data, pos)
                    pos += 6
                    if n5 == -1:
                        e3.batch_index_error_message = None
                    else:
                        z2 = pos + n5
                        if n5 < 0 or z2 > size:
                            raise overrun("ProduceResponse", "BatchIndexAndErrorMessage.batch_index_error_message", n5, pos, size)
                        e3.batch_index_error_message = str(data[pos:z2], "utf-8")
                        pos = z2
                (n6,) = _unpack_h(data, pos)
                pos += 2
                if n6 == -1:
                    e2.error_message = None
                else:
                    z3 = pos + n6
                    if n6 < 0 or z3 > size:
                        raise overrun("ProduceResponse", "PartitionProduceResponse.error_message", n6, pos, size)
                    e2.error_message = str(data[pos:z3], "utf-8")
                    pos = z3
        (m.throttle_time_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ProduceResponse", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    # versions 9
    size = len(data)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        m.node_endpoints = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ProduceResponse", "ProduceResponse.responses", n1, pos, size)
        l1: list[TopicProduceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ProduceResponse", "TopicProduceResponse.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - pos:
                raise overrun("ProduceResponse", "TopicProduceResponse.partition_responses", n3, pos, size)
            l2: list[PartitionProduceResponse] = []
            e1.partition_responses = l2
            for _ in range(n3):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                l2.append(e2)
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = -1
                o1.leader_epoch = -1
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n4 = _unpack_ihqqqB(data, pos)
                pos += 31
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 6 > size - pos:
                    raise overrun("ProduceResponse", "PartitionProduceResponse.record_errors", n4, pos, size)
                l3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = l3
                for _ in range(n4):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    l3.append(e3)
                    e3.batch_index, n5 = _unpack_iB(data, pos)
                    pos += 5
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    if n5 == 0:
                        e3.batch_index_error_message = None
                    else:
                        z2 = pos + n5 - 1
                        if z2 > size:
                            raise overrun("ProduceResponse", "BatchIndexAndErrorMessage.batch_index_error_message", n5 - 1, pos, size)
                        e3.batch_index_error_message = str(data[pos:z2], "utf-8")
                        pos = z2
                    k1 = data[pos]
                    pos += 1
                    if k1:
                        pos = skip_tagged("ProduceResponse", data, pos - 1)
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                if n6 == 0:
                    e2.error_message = None
                else:
                    z3 = pos + n6 - 1
                    if z3 > size:
                        raise overrun("ProduceResponse", "PartitionProduceResponse.error_message", n6 - 1, pos, size)
                    e2.error_message = str(data[pos:z3], "utf-8")
                    pos = z3
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("ProduceResponse", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("ProduceResponse", data, pos - 1)
        m.throttle_time_ms, k4 = _unpack_iB(data, pos)
        pos += 5
        if k4:
            pos = skip_tagged("ProduceResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ProduceResponse", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    # versions 10, 11, 12
    size = len(data)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        m.node_endpoints = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ProduceResponse", "ProduceResponse.responses", n1, pos, size)
        l1: list[TopicProduceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ProduceResponse", "TopicProduceResponse.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - pos:
                raise overrun("ProduceResponse", "TopicProduceResponse.partition_responses", n3, pos, size)
            l2: list[PartitionProduceResponse] = []
            e1.partition_responses = l2
            for _ in range(n3):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                l2.append(e2)
                o1 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                e2.current_leader = o1
                o1.leader_id = -1
                o1.leader_epoch = -1
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n4 = _unpack_ihqqqB(data, pos)
                pos += 31
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 6 > size - pos:
                    raise overrun("ProduceResponse", "PartitionProduceResponse.record_errors", n4, pos, size)
                l3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = l3
                for _ in range(n4):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    l3.append(e3)
                    e3.batch_index, n5 = _unpack_iB(data, pos)
                    pos += 5
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    if n5 == 0:
                        e3.batch_index_error_message = None
                    else:
                        z2 = pos + n5 - 1
                        if z2 > size:
                            raise overrun("ProduceResponse", "BatchIndexAndErrorMessage.batch_index_error_message", n5 - 1, pos, size)
                        e3.batch_index_error_message = str(data[pos:z2], "utf-8")
                        pos = z2
                    k1 = data[pos]
                    pos += 1
                    if k1:
                        pos = skip_tagged("ProduceResponse", data, pos - 1)
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                if n6 == 0:
                    e2.error_message = None
                else:
                    z3 = pos + n6 - 1
                    if z3 > size:
                        raise overrun("ProduceResponse", "PartitionProduceResponse.error_message", n6 - 1, pos, size)
                    e2.error_message = str(data[pos:z3], "utf-8")
                    pos = z3
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
                            raise overrun("ProduceResponse", "PartitionProduceResponse tagged field", s1, pos, size)
                        if g1 == 0:
                            o1.leader_id, o1.leader_epoch, k3 = _unpack_iiB(data, pos)
                            pos += 9
                            if k3:
                                pos = skip_tagged("ProduceResponse", data, pos - 1)
                        else:
                            pos = y1
                        if pos != y1:
                            raise DecodeError("ProduceResponse", pos, "tagged field of another length than announced")
            k4 = data[pos]
            pos += 1
            if k4:
                pos = skip_tagged("ProduceResponse", data, pos - 1)
        m.throttle_time_ms, k5 = _unpack_iB(data, pos)
        pos += 5
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
                    raise overrun("ProduceResponse", "ProduceResponse tagged field", s2, pos, size)
                if g2 == 0:
                    n7 = data[pos]
                    pos += 1
                    if n7 > 127:
                        n7, pos = uvarint_at(data, pos - 1)
                    n7 -= 1
                    if n7 < 0 or n7 * 11 > size - pos:
                        raise overrun("ProduceResponse", "ProduceResponse.node_endpoints", n7, pos, size)
                    l4: list[NodeEndpoint] = []
                    m.node_endpoints = l4
                    for _ in range(n7):
                        e4 = NodeEndpoint.__new__(NodeEndpoint)
                        l4.append(e4)
                        e4.node_id, n8 = _unpack_iB(data, pos)
                        pos += 5
                        if n8 > 127:
                            n8, pos = uvarint_at(data, pos - 1)
                        z4 = pos + n8 - 1
                        if n8 == 0 or z4 > size:
                            raise overrun("ProduceResponse", "NodeEndpoint.host", n8 - 1, pos, size)
                        e4.host = str(data[pos:z4], "utf-8")
                        pos = z4
                        e4.port, n9 = _unpack_iB(data, pos)
                        pos += 5
                        if n9 > 127:
                            n9, pos = uvarint_at(data, pos - 1)
                        if n9 == 0:
                            e4.rack = None
                        else:
                            z5 = pos + n9 - 1
                            if z5 > size:
                                raise overrun("ProduceResponse", "NodeEndpoint.rack", n9 - 1, pos, size)
                            e4.rack = str(data[pos:z5], "utf-8")
                            pos = z5
                        k6 = data[pos]
                        pos += 1
                        if k6:
                            pos = skip_tagged("ProduceResponse", data, pos - 1)
                else:
                    pos = y2
                if pos != y2:
                    raise DecodeError("ProduceResponse", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("ProduceResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ProduceResponse], list[bytes]]]] = {
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v5,
    8: _encode_v8,
    9: _encode_v9,
    10: _encode_v10,
    11: _encode_v10,
    12: _encode_v10,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ProduceResponse, int]]]] = {
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v5,
    8: _decode_v8,
    9: _decode_v9,
    10: _decode_v10,
    11: _decode_v10,
    12: _decode_v10,
}
