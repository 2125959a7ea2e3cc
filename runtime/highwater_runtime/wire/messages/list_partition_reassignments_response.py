"""ListPartitionReassignmentsResponse: response body, key 46, versions 0.

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
_pack_ih: Final = Struct(">ih").pack
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from


class OngoingPartitionReassignment:
    """Part of :class:`ListPartitionReassignmentsResponse`.

    ``partition_index`` int32

    ``replicas`` []int32

    ``adding_replicas`` []int32

    ``removing_replicas`` []int32
    """

    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")
    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is EMPTY else replicas
        self.adding_replicas = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas = [] if removing_replicas is EMPTY else removing_replicas

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OngoingPartitionReassignment):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.replicas == other.replicas
            and self.adding_replicas == other.adding_replicas
            and self.removing_replicas == other.removing_replicas
        )

    def __repr__(self) -> str:
        return (
            f"OngoingPartitionReassignment(partition_index={self.partition_index!r}, "
            f"replicas={self.replicas!r}, "
            f"adding_replicas={self.adding_replicas!r}, "
            f"removing_replicas={self.removing_replicas!r})"
        )


class OngoingTopicReassignment:
    """Part of :class:`ListPartitionReassignmentsResponse`.

    ``name`` string

    ``partitions`` []OngoingPartitionReassignment
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[OngoingPartitionReassignment]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OngoingTopicReassignment):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"OngoingTopicReassignment(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class ListPartitionReassignmentsResponse:
    """Moves under way.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``error_message`` string

    ``topics`` []OngoingTopicReassignment
    """

    API_KEY: ClassVar[int] = 46
    NAME: ClassVar[str] = "ListPartitionReassignmentsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[OngoingTopicReassignment]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListPartitionReassignmentsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"ListPartitionReassignmentsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ListPartitionReassignmentsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ListPartitionReassignmentsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ListPartitionReassignmentsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListPartitionReassignmentsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ListPartitionReassignmentsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ListPartitionReassignmentsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ListPartitionReassignmentsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: ListPartitionReassignmentsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("ListPartitionReassignmentsResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.topics
    n2 = len(l1) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("OngoingTopicReassignment", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        l2 = e1.partitions
        n4 = len(l2) + 1
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        for e2 in l2:
            l3 = e2.replicas
            n5 = len(l3) + 1
            add(_pack_iB(e2.partition_index, n5) if n5 < 128 else _pack_i(e2.partition_index) + uvarint(n5))
            if l3:
                add(encode_array("i", l3))
            l4 = e2.adding_replicas
            n6 = len(l4) + 1
            add(UVARINT[n6] if n6 < 128 else uvarint(n6))
            if l4:
                add(encode_array("i", l4))
            l5 = e2.removing_replicas
            n7 = len(l5) + 1
            add(UVARINT[n7] if n7 < 128 else uvarint(n7))
            if l5:
                add(encode_array("i", l5))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ListPartitionReassignmentsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = ListPartitionReassignmentsResponse.__new__(ListPartitionReassignmentsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("ListPartitionReassignmentsResponse", "ListPartitionReassignmentsResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("ListPartitionReassignmentsResponse", "ListPartitionReassignmentsResponse.topics", n2, pos, size)
        l1: list[OngoingTopicReassignment] = []
        m.topics = l1
        for _ in range(n2):
            e1 = OngoingTopicReassignment.__new__(OngoingTopicReassignment)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("ListPartitionReassignmentsResponse", "OngoingTopicReassignment.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 8 > size - pos:
                raise overrun("ListPartitionReassignmentsResponse", "OngoingTopicReassignment.partitions", n4, pos, size)
            l2: list[OngoingPartitionReassignment] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = OngoingPartitionReassignment.__new__(OngoingPartitionReassignment)
                l2.append(e2)
                e2.partition_index, n5 = _unpack_iB(data, pos)
                pos += 5
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - pos:
                    raise overrun("ListPartitionReassignmentsResponse", "OngoingPartitionReassignment.replicas", n5, pos, size)
                e2.replicas = decode_array("i", n5, data, pos) if n5 else []
                pos += n5 * 4
                n6 = data[pos]
                pos += 1
                if n6 > 127:
                    n6, pos = uvarint_at(data, pos - 1)
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - pos:
                    raise overrun("ListPartitionReassignmentsResponse", "OngoingPartitionReassignment.adding_replicas", n6, pos, size)
                e2.adding_replicas = decode_array("i", n6, data, pos) if n6 else []
                pos += n6 * 4
                n7 = data[pos]
                pos += 1
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("ListPartitionReassignmentsResponse", "OngoingPartitionReassignment.removing_replicas", n7, pos, size)
                e2.removing_replicas = decode_array("i", n7, data, pos) if n7 else []
                pos += n7 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("ListPartitionReassignmentsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ListPartitionReassignmentsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ListPartitionReassignmentsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ListPartitionReassignmentsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ListPartitionReassignmentsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ListPartitionReassignmentsResponse, int]]]] = {
    0: _decode_v0,
}
