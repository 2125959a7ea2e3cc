"""MetadataRequest: request body, key 3, versions 0 to 13.

Generated from ``schemas/metadata.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_T: Final = Struct(">?").pack
_pack_TTT: Final = Struct(">???").pack
_pack_TTTx: Final = Struct(">???x").pack
_pack_TTx: Final = Struct(">??x").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_T: Final = Struct(">?").unpack_from
_unpack_TTB: Final = Struct(">??B").unpack_from
_unpack_TTT: Final = Struct(">???").unpack_from
_unpack_TTTB: Final = Struct(">???B").unpack_from
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class MetadataRequestTopic:
    """Part of :class:`MetadataRequest`.

    ``topic_id`` uuid (v10+)

    ``name`` string: Null if asked by id.
    """

    __slots__ = ("topic_id", "name")
    topic_id: UUID
    name: str | None

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataRequestTopic):
            return NotImplemented
        return (
            self.topic_id == other.topic_id
            and self.name == other.name
        )

    def __repr__(self) -> str:
        return (
            f"MetadataRequestTopic(topic_id={self.topic_id!r}, "
            f"name={self.name!r})"
        )


class MetadataRequest:
    """Brokers, topics and their leaders. Topics of null mean all; in version 0 an empty list does.

    ``topics`` []MetadataRequestTopic: Topics to describe.

    ``allow_auto_topic_creation`` bool (v4+): Whether a missing topic may be created.

    ``include_cluster_authorized_operations`` bool (v8-10)

    ``include_topic_authorized_operations`` bool (v8+)
    """

    API_KEY: ClassVar[int] = 3
    NAME: ClassVar[str] = "MetadataRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int] = 9

    __slots__ = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")
    topics: list[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool

    def __init__(
        self,
        *,
        topics: list[MetadataRequestTopic] | None = EMPTY,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetadataRequest):
            return NotImplemented
        return (
            self.topics == other.topics
            and self.allow_auto_topic_creation == other.allow_auto_topic_creation
            and self.include_cluster_authorized_operations == other.include_cluster_authorized_operations
            and self.include_topic_authorized_operations == other.include_topic_authorized_operations
        )

    def __repr__(self) -> str:
        return (
            f"MetadataRequest(topics={self.topics!r}, "
            f"allow_auto_topic_creation={self.allow_auto_topic_creation!r}, "
            f"include_cluster_authorized_operations={self.include_cluster_authorized_operations!r}, "
            f"include_topic_authorized_operations={self.include_topic_authorized_operations!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("MetadataRequest", version, 0, 13)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("MetadataRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> MetadataRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataRequest", version, 0, 13)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("MetadataRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[MetadataRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("MetadataRequest", version, 0, 13)
        return decoder(data, position)


def _encode_v0(m: MetadataRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.allow_auto_topic_creation):
        raise not_in_version("MetadataRequest", "MetadataRequest.allow_auto_topic_creation", m.allow_auto_topic_creation)
    if not (not m.include_cluster_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_cluster_authorized_operations", m.include_cluster_authorized_operations)
    if not (not m.include_topic_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_topic_authorized_operations", m.include_topic_authorized_operations)
    if m.topics is None:
        raise not_in_version("MetadataRequest", "MetadataRequest.topics", None)
    l1 = m.topics
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        if e1.name is None:
            raise not_in_version("MetadataRequest", "MetadataRequestTopic.name", None)
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("MetadataRequestTopic", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
    return out


def _encode_v1(m: MetadataRequest) -> list[bytes]:
    # versions 1, 2, 3
    out: list[bytes] = []
    add = out.append
    if not (m.allow_auto_topic_creation):
        raise not_in_version("MetadataRequest", "MetadataRequest.allow_auto_topic_creation", m.allow_auto_topic_creation)
    if not (not m.include_cluster_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_cluster_authorized_operations", m.include_cluster_authorized_operations)
    if not (not m.include_topic_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_topic_authorized_operations", m.include_topic_authorized_operations)
    l1 = m.topics
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n1 = len(l1)
        add(_pack_i(n1))
        for e1 in l1:
            if e1.name is None:
                raise not_in_version("MetadataRequest", "MetadataRequestTopic.name", None)
            b1 = e1.name.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("MetadataRequestTopic", "name", len(b1))
            add(_pack_h(n2))
            add(b1)
    return out


def _encode_v4(m: MetadataRequest) -> list[bytes]:
    # versions 4, 5, 6, 7
    out: list[bytes] = []
    add = out.append
    if not (not m.include_cluster_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_cluster_authorized_operations", m.include_cluster_authorized_operations)
    if not (not m.include_topic_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_topic_authorized_operations", m.include_topic_authorized_operations)
    l1 = m.topics
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n1 = len(l1)
        add(_pack_i(n1))
        for e1 in l1:
            if e1.name is None:
                raise not_in_version("MetadataRequest", "MetadataRequestTopic.name", None)
            b1 = e1.name.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("MetadataRequestTopic", "name", len(b1))
            add(_pack_h(n2))
            add(b1)
    add(_pack_T(m.allow_auto_topic_creation))
    return out


def _encode_v8(m: MetadataRequest) -> list[bytes]:
    # versions 8
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n1 = len(l1)
        add(_pack_i(n1))
        for e1 in l1:
            if e1.name is None:
                raise not_in_version("MetadataRequest", "MetadataRequestTopic.name", None)
            b1 = e1.name.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("MetadataRequestTopic", "name", len(b1))
            add(_pack_h(n2))
            add(b1)
    add(_pack_TTT(m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations))
    return out


def _encode_v9(m: MetadataRequest) -> list[bytes]:
    # versions 9
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            if e1.name is None:
                raise not_in_version("MetadataRequest", "MetadataRequestTopic.name", None)
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("MetadataRequestTopic", "name", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
            add(b"\x00")
    add(_pack_TTTx(m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations))
    return out


def _encode_v10(m: MetadataRequest) -> list[bytes]:
    # versions 10
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            add(e1.topic_id.bytes)
            if e1.name is None:
                add(b"\x00")
            else:
                b1 = e1.name.encode()
                n2 = len(b1) + 1
                if n2 > 32768:
                    raise short_string("MetadataRequestTopic", "name", len(b1))
                add(UVARINT[n2] if n2 < 128 else uvarint(n2))
                add(b1)
            add(b"\x00")
    add(_pack_TTTx(m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations))
    return out


def _encode_v11(m: MetadataRequest) -> list[bytes]:
    # versions 11, 12, 13
    out: list[bytes] = []
    add = out.append
    if not (not m.include_cluster_authorized_operations):
        raise not_in_version("MetadataRequest", "MetadataRequest.include_cluster_authorized_operations", m.include_cluster_authorized_operations)
    l1 = m.topics
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            add(e1.topic_id.bytes)
            if e1.name is None:
                add(b"\x00")
            else:
                b1 = e1.name.encode()
                n2 = len(b1) + 1
                if n2 > 32768:
                    raise short_string("MetadataRequestTopic", "name", len(b1))
                add(UVARINT[n2] if n2 < 128 else uvarint(n2))
                add(b1)
            add(b"\x00")
    add(_pack_TTx(m.allow_auto_topic_creation, m.include_topic_authorized_operations))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        m.allow_auto_topic_creation = True
        m.include_cluster_authorized_operations = False
        m.include_topic_authorized_operations = False
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 2 > size - pos:
            raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
        l1: list[MetadataRequestTopic] = []
        m.topics = l1
        for _ in range(n1):
            e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 1, 2, 3
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        m.allow_auto_topic_creation = True
        m.include_cluster_authorized_operations = False
        m.include_topic_authorized_operations = False
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 == -1:
            m.topics = None
        else:
            if n1 < 0 or n1 * 2 > size - pos:
                raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
            l1: list[MetadataRequestTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                l1.append(e1)
                e1.topic_id = ZERO_UUID
                (n2,) = _unpack_h(data, pos)
                pos += 2
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 4, 5, 6, 7
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        m.include_cluster_authorized_operations = False
        m.include_topic_authorized_operations = False
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 == -1:
            m.topics = None
        else:
            if n1 < 0 or n1 * 2 > size - pos:
                raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
            l1: list[MetadataRequestTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                l1.append(e1)
                e1.topic_id = ZERO_UUID
                (n2,) = _unpack_h(data, pos)
                pos += 2
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
        (m.allow_auto_topic_creation,) = _unpack_T(data, pos)
        pos += 1
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 8
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 == -1:
            m.topics = None
        else:
            if n1 < 0 or n1 * 2 > size - pos:
                raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
            l1: list[MetadataRequestTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                l1.append(e1)
                e1.topic_id = ZERO_UUID
                (n2,) = _unpack_h(data, pos)
                pos += 2
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
        m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations = _unpack_TTT(data, pos)
        pos += 3
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 9
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 2 > size - pos:
                raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
            l1: list[MetadataRequestTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                l1.append(e1)
                e1.topic_id = ZERO_UUID
                n2 = data[pos]
                pos += 1
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                z1 = pos + n2 - 1
                if n2 == 0 or z1 > size:
                    raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("MetadataRequest", data, pos - 1)
        m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations, k2 = _unpack_TTTB(data, pos)
        pos += 4
        if k2:
            pos = skip_tagged("MetadataRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 10
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 18 > size - pos:
                raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
            l1: list[MetadataRequestTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                l1.append(e1)
                u1, n2 = _unpack_UB(data, pos)
                pos += 17
                e1.topic_id = uuid_of(u1)
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                if n2 == 0:
                    e1.name = None
                else:
                    z1 = pos + n2 - 1
                    if z1 > size:
                        raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2 - 1, pos, size)
                    e1.name = str(data[pos:z1], "utf-8")
                    pos = z1
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("MetadataRequest", data, pos - 1)
        m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations, k2 = _unpack_TTTB(data, pos)
        pos += 4
        if k2:
            pos = skip_tagged("MetadataRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


def _decode_v11(data: Buffer, pos: int) -> tuple[MetadataRequest, int]:
    # versions 11, 12, 13
    size = len(data)
    try:
        m = MetadataRequest.__new__(MetadataRequest)
        m.include_cluster_authorized_operations = False
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 18 > size - pos:
                raise overrun("MetadataRequest", "MetadataRequest.topics", n1, pos, size)
            l1: list[MetadataRequestTopic] = []
            m.topics = l1
            for _ in range(n1):
                e1 = MetadataRequestTopic.__new__(MetadataRequestTopic)
                l1.append(e1)
                u1, n2 = _unpack_UB(data, pos)
                pos += 17
                e1.topic_id = uuid_of(u1)
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                if n2 == 0:
                    e1.name = None
                else:
                    z1 = pos + n2 - 1
                    if z1 > size:
                        raise overrun("MetadataRequest", "MetadataRequestTopic.name", n2 - 1, pos, size)
                    e1.name = str(data[pos:z1], "utf-8")
                    pos = z1
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("MetadataRequest", data, pos - 1)
        m.allow_auto_topic_creation, m.include_topic_authorized_operations, k2 = _unpack_TTB(data, pos)
        pos += 3
        if k2:
            pos = skip_tagged("MetadataRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("MetadataRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[MetadataRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v1,
    4: _encode_v4,
    5: _encode_v4,
    6: _encode_v4,
    7: _encode_v4,
    8: _encode_v8,
    9: _encode_v9,
    10: _encode_v10,
    11: _encode_v11,
    12: _encode_v11,
    13: _encode_v11,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[MetadataRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v1,
    4: _decode_v4,
    5: _decode_v4,
    6: _decode_v4,
    7: _decode_v4,
    8: _decode_v8,
    9: _decode_v9,
    10: _decode_v10,
    11: _decode_v11,
    12: _decode_v11,
    13: _decode_v11,
}
