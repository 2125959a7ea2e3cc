"""CreateTopicsRequest: request body, key 19, versions 2 to 7.

Generated from ``schemas/create_topics.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_iB: Final = Struct(">iB").pack
_pack_iT: Final = Struct(">i?").pack
_pack_iTx: Final = Struct(">i?x").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iT: Final = Struct(">i?").unpack_from
_unpack_iTB: Final = Struct(">i?B").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class CreatableReplicaAssignment:
    """Part of :class:`CreateTopicsRequest`.

    ``partition_index`` int32

    ``broker_ids`` []int32
    """

    __slots__ = ("partition_index", "broker_ids")
    partition_index: int
    broker_ids: list[int]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        broker_ids: list[int] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatableReplicaAssignment):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.broker_ids == other.broker_ids
        )

    def __repr__(self) -> str:
        return (
            f"CreatableReplicaAssignment(partition_index={self.partition_index!r}, "
            f"broker_ids={self.broker_ids!r})"
        )


class CreatableTopicConfig:
    """Part of :class:`CreateTopicsRequest`.

    ``name`` string

    ``value`` string
    """

    __slots__ = ("name", "value")
    name: str
    value: str | None

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatableTopicConfig):
            return NotImplemented
        return (
            self.name == other.name
            and self.value == other.value
        )

    def __repr__(self) -> str:
        return (
            f"CreatableTopicConfig(name={self.name!r}, "
            f"value={self.value!r})"
        )


class CreatableTopic:
    """Part of :class:`CreateTopicsRequest`.

    ``name`` string

    ``num_partitions`` int32: -1 for the default, or if the assignment is by hand.

    ``replication_factor`` int16: -1 for the default, or if the assignment is by hand.

    ``assignments`` []CreatableReplicaAssignment: Placement by hand; empty to let the controller choose.

    ``configs`` []CreatableTopicConfig
    """

    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")
    name: str
    num_partitions: int
    replication_factor: int
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]

    def __init__(
        self,
        *,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = EMPTY,
        configs: list[CreatableTopicConfig] = EMPTY,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is EMPTY else assignments
        self.configs = [] if configs is EMPTY else configs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatableTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.num_partitions == other.num_partitions
            and self.replication_factor == other.replication_factor
            and self.assignments == other.assignments
            and self.configs == other.configs
        )

    def __repr__(self) -> str:
        return (
            f"CreatableTopic(name={self.name!r}, "
            f"num_partitions={self.num_partitions!r}, "
            f"replication_factor={self.replication_factor!r}, "
            f"assignments={self.assignments!r}, "
            f"configs={self.configs!r})"
        )


class CreateTopicsRequest:
    """Create topics, with partitions placed by the controller or by hand.

    ``topics`` []CreatableTopic

    ``timeout_ms`` int32

    ``validate_only`` bool
    """

    API_KEY: ClassVar[int] = 19
    NAME: ClassVar[str] = "CreateTopicsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int] = 5

    __slots__ = ("topics", "timeout_ms", "validate_only")
    topics: list[CreatableTopic]
    timeout_ms: int
    validate_only: bool

    def __init__(
        self,
        *,
        topics: list[CreatableTopic] = EMPTY,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreateTopicsRequest):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.timeout_ms == other.timeout_ms
            and self.validate_only == other.validate_only
        )

    def __repr__(self) -> str:
        return (
            f"CreateTopicsRequest(topics={self.topics!r}, "
            f"timeout_ms={self.timeout_ms!r}, "
            f"validate_only={self.validate_only!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("CreateTopicsRequest", version, 2, 7)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("CreateTopicsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> CreateTopicsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreateTopicsRequest", version, 2, 7)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("CreateTopicsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[CreateTopicsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreateTopicsRequest", version, 2, 7)
        return decoder(data, position)


def _encode_v2(m: CreateTopicsRequest) -> list[bytes]:
    # versions 2, 3, 4
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("CreatableTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.assignments
        n3 = len(l2)
        add(_pack_ihi(e1.num_partitions, e1.replication_factor, n3))
        for e2 in l2:
            l3 = e2.broker_ids
            n4 = len(l3)
            add(_pack_ii(e2.partition_index, n4))
            if l3:
                add(encode_array("i", l3))
        l4 = e1.configs
        n5 = len(l4)
        add(_pack_i(n5))
        for e3 in l4:
            b2 = e3.name.encode()
            n6 = len(b2)
            if n6 > 32767:
                raise short_string("CreatableTopicConfig", "name", len(b2))
            add(_pack_h(n6))
            add(b2)
            if e3.value is None:
                add(b"\xff\xff")
            else:
                b3 = e3.value.encode()
                n7 = len(b3)
                if n7 > 32767:
                    raise short_string("CreatableTopicConfig", "value", len(b3))
                add(_pack_h(n7))
                add(b3)
    add(_pack_iT(m.timeout_ms, m.validate_only))
    return out


def _encode_v5(m: CreateTopicsRequest) -> list[bytes]:
    # versions 5, 6, 7
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("CreatableTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.assignments
        n3 = len(l2) + 1
        add(_pack_ihB(e1.num_partitions, e1.replication_factor, n3) if n3 < 128 else _pack_ih(e1.num_partitions, e1.replication_factor) + uvarint(n3))
        for e2 in l2:
            l3 = e2.broker_ids
            n4 = len(l3) + 1
            add(_pack_iB(e2.partition_index, n4) if n4 < 128 else _pack_i(e2.partition_index) + uvarint(n4))
            if l3:
                add(encode_array("i", l3))
            add(b"\x00")
        l4 = e1.configs
        n5 = len(l4) + 1
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        for e3 in l4:
            b2 = e3.name.encode()
            n6 = len(b2) + 1
            if n6 > 32768:
                raise short_string("CreatableTopicConfig", "name", len(b2))
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            add(b2)
            if e3.value is None:
                add(b"\x00")
            else:
                b3 = e3.value.encode()
                n7 = len(b3) + 1
                if n7 > 32768:
                    raise short_string("CreatableTopicConfig", "value", len(b3))
                add(UVARINT[n7] if n7 < 128 else uvarint(n7))
                add(b3)
            add(b"\x00")
        add(b"\x00")
    add(_pack_iTx(m.timeout_ms, m.validate_only))
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[CreateTopicsRequest, int]:
    # versions 2, 3, 4
    size = len(data)
    try:
        m = CreateTopicsRequest.__new__(CreateTopicsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 16 > size - pos:
            raise overrun("CreateTopicsRequest", "CreateTopicsRequest.topics", n1, pos, size)
        l1: list[CreatableTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatableTopic.__new__(CreatableTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("CreateTopicsRequest", "CreatableTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.num_partitions, e1.replication_factor, n3 = _unpack_ihi(data, pos)
            pos += 10
            if n3 < 0 or n3 * 8 > size - pos:
                raise overrun("CreateTopicsRequest", "CreatableTopic.assignments", n3, pos, size)
            l2: list[CreatableReplicaAssignment] = []
            e1.assignments = l2
            for _ in range(n3):
                e2 = CreatableReplicaAssignment.__new__(CreatableReplicaAssignment)
                l2.append(e2)
                e2.partition_index, n4 = _unpack_ii(data, pos)
                pos += 8
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("CreateTopicsRequest", "CreatableReplicaAssignment.broker_ids", n4, pos, size)
                e2.broker_ids = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
            (n5,) = _unpack_i(data, pos)
            pos += 4
            if n5 < 0 or n5 * 4 > size - pos:
                raise overrun("CreateTopicsRequest", "CreatableTopic.configs", n5, pos, size)
            l4: list[CreatableTopicConfig] = []
            e1.configs = l4
            for _ in range(n5):
                e3 = CreatableTopicConfig.__new__(CreatableTopicConfig)
                l4.append(e3)
                (n6,) = _unpack_h(data, pos)
                pos += 2
                z2 = pos + n6
                if n6 < 0 or z2 > size:
                    raise overrun("CreateTopicsRequest", "CreatableTopicConfig.name", n6, pos, size)
                e3.name = str(data[pos:z2], "utf-8")
                pos = z2
                (n7,) = _unpack_h(data, pos)
                pos += 2
                if n7 == -1:
                    e3.value = None
                else:
                    z3 = pos + n7
                    if n7 < 0 or z3 > size:
                        raise overrun("CreateTopicsRequest", "CreatableTopicConfig.value", n7, pos, size)
                    e3.value = str(data[pos:z3], "utf-8")
                    pos = z3
        m.timeout_ms, m.validate_only = _unpack_iT(data, pos)
        pos += 5
    except DECODE_FAULTS as fault:
        raise malformed("CreateTopicsRequest", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[CreateTopicsRequest, int]:
    # versions 5, 6, 7
    size = len(data)
    try:
        m = CreateTopicsRequest.__new__(CreateTopicsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 10 > size - pos:
            raise overrun("CreateTopicsRequest", "CreateTopicsRequest.topics", n1, pos, size)
        l1: list[CreatableTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatableTopic.__new__(CreatableTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("CreateTopicsRequest", "CreatableTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.num_partitions, e1.replication_factor, n3 = _unpack_ihB(data, pos)
            pos += 7
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 6 > size - pos:
                raise overrun("CreateTopicsRequest", "CreatableTopic.assignments", n3, pos, size)
            l2: list[CreatableReplicaAssignment] = []
            e1.assignments = l2
            for _ in range(n3):
                e2 = CreatableReplicaAssignment.__new__(CreatableReplicaAssignment)
                l2.append(e2)
                e2.partition_index, n4 = _unpack_iB(data, pos)
                pos += 5
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("CreateTopicsRequest", "CreatableReplicaAssignment.broker_ids", n4, pos, size)
                e2.broker_ids = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("CreateTopicsRequest", data, pos - 1)
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            n5 -= 1
            if n5 < 0 or n5 * 3 > size - pos:
                raise overrun("CreateTopicsRequest", "CreatableTopic.configs", n5, pos, size)
            l4: list[CreatableTopicConfig] = []
            e1.configs = l4
            for _ in range(n5):
                e3 = CreatableTopicConfig.__new__(CreatableTopicConfig)
                l4.append(e3)
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                z2 = pos + n6 - 1
                if n6 == 0 or z2 > size:
                    raise overrun("CreateTopicsRequest", "CreatableTopicConfig.name", n6 - 1, pos, size)
                e3.name = str(data[pos:z2], "utf-8")
                pos = z2
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                if n7 == 0:
                    e3.value = None
                else:
                    z3 = pos + n7 - 1
                    if z3 > size:
                        raise overrun("CreateTopicsRequest", "CreatableTopicConfig.value", n7 - 1, pos, size)
                    e3.value = str(data[pos:z3], "utf-8")
                    pos = z3
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("CreateTopicsRequest", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("CreateTopicsRequest", data, pos - 1)
        m.timeout_ms, m.validate_only, k4 = _unpack_iTB(data, pos)
        pos += 6
        if k4:
            pos = skip_tagged("CreateTopicsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("CreateTopicsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[CreateTopicsRequest], list[bytes]]]] = {
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v5,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[CreateTopicsRequest, int]]]] = {
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v5,
}
