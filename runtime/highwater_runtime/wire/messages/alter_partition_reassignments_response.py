"""AlterPartitionReassignmentsResponse: response body, key 45, versions 0.

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
    malformed,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_ih: Final = Struct(">ih").pack
_unpack_ihB: Final = Struct(">ihB").unpack_from


class ReassignablePartitionResponse:
    """Part of :class:`AlterPartitionReassignmentsResponse`.

    ``partition_index`` int32

    ``error_code`` int16

    ``error_message`` string
    """

    __slots__ = ("partition_index", "error_code", "error_message")
    partition_index: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReassignablePartitionResponse):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"ReassignablePartitionResponse(partition_index={self.partition_index!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )


class ReassignableTopicResponse:
    """Part of :class:`AlterPartitionReassignmentsResponse`.

    ``name`` string

    ``partitions`` []ReassignablePartitionResponse
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[ReassignablePartitionResponse]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReassignableTopicResponse):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"ReassignableTopicResponse(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class AlterPartitionReassignmentsResponse:
    """One result for each partition; the moves go on after it.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``error_message`` string

    ``responses`` []ReassignableTopicResponse
    """

    API_KEY: ClassVar[int] = 45
    NAME: ClassVar[str] = "AlterPartitionReassignmentsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[ReassignableTopicResponse]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is EMPTY else responses

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterPartitionReassignmentsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.responses == other.responses
        )

    def __repr__(self) -> str:
        return (
            f"AlterPartitionReassignmentsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"responses={self.responses!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterPartitionReassignmentsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterPartitionReassignmentsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterPartitionReassignmentsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionReassignmentsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterPartitionReassignmentsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterPartitionReassignmentsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: AlterPartitionReassignmentsResponse) -> list[bytes]:
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
            raise short_string("AlterPartitionReassignmentsResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.responses
    n2 = len(l1) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("ReassignableTopicResponse", "name", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        l2 = e1.partitions
        n4 = len(l2) + 1
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        for e2 in l2:
            add(_pack_ih(e2.partition_index, e2.error_code))
            if e2.error_message is None:
                add(b"\x00")
            else:
                b3 = e2.error_message.encode()
                n5 = len(b3) + 1
                if n5 > 32768:
                    raise short_string("ReassignablePartitionResponse", "error_message", len(b3))
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = AlterPartitionReassignmentsResponse.__new__(AlterPartitionReassignmentsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("AlterPartitionReassignmentsResponse", "AlterPartitionReassignmentsResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - pos:
            raise overrun("AlterPartitionReassignmentsResponse", "AlterPartitionReassignmentsResponse.responses", n2, pos, size)
        l1: list[ReassignableTopicResponse] = []
        m.responses = l1
        for _ in range(n2):
            e1 = ReassignableTopicResponse.__new__(ReassignableTopicResponse)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("AlterPartitionReassignmentsResponse", "ReassignableTopicResponse.name", n3 - 1, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 8 > size - pos:
                raise overrun("AlterPartitionReassignmentsResponse", "ReassignableTopicResponse.partitions", n4, pos, size)
            l2: list[ReassignablePartitionResponse] = []
            e1.partitions = l2
            for _ in range(n4):
                e2 = ReassignablePartitionResponse.__new__(ReassignablePartitionResponse)
                l2.append(e2)
                e2.partition_index, e2.error_code, n5 = _unpack_ihB(data, pos)
                pos += 7
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                if n5 == 0:
                    e2.error_message = None
                else:
                    z3 = pos + n5 - 1
                    if z3 > size:
                        raise overrun("AlterPartitionReassignmentsResponse", "ReassignablePartitionResponse.error_message", n5 - 1, pos, size)
                    e2.error_message = str(data[pos:z3], "utf-8")
                    pos = z3
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("AlterPartitionReassignmentsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterPartitionReassignmentsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterPartitionReassignmentsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterPartitionReassignmentsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterPartitionReassignmentsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterPartitionReassignmentsResponse, int]]]] = {
    0: _decode_v0,
}
