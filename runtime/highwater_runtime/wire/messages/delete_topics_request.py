"""DeleteTopicsRequest: request body, key 20, versions 1 to 6.

Generated from ``schemas/delete_topics.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_Ux: Final = Struct(">16sx").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class DeleteTopicState:
    """Part of :class:`DeleteTopicsRequest`.

    ``name`` string (v6+)

    ``topic_id`` uuid (v6+)
    """

    __slots__ = ("name", "topic_id")
    name: str | None
    topic_id: UUID

    def __init__(
        self,
        *,
        name: str | None = None,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteTopicState):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
        )

    def __repr__(self) -> str:
        return (
            f"DeleteTopicState(name={self.name!r}, "
            f"topic_id={self.topic_id!r})"
        )


class DeleteTopicsRequest:
    """Delete topics by name or, from version 6 on, by id.

    ``topics`` []DeleteTopicState (v6+)

    ``topic_names`` []string (v1-5)

    ``timeout_ms`` int32
    """

    API_KEY: ClassVar[int] = 20
    NAME: ClassVar[str] = "DeleteTopicsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("topics", "topic_names", "timeout_ms")
    topics: list[DeleteTopicState]
    topic_names: list[str]
    timeout_ms: int

    def __init__(
        self,
        *,
        topics: list[DeleteTopicState] = EMPTY,
        topic_names: list[str] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.topic_names = [] if topic_names is EMPTY else topic_names
        self.timeout_ms = timeout_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteTopicsRequest):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.topic_names == other.topic_names
            and self.timeout_ms == other.timeout_ms
        )

    def __repr__(self) -> str:
        return (
            f"DeleteTopicsRequest(topics={self.topics!r}, "
            f"topic_names={self.topic_names!r}, "
            f"timeout_ms={self.timeout_ms!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DeleteTopicsRequest", version, 1, 6)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DeleteTopicsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DeleteTopicsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteTopicsRequest", version, 1, 6)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DeleteTopicsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DeleteTopicsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteTopicsRequest", version, 1, 6)
        return decoder(data, position)


def _encode_v1(m: DeleteTopicsRequest) -> list[bytes]:
    # versions 1, 2, 3
    out: list[bytes] = []
    add = out.append
    if not (not m.topics):
        raise not_in_version("DeleteTopicsRequest", "DeleteTopicsRequest.topics", m.topics)
    l1 = m.topic_names
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DeleteTopicsRequest", "topic_names", len(b1))
        add(_pack_h(n2))
        add(b1)
    add(_pack_i(m.timeout_ms))
    return out


def _encode_v4(m: DeleteTopicsRequest) -> list[bytes]:
    # versions 4, 5
    out: list[bytes] = []
    add = out.append
    if not (not m.topics):
        raise not_in_version("DeleteTopicsRequest", "DeleteTopicsRequest.topics", m.topics)
    l1 = m.topic_names
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeleteTopicsRequest", "topic_names", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
    add(_pack_ix(m.timeout_ms))
    return out


def _encode_v6(m: DeleteTopicsRequest) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        if e1.name is None:
            add(b"\x00")
        else:
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("DeleteTopicState", "name", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
        add(_pack_Ux(e1.topic_id.bytes))
    add(_pack_ix(m.timeout_ms))
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[DeleteTopicsRequest, int]:
    # versions 1, 2, 3
    size = len(data)
    try:
        m = DeleteTopicsRequest.__new__(DeleteTopicsRequest)
        m.topics = []
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("DeleteTopicsRequest", "DeleteTopicsRequest.topic_names", n1, pos, size)
        l1: list[str] = []
        m.topic_names = l1
        for _ in range(n1):
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DeleteTopicsRequest", "DeleteTopicsRequest.topic_names", n2, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        (m.timeout_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[DeleteTopicsRequest, int]:
    # versions 4, 5
    size = len(data)
    try:
        m = DeleteTopicsRequest.__new__(DeleteTopicsRequest)
        m.topics = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 > size - pos:
            raise overrun("DeleteTopicsRequest", "DeleteTopicsRequest.topic_names", n1, pos, size)
        l1: list[str] = []
        m.topic_names = l1
        for _ in range(n1):
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteTopicsRequest", "DeleteTopicsRequest.topic_names", n2 - 1, pos, size)
            e1 = str(data[pos:z1], "utf-8")
            pos = z1
            l1.append(e1)
        m.timeout_ms, k1 = _unpack_iB(data, pos)
        pos += 5
        if k1:
            pos = skip_tagged("DeleteTopicsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[DeleteTopicsRequest, int]:
    # versions 6
    size = len(data)
    try:
        m = DeleteTopicsRequest.__new__(DeleteTopicsRequest)
        m.topic_names = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - pos:
            raise overrun("DeleteTopicsRequest", "DeleteTopicsRequest.topics", n1, pos, size)
        l1: list[DeleteTopicState] = []
        m.topics = l1
        for _ in range(n1):
            e1 = DeleteTopicState.__new__(DeleteTopicState)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            if n2 == 0:
                e1.name = None
            else:
                z1 = pos + n2 - 1
                if z1 > size:
                    raise overrun("DeleteTopicsRequest", "DeleteTopicState.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
            u1, k1 = _unpack_UB(data, pos)
            pos += 17
            e1.topic_id = uuid_of(u1)
            if k1:
                pos = skip_tagged("DeleteTopicsRequest", data, pos - 1)
        m.timeout_ms, k2 = _unpack_iB(data, pos)
        pos += 5
        if k2:
            pos = skip_tagged("DeleteTopicsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DeleteTopicsRequest], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v1,
    4: _encode_v4,
    5: _encode_v4,
    6: _encode_v6,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DeleteTopicsRequest, int]]]] = {
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v1,
    4: _decode_v4,
    5: _decode_v4,
    6: _decode_v6,
}
