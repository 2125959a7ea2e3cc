"""DescribeUserScramCredentialsRequest: request body, key 50, versions 0.

Generated from ``schemas/sasl.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
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



class UserName:
    """Part of :class:`DescribeUserScramCredentialsRequest`.

    ``name`` string
    """

    __slots__ = ("name",)
    name: str

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UserName):
            return NotImplemented
        return (
            self.name == other.name
        )

    def __repr__(self) -> str:
        return (
            f"UserName(name={self.name!r})"
        )


class DescribeUserScramCredentialsRequest:
    """Which users have SCRAM credentials (KIP-554)?

    ``users`` []UserName: Null or empty for all.
    """

    API_KEY: ClassVar[int] = 50
    NAME: ClassVar[str] = "DescribeUserScramCredentialsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("users",)
    users: list[UserName] | None

    def __init__(
        self,
        *,
        users: list[UserName] | None = EMPTY,
    ) -> None:
        self.users = [] if users is EMPTY else users

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeUserScramCredentialsRequest):
            return NotImplemented
        return (
            self.users == other.users
        )

    def __repr__(self) -> str:
        return (
            f"DescribeUserScramCredentialsRequest(users={self.users!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeUserScramCredentialsRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeUserScramCredentialsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeUserScramCredentialsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeUserScramCredentialsRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeUserScramCredentialsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeUserScramCredentialsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeUserScramCredentialsRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: DescribeUserScramCredentialsRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.users
    if l1 is None:
        add(b"\x00")
    else:
        n1 = len(l1) + 1
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        for e1 in l1:
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("UserName", "name", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
            add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeUserScramCredentialsRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeUserScramCredentialsRequest.__new__(DescribeUserScramCredentialsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.users = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 2 > size - pos:
                raise overrun("DescribeUserScramCredentialsRequest", "DescribeUserScramCredentialsRequest.users", n1, pos, size)
            l1: list[UserName] = []
            m.users = l1
            for _ in range(n1):
                e1 = UserName.__new__(UserName)
                l1.append(e1)
                n2 = data[pos]
                pos += 1
                if n2 > 127:
                    n2, pos = uvarint_at(data, pos - 1)
                z1 = pos + n2 - 1
                if n2 == 0 or z1 > size:
                    raise overrun("DescribeUserScramCredentialsRequest", "UserName.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("DescribeUserScramCredentialsRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("DescribeUserScramCredentialsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeUserScramCredentialsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeUserScramCredentialsRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeUserScramCredentialsRequest, int]]]] = {
    0: _decode_v0,
}
