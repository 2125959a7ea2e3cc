"""OffsetFetchRequest: request body, key 9, versions 1 to 10.

Generated from ``schemas/group_offsets.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    decode_array,
    encode_array,
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

_pack_Tx: Final = Struct(">?x").pack
_pack_UB: Final = Struct(">16sB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_UB: Final = Struct(">16sB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class OffsetFetchRequestTopic:
    """Part of :class:`OffsetFetchRequest`.

    ``name`` string (v1-7)

    ``partition_indexes`` []int32 (v1-7)
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
        if not isinstance(other, OffsetFetchRequestTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partition_indexes == other.partition_indexes
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchRequestTopic(name={self.name!r}, "
            f"partition_indexes={self.partition_indexes!r})"
        )


class OffsetFetchRequestTopics:
    """Part of :class:`OffsetFetchRequest`.

    ``name`` string (v8-9)

    ``topic_id`` uuid (v10+)

    ``partition_indexes`` []int32 (v8+)
    """

    __slots__ = ("name", "topic_id", "partition_indexes")
    name: str
    topic_id: UUID
    partition_indexes: list[int]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchRequestTopics):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
            and self.partition_indexes == other.partition_indexes
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchRequestTopics(name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"partition_indexes={self.partition_indexes!r})"
        )


class OffsetFetchRequestGroup:
    """Part of :class:`OffsetFetchRequest`.

    ``group_id`` string (v8+)

    ``member_id`` string (v9+)

    ``member_epoch`` int32 (v9+)

    ``topics`` []OffsetFetchRequestTopics (v8+): Null for all.
    """

    __slots__ = ("group_id", "member_id", "member_epoch", "topics")
    group_id: str
    member_id: str | None
    member_epoch: int
    topics: list[OffsetFetchRequestTopics] | None

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchRequestGroup):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.member_id == other.member_id
            and self.member_epoch == other.member_epoch
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchRequestGroup(group_id={self.group_id!r}, "
            f"member_id={self.member_id!r}, "
            f"member_epoch={self.member_epoch!r}, "
            f"topics={self.topics!r})"
        )


