"""CreatePartitionsRequest: request body, key 37, versions 0 to 3.

Generated from ``schemas/create_partitions.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_iT: Final = Struct(">i?").pack
_pack_iTx: Final = Struct(">i?x").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iT: Final = Struct(">i?").unpack_from
_unpack_iTB: Final = Struct(">i?B").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class CreatePartitionsAssignment:
    """Part of :class:`CreatePartitionsRequest`.

    ``broker_ids`` []int32
    """

    __slots__ = ("broker_ids",)
    broker_ids: list[int]

    def __init__(
        self,
        *,
        broker_ids: list[int] = EMPTY,
    ) -> None:
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatePartitionsAssignment):
            return NotImplemented
        return (
            self.broker_ids == other.broker_ids
        )

    def __repr__(self) -> str:
        return (
            f"CreatePartitionsAssignment(broker_ids={self.broker_ids!r})"
        )


class CreatePartitionsTopic:
    """Part of :class:`CreatePartitionsRequest`.

    ``name`` string

    ``count`` int32: The new number of partitions.

    ``assignments`` []CreatePartitionsAssignment: Placement of the new ones by hand; null to let the controller choose.
    """

    __slots__ = ("name", "count", "assignments")
    name: str
    count: int
    assignments: list[CreatePartitionsAssignment] | None

    def __init__(
        self,
        *,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = EMPTY,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is EMPTY else assignments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatePartitionsTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.count == other.count
            and self.assignments == other.assignments
        )

    def __repr__(self) -> str:
        return (
            f"CreatePartitionsTopic(name={self.name!r}, "
            f"count={self.count!r}, "
            f"assignments={self.assignments!r})"
        )


class CreatePartitionsRequest:
    """Add partitions to topics.

    ``topics`` []CreatePartitionsTopic

    ``timeout_ms`` int32

    ``validate_only`` bool
    """

    API_KEY: ClassVar[int] = 37
    NAME: ClassVar[str] = "CreatePartitionsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("topics", "timeout_ms", "validate_only")
    topics: list[CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool

    def __init__(
        self,
        *,
        topics: list[CreatePartitionsTopic] = EMPTY,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatePartitionsRequest):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.timeout_ms == other.timeout_ms
            and self.validate_only == other.validate_only
        )

    def __repr__(self) -> str:
        return (
            f"CreatePartitionsRequest(topics={self.topics!r}, "
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
            raise unsupported("CreatePartitionsRequest", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("CreatePartitionsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> CreatePartitionsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreatePartitionsRequest", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("CreatePartitionsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[CreatePartitionsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreatePartitionsRequest", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: CreatePartitionsRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("CreatePartitionsTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.assignments
        add(_pack_i(e1.count))
        if l2 is None:
            add(b"\xff\xff\xff\xff")
        else:
            n3 = len(l2)
            add(_pack_i(n3))
            for e2 in l2:
                l3 = e2.broker_ids
                n4 = len(l3)
                add(_pack_i(n4))
                if l3:
                    add(encode_array("i", l3))
    add(_pack_iT(m.timeout_ms, m.validate_only))
    return out


def _encode_v2(m: CreatePartitionsRequest) -> list[bytes]:
    # versions 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("CreatePartitionsTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.assignments
        add(_pack_i(e1.count))
        if l2 is None:
            add(b"\x00")
        else:
            n3 = len(l2) + 1
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            for e2 in l2:
                l3 = e2.broker_ids
                n4 = len(l3) + 1
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                if l3:
                    add(encode_array("i", l3))
                add(b"\x00")
        add(b"\x00")
    add(_pack_iTx(m.timeout_ms, m.validate_only))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[CreatePartitionsRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = CreatePartitionsRequest.__new__(CreatePartitionsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 10 > size - pos:
            raise overrun("CreatePartitionsRequest", "CreatePartitionsRequest.topics", n1, pos, size)
        l1: list[CreatePartitionsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatePartitionsTopic.__new__(CreatePartitionsTopic)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("CreatePartitionsRequest", "CreatePartitionsTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.count, n3 = _unpack_ii(data, pos)
            pos += 8
            if n3 == -1:
                e1.assignments = None
            else:
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("CreatePartitionsRequest", "CreatePartitionsTopic.assignments", n3, pos, size)
                l2: list[CreatePartitionsAssignment] = []
                e1.assignments = l2
                for _ in range(n3):
                    e2 = CreatePartitionsAssignment.__new__(CreatePartitionsAssignment)
                    l2.append(e2)
                    (n4,) = _unpack_i(data, pos)
                    pos += 4
                    if n4 < 0 or n4 * 4 > size - pos:
                        raise overrun("CreatePartitionsRequest", "CreatePartitionsAssignment.broker_ids", n4, pos, size)
                    e2.broker_ids = decode_array("i", n4, data, pos) if n4 else []
                    pos += n4 * 4
        m.timeout_ms, m.validate_only = _unpack_iT(data, pos)
        pos += 5
    except DECODE_FAULTS as fault:
        raise malformed("CreatePartitionsRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[CreatePartitionsRequest, int]:
    # versions 2, 3
    size = len(data)
    try:
        m = CreatePartitionsRequest.__new__(CreatePartitionsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("CreatePartitionsRequest", "CreatePartitionsRequest.topics", n1, pos, size)
        l1: list[CreatePartitionsTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatePartitionsTopic.__new__(CreatePartitionsTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("CreatePartitionsRequest", "CreatePartitionsTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.count, n3 = _unpack_iB(data, pos)
            pos += 5
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.assignments = None
            else:
                n3 -= 1
                if n3 < 0 or n3 * 2 > size - pos:
                    raise overrun("CreatePartitionsRequest", "CreatePartitionsTopic.assignments", n3, pos, size)
                l2: list[CreatePartitionsAssignment] = []
                e1.assignments = l2
                for _ in range(n3):
                    e2 = CreatePartitionsAssignment.__new__(CreatePartitionsAssignment)
                    l2.append(e2)
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    n4 -= 1
                    if n4 < 0 or n4 * 4 > size - pos:
                        raise overrun("CreatePartitionsRequest", "CreatePartitionsAssignment.broker_ids", n4, pos, size)
                    e2.broker_ids = decode_array("i", n4, data, pos) if n4 else []
                    pos += n4 * 4
                    k1 = data[pos]
                    pos += 1
                    if k1:
                        pos = skip_tagged("CreatePartitionsRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("CreatePartitionsRequest", data, pos - 1)
        m.timeout_ms, m.validate_only, k3 = _unpack_iTB(data, pos)
        pos += 6
        if k3:
            pos = skip_tagged("CreatePartitionsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("CreatePartitionsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[CreatePartitionsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
    3: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[CreatePartitionsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
    3: _decode_v2,
}
