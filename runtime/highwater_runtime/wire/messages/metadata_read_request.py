"""MetadataReadRequest: request body, key 10001, versions 0.

Generated from ``schemas/linearizable_reads.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_Ti: Final = Struct(">?i").pack
_unpack_TiB: Final = Struct(">?iB").unpack_from


class MetadataReadTopic:
    """Part of :class:`MetadataReadRequest`.

    ``name`` string
    """

    __slots__ = ("name",)
    name: str

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataReadTopic):
            return NotImplemented
        return (
            self.name == other.name
        )

    def __repr__(self) -> str:
        return (
            f"MetadataReadTopic(name={self.name!r})"
        )


class MetadataReadRequest:
    """Reads the cluster's metadata at any node, broker or controller. (An API of ours; KIP-650 leaves the form open.)

    ``linearizable`` bool: True: as of now, or an error. False: what this node knows, however old.

    ``timeout_ms`` int32: How long the read may be held before it is answered REQUEST_TIMED_OUT.

    ``topics`` []MetadataReadTopic: Null: all.
    """

    API_KEY: ClassVar[int] = 10001
    NAME: ClassVar[str] = "MetadataReadRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("linearizable", "timeout_ms", "topics")
    linearizable: bool
    timeout_ms: int
    topics: list[MetadataReadTopic] | None

    def __init__(
        self,
        *,
        linearizable: bool = False,
        timeout_ms: int = 1000,
        topics: list[MetadataReadTopic] | None = EMPTY,
    ) -> None:
        self.linearizable = linearizable
        self.timeout_ms = timeout_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataReadRequest):
            return NotImplemented
        return (
            self.linearizable == other.linearizable
            and self.timeout_ms == other.timeout_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"MetadataReadRequest(linearizable={self.linearizable!r}, "
            f"timeout_ms={self.timeout_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("MetadataReadRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("MetadataReadRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> MetadataReadRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataReadRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("MetadataReadRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[MetadataReadRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataReadRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: MetadataReadRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    add(_pack_Ti(m.linearizable, m.timeout_ms))
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("MetadataReadTopic", "name", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
            add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[MetadataReadRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = MetadataReadRequest.__new__(MetadataReadRequest)
        m.linearizable, m.timeout_ms, n1 = _unpack_TiB(data, pos)
        pos += 6
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 2 > size - pos:
                raise overrun("MetadataReadRequest", "MetadataReadRequest.topics", n1, pos, size)
            l1: list[MetadataReadTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataReadTopic.__new__(MetadataReadTopic)
                l1.append(e1)
                n2 = data[pos]
                pos += 1
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                z1 = pos + n2 - 1
                if n2 == 0 or z1 > size:
                    raise overrun("MetadataReadRequest", "MetadataReadTopic.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("MetadataReadRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("MetadataReadRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataReadRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[MetadataReadRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[MetadataReadRequest, int]]]] = {
    0: _decode_v0,
}
