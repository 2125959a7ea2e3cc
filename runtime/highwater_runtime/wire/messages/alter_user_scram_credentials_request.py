"""AlterUserScramCredentialsRequest: request body, key 51, versions 0.

Generated from ``schemas/sasl.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    show,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_bi: Final = Struct(">bi").pack
_pack_biB: Final = Struct(">biB").pack
_pack_bx: Final = Struct(">bx").pack
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_biB: Final = Struct(">biB").unpack_from


class ScramCredentialDeletion:
    """Part of :class:`AlterUserScramCredentialsRequest`.

    ``name`` string

    ``mechanism`` int8: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    """

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
        if not isinstance(other, ScramCredentialDeletion):
            return NotImplemented
        return (
            self.name == other.name
            and self.mechanism == other.mechanism
        )

    def __repr__(self) -> str:
        return (
            f"ScramCredentialDeletion(name={self.name!r}, "
            f"mechanism={self.mechanism!r})"
        )


class ScramCredentialUpsertion:
    """Part of :class:`AlterUserScramCredentialsRequest`.

    ``name`` string

    ``mechanism`` int8

    ``iterations`` int32

    ``salt`` bytes

    ``salted_password`` bytes
    """

    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")
    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScramCredentialUpsertion):
            return NotImplemented
        return (
            self.name == other.name
            and self.mechanism == other.mechanism
            and self.iterations == other.iterations
            and self.salt == other.salt
            and self.salted_password == other.salted_password
        )

    def __repr__(self) -> str:
        return (
            f"ScramCredentialUpsertion(name={self.name!r}, "
            f"mechanism={self.mechanism!r}, "
            f"iterations={self.iterations!r}, "
            f"salt={show(self.salt)}, "
            f"salted_password={show(self.salted_password)})"
        )


class AlterUserScramCredentialsRequest:
    """Set or delete SCRAM credentials (KIP-554). The password itself does not travel, only what salting made of it.

    ``deletions`` []ScramCredentialDeletion

    ``upsertions`` []ScramCredentialUpsertion
    """

    API_KEY: ClassVar[int] = 51
    NAME: ClassVar[str] = "AlterUserScramCredentialsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("deletions", "upsertions")
    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]

    def __init__(
        self,
        *,
        deletions: list[ScramCredentialDeletion] = EMPTY,
        upsertions: list[ScramCredentialUpsertion] = EMPTY,
    ) -> None:
        self.deletions = [] if deletions is EMPTY else deletions
        self.upsertions = [] if upsertions is EMPTY else upsertions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterUserScramCredentialsRequest):
            return NotImplemented
        return (
            self.deletions == other.deletions
            and self.upsertions == other.upsertions
        )

    def __repr__(self) -> str:
        return (
            f"AlterUserScramCredentialsRequest(deletions={self.deletions!r}, "
            f"upsertions={self.upsertions!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterUserScramCredentialsRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterUserScramCredentialsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterUserScramCredentialsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterUserScramCredentialsRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterUserScramCredentialsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterUserScramCredentialsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterUserScramCredentialsRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: AlterUserScramCredentialsRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.deletions
    n1 = len(l1) + 1
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ScramCredentialDeletion", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_bx(e1.mechanism))
    l2 = m.upsertions
    n3 = len(l2) + 1
    add(UVARINT[n3] if n3 < 128 else uvarint(n3))
    for e2 in l2:
        b2 = e2.name.encode()
        n4 = len(b2) + 1
        if n4 > 32768:
            raise short_string("ScramCredentialUpsertion", "name", len(b2))
        add(UVARINT[n4] if n4 < 128 else uvarint(n4))
        add(b2)
        b3 = e2.salt
        n5 = len(b3) + 1
        add(_pack_biB(e2.mechanism, e2.iterations, n5) if n5 < 128 else _pack_bi(e2.mechanism, e2.iterations) + uvarint(n5))
        add(b3)
        b4 = e2.salted_password
        n6 = len(b4) + 1
        add(UVARINT[n6] if n6 < 128 else uvarint(n6))
        add(b4)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterUserScramCredentialsRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = AlterUserScramCredentialsRequest.__new__(AlterUserScramCredentialsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("AlterUserScramCredentialsRequest", "AlterUserScramCredentialsRequest.deletions", n1, pos, size)
        l1: list[ScramCredentialDeletion] = []
        m.deletions = l1
        for _ in range(n1):
            e1 = ScramCredentialDeletion.__new__(ScramCredentialDeletion)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("AlterUserScramCredentialsRequest", "ScramCredentialDeletion.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.mechanism, k1 = _unpack_bB(data, pos)
            pos += 2
            if k1:
                pos = skip_tagged("AlterUserScramCredentialsRequest", data, pos - 1)
        n3 = data[pos]
        pos += 1
        if n3 > 127:
            n3, pos = uvarint_at(data, pos - 1)
        n3 -= 1
        if n3 < 0 or n3 * 9 > size - pos:
            raise overrun("AlterUserScramCredentialsRequest", "AlterUserScramCredentialsRequest.upsertions", n3, pos, size)
        l2: list[ScramCredentialUpsertion] = []
        m.upsertions = l2
        for _ in range(n3):
            e2 = ScramCredentialUpsertion.__new__(ScramCredentialUpsertion)
            l2.append(e2)
            n4 = data[pos]
            pos += 1
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            z2 = pos + n4 - 1
            if n4 == 0 or z2 > size:
                raise overrun("AlterUserScramCredentialsRequest", "ScramCredentialUpsertion.name", n4 - 1, pos, size)
            e2.name = str(data[pos:z2], "utf-8")
            pos = z2
            e2.mechanism, e2.iterations, n5 = _unpack_biB(data, pos)
            pos += 6
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            z3 = pos + n5 - 1
            if n5 == 0 or z3 > size:
                raise overrun("AlterUserScramCredentialsRequest", "ScramCredentialUpsertion.salt", n5 - 1, pos, size)
            e2.salt = bytes(data[pos:z3])
            pos = z3
            n6 = data[pos]
            pos += 1
            if n6 > 127:
                n6, pos = uvarint_at(data, pos - 1)
            z4 = pos + n6 - 1
            if n6 == 0 or z4 > size:
                raise overrun("AlterUserScramCredentialsRequest", "ScramCredentialUpsertion.salted_password", n6 - 1, pos, size)
            e2.salted_password = bytes(data[pos:z4])
            pos = z4
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("AlterUserScramCredentialsRequest", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("AlterUserScramCredentialsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterUserScramCredentialsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterUserScramCredentialsRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterUserScramCredentialsRequest, int]]]] = {
    0: _decode_v0,
}
