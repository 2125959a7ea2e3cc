"""CreateTopicsResponse: response body, key 19, versions 2 to 7.

Generated from ``schemas/create_topics.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_BBh: Final = Struct(">BBh").pack
_pack_TbTx: Final = Struct(">?b?x").pack
_pack_Uh: Final = Struct(">16sh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_TbTB: Final = Struct(">?b?B").unpack_from
_unpack_UhB: Final = Struct(">16shB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class CreatableTopicConfigs:
    """Part of :class:`CreateTopicsResponse`.

    ``name`` string (v5+)

    ``value`` string (v5+)

    ``read_only`` bool (v5+)

    ``config_source`` int8 (v5+)

    ``is_sensitive`` bool (v5+)
    """

    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatableTopicConfigs):
            return NotImplemented
        return (
            self.name == other.name
            and self.value == other.value
            and self.read_only == other.read_only
            and self.config_source == other.config_source
            and self.is_sensitive == other.is_sensitive
        )

    def __repr__(self) -> str:
        return (
            f"CreatableTopicConfigs(name={self.name!r}, "
            f"value={self.value!r}, "
            f"read_only={self.read_only!r}, "
            f"config_source={self.config_source!r}, "
            f"is_sensitive={self.is_sensitive!r})"
        )


class CreatableTopicResult:
    """Part of :class:`CreateTopicsResponse`.

    ``name`` string

    ``topic_id`` uuid (v7+)

    ``error_code`` int16

    ``error_message`` string

    ``topic_config_error_code`` int16 (v5+, tag 0): Why the configs are not shown.

    ``num_partitions`` int32 (v5+)

    ``replication_factor`` int16 (v5+)

    ``configs`` []CreatableTopicConfigs (v5+)
    """

    __slots__ = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")
    name: str
    topic_id: UUID
    error_code: int
    error_message: str | None
    topic_config_error_code: int
    num_partitions: int
    replication_factor: int
    configs: list[CreatableTopicConfigs] | None

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is EMPTY else configs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatableTopicResult):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.topic_config_error_code == other.topic_config_error_code
            and self.num_partitions == other.num_partitions
            and self.replication_factor == other.replication_factor
            and self.configs == other.configs
        )

    def __repr__(self) -> str:
        return (
            f"CreatableTopicResult(name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"topic_config_error_code={self.topic_config_error_code!r}, "
            f"num_partitions={self.num_partitions!r}, "
            f"replication_factor={self.replication_factor!r}, "
            f"configs={self.configs!r})"
        )


class CreateTopicsResponse:
    """One result for each topic.

    ``throttle_time_ms`` int32

    ``topics`` []CreatableTopicResult
    """

    API_KEY: ClassVar[int] = 19
    NAME: ClassVar[str] = "CreateTopicsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int] = 5

    __slots__ = ("throttle_time_ms", "topics")
    throttle_time_ms: int
    topics: list[CreatableTopicResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreateTopicsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.topics == other.topics
        )

    def __repr__(self) -> str:
        return (
            f"CreateTopicsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"topics={self.topics!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("CreateTopicsResponse", version, 2, 7)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("CreateTopicsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> CreateTopicsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreateTopicsResponse", version, 2, 7)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("CreateTopicsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[CreateTopicsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreateTopicsResponse", version, 2, 7)
        return decoder(data, position)


def _encode_v2(m: CreateTopicsResponse) -> list[bytes]:
    # versions 2, 3, 4
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("CreatableTopicResult", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\xff\xff")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("CreatableTopicResult", "error_message", len(b2))
            add(_pack_h(n3))
            add(b2)
    return out


def _encode_v5(m: CreateTopicsResponse) -> list[bytes]:
    # versions 5, 6
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("CreatableTopicResult", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("CreatableTopicResult", "error_message", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        l2 = e1.configs
        add(_pack_ih(e1.num_partitions, e1.replication_factor))
        if l2 is None:
            add(b"\x00")
        else:
            n4 = len(l2) + 1
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            for e2 in l2:
                b3 = e2.name.encode()
                n5 = len(b3) + 1
                if n5 > 32768:
                    raise short_string("CreatableTopicConfigs", "name", len(b3))
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
                if e2.value is None:
                    add(b"\x00")
                else:
                    b4 = e2.value.encode()
                    n6 = len(b4) + 1
                    if n6 > 32768:
                        raise short_string("CreatableTopicConfigs", "value", len(b4))
                    add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                    add(b4)
                add(_pack_TbTx(e2.read_only, e2.config_source, e2.is_sensitive))
        if e1.topic_config_error_code == 0:
            add(b"\x00")
        else:
            k1 = 0
            t1: list[bytes] = []
            if not (e1.topic_config_error_code == 0):
                k1 += 1
                t1.append(_pack_BBh(0, 2, e1.topic_config_error_code))
            add(UVARINT[k1] + b"".join(t1))
    add(b"\x00")
    return out


def _encode_v7(m: CreateTopicsResponse) -> list[bytes]:
    # versions 7
    out: list[bytes] = []
    add = out.append
    l1 = m.topics
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("CreatableTopicResult", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_Uh(e1.topic_id.bytes, e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("CreatableTopicResult", "error_message", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        l2 = e1.configs
        add(_pack_ih(e1.num_partitions, e1.replication_factor))
        if l2 is None:
            add(b"\x00")
        else:
            n4 = len(l2) + 1
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            for e2 in l2:
                b3 = e2.name.encode()
                n5 = len(b3) + 1
                if n5 > 32768:
                    raise short_string("CreatableTopicConfigs", "name", len(b3))
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
                if e2.value is None:
                    add(b"\x00")
                else:
                    b4 = e2.value.encode()
                    n6 = len(b4) + 1
                    if n6 > 32768:
                        raise short_string("CreatableTopicConfigs", "value", len(b4))
                    add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                    add(b4)
                add(_pack_TbTx(e2.read_only, e2.config_source, e2.is_sensitive))
        if e1.topic_config_error_code == 0:
            add(b"\x00")
        else:
            k1 = 0
            t1: list[bytes] = []
            if not (e1.topic_config_error_code == 0):
                k1 += 1
                t1.append(_pack_BBh(0, 2, e1.topic_config_error_code))
            add(UVARINT[k1] + b"".join(t1))
    add(b"\x00")
    return out


def _decode_v2(data: Buffer, pos: int) -> tuple[CreateTopicsResponse, int]:
    # versions 2, 3, 4
    size = len(data)
    try:
        m = CreateTopicsResponse.__new__(CreateTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("CreateTopicsResponse", "CreateTopicsResponse.topics", n1, pos, size)
        l1: list[CreatableTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatableTopicResult.__new__(CreatableTopicResult)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            e1.topic_config_error_code = 0
            e1.num_partitions = -1
            e1.replication_factor = -1
            e1.configs = []
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("CreateTopicsResponse", "CreatableTopicResult.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.error_code, n3 = _unpack_hh(data, pos)
            pos += 4
            if n3 == -1:
                e1.error_message = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("CreateTopicsResponse", "CreatableTopicResult.error_message", n3, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("CreateTopicsResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[CreateTopicsResponse, int]:
    # versions 5, 6
    size = len(data)
    try:
        m = CreateTopicsResponse.__new__(CreateTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 12 > size - pos:
            raise overrun("CreateTopicsResponse", "CreateTopicsResponse.topics", n1, pos, size)
        l1: list[CreatableTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatableTopicResult.__new__(CreatableTopicResult)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            e1.topic_config_error_code = 0
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("CreateTopicsResponse", "CreatableTopicResult.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.error_code, n3 = _unpack_hB(data, pos)
            pos += 3
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.error_message = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("CreateTopicsResponse", "CreatableTopicResult.error_message", n3 - 1, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
            e1.num_partitions, e1.replication_factor, n4 = _unpack_ihB(data, pos)
            pos += 7
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.configs = None
            else:
                n4 -= 1
                if n4 < 0 or n4 * 6 > size - pos:
                    raise overrun("CreateTopicsResponse", "CreatableTopicResult.configs", n4, pos, size)
                l2: list[CreatableTopicConfigs] = []
                e1.configs = l2
                for _ in range(n4):
                    e2 = CreatableTopicConfigs.__new__(CreatableTopicConfigs)
                    l2.append(e2)
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    z3 = pos + n5 - 1
                    if n5 == 0 or z3 > size:
                        raise overrun("CreateTopicsResponse", "CreatableTopicConfigs.name", n5 - 1, pos, size)
                    e2.name = str(data[pos:z3], "utf-8")
                    pos = z3
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        e2.value = None
                    else:
                        z4 = pos + n6 - 1
                        if z4 > size:
                            raise overrun("CreateTopicsResponse", "CreatableTopicConfigs.value", n6 - 1, pos, size)
                        e2.value = str(data[pos:z4], "utf-8")
                        pos = z4
                    e2.read_only, e2.config_source, e2.is_sensitive, k1 = _unpack_TbTB(data, pos)
                    pos += 4
                    if k1:
                        pos = skip_tagged("CreateTopicsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                if k2 > 127:
                    k2, pos = uvarint_at(data, pos - 1)
                for _ in range(k2):
                    g1 = data[pos]
                    s1 = data[pos + 1]
                    if g1 > 127 or s1 > 127:
                        g1, pos = uvarint_at(data, pos)
                        s1, pos = uvarint_at(data, pos)
                    else:
                        pos += 2
                    y1 = pos + s1
                    if y1 > size:
                        raise overrun("CreateTopicsResponse", "CreatableTopicResult tagged field", s1, pos, size)
                    if g1 == 0:
                        (e1.topic_config_error_code,) = _unpack_h(data, pos)
                        pos += 2
                    else:
                        pos = y1
                    if pos != y1:
                        raise DecodeError("CreateTopicsResponse", pos, "tagged field of another length than announced")
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("CreateTopicsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("CreateTopicsResponse", pos, fault) from fault
    return m, pos


def _decode_v7(data: Buffer, pos: int) -> tuple[CreateTopicsResponse, int]:
    # versions 7
    size = len(data)
    try:
        m = CreateTopicsResponse.__new__(CreateTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 28 > size - pos:
            raise overrun("CreateTopicsResponse", "CreateTopicsResponse.topics", n1, pos, size)
        l1: list[CreatableTopicResult] = []
        m.topics = l1
        for _ in range(n1):
            e1 = CreatableTopicResult.__new__(CreatableTopicResult)
            l1.append(e1)
            e1.topic_config_error_code = 0
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("CreateTopicsResponse", "CreatableTopicResult.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            u1, e1.error_code, n3 = _unpack_UhB(data, pos)
            pos += 19
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.error_message = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("CreateTopicsResponse", "CreatableTopicResult.error_message", n3 - 1, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
            e1.num_partitions, e1.replication_factor, n4 = _unpack_ihB(data, pos)
            pos += 7
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.configs = None
            else:
                n4 -= 1
                if n4 < 0 or n4 * 6 > size - pos:
                    raise overrun("CreateTopicsResponse", "CreatableTopicResult.configs", n4, pos, size)
                l2: list[CreatableTopicConfigs] = []
                e1.configs = l2
                for _ in range(n4):
                    e2 = CreatableTopicConfigs.__new__(CreatableTopicConfigs)
                    l2.append(e2)
                    n5 = data[pos]
                    pos += 1
                    if n5 > 127:
                        n5, pos = uvarint_at(data, pos - 1)
                    z3 = pos + n5 - 1
                    if n5 == 0 or z3 > size:
                        raise overrun("CreateTopicsResponse", "CreatableTopicConfigs.name", n5 - 1, pos, size)
                    e2.name = str(data[pos:z3], "utf-8")
                    pos = z3
                    n6 = data[pos]
                    pos += 1
                    if n6 > 127:
                        n6, pos = uvarint_at(data, pos - 1)
                    if n6 == 0:
                        e2.value = None
                    else:
                        z4 = pos + n6 - 1
                        if z4 > size:
                            raise overrun("CreateTopicsResponse", "CreatableTopicConfigs.value", n6 - 1, pos, size)
                        e2.value = str(data[pos:z4], "utf-8")
                        pos = z4
                    e2.read_only, e2.config_source, e2.is_sensitive, k1 = _unpack_TbTB(data, pos)
                    pos += 4
                    if k1:
                        pos = skip_tagged("CreateTopicsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                if k2 > 127:
                    k2, pos = uvarint_at(data, pos - 1)
                for _ in range(k2):
                    g1 = data[pos]
                    s1 = data[pos + 1]
                    if g1 > 127 or s1 > 127:
                        g1, pos = uvarint_at(data, pos)
                        s1, pos = uvarint_at(data, pos)
                    else:
                        pos += 2
                    y1 = pos + s1
                    if y1 > size:
                        raise overrun("CreateTopicsResponse", "CreatableTopicResult tagged field", s1, pos, size)
                    if g1 == 0:
                        (e1.topic_config_error_code,) = _unpack_h(data, pos)
                        pos += 2
                    else:
                        pos = y1
                    if pos != y1:
                        raise DecodeError("CreateTopicsResponse", pos, "tagged field of another length than announced")
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("CreateTopicsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("CreateTopicsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[CreateTopicsResponse], list[bytes]]]] = {
    2: _encode_v2,
    3: _encode_v2,
    4: _encode_v2,
    5: _encode_v5,
    6: _encode_v5,
    7: _encode_v7,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[CreateTopicsResponse, int]]]] = {
    2: _decode_v2,
    3: _decode_v2,
    4: _decode_v2,
    5: _decode_v5,
    6: _decode_v5,
    7: _decode_v7,
}
