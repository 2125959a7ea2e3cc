"""ListPartitionReassignmentsRequest: request body, key 46, versions 0.

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
_unpack_iB: Final = Struct(">iB").unpack_from


class ListPartitionReassignmentsTopics:
    """Part of :class:`ListPartitionReassignmentsRequest`.

    ``name`` string

    ``partition_indexes`` []int32
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
        if not isinstance(other, ListPartitionReassignmentsTopics):
            return NotImplemented
        return (
            self.name == other.name
            and self.partition_indexes == other.partition_indexes
        )

    def __repr__(self) -> str:
        return (
            f"ListPartitionReassignmentsTopics(name={self.name!r}, "
            f"partition_indexes={self.partition_indexes!r})"
        )


class ListPartitionReassignmentsRequest:
    """Moves under way.

    ``timeout_ms`` int32

    ``topics`` []ListPartitionReassignmentsTopics: Null for all.
    """

    API_KEY: ClassVar[int] = 46
    NAME: ClassVar[str] = "ListPartitionReassignmentsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "topics")
    timeout_ms: int
    topics: list[ListPartitionReassignmentsTopics] | None

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListPartitionReassignmentsRequest):
            return NotImplemented
        return (
            self.timeout_ms == other.timeout_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"ListPartitionReassignmentsRequest(timeout_ms={self.timeout_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ListPartitionReassignmentsRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ListPartitionReassignmentsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ListPartitionReassignmentsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListPartitionReassignmentsRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ListPartitionReassignmentsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ListPartitionReassignmentsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListPartitionReassignmentsRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: ListPartitionReassignmentsRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    add(_pack_i(m.timeout_ms))
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("ListPartitionReassignmentsTopics", "name", len(b1))
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


def _decode_v0(data: Buffer, pos: int) -> tuple[ListPartitionReassignmentsRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = ListPartitionReassignmentsRequest.__new__(ListPartitionReassignmentsRequest)
        m.timeout_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - pos:
                raise overrun("ListPartitionReassignmentsRequest", "ListPartitionReassignmentsRequest.topics", n1, pos, size)
            l1: list[ListPartitionReassignmentsTopics] = []
            m.topics = l1
            for _ in range(n1):
                e1 = ListPartitionReassignmentsTopics.__new__(ListPartitionReassignmentsTopics)
                l1.append(e1)
                n2 = data[pos]
                pos += 1
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                z1 = pos + n2 - 1
                if n2 == 0 or z1 > size:
                    raise overrun("ListPartitionReassignmentsRequest", "ListPartitionReassignmentsTopics.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
                n3 = data[pos]
                pos += 1
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                n3 -= 1
                if n3 < 0 or n3 * 4 > size - pos:
                    raise overrun("ListPartitionReassignmentsRequest", "ListPartitionReassignmentsTopics.partition_indexes", n3, pos, size)
                e1.partition_indexes = decode_array("i", n3, data, pos) if n3 else []
                pos += n3 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("ListPartitionReassignmentsRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("ListPartitionReassignmentsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListPartitionReassignmentsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ListPartitionReassignmentsRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ListPartitionReassignmentsRequest, int]]]] = {
    0: _decode_v0,
}