class OffsetFetchRequest:
    """What groups have committed; from version 8 on of several groups at once.

    ``group_id`` string (v1-7)

    ``topics`` []OffsetFetchRequestTopic (v1-7): Null for all.

    ``groups`` []OffsetFetchRequestGroup (v8+)

    ``require_stable`` bool (v7+): Refuse while a transaction is open that commits offsets (KIP-447).
    """

    API_KEY: ClassVar[int] = 9
    NAME: ClassVar[str] = "OffsetFetchRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 6

    __slots__ = ("group_id", "topics", "groups", "require_stable")
    group_id: str
    topics: list[OffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequestGroup]
    require_stable: bool

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,
        groups: list[OffsetFetchRequestGroup] = EMPTY,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.groups = [] if groups is EMPTY else groups
        self.require_stable = require_stable

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetFetchRequest):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.topics == other.topics
            and self.groups == other.groups
            and self.require_stable == other.require_stable
        )

    def __repr__(self) -> str:
        return (
            f"OffsetFetchRequest(group_id={self.group_id!r}, "
            f"topics={self.topics!r}, "
            f"groups={self.groups!r}, "
            f"require_stable={self.require_stable!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("OffsetFetchRequest", version, 1, 10)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("OffsetFetchRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> OffsetFetchRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetFetchRequest", version, 1, 10)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("OffsetFetchRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[OffsetFetchRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("OffsetFetchRequest", version, 1, 10)
        return decoder(data, position)


def _encode_v1(m: OffsetFetchRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.groups", m.groups)
    if not (not m.require_stable):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.require_stable", m.require_stable)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetFetchRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    if m.topics is None:
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.topics", None)
    l1 = m.topics
    n2 = len(l1)
    add(_pack_i(n2))
    for e1 in l1:
        b2 = e1.name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("OffsetFetchRequestTopic", "name", len(b2))
        add(_pack_h(n3))
        add(b2)
        l2 = e1.partition_indexes
        n4 = len(l2)
        add(_pack_i(n4))
        if l2:
            add(encode_array("i", l2))
    return out


def _encode_v2(m: OffsetFetchRequest) -> list[bytes]:
    # versions 2, 3, 4, 5
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.groups", m.groups)
    if not (not m.require_stable):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.require_stable", m.require_stable)
    b1 = m.group_id.encode()
    n1 = len(b1)
    if n1 > 32767:
        raise short_string("OffsetFetchRequest", "group_id", len(b1))
    add(_pack_h(n1))
    add(b1)
    l1 = m.topics
    if l1 is None:
        add(b"\xff\xff\xff\xff")
    else:
        n2 = len(l1)
        add(_pack_i(n2))
        for e1 in l1:
            b2 = e1.name.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("OffsetFetchRequestTopic", "name", len(b2))
            add(_pack_h(n3))
            add(b2)
            l2 = e1.partition_indexes
            n4 = len(l2)
            add(_pack_i(n4))
            if l2:
                add(encode_array("i", l2))
    return out


def _encode_v6(m: OffsetFetchRequest) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.groups", m.groups)
    if not (not m.require_stable):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.require_stable", m.require_stable)
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("OffsetFetchRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    l1 = m.topics
    if l1 is None:
        add(b"\x00")
    else:
        n2 = len(l1) + 1
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        for e1 in l1:
            b2 = e1.name.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("OffsetFetchRequestTopic", "name", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
            l2 = e1.partition_indexes
            n4 = len(l2) + 1
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            if l2:
                add(encode_array("i", l2))
            add(b"\x00")
    add(b"\x00")
    return out


def _encode_v7(m: OffsetFetchRequest) -> list[bytes]:
    # versions 7
    out: list[bytes] = []
    add = out.append
    if not (not m.groups):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.groups", m.groups)
    b1 = m.group_id.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("OffsetFetchRequest", "group_id", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    l1 = m.topics
    if l1 is None:
        add(b"\x00")
    else:
        n2 = len(l1) + 1
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        for e1 in l1:
            b2 = e1.name.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("OffsetFetchRequestTopic", "name", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
            l2 = e1.partition_indexes
            n4 = len(l2) + 1
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            if l2:
                add(encode_array("i", l2))
            add(b"\x00")
    add(_pack_Tx(m.require_stable))
    return out


def _encode_v8(m: OffsetFetchRequest) -> list[bytes]:
    # versions 8
    out: list[bytes] = []
    add = out.append
    if not (m.group_id == ""):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.group_id", m.group_id)
    if not ((m.topics is not None and not m.topics)):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.topics", m.topics)
    l1 = m.groups
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetFetchRequestGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.topics
        if l2 is None:
            add(b"\x00")
        else:
            n3 = len(l2) + 1
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            for e2 in l2:
                b2 = e2.name.encode()
                n4 = len(b2) + 1
                if n4 > 32768:
                    raise short_string("OffsetFetchRequestTopics", "name", len(b2))
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                add(b2)
                l3 = e2.partition_indexes
                n5 = len(l3) + 1
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                if l3:
                    add(encode_array("i", l3))
                add(b"\x00")
        add(b"\x00")
    add(_pack_Tx(m.require_stable))
    return out


def _encode_v9(m: OffsetFetchRequest) -> list[bytes]:
    # versions 9
    out: list[bytes] = []
    add = out.append
    if not (m.group_id == ""):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.group_id", m.group_id)
    if not ((m.topics is not None and not m.topics)):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.topics", m.topics)
    l1 = m.groups
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetFetchRequestGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        if e1.member_id is None:
            add(b"\x00")
        else:
            b2 = e1.member_id.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("OffsetFetchRequestGroup", "member_id", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        l2 = e1.topics
        add(_pack_i(e1.member_epoch))
        if l2 is None:
            add(b"\x00")
        else:
            n4 = len(l2) + 1
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            for e2 in l2:
                b3 = e2.name.encode()
                n5 = len(b3) + 1
                if n5 > 32768:
                    raise short_string("OffsetFetchRequestTopics", "name", len(b3))
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
                l3 = e2.partition_indexes
                n6 = len(l3) + 1
                add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                if l3:
                    add(encode_array("i", l3))
                add(b"\x00")
        add(b"\x00")
    add(_pack_Tx(m.require_stable))
    return out


def _encode_v10(m: OffsetFetchRequest) -> list[bytes]:
    # versions 10
    out: list[bytes] = []
    add = out.append
    if not (m.group_id == ""):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.group_id", m.group_id)
    if not ((m.topics is not None and not m.topics)):
        raise not_in_version("OffsetFetchRequest", "OffsetFetchRequest.topics", m.topics)
    l1 = m.groups
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("OffsetFetchRequestGroup", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        if e1.member_id is None:
            add(b"\x00")
        else:
            b2 = e1.member_id.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("OffsetFetchRequestGroup", "member_id", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        l2 = e1.topics
        add(_pack_i(e1.member_epoch))
        if l2 is None:
            add(b"\x00")
        else:
            n4 = len(l2) + 1
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            for e2 in l2:
                l3 = e2.partition_indexes
                n5 = len(l3) + 1
                add(_pack_UB(e2.topic_id.bytes, n5) if n5 < 128 else e2.topic_id.bytes + uvarint(n5))
                if l3:
                    add(encode_array("i", l3))
                add(b"\x00")
        add(b"\x00")
    add(_pack_Tx(m.require_stable))
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.groups = []
        m.require_stable = False
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        if n2 < 0 or n2 * 6 > size - pos:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.topics", n2, pos, size)
        l1: list[OffsetFetchRequestTopic] = []
        m.topics = l1
        for _ in range(n2):
            e1 = OffsetFetchRequestTopic.__new__(OffsetFetchRequestTopic)
            l1.append(e1)
            (n3,) = _unpack_h(data, pos)
            pos += 2
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.name", n3, pos, size)
            e1.name = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_i(data, pos)
            pos += 4
            if n4 < 0 or n4 * 4 > size - pos:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.partition_indexes", n4, pos, size)
            e1.partition_indexes = decode_array("i", n4, data, pos) if n4 else []
            pos += n4 * 4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 2, 3, 4, 5
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.groups = []
        m.require_stable = False
        (n1,) = _unpack_h(data, pos)
        pos += 2
        z1 = pos + n1
        if n1 < 0 or z1 > size:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.group_id", n1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        (n2,) = _unpack_i(data, pos)
        pos += 4
        if n2 == -1:
            m.topics = None
        else:
            if n2 < 0 or n2 * 6 > size - pos:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequest.topics", n2, pos, size)
            l1: list[OffsetFetchRequestTopic] = []
            m.topics = l1
            for _ in range(n2):
                e1 = OffsetFetchRequestTopic.__new__(OffsetFetchRequestTopic)
                l1.append(e1)
                (n3,) = _unpack_h(data, pos)
                pos += 2
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.name", n3, pos, size)
                e1.name = str(data[pos:z2], "utf-8")
                pos = z2
                (n4,) = _unpack_i(data, pos)
                pos += 4
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.partition_indexes", n4, pos, size)
                e1.partition_indexes = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 6
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.groups = []
        m.require_stable = False
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        if n2 == 0:
            m.topics = None
        else:
            n2 -= 1
            if n2 < 0 or n2 * 3 > size - pos:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequest.topics", n2, pos, size)
            l1: list[OffsetFetchRequestTopic] = []
            m.topics = l1
            for _ in range(n2):
                e1 = OffsetFetchRequestTopic.__new__(OffsetFetchRequestTopic)
                l1.append(e1)
                n3 = data[pos]
                pos += 1
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                z2 = pos + n3 - 1
                if n3 == 0 or z2 > size:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.name", n3 - 1, pos, size)
                e1.name = str(data[pos:z2], "utf-8")
                pos = z2
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.partition_indexes", n4, pos, size)
                e1.partition_indexes = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 7
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.groups = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.group_id", n1 - 1, pos, size)
        m.group_id = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        if n2 == 0:
            m.topics = None
        else:
            n2 -= 1
            if n2 < 0 or n2 * 3 > size - pos:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequest.topics", n2, pos, size)
            l1: list[OffsetFetchRequestTopic] = []
            m.topics = l1
            for _ in range(n2):
                e1 = OffsetFetchRequestTopic.__new__(OffsetFetchRequestTopic)
                l1.append(e1)
                n3 = data[pos]
                pos += 1
                if n3 > 127:
                    n3, pos = uvarint_at(data, pos - 1)
                z2 = pos + n3 - 1
                if n3 == 0 or z2 > size:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.name", n3 - 1, pos, size)
                e1.name = str(data[pos:z2], "utf-8")
                pos = z2
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - pos:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopic.partition_indexes", n4, pos, size)
                e1.partition_indexes = decode_array("i", n4, data, pos) if n4 else []
                pos += n4 * 4
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
        m.require_stable, k2 = _unpack_TB(data, pos)
        pos += 2
        if k2:
            pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


def _decode_v8(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 8
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.group_id = ""
        m.topics = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.groups", n1, pos, size)
        l1: list[OffsetFetchRequestGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = OffsetFetchRequestGroup.__new__(OffsetFetchRequestGroup)
            l1.append(e1)
            e1.member_id = None
            e1.member_epoch = -1
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.topics = None
            else:
                n3 -= 1
                if n3 < 0 or n3 * 3 > size - pos:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.topics", n3, pos, size)
                l2: list[OffsetFetchRequestTopics] = []
                e1.topics = l2
                for _ in range(n3):
                    e2 = OffsetFetchRequestTopics.__new__(OffsetFetchRequestTopics)
                    l2.append(e2)
                    e2.topic_id = ZERO_UUID
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    z2 = pos + n4 - 1
                    if n4 == 0 or z2 > size:
                        raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopics.name", n4 - 1, pos, size)
                    e2.name = str(data[pos:z2], "utf-8")
                    pos = z2
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    n5 -= 1
                    if n5 < 0 or n5 * 4 > size - pos:
                        raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopics.partition_indexes", n5, pos, size)
                    e2.partition_indexes = decode_array("i", n5, data, pos) if n5 else []
                    pos += n5 * 4
                    k1 = data[pos]
                    pos += 1
                    if k1:
                        pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
        m.require_stable, k3 = _unpack_TB(data, pos)
        pos += 2
        if k3:
            pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


def _decode_v9(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 9
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.group_id = ""
        m.topics = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - pos:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.groups", n1, pos, size)
        l1: list[OffsetFetchRequestGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = OffsetFetchRequestGroup.__new__(OffsetFetchRequestGroup)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.member_id = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.member_id", n3 - 1, pos, size)
                e1.member_id = str(data[pos:z2], "utf-8")
                pos = z2
            e1.member_epoch, n4 = _unpack_iB(data, pos)
            pos += 5
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.topics = None
            else:
                n4 -= 1
                if n4 < 0 or n4 * 3 > size - pos:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.topics", n4, pos, size)
                l2: list[OffsetFetchRequestTopics] = []
                e1.topics = l2
                for _ in range(n4):
                    e2 = OffsetFetchRequestTopics.__new__(OffsetFetchRequestTopics)
                    l2.append(e2)
                    e2.topic_id = ZERO_UUID
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    z3 = pos + n5 - 1
                    if n5 == 0 or z3 > size:
                        raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopics.name", n5 - 1, pos, size)
                    e2.name = str(data[pos:z3], "utf-8")
                    pos = z3
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    n6 -= 1
                    if n6 < 0 or n6 * 4 > size - pos:
                        raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopics.partition_indexes", n6, pos, size)
                    e2.partition_indexes = decode_array("i", n6, data, pos) if n6 else []
                    pos += n6 * 4
                    k1 = data[pos]
                    pos += 1
                    if k1:
                        pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
        m.require_stable, k3 = _unpack_TB(data, pos)
        pos += 2
        if k3:
            pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


def _decode_v10(data: Buffer, pos: int) -> tuple[OffsetFetchRequest, int]:
    # versions 10
    size = len(data)
    try:
        m = OffsetFetchRequest.__new__(OffsetFetchRequest)
        m.group_id = ""
        m.topics = []
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - pos:
            raise overrun("OffsetFetchRequest", "OffsetFetchRequest.groups", n1, pos, size)
        l1: list[OffsetFetchRequestGroup] = []
        m.groups = l1
        for _ in range(n1):
            e1 = OffsetFetchRequestGroup.__new__(OffsetFetchRequestGroup)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.member_id = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.member_id", n3 - 1, pos, size)
                e1.member_id = str(data[pos:z2], "utf-8")
                pos = z2
            e1.member_epoch, n4 = _unpack_iB(data, pos)
            pos += 5
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.topics = None
            else:
                n4 -= 1
                if n4 < 0 or n4 * 18 > size - pos:
                    raise overrun("OffsetFetchRequest", "OffsetFetchRequestGroup.topics", n4, pos, size)
                l2: list[OffsetFetchRequestTopics] = []
                e1.topics = l2
                for _ in range(n4):
                    e2 = OffsetFetchRequestTopics.__new__(OffsetFetchRequestTopics)
                    l2.append(e2)
                    e2.name = ""
                    u1, n5 = _unpack_UB(data, pos)
                    pos += 17
                    e2.topic_id = uuid_of(u1)
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    n5 -= 1
                    if n5 < 0 or n5 * 4 > size - pos:
                        raise overrun("OffsetFetchRequest", "OffsetFetchRequestTopics.partition_indexes", n5, pos, size)
                    e2.partition_indexes = decode_array("i", n5, data, pos) if n5 else []
                    pos += n5 * 4
                    k1 = data[pos]
                    pos += 1
                    if k1:
                        pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
        m.require_stable, k3 = _unpack_TB(data, pos)
        pos += 2
        if k3:
            pos = skip_tagged("OffsetFetchRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("OffsetFetchRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[OffsetFetchRequest], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
    5: _encode_v2,
    6: _encode_v6,
    7: _encode_v7,
    8: _encode_v8,
    9: _encode_v9,
    10: _encode_v10,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[OffsetFetchRequest, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
    5: _decode_v2,
    6: _decode_v6,
    7: _decode_v7,
    8: _decode_v8,
    9: _decode_v9,
    10: _decode_v10,
}
