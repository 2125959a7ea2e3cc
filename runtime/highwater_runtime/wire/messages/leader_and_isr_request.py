"""LeaderAndIsrRequest: request body, key 4, versions 0 to 7.

Generated from ``schemas/zookeeper_mode.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_Tbx: Final = Struct(">?bx").pack
_pack_Tx: Final = Struct(">?x").pack
_pack_UB: Final = Struct(">16sB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_iTiqb: Final = Struct(">i?iqb").pack
_pack_iTiqbB: Final = Struct(">i?iqbB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_iiiiB: Final = Struct(">iiiiB").pack
_pack_iiiii: Final = Struct(">iiiii").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqB: Final = Struct(">iiqB").pack
_pack_iiqb: Final = Struct(">iiqb").pack
_pack_iiqbB: Final = Struct(">iiqbB").pack
_pack_iiqi: Final = Struct(">iiqi").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_T: Final = Struct(">?").unpack_from
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_TbB: Final = Struct(">?bB").unpack_from
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iTiqbB: Final = Struct(">i?iqbB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiiiB: Final = Struct(">iiiiB").unpack_from
_unpack_iiiii: Final = Struct(">iiiii").unpack_from
_unpack_iiqB: Final = Struct(">iiqB").unpack_from
_unpack_iiqbB: Final = Struct(">iiqbB").unpack_from
_unpack_iiqi: Final = Struct(">iiqi").unpack_from


class LeaderAndIsrPartitionState:
    """Part of :class:`LeaderAndIsrRequest`.

    ``topic_name`` string (v0-1)

    ``partition_index`` int32

    ``controller_epoch`` int32: Of the controller that wrote the state.

    ``leader`` int32

    ``leader_epoch`` int32

    ``isr`` []int32

    ``partition_epoch`` int32: Version of the state's znode.

    ``replicas`` []int32

    ``adding_replicas`` []int32 (v3+)

    ``removing_replicas`` []int32 (v3+)

    ``is_new`` bool (v1+)

    ``leader_recovery_state`` int8 (v6+)
    """

    __slots__ = ("topic_name", "partition_index", "controller_epoch", "leader", "leader_epoch", "isr", "partition_epoch", "replicas", "adding_replicas", "removing_replicas", "is_new", "leader_recovery_state")
    topic_name: str
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    partition_epoch: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    is_new: bool
    leader_recovery_state: int

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = EMPTY,
        partition_epoch: int = 0,
        replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        is_new: bool = False,
        leader_recovery_state: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is EMPTY else isr
        self.partition_epoch = partition_epoch
        self.replicas = [] if replicas is EMPTY else replicas
        self.adding_replicas = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas = [] if removing_replicas is EMPTY else removing_replicas
        self.is_new = is_new
        self.leader_recovery_state = leader_recovery_state

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrPartitionState):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_index == other.partition_index
            and self.controller_epoch == other.controller_epoch
            and self.leader == other.leader
            and self.leader_epoch == other.leader_epoch
            and self.isr == other.isr
            and self.partition_epoch == other.partition_epoch
            and self.replicas == other.replicas
            and self.adding_replicas == other.adding_replicas
            and self.removing_replicas == other.removing_replicas
            and self.is_new == other.is_new
            and self.leader_recovery_state == other.leader_recovery_state
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrPartitionState(topic_name={self.topic_name!r}, "
            f"partition_index={self.partition_index!r}, "
            f"controller_epoch={self.controller_epoch!r}, "
            f"leader={self.leader!r}, "
            f"leader_epoch={self.leader_epoch!r}, "
            f"isr={self.isr!r}, "
            f"partition_epoch={self.partition_epoch!r}, "
            f"replicas={self.replicas!r}, "
            f"adding_replicas={self.adding_replicas!r}, "
            f"removing_replicas={self.removing_replicas!r}, "
            f"is_new={self.is_new!r}, "
            f"leader_recovery_state={self.leader_recovery_state!r})"
        )


class LeaderAndIsrTopicState:
    """Part of :class:`LeaderAndIsrRequest`.

    ``topic_name`` string (v2+)

    ``topic_id`` uuid (v5+)

    ``partition_states`` []LeaderAndIsrPartitionState (v2+)
    """

    __slots__ = ("topic_name", "topic_id", "partition_states")
    topic_name: str
    topic_id: UUID
    partition_states: list[LeaderAndIsrPartitionState]

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_states: list[LeaderAndIsrPartitionState] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_states = [] if partition_states is EMPTY else partition_states

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrTopicState):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.topic_id == other.topic_id
            and self.partition_states == other.partition_states
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrTopicState(topic_name={self.topic_name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partition_states={self.partition_states!r})"
        )


class LeaderAndIsrLiveLeader:
    """Part of :class:`LeaderAndIsrRequest`.

    ``broker_id`` int32

    ``host_name`` string

    ``port`` int32
    """

    __slots__ = ("broker_id", "host_name", "port")
    broker_id: int
    host_name: str
    port: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
        host_name: str = "",
        port: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.host_name = host_name
        self.port = port

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrLiveLeader):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.host_name == other.host_name
            and self.port == other.port
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrLiveLeader(broker_id={self.broker_id!r}, "
            f"host_name={self.host_name!r}, "
            f"port={self.port!r})"
        )


class LeaderAndIsrRequest:
    """The controller of the ZooKeeper mode tells a broker what to lead and what to follow.

    ``controller_id`` int32

    ``is_kraft_controller`` bool (v7+)

    ``controller_epoch`` int32: Refused if it is below one that the broker has seen.

    ``broker_epoch`` int64 (v2+): For which life of the broker this is meant (KIP-380).

    ``type`` int8 (v5+): 1 some partitions; 2 all of them: what the broker has besides is stray (KAFKA-7362).

    ``ungrouped_partition_states`` []LeaderAndIsrPartitionState (v0-1)

    ``topic_states`` []LeaderAndIsrTopicState (v2+)

    ``live_leaders`` []LeaderAndIsrLiveLeader
    """

    API_KEY: ClassVar[int] = 4
    NAME: ClassVar[str] = "LeaderAndIsrRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("controller_id", "is_kraft_controller", "controller_epoch", "broker_epoch", "type", "ungrouped_partition_states", "topic_states", "live_leaders")
    controller_id: int
    is_kraft_controller: bool
    controller_epoch: int
    broker_epoch: int
    type: int
    ungrouped_partition_states: list[LeaderAndIsrPartitionState]
    topic_states: list[LeaderAndIsrTopicState]
    live_leaders: list[LeaderAndIsrLiveLeader]

    def __init__(
        self,
        *,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        type: int = 0,
        ungrouped_partition_states: list[LeaderAndIsrPartitionState] = EMPTY,
        topic_states: list[LeaderAndIsrTopicState] = EMPTY,
        live_leaders: list[LeaderAndIsrLiveLeader] = EMPTY,
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.type = type
        self.ungrouped_partition_states = [] if ungrouped_partition_states is EMPTY else ungrouped_partition_states
        self.topic_states = [] if topic_states is EMPTY else topic_states
        self.live_leaders = [] if live_leaders is EMPTY else live_leaders

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderAndIsrRequest):
            return NotImplemented
        return (
            self.controller_id == other.controller_id
            and self.is_kraft_controller == other.is_kraft_controller
            and self.controller_epoch == other.controller_epoch
            and self.broker_epoch == other.broker_epoch
            and self.type == other.type
            and self.ungrouped_partition_states == other.ungrouped_partition_states
            and self.topic_states == other.topic_states
            and self.live_leaders == other.live_leaders
        )

    def __repr__(self) -> str:
        return (
            f"LeaderAndIsrRequest(controller_id={self.controller_id!r}, "
            f"is_kraft_controller={self.is_kraft_controller!r}, "
            f"controller_epoch={self.controller_epoch!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"type={self.type!r}, "
            f"ungrouped_partition_states={self.ungrouped_partition_states!r}, "
            f"topic_states={self.topic_states!r}, "
            f"live_leaders={self.live_leaders!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("LeaderAndIsrRequest", version, 0, 7)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("LeaderAndIsrRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> LeaderAndIsrRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaderAndIsrRequest", version, 0, 7)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("LeaderAndIsrRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[LeaderAndIsrRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaderAndIsrRequest", version, 0, 7)
        return decoder(data, position)


def _encode_v0(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        if not (e1.leader_recovery_state == 0):
            raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.leader_recovery_state", e1.leader_recovery_state)
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("LeaderAndIsrPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.partition_epoch, n4))
        if l3:
            add(encode_array("i", l3))
    l4 = m.live_leaders
    n5 = len(l4)
    add(_pack_i(n5))
    for e2 in l4:
        b2 = e2.host_name.encode()
        n6 = len(b2)
        if n6 > 32767:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_ih(e2.broker_id, n6))
        add(b2)
        add(_pack_i(e2.port))
    return out


def _encode_v1(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.type", m.type)
    if not (not m.topic_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", m.topic_states)
    l1 = m.ungrouped_partition_states
    n1 = len(l1)
    add(_pack_iii(m.controller_id, m.controller_epoch, n1))
    for e1 in l1:
        if not (e1.leader_recovery_state == 0):
            raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.leader_recovery_state", e1.leader_recovery_state)
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("LeaderAndIsrPartitionState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.isr
        n3 = len(l2)
        add(_pack_iiiii(e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3))
        if l2:
            add(encode_array("i", l2))
        l3 = e1.replicas
        n4 = len(l3)
        add(_pack_ii(e1.partition_epoch, n4))
        if l3:
            add(encode_array("i", l3))
        add(_pack_T(e1.is_new))
    l4 = m.live_leaders
    n5 = len(l4)
    add(_pack_i(n5))
    for e2 in l4:
        b2 = e2.host_name.encode()
        n6 = len(b2)
        if n6 > 32767:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_ih(e2.broker_id, n6))
        add(b2)
        add(_pack_i(e2.port))
    return out


def _encode_v2(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.type", m.type)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1)
    add(_pack_iiqi(m.controller_id, m.controller_epoch, m.broker_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("LeaderAndIsrTopicState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.leader_recovery_state == 0):
                raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.leader_recovery_state", e2.leader_recovery_state)
            l3 = e2.isr
            n4 = len(l3)
            add(_pack_iiiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4)
            add(_pack_ii(e2.partition_epoch, n5))
            if l4:
                add(encode_array("i", l4))
            add(_pack_T(e2.is_new))
    l5 = m.live_leaders
    n6 = len(l5)
    add(_pack_i(n6))
    for e3 in l5:
        b2 = e3.host_name.encode()
        n7 = len(b2)
        if n7 > 32767:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_ih(e3.broker_id, n7))
        add(b2)
        add(_pack_i(e3.port))
    return out


def _encode_v3(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.type", m.type)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1)
    add(_pack_iiqi(m.controller_id, m.controller_epoch, m.broker_epoch, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("LeaderAndIsrTopicState", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            if not (e2.leader_recovery_state == 0):
                raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.leader_recovery_state", e2.leader_recovery_state)
            l3 = e2.isr
            n4 = len(l3)
            add(_pack_iiiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4)
            add(_pack_ii(e2.partition_epoch, n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.adding_replicas
            n6 = len(l5)
            add(_pack_i(n6))
            if l5:
                add(encode_array("i", l5))
            l6 = e2.removing_replicas
            n7 = len(l6)
            add(_pack_i(n7))
            if l6:
                add(encode_array("i", l6))
            add(_pack_T(e2.is_new))
    l7 = m.live_leaders
    n8 = len(l7)
    add(_pack_i(n8))
    for e3 in l7:
        b2 = e3.host_name.encode()
        n9 = len(b2)
        if n9 > 32767:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_ih(e3.broker_id, n9))
        add(b2)
        add(_pack_i(e3.port))
    return out


def _encode_v4(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (m.type == 0):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.type", m.type)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iiqB(m.controller_id, m.controller_epoch, m.broker_epoch, n1) if n1 < 128 else _pack_iiq(m.controller_id, m.controller_epoch, m.broker_epoch) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("LeaderAndIsrTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            if not (e2.leader_recovery_state == 0):
                raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.leader_recovery_state", e2.leader_recovery_state)
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.partition_epoch, n5) if n5 < 128 else _pack_i(e2.partition_epoch) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.adding_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            l6 = e2.removing_replicas
            n7 = len(l6) + 1
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            if l6:
                add(encode_array("i", l6))
            add(_pack_Tx(e2.is_new))
        add(b"\x00")
    l7 = m.live_leaders
    n8 = len(l7) + 1
    add(UVARINT[n8] if n8 < 128 else uvarint(n8))
    for e3 in l7:
        b2 = e3.host_name.encode()
        n9 = len(b2) + 1
        if n9 > 32768:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_iB(e3.broker_id, n9) if n9 < 128 else _pack_i(e3.broker_id) + uvarint(n9))
        add(b2)
        add(_pack_ix(e3.port))
    add(b"\x00")
    return out


def _encode_v5(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iiqbB(m.controller_id, m.controller_epoch, m.broker_epoch, m.type, n1) if n1 < 128 else _pack_iiqb(m.controller_id, m.controller_epoch, m.broker_epoch, m.type) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("LeaderAndIsrTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n3) if n3 < 128 else e1.topic_id.bytes + uvarint(n3))
        for e2 in l2:
            if not (e2.leader_recovery_state == 0):
                raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.leader_recovery_state", e2.leader_recovery_state)
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.partition_epoch, n5) if n5 < 128 else _pack_i(e2.partition_epoch) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.adding_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            l6 = e2.removing_replicas
            n7 = len(l6) + 1
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            if l6:
                add(encode_array("i", l6))
            add(_pack_Tx(e2.is_new))
        add(b"\x00")
    l7 = m.live_leaders
    n8 = len(l7) + 1
    add(UVARINT[n8] if n8 < 128 else uvarint(n8))
    for e3 in l7:
        b2 = e3.host_name.encode()
        n9 = len(b2) + 1
        if n9 > 32768:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_iB(e3.broker_id, n9) if n9 < 128 else _pack_i(e3.broker_id) + uvarint(n9))
        add(b2)
        add(_pack_ix(e3.port))
    add(b"\x00")
    return out


def _encode_v6(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    if not (not m.is_kraft_controller):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.is_kraft_controller", m.is_kraft_controller)
    if not (not m.ungrouped_partition_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iiqbB(m.controller_id, m.controller_epoch, m.broker_epoch, m.type, n1) if n1 < 128 else _pack_iiqb(m.controller_id, m.controller_epoch, m.broker_epoch, m.type) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("LeaderAndIsrTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n3) if n3 < 128 else e1.topic_id.bytes + uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.partition_epoch, n5) if n5 < 128 else _pack_i(e2.partition_epoch) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.adding_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            l6 = e2.removing_replicas
            n7 = len(l6) + 1
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            if l6:
                add(encode_array("i", l6))
            add(_pack_Tbx(e2.is_new, e2.leader_recovery_state))
        add(b"\x00")
    l7 = m.live_leaders
    n8 = len(l7) + 1
    add(UVARINT[n8] if n8 < 128 else uvarint(n8))
    for e3 in l7:
        b2 = e3.host_name.encode()
        n9 = len(b2) + 1
        if n9 > 32768:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_iB(e3.broker_id, n9) if n9 < 128 else _pack_i(e3.broker_id) + uvarint(n9))
        add(b2)
        add(_pack_ix(e3.port))
    add(b"\x00")
    return out


def _encode_v7(m: LeaderAndIsrRequest) -> list[bytes]:
    # versions 7
    out: list[bytes] = []
    add = out.append
    if not (not m.ungrouped_partition_states):
        raise not_in_version("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", m.ungrouped_partition_states)
    l1 = m.topic_states
    n1 = len(l1) + 1
    add(_pack_iTiqbB(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, m.type, n1) if n1 < 128 else _pack_iTiqb(m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, m.type) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("LeaderAndIsrTopicState", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_states
        n3 = len(l2) + 1
        add(_pack_UB(e1.topic_id.bytes, n3) if n3 < 128 else e1.topic_id.bytes + uvarint(n3))
        for e2 in l2:
            l3 = e2.isr
            n4 = len(l3) + 1
            add(_pack_iiiiB(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4) if n4 < 128 else _pack_iiii(e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.replicas
            n5 = len(l4) + 1
            add(_pack_iB(e2.partition_epoch, n5) if n5 < 128 else _pack_i(e2.partition_epoch) + uvarint(n5))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.adding_replicas
            n6 = len(l5) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l5:
                add(encode_array("i", l5))
            l6 = e2.removing_replicas
            n7 = len(l6) + 1
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            if l6:
                add(encode_array("i", l6))
            add(_pack_Tbx(e2.is_new, e2.leader_recovery_state))
        add(b"\x00")
    l7 = m.live_leaders
    n8 = len(l7) + 1
    add(UVARINT[n8] if n8 < 128 else uvarint(n8))
    for e3 in l7:
        b2 = e3.host_name.encode()
        n9 = len(b2) + 1
        if n9 > 32768:
            raise short_string("LeaderAndIsrLiveLeader", "host_name", len(b2))
        add(_pack_iB(e3.broker_id, n9) if n9 < 128 else _pack_i(e3.broker_id) + uvarint(n9))
        add(b2)
        add(_pack_ix(e3.port))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.broker_epoch = -1
        m.type = 0
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 30 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[LeaderAndIsrPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
            l1.append(e1)
            e1.adding_replicas = []
            e1.removing_replicas = []
            e1.is_new = False
            e1.leader_recovery_state = 0
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.partition_epoch, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n5, pos, size)
        l4: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l4
        for _ in range(n5):
            e2 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l4.append(e2)
            e2.broker_id, n6 = _unpack_ih(data, pos)
            pos += 6
            z2 = pos + n6
            if n6 < 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n6, pos, size)
            e2.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            (e2.port,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.broker_epoch = -1
        m.type = 0
        m.topic_states = []
        m.controller_id, m.controller_epoch, n1 = _unpack_iii(data, pos)
        pos += 12
        if n1 < 0 or n1 * 31 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.ungrouped_partition_states", n1, pos, size)
        l1: list[LeaderAndIsrPartitionState] = []
        m.ungrouped_partition_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
            l1.append(e1)
            e1.adding_replicas = []
            e1.removing_replicas = []
            e1.leader_recovery_state = 0
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, e1.controller_epoch, e1.leader, e1.leader_epoch, n3 = _unpack_iiiii(data, pos)
            pos += 20
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n3, pos, size)
            e1.isr = decode_array("i", n3, data, pos) if n3 else []
            pos += n3 * 4
            e1.partition_epoch, n4 = _unpack_ii(data, pos)
            pos += 8
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n4, pos, size)
            e1.replicas = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
            (e1.is_new,) = _unpack_T(data, pos)
            pos += 1
        (n5,) = _unpack_i(data, pos)
        pos += 4
        if n5 < 0 or n5 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n5, pos, size)
        l4: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l4
        for _ in range(n5):
            e2 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l4.append(e2)
            e2.broker_id, n6 = _unpack_ih(data, pos)
            pos += 6
            z2 = pos + n6
            if n6 < 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n6, pos, size)
            e2.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            (e2.port,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqi(data, pos)
        pos += 20
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", n1, pos, size)
        l1: list[LeaderAndIsrTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicState.__new__(LeaderAndIsrTopicState)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 29 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.partition_states", n3, pos, size)
            l2: list[LeaderAndIsrPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.adding_replicas = []
                e2.removing_replicas = []
                e2.leader_recovery_state = 0
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiii(data, pos)
                pos += 20
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, n5 = _unpack_ii(data, pos)
                pos += 8
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                (e2.is_new,) = _unpack_T(data, pos)
                pos += 1
        (n6,) = _unpack_i(data, pos)
        pos += 4
        if n6 < 0 or n6 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n6, pos, size)
        l5: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l5
        for _ in range(n6):
            e3 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l5.append(e3)
            e3.broker_id, n7 = _unpack_ih(data, pos)
            pos += 6
            z2 = pos + n7
            if n7 < 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n7, pos, size)
            e3.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            (e3.port,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqi(data, pos)
        pos += 20
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", n1, pos, size)
        l1: list[LeaderAndIsrTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicState.__new__(LeaderAndIsrTopicState)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 37 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.partition_states", n3, pos, size)
            l2: list[LeaderAndIsrPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.leader_recovery_state = 0
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiii(data, pos)
                pos += 20
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, n5 = _unpack_ii(data, pos)
                pos += 8
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                (n6,) = _unpack_i(data, pos)
                pos += 4
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.adding_replicas", n6, pos, size)
                e2.adding_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                (n7,) = _unpack_i(data, pos)
                pos += 4
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.removing_replicas", n7, pos, size)
                e2.removing_replicas = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                (e2.is_new,) = _unpack_T(data, pos)
                pos += 1
        (n8,) = _unpack_i(data, pos)
        pos += 4
        if n8 < 0 or n8 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n8, pos, size)
        l7: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l7
        for _ in range(n8):
            e3 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l7.append(e3)
            e3.broker_id, n9 = _unpack_ih(data, pos)
            pos += 6
            z2 = pos + n9
            if n9 < 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n9, pos, size)
            e3.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            (e3.port,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.type = 0
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, n1 = _unpack_iiqB(data, pos)
        pos += 17
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", n1, pos, size)
        l1: list[LeaderAndIsrTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicState.__new__(LeaderAndIsrTopicState)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 26 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.partition_states", n3, pos, size)
            l2: list[LeaderAndIsrPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.leader_recovery_state = 0
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.adding_replicas", n6, pos, size)
                e2.adding_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.removing_replicas", n7, pos, size)
                e2.removing_replicas = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                e2.is_new, k1 = _unpack_TB(data, pos)
                pos += 2
                if k1:
                    pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        n8 = data[pos]
        pos += 1
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n8, pos, size)
        l7: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l7
        for _ in range(n8):
            e3 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l7.append(e3)
            e3.broker_id, n9 = _unpack_iB(data, pos)
            pos += 5
            if n9 > 127:
                n9, pos = uvarint_at(data, pos - 1)
            z2 = pos + n9 - 1
            if n9 == 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n9 - 1, pos, size)
            e3.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            e3.port, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 5
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, m.type, n1 = _unpack_iiqbB(data, pos)
        pos += 18
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 19 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", n1, pos, size)
        l1: list[LeaderAndIsrTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicState.__new__(LeaderAndIsrTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            u1, n3 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 26 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.partition_states", n3, pos, size)
            l2: list[LeaderAndIsrPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.leader_recovery_state = 0
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.adding_replicas", n6, pos, size)
                e2.adding_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.removing_replicas", n7, pos, size)
                e2.removing_replicas = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                e2.is_new, k1 = _unpack_TB(data, pos)
                pos += 2
                if k1:
                    pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        n8 = data[pos]
        pos += 1
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n8, pos, size)
        l7: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l7
        for _ in range(n8):
            e3 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l7.append(e3)
            e3.broker_id, n9 = _unpack_iB(data, pos)
            pos += 5
            if n9 > 127:
                n9, pos = uvarint_at(data, pos - 1)
            z2 = pos + n9 - 1
            if n9 == 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n9 - 1, pos, size)
            e3.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            e3.port, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 6
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.is_kraft_controller = False
        m.ungrouped_partition_states = []
        m.controller_id, m.controller_epoch, m.broker_epoch, m.type, n1 = _unpack_iiqbB(data, pos)
        pos += 18
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 19 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", n1, pos, size)
        l1: list[LeaderAndIsrTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicState.__new__(LeaderAndIsrTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            u1, n3 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 27 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.partition_states", n3, pos, size)
            l2: list[LeaderAndIsrPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.adding_replicas", n6, pos, size)
                e2.adding_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.removing_replicas", n7, pos, size)
                e2.removing_replicas = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                e2.is_new, e2.leader_recovery_state, k1 = _unpack_TbB(data, pos)
                pos += 3
                if k1:
                    pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        n8 = data[pos]
        pos += 1
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n8, pos, size)
        l7: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l7
        for _ in range(n8):
            e3 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l7.append(e3)
            e3.broker_id, n9 = _unpack_iB(data, pos)
            pos += 5
            if n9 > 127:
                n9, pos = uvarint_at(data, pos - 1)
            z2 = pos + n9 - 1
            if n9 == 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n9 - 1, pos, size)
            e3.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            e3.port, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[LeaderAndIsrRequest, int]:
    # versions 7
    size = len(data)
    try:
        m = LeaderAndIsrRequest.__new__(LeaderAndIsrRequest)
        m.ungrouped_partition_states = []
        m.controller_id, m.is_kraft_controller, m.controller_epoch, m.broker_epoch, m.type, n1 = _unpack_iTiqbB(data, pos)
        pos += 19
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 19 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.topic_states", n1, pos, size)
        l1: list[LeaderAndIsrTopicState] = []
        m.topic_states = l1
        for _ in range(n1):
            e1 = LeaderAndIsrTopicState.__new__(LeaderAndIsrTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            u1, n3 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 27 > size - pos:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrTopicState.partition_states", n3, pos, size)
            l2: list[LeaderAndIsrPartitionState] = []
            e1.partition_states = l2
            for _ in range(n3):
                e2 = LeaderAndIsrPartitionState.__new__(LeaderAndIsrPartitionState)
                l2.append(e2)
                e2.topic_name = ""
                e2.partition_index, e2.controller_epoch, e2.leader, e2.leader_epoch, n4 = _unpack_iiiiB(data, pos)
                pos += 17
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.isr", n4, pos, size)
                e2.isr = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                e2.partition_epoch, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.adding_replicas", n6, pos, size)
                e2.adding_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("LeaderAndIsrRequest", "LeaderAndIsrPartitionState.removing_replicas", n7, pos, size)
                e2.removing_replicas = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                e2.is_new, e2.leader_recovery_state, k1 = _unpack_TbB(data, pos)
                pos += 3
                if k1:
                    pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        n8 = data[pos]
        pos += 1
        if n8 > 127:
            n8, pos = uvarint_at(data, pos - 1)
        n8 -= 1
        if n8 < 0 or n8 * 10 > size - pos:
            raise overrun("LeaderAndIsrRequest", "LeaderAndIsrRequest.live_leaders", n8, pos, size)
        l7: list[LeaderAndIsrLiveLeader] = []
        m.live_leaders = l7
        for _ in range(n8):
            e3 = LeaderAndIsrLiveLeader.__new__(LeaderAndIsrLiveLeader)
            l7.append(e3)
            e3.broker_id, n9 = _unpack_iB(data, pos)
            pos += 5
            if n9 > 127:
                n9, pos = uvarint_at(data, pos - 1)
            z2 = pos + n9 - 1
            if n9 == 0 or z2 > size:
                raise overrun("LeaderAndIsrRequest", "LeaderAndIsrLiveLeader.host_name", n9 - 1, pos, size)
            e3.host_name = str(data[pos:z2], "utf-8")
            pos = z2
            e3.port, k3 = _unpack_iB(data, pos)
            pos += 5
            if k3:
                pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("LeaderAndIsrRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderAndIsrRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[LeaderAndIsrRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v6,
    7: _encode_v7,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[LeaderAndIsrRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v6,
    7: _decode_v7,
}
