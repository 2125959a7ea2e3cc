"""DescribeConfigsRequest: request body, key 32, versions 1 to 4.

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
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_T: Final = Struct(">?").pack
_pack_TT: Final = Struct(">??").pack
_pack_TTx: Final = Struct(">??x").pack
_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_bh: Final = Struct(">bh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_T: Final = Struct(">?").unpack_from
_unpack_TT: Final = Struct(">??").unpack_from
_unpack_TTB: Final = Struct(">??B").unpack_from
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class DescribeConfigsResource:
    """Part of :class:`DescribeConfigsRequest`.

    ``resource_type`` int8: 2 topic, 4 broker.

    ``resource_name`` string

    ``configuration_keys`` []string: Null for all.
    """

    __slots__ = ("resource_type", "resource_name", "configuration_keys")
    resource_type: int
    resource_name: str
    configuration_keys: list[str] | None

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is EMPTY else configuration_keys

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeConfigsResource):
            return NotImplemented
        return (
            self.resource_type == other.resource_type
            and self.resource_name == other.resource_name
            and self.configuration_keys == other.configuration_keys
        )

    def __repr__(self) -> str:
        return (
            f"DescribeConfigsResource(resource_type={self.resource_type!r}, "
            f"resource_name={self.resource_name!r}, "
            f"configuration_keys={self.configuration_keys!r})"
        )


class DescribeConfigsRequest:
    """Configuration values and where they come from.

    ``resources`` []DescribeConfigsResource

    ``include_synonyms`` bool

    ``include_documentation`` bool (v3+)
    """

    API_KEY: ClassVar[int] = 32
    NAME: ClassVar[str] = "DescribeConfigsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("resources", "include_synonyms", "include_documentation")
    resources: list[DescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool

    def __init__(
        self,
        *,
        resources: list[DescribeConfigsResource] = EMPTY,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeConfigsRequest):
            return NotImplemented
        return (
            self.resources == other.resources
            and self.include_synonyms == other.include_synonyms
            and self.include_documentation == other.include_documentation
        )

    def __repr__(self) -> str:
        return (
            f"DescribeConfigsRequest(resources={self.resources!r}, "
            f"include_synonyms={self.include_synonyms!r}, "
            f"include_documentation={self.include_documentation!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeConfigsRequest", version, 1, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeConfigsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeConfigsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeConfigsRequest", version, 1, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeConfigsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeConfigsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeConfigsRequest", version, 1, 4)
        return decoder(data, position)


def _encode_v1(m: DescribeConfigsRequest) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    if not (not m.include_documentation):
        raise not_in_version("DescribeConfigsRequest", "DescribeConfigsRequest.include_documentation", m.include_documentation)
    l1 = m.resources
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.resource_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribeConfigsResource", "resource_name", len(b1))
        add(_pack_bh(e1.resource_type, n2))
        add(b1)
        l2 = e1.configuration_keys
        if l2 is None:
            add(b"\xff\xff\xff\xff")
        else:
            n3 = len(l2)
            add(_pack_i(n3))
            for e2 in l2:
                b2 = e2.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("DescribeConfigsResource", "configuration_keys", len(b2))
                add(_pack_h(n4))
                add(b2)
    add(_pack_T(m.include_synonyms))
    return out


def _encode_v3(m: DescribeConfigsRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.resources
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.resource_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribeConfigsResource", "resource_name", len(b1))
        add(_pack_bh(e1.resource_type, n2))
        add(b1)
        l2 = e1.configuration_keys
        if l2 is None:
            add(b"\xff\xff\xff\xff")
        else:
            n3 = len(l2)
            add(_pack_i(n3))
            for e2 in l2:
                b2 = e2.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("DescribeConfigsResource", "configuration_keys", len(b2))
                add(_pack_h(n4))
                add(b2)
    add(_pack_TT(m.include_synonyms, m.include_documentation))
    return out


def _encode_v4(m: DescribeConfigsRequest) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.resources
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.resource_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DescribeConfigsResource", "resource_name", len(b1))
        add(_pack_bB(e1.resource_type, n2) if n2 < 128 else _pack_b(e1.resource_type) + uvarint(n2))
        add(b1)
        l2 = e1.configuration_keys
        if l2 is None:
            add(b"\x00")
        else:
            n3 = len(l2) + 1
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            for e2 in l2:
                b2 = e2.encode()
                n4 = len(b2) + 1
                if n4 > 32768:
                    raise short_string("DescribeConfigsResource", "configuration_keys", len(b2))
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                add(b2)
        add(b"\x00")
    add(_pack_TTx(m.include_synonyms, m.include_documentation))
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeConfigsRequest, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = DescribeConfigsRequest.__new__(DescribeConfigsRequest)
        m.include_documentation = False
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("DescribeConfigsRequest", "DescribeConfigsRequest.resources", n1, pos, size)
        l1: list[DescribeConfigsResource] = []
        m.resources = l1
        for _ in range(n1):
            e1 = DescribeConfigsResource.__new__(DescribeConfigsResource)
            l1.append(e1)
            e1.resource_type, n2 = _unpack_bh(data, pos)
            pos += 3
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.resource_name", n2, pos, size)
            e1.resource_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 == -1:
                e1.configuration_keys = None
            else:
                if n3 < 0 or n3 * 2 > size - pos:
                    raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.configuration_keys", n3, pos, size)
                l2: list[str] = []
                e1.configuration_keys = l2
                for _ in range(n3):
                    (n4,) = _unpack_h(data, pos)
                    pos += 2
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.configuration_keys", n4, pos, size)
                    e2 = str(data[pos:z2], "utf-8")
                    pos = z2
                    l2.append(e2)
        (m.include_synonyms,) = _unpack_T(data, pos)
        pos += 1
    except DECODE_FAULTS as fault:
        raise malformed("DescribeConfigsRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[DescribeConfigsRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = DescribeConfigsRequest.__new__(DescribeConfigsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("DescribeConfigsRequest", "DescribeConfigsRequest.resources", n1, pos, size)
        l1: list[DescribeConfigsResource] = []
        m.resources = l1
        for _ in range(n1):
            e1 = DescribeConfigsResource.__new__(DescribeConfigsResource)
            l1.append(e1)
            e1.resource_type, n2 = _unpack_bh(data, pos)
            pos += 3
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.resource_name", n2, pos, size)
            e1.resource_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 == -1:
                e1.configuration_keys = None
            else:
                if n3 < 0 or n3 * 2 > size - pos:
                    raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.configuration_keys", n3, pos, size)
                l2: list[str] = []
                e1.configuration_keys = l2
                for _ in range(n3):
                    (n4,) = _unpack_h(data, pos)
                    pos += 2
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.configuration_keys", n4, pos, size)
                    e2 = str(data[pos:z2], "utf-8")
                    pos = z2
                    l2.append(e2)
        m.include_synonyms, m.include_documentation = _unpack_TT(data, pos)
        pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("DescribeConfigsRequest", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[DescribeConfigsRequest, int]:
    # versions 4
    size = len(data)
    try:
        m = DescribeConfigsRequest.__new__(DescribeConfigsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("DescribeConfigsRequest", "DescribeConfigsRequest.resources", n1, pos, size)
        l1: list[DescribeConfigsResource] = []
        m.resources = l1
        for _ in range(n1):
            e1 = DescribeConfigsResource.__new__(DescribeConfigsResource)
            l1.append(e1)
            e1.resource_type, n2 = _unpack_bB(data, pos)
            pos += 2
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.resource_name", n2 - 1, pos, size)
            e1.resource_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.configuration_keys = None
            else:
                n3 -= 1
                if n3 < 0 or n3 > size - pos:
                    raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.configuration_keys", n3, pos, size)
                l2: list[str] = []
                e1.configuration_keys = l2
                for _ in range(n3):
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    z2 = pos + n4 - 1
                    if n4 == 0 or z2 > size:
                        raise overrun("DescribeConfigsRequest", "DescribeConfigsResource.configuration_keys", n4 - 1, pos, size)
                    e2 = str(data[pos:z2], "utf-8")
                    pos = z2
                    l2.append(e2)
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("DescribeConfigsRequest", data, pos - 1)
        m.include_synonyms, m.include_documentation, k2 = _unpack_TTB(data, pos)
        pos += 3
        if k2:
            pos = skip_tagged("DescribeConfigsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeConfigsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeConfigsRequest], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeConfigsRequest, int]]]] = {
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v4,
}
