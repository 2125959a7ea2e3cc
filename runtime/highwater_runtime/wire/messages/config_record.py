"""ConfigRecord: record of the metadata log, key 4, versions 0.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
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

_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_unpack_bB: Final = Struct(">bB").unpack_from


class ConfigRecord:
    """One configuration value.

    ``resource_type`` int8: 2 topic, 4 broker.

    ``resource_name`` string

    ``name`` string

    ``value`` string: Null removes it.
    """

    API_KEY: ClassVar[int] = 4
    NAME: ClassVar[str] = "ConfigRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("resource_type", "resource_name", "name", "value")
    resource_type: int
    resource_name: str
    name: str
    value: str | None

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigRecord):
            return NotImplemented
        return (
            self.resource_type == other.resource_type
            and self.resource_name == other.resource_name
            and self.name == other.name
            and self.value == other.value
        )

    def __repr__(self) -> str:
        return (
            f"ConfigRecord(resource_type={self.resource_type!r}, "
            f"resource_name={self.resource_name!r}, "
            f"name={self.name!r}, "
            f"value={self.value!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ConfigRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ConfigRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ConfigRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ConfigRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ConfigRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ConfigRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ConfigRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: ConfigRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.resource_name.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("ConfigRecord", "resource_name", len(b1))
    add(_pack_bB(m.resource_type, n1) if n1 < 128 else _pack_b(m.resource_type) + uvarint(n1))
    add(b1)
    b2 = m.name.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("ConfigRecord", "name", len(b2))
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    add(b2)
    if m.value is None:
        add(b"\x00")
    else:
        b3 = m.value.encode()
        n3 = len(b3) + 1
        if n3 > 32768:
            raise short_string("ConfigRecord", "value", len(b3))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b3)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ConfigRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = ConfigRecord.__new__(ConfigRecord)
        m.resource_type, n1 = _unpack_bB(data, pos)
        pos += 2
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("ConfigRecord", "ConfigRecord.resource_name", n1 - 1, pos, size)
        m.resource_name = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("ConfigRecord", "ConfigRecord.name", n2 - 1, pos, size)
        m.name = str(data[pos:z2], "utf-8")
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        if n3 == 0:
            m.value = None
        else:
            z3 = pos + n3 - 1
            if z3 > size:
                raise overrun("ConfigRecord", "ConfigRecord.value", n3 - 1, pos, size)
            m.value = str(data[pos:z3], "utf-8")
            pos = z3
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("ConfigRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ConfigRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ConfigRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ConfigRecord, int]]]] = {
    0: _decode_v0,
}
