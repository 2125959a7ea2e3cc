"""ControlledShutdownResponse: response body, key 7, versions 1 to 3.

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
_pack_hB: Final = Struct(">hB").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class RemainingPartition:
    """Part of :class:`ControlledShutdownResponse`.

    ``topic_name`` string

    ``partition_index`` int32
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
        if not isinstance(other, RemainingPartition):
            return NotImplemented
        return (
            self.topic_name == other.topic_name
            and self.partition_index == other.partition_index
        )

    def __repr__(self) -> str:
        return (
            f"RemainingPartition(topic_name={self.topic_name!r}, "
            f"partition_index={self.partition_index!r})"
        )


class ControlledShutdownResponse:
    """What the broker still leads.

    ``error_code`` int16

    ``remaining_partitions`` []RemainingPartition
    """

    API_KEY: ClassVar[int] = 7
    NAME: ClassVar[str] = "ControlledShutdownResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("error_code", "remaining_partitions")
    error_code: int
    remaining_partitions: list[RemainingPartition]

    def __init__(
        self,
        *,
        error_code: int = 0,
        remaining_partitions: list[RemainingPartition] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.remaining_partitions = [] if remaining_partitions is EMPTY else remaining_partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ControlledShutdownResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.remaining_partitions == other.remaining_partitions
        )

    def __repr__(self) -> str:
        return (
            f"ControlledShutdownResponse(error_code={self.error_code!r}, "
            f"remaining_partitions={self.remaining_partitions!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ControlledShutdownResponse", version, 1, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ControlledShutdownResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ControlledShutdownResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ControlledShutdownResponse", version, 1, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ControlledShutdownResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ControlledShutdownResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ControlledShutdownResponse", version, 1, 3)
        return decoder(data, position)


def _encode_v1(m: ControlledShutdownResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    l1 = m.remaining_partitions
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("RemainingPartition", "topic_name", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_i(e1.partition_index))
    return out


def _encode_v3(m: ControlledShutdownResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.remaining_partitions
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("RemainingPartition", "topic_name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_ix(e1.partition_index))
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[ControlledShutdownResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = ControlledShutdownResponse.__new__(ControlledShutdownResponse)
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ControlledShutdownResponse", "ControlledShutdownResponse.remaining_partitions", n1, pos, size)
        l1: list[RemainingPartition] = []
        m.remaining_partitions = l1
        for _ in range(n1):
            e1 = RemainingPartition.__new__(RemainingPartition)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ControlledShutdownResponse", "RemainingPartition.topic_name", n2, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            (e1.partition_index,) = _unpack_i(data, pos)
            pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ControlledShutdownResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ControlledShutdownResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = ControlledShutdownResponse.__new__(ControlledShutdownResponse)
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ControlledShutdownResponse", "ControlledShutdownResponse.remaining_partitions", n1, pos, size)
        l1: list[RemainingPartition] = []
        m.remaining_partitions = l1
        for _ in range(n1):
            e1 = RemainingPartition.__new__(RemainingPartition)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ControlledShutdownResponse", "RemainingPartition.topic_name", n2 - 1, pos, size)
            e1.topic_name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.partition_index, k1 = _unpack_iB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("ControlledShutdownResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("ControlledShutdownResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ControlledShutdownResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ControlledShutdownResponse], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ControlledShutdownResponse, int]]]] = {
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
}
