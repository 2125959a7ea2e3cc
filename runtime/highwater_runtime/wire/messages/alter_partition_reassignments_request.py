"""AlterPartitionReassignmentsRequest: request body, key 45, versions 0.

Generated from ``schemas/partition_reassignments.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_unpack_iB: Final = Struct(">iB").unpack_from


class ReassignablePartition:
    """Part of :class:`AlterPartitionReassignmentsRequest`.

    ``partition_index`` int32

    ``replicas`` []int32: The target replicas; null cancels.
    """

    __slots__ = ("partition_index", "replicas")
    partition_index: int
    replicas: list[int] | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReassignablePartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.replicas == other.replicas
        )

    def __repr__(self) -> str:
        return (
            f"ReassignablePartition(partition_index={self.partition_index!r}, "
            f"replicas={self.replicas!r})"
        )


class ReassignableTopic:
    """Part of :class:`AlterPartitionReassignmentsRequest`.

    ``name`` string

    ``partitions`` []ReassignablePartition
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[ReassignablePartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ReassignablePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReassignableTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"ReassignableTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class AlterPartitionReassignmentsRequest:
    """Move partitions to other brokers, or cancel a move (KIP-455).

    ``timeout_ms`` int32

    ``topics`` []ReassignableTopic
    """

    API_KEY: ClassVar[int] = 45
    NAME: ClassVar[str] = "AlterPartitionReassignmentsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "topics")
    timeout_ms: int
    topics: list[ReassignableTopic]

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: list[ReassignableTopic] = EMPTY,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterPartitionReassignmentsRequest):
            return NotImplemented
        return (
            self.timeout_ms == other.timeout_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"AlterPartitionReassignmentsRequest(timeout_ms={self.timeout_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterPartitionReassignmentsRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterPartitionReassignmentsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterPartitionReassignmentsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionReassignmentsRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterPartitionReassignmentsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterPartitionReassignmentsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionReassignmentsRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: AlterPartitionReassignmentsRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.timeout_ms, n1) if n1 < 128 else _pack_i(m.timeout_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ReassignableTopic", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partitions
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            l3 = e2.replicas
            add(_pack_i(e2.partition_index))
            if l3 is None:
                add(b"\x00")
            else:
                n4 = len(l3) + 1
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                if l3:
                    add(encode_array("i", l3))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterPartitionReassignmentsRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = AlterPartitionReassignmentsRequest.__new__(AlterPartitionReassignmentsRequest)
        m.timeout_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("AlterPartitionReassignmentsRequest", "AlterPartitionReassignmentsRequest.topics", n1, pos, size)
        l1: list[ReassignableTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = ReassignableTopic.__new__(ReassignableTopic)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("AlterPartitionReassignmentsRequest", "ReassignableTopic.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 6 > size - pos:
                raise overrun("AlterPartitionReassignmentsRequest", "ReassignableTopic.partitions", n3, pos, size)
            l2: list[ReassignablePartition] = []
            e1.partitions = l2
            for _ in range(n3):
                e2 = ReassignablePartition.__new__(ReassignablePartition)
                l2.append(e2)
                e2.partition_index, n4 = _unpack_iB(data, pos)
                pos += 5
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                if n4 == 0:
                    e2.replicas = None
                else:
                    n4 -= 1
                    if n4 < 0 or n4 * 4 > size - pos:
                        raise overrun("AlterPartitionReassignmentsRequest", "ReassignablePartition.replicas", n4, pos, size)
                    e2.replicas = decode_array("i", n4, data, pos) if n4 else []
                    pos += n4 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("AlterPartitionReassignmentsRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionReassignmentsRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionReassignmentsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionReassignmentsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterPartitionReassignmentsRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterPartitionReassignmentsRequest, int]]]] = {
    0: _decode_v0,
}
