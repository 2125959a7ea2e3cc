"""TopicRecord: record of the metadata log, key 2, versions 0.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    ENCODE_FAULTS,
    UVARINT,
    ZERO_UUID,
    Buffer,
    DecodeError,
    malformed,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_Ux: Final = Struct(">16sx").pack
_unpack_UB: Final = Struct(">16sB").unpack_from


class TopicRecord:
    """A topic has been created.

    ``name`` string

    ``topic_id`` uuid
    """

    API_KEY: ClassVar[int] = 2
    NAME: ClassVar[str] = "TopicRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("name", "topic_id")
    name: str
    topic_id: UUID

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicRecord):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
        )

    def __repr__(self) -> str:
        return (
            f"TopicRecord(name={self.name!r}, "
            f"topic_id={self.topic_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("TopicRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("TopicRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> TopicRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("TopicRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("TopicRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[TopicRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("TopicRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: TopicRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.name.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("TopicRecord", "name", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    add(_pack_Ux(m.topic_id.bytes))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[TopicRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = TopicRecord.__new__(TopicRecord)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("TopicRecord", "TopicRecord.name", n1 - 1, pos, size)
        m.name = str(data[pos:z1], "utf-8")
        pos = z1
        u1, k1 = _unpack_UB(data, pos)
        pos += 17
        m.topic_id = uuid_of(u1)
        if k1:
            pos = skip_tagged("TopicRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("TopicRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[TopicRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[TopicRecord, int]]]] = {
    0: _decode_v0,
}
