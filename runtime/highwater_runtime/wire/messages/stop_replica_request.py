"""StopReplicaRequest: request body, key 5, versions 0 to 4.

Generated from ``schemas/zookeeper_mode.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    decode_array,
    encode_array,
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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iTiq: Final = Struct(">i?iq").pack
_pack_iTiqB: Final = Struct(">i?iqB").pack
_pack_iiTi: Final = Struct(">ii?i").pack
_pack_iiTx: Final = Struct(">ii?x").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqB: Final = Struct(">iiqB").pack
_pack_iiqT: Final = Struct(">iiq?").pack
_pack_iiqTB: Final = Struct(">iiq?B").pack
_pack_iiqTi: Final = Struct(">iiq?i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iTiqB: Final = Struct(">i?iqB").unpack_from
_unpack_iiTB: Final = Struct(">ii?B").unpack_from
_unpack_iiTi: Final = Struct(">ii?i").unpack_from
_unpack_iiqB: Final = Struct(">iiqB").unpack_from
_unpack_iiqTB: Final = Struct(">iiq?B").unpack_from
_unpack_iiqTi: Final = Struct(">iiq?i").unpack_from


class StopReplicaPartitionV0:
    """Part of :class:`StopReplicaRequest`.

    ``topic_name`` string (v0-0)

    ``partition_index`` int32 (v0-0)
    """

    __slots__ = ("topic_name", "partition_index")
    topic_name: str
    partition_index: int

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StopReplicaPartitionV0):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_index == other.partition_index
        )

    def __repr__(self) -> str:
        return (
            f"StopReplicaPartitionV0(topic_name={self.topic_name!r}, "
            f"partition_index={self.partition_index!r})"
        )


class StopReplicaTopicV1:
    """Part of :class:`StopReplicaRequest`.

    ``name`` string (v1-2)

    ``partition_indexes`` []int32 (v1-2)
    """

    __slots__ = ("name", "partition_indexes")
    name: str
    partition_indexes: list[int]

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StopReplicaTopicV1):
            return NotImplemented
        return (
            self.name == other.name
            and self.partition_indexes == other.partition_indexes
        )

    def __repr__(self) -> str:
        return (
            f"StopReplicaTopicV1(name={self.name!r}, "
            f"partition_indexes={self.partition_indexes!r})"
        )


class StopReplicaPartitionState:
    """Part of :class:`StopReplicaRequest`.

    ``partition_index`` int32 (v3+)

    ``leader_epoch`` int32 (v3+): -2 if the topic is being deleted.

    ``delete_partition`` bool (v3+)
    """

    __slots__ = ("partition_index", "leader_epoch", "delete_partition")
    partition_index: int
    leader_epoch: int
    delete_partition: bool

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_epoch: int = -1,
        delete_partition: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.delete_partition = delete_partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StopReplicaPartitionState):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.leader_epoch == other.leader_epoch
            and self.delete_partition == other.delete_partition
        )

    def __repr__(self) -> str:
        return (
            f"StopReplicaPartitionState(partition_index={self.partition_index!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"delete_partition={self.delete_partition!r})"
        )


class StopReplicaTopicState:
    """Part of :class:`StopReplicaRequest`.

    ``topic_name`` string (v3+)

    ``partition_states`` []StopReplicaPartitionState (v3+)
    """

    __slots__ = ("topic_name", "partition_states")
    topic_name: str
    partition_states: list[StopReplicaPartitionState]

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_states: list[StopReplicaPartitionState] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partition_states = [] if partition_states is EMPTY else partition_states

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StopReplicaTopicState):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_states == other.partition_states
        )

    def __repr__(self) -> str:
        return (
            f"StopReplicaTopicState(topic_name={self.topic_name!r}, "
            f"partition_states={self.partition_states!r})"
        )


class StopReplicaRequest:
    """Stop following or leading; delete the log if told so.

    ``controller_id`` int32

    ``is_kraft_controller`` bool (v4+)

    ``controller_epoch`` int32

    ``broker_epoch`` int64 (v1+)

    ``delete_partitions`` bool (v0-2)

    ``ungrouped_partitions`` []StopReplicaPartitionV0 (v0-0)

    ``topics`` []StopReplicaTopicV1 (v1-2)

    ``topic_states`` []StopReplicaTopicState (v3+)
    """

    API_KEY: ClassVar[int] = 5
    NAME: ClassVar[str] = "StopReplicaRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("controller_id", "is_kraft_controller", "controller_epoch", "broker_epoch", "delete_partitions", "ungrouped_partitions", "topics", "topic_states")
    controller_id: int
    is_kraft_controller: bool
    controller_epoch: int
    broker_epoch: int
    delete_partitions: bool
    ungrouped_partitions: list[StopReplicaPartitionV0]
    topics: list[StopReplicaTopicV1]
    topic_states: list[StopReplicaTopicState]

    def __init__(
        self,
        *,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        delete_partitions: bool = False,
        ungrouped_partitions: list[StopReplicaPartitionV0] = EMPTY,
        topics: list[StopReplicaTopicV1] = EMPTY,
        topic_states: list[StopReplicaTopicState] = EMPTY,
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.delete_partitions = delete_partitions
        self.ungrouped_partitions = [] if ungrouped_partitions is EMPTY else ungrouped_partitions
        self.topics = [] if topics is EMPTY else topics
        self.topic_states = [] if topic_states is EMPTY else topic_states

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StopReplicaRequest):
            return NotImplemented
        return (
            self.controller_id == other.controller_id
            and self.is_kraft_controller == other.is_kraft_controller
            and self.controller_epoch == other.controller_epoch
            and self.broker_epoch == other.broker_epoch
            and self.delete_partitions == other.delete_partitions
            and self.ungrouped_partitions == other.ungrouped_partitions
            and self.topics == other.topics
            and self.topic_states == other.topic_states
        )

    def __repr__(self) -> str:
        return (
            f"StopReplicaRequest(controller_id={self.controller_id!r}, "
            f"is_kraft_controller={self.is_kraft_controller!r}, "
            f"controller_epoch={self.controller_epoch!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"delete_partitions={self.delete_partitions!r}, "
            f"ungrouped_partitions={self.ungrouped_partitions!r}, "
            f"topics={self.topics!r}, "
            f"topic_states={self.topic_states!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("StopReplicaRequest", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("StopReplicaRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> StopReplicaRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("StopReplicaRequest", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("StopReplicaRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[StopReplicaRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("StopReplicaRequest", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: StopReplicaRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.is_kraft_controller", m.is_kraft_controller)
    if not (not m.topics):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.topics", m.topics)
    if not (not m.topic_states):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partitions
    n1 = len(l1)
    add(_pack_iiTi(m.controller_id, m.controller_epoch, m.delete_partitions, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("StopReplicaPartitionV0", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_i(e1.partition_index))
    return out


def _encode_v1(m: StopReplicaRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.is_kraft_controller", m.is_kraft_controller)
    if not (not m.ungrouped_partitions):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.ungrouped_partitions", m.ungrouped_partitions)
    if not (not m.topic_states):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.topic_states", m.topic_states)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_iiqTi(m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("StopReplicaTopicV1", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_indexes
        n3 = len(l2)
        add(_pack_i(n3))
        if l2:
            add(encode_array("i", l2))
    return out


def _encode_v2(m: StopReplicaRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.is_kraft_controller", m.is_kraft_controller)
    if not (not m.ungrouped_partitions):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.ungrouped_partitions", m.ungrouped_partitions)
    if not (not m.topic_states):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.topic_states", m.topic_states)
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iiqTB(m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions, n1) if n1 < 128 else _pack_iiqT(m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("StopReplicaTopicV1", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_indexes
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        if l2:
            add(encode_array("i", l2))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v3(m: StopReplicaRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.is_kraft_controller", m.is_kraft_controller)
    if not (not m.delete_partitions):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.delete_partitions", m.delete_partitions)
    if not (not m.ungrouped_partitions):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.ungrouped_partitions", m.ungrouped_partitions)
    if not (not m.topics):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.topics", m.topics)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iiqB(m.controller_id, m.controller_epoch, m.broker_epoch, n1) if n1 < 128 else _pack_iiq(m.controller_id, m.controller_epoch, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("StopReplicaTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiTx(e2.partition_index, e2.leader_epoch, e2.delete_partition))
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v4(m: StopReplicaRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (not m.delete_partitions):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.delete_partitions", m.delete_partitions)
    if not (not m.ungrouped_partitions):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.ungrouped_partitions", m.ungrouped_partitions)
    if not (not m.topics):
        raise not_in_version("StopReplicaRequest", "StopReplicaRequest.topics", m.topics)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iTiqB(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, n1) if n1 < 128 else _pack_iTiq(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("StopReplicaTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_iiTx(e2.partition_index, e2.leader_epoch, e2.delete_partition))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[StopReplicaRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = StopReplicaRequest.__new__(StopReplicaRequest)
        m.is_kraft_controller = False
        m.broker_epoch = -1
        m.topics = []
        m.topic_states = []
        m.controller_id, m.controller_epoch, m.delete_partitions, n1 = _unpack_iiTi(data, pos)
        pos += 13
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("StopReplicaRequest", "StopReplicaRequest.ungrouped_partitions", n1, pos, size)
        l1: list[StopReplicaPartitionV0] = []
        m.ungrouped_partitions = l1
        for _ in range(n1):
            e1 = StopReplicaPartitionV0.__new__(StopReplicaPartitionV0)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("StopReplicaRequest", "StopReplicaPartitionV0.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            (e1.partition_index,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("StopReplicaRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[StopReplicaRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = StopReplicaRequest.__new__(StopReplicaRequest)
        m.is_kraft_controller = False
        m.ungrouped_partitions = []
        m.topic_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions, n1 = _unpack_iiqTi(data, pos)
        pos += 21
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("StopReplicaRequest", "StopReplicaRequest.topics", n1, pos, size)
        l1: list[StopReplicaTopicV1] = []
        m.topics = l1
        for _ in range(n1):
            e1 = StopReplicaTopicV1.__new__(StopReplicaTopicV1)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("StopReplicaRequest", "StopReplicaTopicV1.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("StopReplicaRequest", "StopReplicaTopicV1.partition_indexes", n3, pos, size)
            e1.partition_indexes = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
    except DECODE_FAULTS as fault:
        raise malformed("StopReplicaRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[StopReplicaRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = StopReplicaRequest.__new__(StopReplicaRequest)
        m.is_kraft_controller = False
        m.ungrouped_partitions = []
        m.topic_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, m.delete_partitions, n1 = _unpack_iiqTB(data, pos)
        pos += 18
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("StopReplicaRequest", "StopReplicaRequest.topics", n1, pos, size)
        l1: list[StopReplicaTopicV1] = []
        m.topics = l1
        for _ in range(n1):
            e1 = StopReplicaTopicV1.__new__(StopReplicaTopicV1)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("StopReplicaRequest", "StopReplicaTopicV1.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("StopReplicaRequest", "StopReplicaTopicV1.partition_indexes", n3, pos, size)
            e1.partition_indexes = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("StopReplicaRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("StopReplicaRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("StopReplicaRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[StopReplicaRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = StopReplicaRequest.__new__(StopReplicaRequest)
        m.is_kraft_controller = False
        m.delete_partitions = False
        m.ungrouped_partitions = []
        m.topics = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqB(data, pos)
        pos += 17
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("StopReplicaRequest", "StopReplicaRequest.topic_states", n1, pos, size)
        l1: list[StopReplicaTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = StopReplicaTopicState.__new__(StopReplicaTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("StopReplicaRequest", "StopReplicaTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 10 > size - pos:
                raise overrun("StopReplicaRequest", "StopReplicaTopicState.partition_states", n3, pos, size)
            l2: list[StopReplicaPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = StopReplicaPartitionState.__new__(StopReplicaPartitionState)
                l2.append(e2)
                e2.partition_index, e2.leader_epoch, e2.delete_partition, k1 = _unpack_iiTB(data, pos)
                pos += 10
                if k1:
                    pos = skip_tagged("StopReplicaRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("StopReplicaRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("StopReplicaRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("StopReplicaRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[StopReplicaRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = StopReplicaRequest.__new__(StopReplicaRequest)
        m.delete_partitions = False
        m.ungrouped_partitions = []
        m.topics = []
        m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, n1 = _unpack_iTiqB(data, pos)
        pos += 18
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("StopReplicaRequest", "StopReplicaRequest.topic_states", n1, pos, size)
        l1: list[StopReplicaTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = StopReplicaTopicState.__new__(StopReplicaTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("StopReplicaRequest", "StopReplicaTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 10 > size - pos:
                raise overrun("StopReplicaRequest", "StopReplicaTopicState.partition_states", n3, pos, size)
            l2: list[StopReplicaPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = StopReplicaPartitionState.__new__(StopReplicaPartitionState)
                l2.append(e2)
                e2.partition_index, e2.leader_epoch, e2.delete_partition, k1 = _unpack_iiTB(data, pos)
                pos += 10
                if k1:
                    pos = skip_tagged("StopReplicaRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("StopReplicaRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("StopReplicaRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("StopReplicaRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[StopReplicaRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[StopReplicaRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v4,
}
