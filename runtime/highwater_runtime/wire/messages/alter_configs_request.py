"""AlterConfigsRequest: request body, key 33, versions 0 to 2.

Generated from ``schemas/alter_configs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_T: Final = Struct(">?").pack
_pack_Tx: Final = Struct(">?x").pack
_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_bh: Final = Struct(">bh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_T: Final = Struct(">?").unpack_from
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class AlterableConfig:
    """Part of :class:`AlterConfigsRequest`.

    ``name`` string

    ``value`` string
    """

    __slots__ = ("name", "value")
    name: str
    value: str | None

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterableConfig):
            return NotImplemented
        return (
            self.name == other.name
            and self.value == other.value
        )

    def __repr__(self) -> str:
        return (
            f"AlterableConfig(name={self.name!r}, "
            f"value={self.value!r})"
        )


class AlterConfigsResource:
    """Part of :class:`AlterConfigsRequest`.

    ``resource_type`` int8: 2 topic, 4 broker.

    ``resource_name`` string

    ``configs`` []AlterableConfig
    """

    __slots__ = ("resource_type", "resource_name", "configs")
    resource_type: int
    resource_name: str
    configs: list[AlterableConfig]

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterConfigsResource):
            return NotImplemented
        return (
            self.resource_type == other.resource_type
            and self.resource_name == other.resource_name
            and self.configs == other.configs
        )

    def __repr__(self) -> str:
        return (
            f"AlterConfigsResource(resource_type={self.resource_type!r}, "
            f"resource_name={self.resource_name!r}, "
            f"configs={self.configs!r})"
        )


class AlterConfigsRequest:
    """Replace the whole configuration of resources; what is not named goes back to its default.

    ``resources`` []AlterConfigsResource

    ``validate_only`` bool
    """

    API_KEY: ClassVar[int] = 33
    NAME: ClassVar[str] = "AlterConfigsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("resources", "validate_only")
    resources: list[AlterConfigsResource]
    validate_only: bool

    def __init__(
        self,
        *,
        resources: list[AlterConfigsResource] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.validate_only = validate_only

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterConfigsRequest):
            return NotImplemented
        return (
            self.resources == other.resources
            and self.validate_only == other.validate_only
        )

    def __repr__(self) -> str:
        return (
            f"AlterConfigsRequest(resources={self.resources!r}, "
            f"validate_only={self.validate_only!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterConfigsRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterConfigsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterConfigsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterConfigsRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterConfigsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterConfigsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterConfigsRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: AlterConfigsRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.resources
    n1 = len(l1)
    add(_pack_i(n1))
    for e1 in l1:
        b1 = e1.resource_name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("AlterConfigsResource", "resource_name", len(b1))
        add(_pack_bh(e1.resource_type, n2))
        add(b1)
        l2 = e1.configs
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2)
            if n4 > 32767:
                raise short_string("AlterableConfig", "name", len(b2))
            add(_pack_h(n4))
            add(b2)
            if e2.value is None:
                add(b"\xff\xff")
            else:
                b3 = e2.value.encode()
                n5 = len(b3)
                if n5 > 32767:
                    raise short_string("AlterableConfig", "value", len(b3))
                add(_pack_h(n5))
                add(b3)
    add(_pack_T(m.validate_only))
    return out


def _encode_v2(m: AlterConfigsRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.resources
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.resource_name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("AlterConfigsResource", "resource_name", len(b1))
        add(_pack_bB(e1.resource_type, n2) if n2 < 128 else _pack_b(e1.resource_type) + uvarint(n2))
        add(b1)
        l2 = e1.configs
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("AlterableConfig", "name", len(b2))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b2)
            if e2.value is None:
                add(b"\x00")
            else:
                b3 = e2.value.encode()
                n5 = len(b3) + 1
                if n5 > 32768:
                    raise short_string("AlterableConfig", "value", len(b3))
                add(UVARINT[n5] if n5 < 128 else uvarint(n5))
                add(b3)
            add(b"\x00")
        add(b"\x00")
    add(_pack_Tx(m.validate_only))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterConfigsRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = AlterConfigsRequest.__new__(AlterConfigsRequest)
        (n1,) = _unpack_i(data, pos)
        pos += 4
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("AlterConfigsRequest", "AlterConfigsRequest.resources", n1, pos, size)
        l1: list[AlterConfigsResource] = []
        m.resources = l1
        for _ in range(n1):
            e1 = AlterConfigsResource.__new__(AlterConfigsResource)
            l1.append(e1)
            e1.resource_type, n2 = _unpack_bh(data, pos)
            pos += 3
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("AlterConfigsRequest", "AlterConfigsResource.resource_name", n2, pos, size)
            e1.resource_name = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 4 > size - pos:
                raise overrun("AlterConfigsRequest", "AlterConfigsResource.configs", n3, pos, size)
            l2: list[AlterableConfig] = []
            e1.configs = l2
            for _ in range(n3):
                e2 = AlterableConfig.__new__(AlterableConfig)
                l2.append(e2)
                (n4,) = _unpack_h(data, pos)
                pos += 2
                z2 = pos + n4
                if n4 < 0 or z2 > size:
                    raise overrun("AlterConfigsRequest", "AlterableConfig.name", n4, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                (n5,) = _unpack_h(data, pos)
                pos += 2
                if n5 == -1:
                    e2.value = None
                else:
                    z3 = pos + n5
                    if n5 < 0 or z3 > size:
                        raise overrun("AlterConfigsRequest", "AlterableConfig.value", n5, pos, size)
                    e2.value = str(data[pos:z3], "utf-8")
                    pos = z3
        (m.validate_only,) = _unpack_T(data, pos)
        pos += 1
    except DECODE_FAULTS as fault:
        raise malformed("AlterConfigsRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[AlterConfigsRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = AlterConfigsRequest.__new__(AlterConfigsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("AlterConfigsRequest", "AlterConfigsRequest.resources", n1, pos, size)
        l1: list[AlterConfigsResource] = []
        m.resources = l1
        for _ in range(n1):
            e1 = AlterConfigsResource.__new__(AlterConfigsResource)
            l1.append(e1)
            e1.resource_type, n2 = _unpack_bB(data, pos)
            pos += 2
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("AlterConfigsRequest", "AlterConfigsResource.resource_name", n2 - 1, pos, size)
            e1.resource_name = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - pos:
                raise overrun("AlterConfigsRequest", "AlterConfigsResource.configs", n3, pos, size)
            l2: list[AlterableConfig] = []
            e1.configs = l2
            for _ in range(n3):
                e2 = AlterableConfig.__new__(AlterableConfig)
                l2.append(e2)
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("AlterConfigsRequest", "AlterableConfig.name", n4 - 1, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                if n5 == 0:
                    e2.value = None
                else:
                    z3 = pos + n5 - 1
                    if z3 > size:
                        raise overrun("AlterConfigsRequest", "AlterableConfig.value", n5 - 1, pos, size)
                    e2.value = str(data[pos:z3], "utf-8")
                    pos = z3
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("AlterConfigsRequest", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterConfigsRequest", data, pos - 1)
        m.validate_only, k3 = _unpack_TB(data, pos)
        pos += 2
        if k3:
            pos = skip_tagged("AlterConfigsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterConfigsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterConfigsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterConfigsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
}
