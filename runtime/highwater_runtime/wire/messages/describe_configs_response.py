"""DescribeConfigsResponse: response body, key 32, versions 1 to 4.

Generated from ``schemas/configs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_TbT: Final = Struct(">?b?").pack
_pack_TbTB: Final = Struct(">?b?B").pack
_pack_TbTi: Final = Struct(">?b?i").pack
_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_bh: Final = Struct(">bh").pack
_pack_bx: Final = Struct(">bx").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_TbTB: Final = Struct(">?b?B").unpack_from
_unpack_TbTi: Final = Struct(">?b?i").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class DescribeConfigsSynonym:
    """Part of :class:`DescribeConfigsResponse`.

    ``name`` string

    ``value`` string

    ``source`` int8
    """

    __slots__ = ("name", "value", "source")
    name: str
    value: str | None
    source: int

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeConfigsSynonym):
            return NotImplemented
        return (
            self.name == other.name
            and self.value == other.value
            and self.source == other.source
        )

    def __repr__(self) -> str:
        return (
            f"DescribeConfigsSynonym(name={self.name!r}, "
            f"value={self.value!r}, "
            f"source={self.source!r})"
        )


class DescribeConfigsResourceResult:
    """Part of :class:`DescribeConfigsResponse`.

    ``name`` string

    ``value`` string

    ``read_only`` bool

    ``config_source`` int8

    ``is_sensitive`` bool

    ``synonyms`` []DescribeConfigsSynonym

    ``config_type`` int8 (v3+)

    ``documentation`` string (v3+)
    """

    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: int
    documentation: str | None

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = EMPTY,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is EMPTY else synonyms
        self.config_type = config_type
        self.documentation = documentation

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeConfigsResourceResult):
            return NotImplemented
        return (
            self.name == other.name
            and self.value == other.value
            and self.read_only == other.read_only
            and self.config_source == other.config_source
            and self.is_sensitive == other.is_sensitive
            and self.synonyms == other.synonyms
            and self.config_type == other.config_type
            and self.documentation == other.documentation
        )

    def __repr__(self) -> str:
        return (
            f"DescribeConfigsResourceResult(name={self.name!r}, "
            f"value={self.value!r}, "
            f"read_only={self.read_only!r}, "
            f"config_source={self.config_source!r}, "
            f"is_sensitive={self.is_sensitive!r}, "
            f"synonyms={self.synonyms!r}, "
            f"config_type={self.config_type!r}, "
            f"documentation={self.documentation!r})"
        )


class DescribeConfigsResult:
    """Part of :class:`DescribeConfigsResponse`.

    ``error_code`` int16

    ``error_message`` string

    ``resource_type`` int8

    ``resource_name`` string

    ``configs`` []DescribeConfigsResourceResult
    """

    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResourceResult]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeConfigsResult):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.resource_type == other.resource_type
            and self.resource_name == other.resource_name
            and self.configs == other.configs
        )

    def __repr__(self) -> str:
        return (
            f"DescribeConfigsResult(error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"resource_type={self.resource_type!r}, "
            f"resource_name={self.resource_name!r}, "
            f"configs={self.configs!r})"
        )


class DescribeConfigsResponse:
    """One result for each resource.

    ``throttle_time_ms`` int32

    ``results`` []DescribeConfigsResult
    """

    API_KEY: ClassVar[int] = 32
    NAME: ClassVar[str] = "DescribeConfigsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "results")
    throttle_time_ms: int
    results: list[DescribeConfigsResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeConfigsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.results == other.results
        )

    def __repr__(self) -> str:
        return (
            f"DescribeConfigsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"results={self.results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeConfigsResponse", version, 1, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeConfigsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeConfigsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeConfigsResponse", version, 1, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeConfigsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeConfigsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeConfigsResponse", version, 1, 4)
        return decoder(data, position)


def _encode_v1(m: DescribeConfigsResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\xff\xff")
        else:
            b1 = e1.error_message.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("DescribeConfigsResult", "error_message", len(b1))
            add(_pack_h(n2))
            add(b1)
        b2 = e1.resource_name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("DescribeConfigsResult", "resource_name", len(b2))
        add(_pack_bh(e1.resource_type, n3))
        add(b2)
        l2 = e1.configs
        n4 = len(l2)
        add(_pack_i(n4))
        for e2 in l2:
            b3 = e2.name.encode()
            n5 = len(b3)
            if n5 > 32767:
                raise short_string("DescribeConfigsResourceResult", "name", len(b3))
            add(_pack_h(n5))
            add(b3)
            if e2.value is None:
                add(b"\xff\xff")
            else:
                b4 = e2.value.encode()
                n6 = len(b4)
                if n6 > 32767:
                    raise short_string("DescribeConfigsResourceResult", "value", len(b4))
                add(_pack_h(n6))
                add(b4)
            l3 = e2.synonyms
            n7 = len(l3)
            add(_pack_TbTi(e2.read_only, e2.config_source, e2.is_sensitive, n7))
            for e3 in l3:
                b5 = e3.name.encode()
                n8 = len(b5)
                if n8 > 32767:
                    raise short_string("DescribeConfigsSynonym", "name", len(b5))
                add(_pack_h(n8))
                add(b5)
                if e3.value is None:
                    add(b"\xff\xff")
                else:
                    b6 = e3.value.encode()
                    n9 = len(b6)
                    if n9 > 32767:
                        raise short_string("DescribeConfigsSynonym", "value", len(b6))
                    add(_pack_h(n9))
                    add(b6)
                add(_pack_b(e3.source))
    return out


def _encode_v3(m: DescribeConfigsResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\xff\xff")
        else:
            b1 = e1.error_message.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("DescribeConfigsResult", "error_message", len(b1))
            add(_pack_h(n2))
            add(b1)
        b2 = e1.resource_name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("DescribeConfigsResult", "resource_name", len(b2))
        add(_pack_bh(e1.resource_type, n3))
        add(b2)
        l2 = e1.configs
        n4 = len(l2)
        add(_pack_i(n4))
        for e2 in l2:
            b3 = e2.name.encode()
            n5 = len(b3)
            if n5 > 32767:
                raise short_string("DescribeConfigsResourceResult", "name", len(b3))
            add(_pack_h(n5))
            add(b3)
            if e2.value is None:
                add(b"\xff\xff")
            else:
                b4 = e2.value.encode()
                n6 = len(b4)
                if n6 > 32767:
                    raise short_string("DescribeConfigsResourceResult", "value", len(b4))
                add(_pack_h(n6))
                add(b4)
            l3 = e2.synonyms
            n7 = len(l3)
            add(_pack_TbTi(e2.read_only, e2.config_source, e2.is_sensitive, n7))
            for e3 in l3:
                b5 = e3.name.encode()
                n8 = len(b5)
                if n8 > 32767:
                    raise short_string("DescribeConfigsSynonym", "name", len(b5))
                add(_pack_h(n8))
                add(b5)
                if e3.value is None:
                    add(b"\xff\xff")
                else:
                    b6 = e3.value.encode()
                    n9 = len(b6)
                    if n9 > 32767:
                        raise short_string("DescribeConfigsSynonym", "value", len(b6))
                    add(_pack_h(n9))
                    add(b6)
                add(_pack_b(e3.source))
            add(_pack_b(e2.config_type))
            if e2.documentation is None:
                add(b"\xff\xff")
            else:
                b7 = e2.documentation.encode()
                n10 = len(b7)
                if n10 > 32767:
                    raise short_string("DescribeConfigsResourceResult", "documentation", len(b7))
                add(_pack_h(n10))
                add(b7)
    return out


def _encode_v4(m: DescribeConfigsResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b1 = e1.error_message.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("DescribeConfigsResult", "error_message", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
        b2 = e1.resource_name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("DescribeConfigsResult", "resource_name", len(b2))
        add(_pack_bB(e1.resource_type, n3) if n3 < 128 else _pack_b(e1.resource_type) + uvarint(n3))
        add(b2)
        l2 = e1.configs
        n4 = len(l2) + 1
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        for e2 in l2:
            b3 = e2.name.encode()
            n5 = len(b3) + 1
            if n5 > 32768:
                raise short_string("DescribeConfigsResourceResult", "name", len(b3))
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            add(b3)
            if e2.value is None:
                add(b"\x00")
            else:
                b4 = e2.value.encode()
                n6 = len(b4) + 1
                if n6 > 32768:
                    raise short_string("DescribeConfigsResourceResult", "value", len(b4))
                add(UVARINT[n6] if n6 < 128 else uvarint(n6))
                add(b4)
            l3 = e2.synonyms
            n7 = len(l3) + 1
            add(_pack_TbTB(e2.read_only, e2.config_source, e2.is_sensitive, n7) if n7 < 128 else _pack_TbT(e2.read_only, e2.config_source, e2.is_sensitive) + uvarint(n7))
            for e3 in l3:
                b5 = e3.name.encode()
                n8 = len(b5) + 1
                if n8 > 32768:
                    raise short_string("DescribeConfigsSynonym", "name", len(b5))
                add(UVARINT[n8] if n8 < 128 else uvarint(n8))
                add(b5)
                if e3.value is None:
                    add(b"\x00")
                else:
                    b6 = e3.value.encode()
                    n9 = len(b6) + 1
                    if n9 > 32768:
                        raise short_string("DescribeConfigsSynonym", "value", len(b6))
                    add(UVARINT[n9] if n9 < 128 else uvarint(n9))
                    add(b6)
                add(_pack_bx(e3.source))
            add(_pack_b(e2.config_type))
            if e2.documentation is None:
                add(b"\x00")
            else:
                b7 = e2.documentation.encode()
                n10 = len(b7) + 1
                if n10 > 32768:
                    raise short_string("DescribeConfigsResourceResult", "documentation", len(b7))
                add(UVARINT[n10] if n10 < 128 else uvarint(n10))
                add(b7)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeConfigsResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = DescribeConfigsResponse.__new__(DescribeConfigsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("DescribeConfigsResponse", "DescribeConfigsResponse.results", n1, pos, size)
        l1: list[DescribeConfigsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeConfigsResult.__new__(DescribeConfigsResult)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            if n2 == -1:
                e1.error_message = None
            else:
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.error_message", n2, pos, size)
                e1.error_message = str(data[pos:z1], "utf-8")
                pos = z1
            e1.resource_type, n3 = _unpack_bh(data, pos)
            pos += 3
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.resource_name", n3, pos, size)
            e1.resource_name = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_i(data, pos)
            pos += 4
            if n4 < 0 or n4 * 11 > size - pos:
                raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.configs", n4, pos, size)
            l2: list[DescribeConfigsResourceResult] = []
            e1.configs = l2
            for _ in range(n4):
                e2 = DescribeConfigsResourceResult.__new__(DescribeConfigsResourceResult)
                l2.append(e2)
                e2.config_type = 0
                e2.documentation = ""
                (n5,) = _unpack_h(data, pos)
                pos += 2
                z3 = pos + n5
                if n5 < 0 or z3 > size:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.name", n5, pos, size)
                e2.name = str(data[pos:z3], "utf-8")
                pos = z3
                (n6,) = _unpack_h(data, pos)
                pos += 2
                if n6 == -1:
                    e2.value = None
                else:
                    z4 = pos + n6
                    if n6 < 0 or z4 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.value", n6, pos, size)
                    e2.value = str(data[pos:z4], "utf-8")
                    pos = z4
                e2.read_only, e2.config_source, e2.is_sensitive, n7 = _unpack_TbTi(data, pos)
                pos += 7
                if n7 < 0 or n7 * 5 > size - pos:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.synonyms", n7, pos, size)
                l3: list[DescribeConfigsSynonym] = []
                e2.synonyms = l3
                for _ in range(n7):
                    e3 = DescribeConfigsSynonym.__new__(DescribeConfigsSynonym)
                    l3.append(e3)
                    (n8,) = _unpack_h(data, pos)
                    pos += 2
                    z5 = pos + n8
                    if n8 < 0 or z5 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsSynonym.name", n8, pos, size)
                    e3.name = str(data[pos:z5], "utf-8")
                    pos = z5
                    (n9,) = _unpack_h(data, pos)
                    pos += 2
                    if n9 == -1:
                        e3.value = None
                    else:
                        z6 = pos + n9
                        if n9 < 0 or z6 > size:
                            raise overrun("DescribeConfigsResponse", "DescribeConfigsSynonym.value", n9, pos, size)
                        e3.value = str(data[pos:z6], "utf-8")
                        pos = z6
                    (e3.source,) = _unpack_b(data, pos)
                    pos += 1
    except DECODE_FAULTS as fault:
        raise malformed("DescribeConfigsResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[DescribeConfigsResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = DescribeConfigsResponse.__new__(DescribeConfigsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 11 > size - pos:
            raise overrun("DescribeConfigsResponse", "DescribeConfigsResponse.results", n1, pos, size)
        l1: list[DescribeConfigsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeConfigsResult.__new__(DescribeConfigsResult)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            if n2 == -1:
                e1.error_message = None
            else:
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.error_message", n2, pos, size)
                e1.error_message = str(data[pos:z1], "utf-8")
                pos = z1
            e1.resource_type, n3 = _unpack_bh(data, pos)
            pos += 3
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.resource_name", n3, pos, size)
            e1.resource_name = str(data[pos:z2], "utf-8")
            pos = z2
            (n4,) = _unpack_i(data, pos)
            pos += 4
            if n4 < 0 or n4 * 14 > size - pos:
                raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.configs", n4, pos, size)
            l2: list[DescribeConfigsResourceResult] = []
            e1.configs = l2
            for _ in range(n4):
                e2 = DescribeConfigsResourceResult.__new__(DescribeConfigsResourceResult)
                l2.append(e2)
                (n5,) = _unpack_h(data, pos)
                pos += 2
                z3 = pos + n5
                if n5 < 0 or z3 > size:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.name", n5, pos, size)
                e2.name = str(data[pos:z3], "utf-8")
                pos = z3
                (n6,) = _unpack_h(data, pos)
                pos += 2
                if n6 == -1:
                    e2.value = None
                else:
                    z4 = pos + n6
                    if n6 < 0 or z4 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.value", n6, pos, size)
                    e2.value = str(data[pos:z4], "utf-8")
                    pos = z4
                e2.read_only, e2.config_source, e2.is_sensitive, n7 = _unpack_TbTi(data, pos)
                pos += 7
                if n7 < 0 or n7 * 5 > size - pos:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.synonyms", n7, pos, size)
                l3: list[DescribeConfigsSynonym] = []
                e2.synonyms = l3
                for _ in range(n7):
                    e3 = DescribeConfigsSynonym.__new__(DescribeConfigsSynonym)
                    l3.append(e3)
                    (n8,) = _unpack_h(data, pos)
                    pos += 2
                    z5 = pos + n8
                    if n8 < 0 or z5 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsSynonym.name", n8, pos, size)
                    e3.name = str(data[pos:z5], "utf-8")
                    pos = z5
                    (n9,) = _unpack_h(data, pos)
                    pos += 2
                    if n9 == -1:
                        e3.value = None
                    else:
                        z6 = pos + n9
                        if n9 < 0 or z6 > size:
                            raise overrun("DescribeConfigsResponse", "DescribeConfigsSynonym.value", n9, pos, size)
                        e3.value = str(data[pos:z6], "utf-8")
                        pos = z6
                    (e3.source,) = _unpack_b(data, pos)
                    pos += 1
                e2.config_type, n10 = _unpack_bh(data, pos)
                pos += 3
                if n10 == -1:
                    e2.documentation = None
                else:
                    z7 = pos + n10
                    if n10 < 0 or z7 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.documentation", n10, pos, size)
                    e2.documentation = str(data[pos:z7], "utf-8")
                    pos = z7
    except DECODE_FAULTS as fault:
        raise malformed("DescribeConfigsResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[DescribeConfigsResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = DescribeConfigsResponse.__new__(DescribeConfigsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("DescribeConfigsResponse", "DescribeConfigsResponse.results", n1, pos, size)
        l1: list[DescribeConfigsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeConfigsResult.__new__(DescribeConfigsResult)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            if n2 == 0:
                e1.error_message = None
            else:
                z1 = pos + n2 - 1
                if z1 > size:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.error_message", n2 - 1, pos, size)
                e1.error_message = str(data[pos:z1], "utf-8")
                pos = z1
            e1.resource_type, n3 = _unpack_bB(data, pos)
            pos += 2
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.resource_name", n3 - 1, pos, size)
            e1.resource_name = str(data[pos:z2], "utf-8")
            pos = z2
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            n4 -= 1
            if n4 < 0 or n4 * 9 > size - pos:
                raise overrun("DescribeConfigsResponse", "DescribeConfigsResult.configs", n4, pos, size)
            l2: list[DescribeConfigsResourceResult] = []
            e1.configs = l2
            for _ in range(n4):
                e2 = DescribeConfigsResourceResult.__new__(DescribeConfigsResourceResult)
                l2.append(e2)
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                z3 = pos + n5 - 1
                if n5 == 0 or z3 > size:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.name", n5 - 1, pos, size)
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
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.value", n6 - 1, pos, size)
                    e2.value = str(data[pos:z4], "utf-8")
                    pos = z4
                e2.read_only, e2.config_source, e2.is_sensitive, n7 = _unpack_TbTB(data, pos)
                pos += 4
                if n7 > 127:
                    n7, pos = uvarint_at(data, pos - 1)
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - pos:
                    raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.synonyms", n7, pos, size)
                l3: list[DescribeConfigsSynonym] = []
                e2.synonyms = l3
                for _ in range(n7):
                    e3 = DescribeConfigsSynonym.__new__(DescribeConfigsSynonym)
                    l3.append(e3)
                    n8 = data[pos]
                    pos += 1
                    if n8 > 127:
                        n8, pos = uvarint_at(data, pos - 1)
                    z5 = pos + n8 - 1
                    if n8 == 0 or z5 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsSynonym.name", n8 - 1, pos, size)
                    e3.name = str(data[pos:z5], "utf-8")
                    pos = z5
                    n9 = data[pos]
                    pos += 1
                    if n9 > 127:
                        n9, pos = uvarint_at(data, pos - 1)
                    if n9 == 0:
                        e3.value = None
                    else:
                        z6 = pos + n9 - 1
                        if z6 > size:
                            raise overrun("DescribeConfigsResponse", "DescribeConfigsSynonym.value", n9 - 1, pos, size)
                        e3.value = str(data[pos:z6], "utf-8")
                        pos = z6
                    e3.source, k1 = _unpack_bB(data, pos)
                    pos += 2
                    if k1:
                        pos = skip_tagged("DescribeConfigsResponse", data, pos - 1)
                e2.config_type, n10 = _unpack_bB(data, pos)
                pos += 2
                if n10 > 127:
                    n10, pos = uvarint_at(data, pos - 1)
                if n10 == 0:
                    e2.documentation = None
                else:
                    z7 = pos + n10 - 1
                    if z7 > size:
                        raise overrun("DescribeConfigsResponse", "DescribeConfigsResourceResult.documentation", n10 - 1, pos, size)
                    e2.documentation = str(data[pos:z7], "utf-8")
                    pos = z7
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("DescribeConfigsResponse", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("DescribeConfigsResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("DescribeConfigsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeConfigsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeConfigsResponse], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeConfigsResponse, int]]]] = {
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
}
