"""RemoveUserScramCredentialRecord: record of the metadata log, key 22, versions 0.

Generated from ``schemas/scram_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_bx: Final = Struct(">bx").pack
_unpack_bB: Final = Struct(">bB").unpack_from


class RemoveUserScramCredentialRecord:
    """A user's credential for one mechanism is gone.

    ``name`` string

    ``mechanism`` int8
    """

    API_KEY: ClassVar[int] = 22
    NAME: ClassVar[str] = "RemoveUserScramCredentialRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("name", "mechanism")
    name: str
    mechanism: int

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RemoveUserScramCredentialRecord):
            return NotImplemented
        return (
            self.name == other.name
            and self.mechanism == other.mechanism
        )

    def __repr__(self) -> str:
        return (
            f"RemoveUserScramCredentialRecord(name={self.name!r}, "
            f"mechanism={self.mechanism!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("RemoveUserScramCredentialRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("RemoveUserScramCredentialRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> RemoveUserScramCredentialRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("RemoveUserScramCredentialRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("RemoveUserScramCredentialRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[RemoveUserScramCredentialRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("RemoveUserScramCredentialRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: RemoveUserScramCredentialRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.name.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("RemoveUserScramCredentialRecord", "name", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    add(_pack_bx(m.mechanism))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[RemoveUserScramCredentialRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = RemoveUserScramCredentialRecord.__new__(RemoveUserScramCredentialRecord)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("RemoveUserScramCredentialRecord", "RemoveUserScramCredentialRecord.name", n1 - 1, pos, size)
        m.name = str(data[pos:z1], "utf-8")
        pos = z1
        m.mechanism, k1 = _unpack_bB(data, pos)
        pos += 2
        if k1:
            pos = skip_tagged("RemoveUserScramCredentialRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("RemoveUserScramCredentialRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[RemoveUserScramCredentialRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[RemoveUserScramCredentialRecord, int]]]] = {
    0: _decode_v0,
}
