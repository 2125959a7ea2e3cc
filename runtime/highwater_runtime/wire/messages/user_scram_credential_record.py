"""UserScramCredentialRecord: record of the metadata log, key 11, versions 0.

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
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class UserScramCredentialRecord:
    """What a user authenticates with; it replaces the one of the same user and mechanism.

    ``name`` string

    ``mechanism`` int8: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.

    ``salt`` bytes

    ``stored_key`` bytes

    ``server_key`` bytes

    ``iterations`` int32
    """

    API_KEY: ClassVar[int] = 11
    NAME: ClassVar[str] = "UserScramCredentialRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")
    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UserScramCredentialRecord):
            return NotImplemented
        return (
            self.name == other.name
            and self.mechanism == other.mechanism
            and self.salt == other.salt
            and self.stored_key == other.stored_key
            and self.server_key == other.server_key
            and self.iterations == other.iterations
        )

    def __repr__(self) -> str:
        return (
            f"UserScramCredentialRecord(name={self.name!r}, "
            f"mechanism={self.mechanism!r}, "
            f"salt={show(self.salt)}, "
            f"stored_key={show(self.stored_key)}, "
            f"server_key={show(self.server_key)}, "
            f"iterations={self.iterations!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UserScramCredentialRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UserScramCredentialRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UserScramCredentialRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UserScramCredentialRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UserScramCredentialRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UserScramCredentialRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UserScramCredentialRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: UserScramCredentialRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    b1 = m.name.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("UserScramCredentialRecord", "name", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.salt
    n2 = len(b2) + 1
    add(_pack_bB(m.mechanism, n2) if n2 < 128 else _pack_b(m.mechanism) + uvarint(n2))
    add(b2)
    b3 = m.stored_key
    n3 = len(b3) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    add(b3)
    b4 = m.server_key
    n4 = len(b4) + 1
    add(UVARINT[n4] if n4 < 128 else uvarint(n4))
    add(b4)
    add(_pack_ix(m.iterations))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UserScramCredentialRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = UserScramCredentialRecord.__new__(UserScramCredentialRecord)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("UserScramCredentialRecord", "UserScramCredentialRecord.name", n1 - 1, pos, size)
        m.name = str(data[pos:z1], "utf-8")
        pos = z1
        m.mechanism, n2 = _unpack_bB(data, pos)
        pos += 2
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("UserScramCredentialRecord", "UserScramCredentialRecord.salt", n2 - 1, pos, size)
        m.salt = bytes(data[pos:z2])
        pos = z2
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        z3 = pos + n3 - 1
        if n3 == 0 or z3 > size:
            raise overrun("UserScramCredentialRecord", "UserScramCredentialRecord.stored_key", n3 - 1, pos, size)
        m.stored_key = bytes(data[pos:z3])
        pos = z3
        n4 = data[pos]
        pos += 1
        if n4 > 127:
            n4, pos = uvarint_at(data, pos - 1)
        z4 = pos + n4 - 1
        if n4 == 0 or z4 > size:
            raise overrun("UserScramCredentialRecord", "UserScramCredentialRecord.server_key", n4 - 1, pos, size)
        m.server_key = bytes(data[pos:z4])
        pos = z4
        m.iterations, k1 = _unpack_iB(data, pos)
        pos += 5
        if k1:
            pos = skip_tagged("UserScramCredentialRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UserScramCredentialRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UserScramCredentialRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UserScramCredentialRecord, int]]]] = {
    0: _decode_v0,
}
