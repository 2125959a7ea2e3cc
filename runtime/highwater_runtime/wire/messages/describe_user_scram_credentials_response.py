"""DescribeUserScramCredentialsResponse: response body, key 50, versions 0.

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
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_bix: Final = Struct(">bix").pack
_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_biB: Final = Struct(">biB").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from


class CredentialInfo:
    """Part of :class:`DescribeUserScramCredentialsResponse`.

    ``mechanism`` int8: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.

    ``iterations`` int32
    """

    __slots__ = ("mechanism", "iterations")
    mechanism: int
    iterations: int

    def __init__(
        self,
        *,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CredentialInfo):
            return NotImplemented
        return (
            self.mechanism == other.mechanism
            and self.iterations == other.iterations
        )

    def __repr__(self) -> str:
        return (
            f"CredentialInfo(mechanism={self.mechanism!r}, "
            f"iterations={self.iterations!r})"
        )


class DescribeUserScramCredentialsResult:
    """Part of :class:`DescribeUserScramCredentialsResponse`.

    ``user`` string

    ``error_code`` int16

    ``error_message`` string

    ``credential_infos`` []CredentialInfo
    """

    __slots__ = ("user", "error_code", "error_message", "credential_infos")
    user: str
    error_code: int
    error_message: str | None
    credential_infos: list[CredentialInfo]

    def __init__(
        self,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = EMPTY,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is EMPTY else credential_infos

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeUserScramCredentialsResult):
            return NotImplemented
        return (
            self.user == other.user
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.credential_infos == other.credential_infos
        )

    def __repr__(self) -> str:
        return (
            f"DescribeUserScramCredentialsResult(user={self.user!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"credential_infos={self.credential_infos!r})"
        )


class DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations of each user; never anything to log in with.

    ``throttle_time_ms`` int32

    ``error_code`` int16

    ``error_message`` string

    ``results`` []DescribeUserScramCredentialsResult
    """

    API_KEY: ClassVar[int] = 50
    NAME: ClassVar[str] = "DescribeUserScramCredentialsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is EMPTY else results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeUserScramCredentialsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.results == other.results
        )

    def __repr__(self) -> str:
        return (
            f"DescribeUserScramCredentialsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"results={self.results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeUserScramCredentialsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeUserScramCredentialsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeUserScramCredentialsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeUserScramCredentialsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeUserScramCredentialsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeUserScramCredentialsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: DescribeUserScramCredentialsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_ih(m.throttle_time_ms, m.error_code))
    if m.error_message is None:
        add(b"\x00")
    else:
        b1 = m.error_message.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("DescribeUserScramCredentialsResponse", "error_message", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    l1 = m.results
    n2 = len(l1) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e1 in l1:
        b2 = e1.user.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("DescribeUserScramCredentialsResult", "user", len(b2))
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        add(b2)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b3 = e1.error_message.encode()
            n4 = len(b3) + 1
            if n4 > 32768:
                raise short_string("DescribeUserScramCredentialsResult", "error_message", len(b3))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b3)
        l2 = e1.credential_infos
        n5 = len(l2) + 1
        add(UVARINT[n5] if n5 < 128 else uvarint(n5))
        for e2 in l2:
            add(_pack_bix(e2.mechanism, e2.iterations))
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeUserScramCredentialsResponse.__new__(DescribeUserScramCredentialsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.error_message = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResponse.error_message", n1 - 1, pos, size)
            m.error_message = str(data[pos:z1], "utf-8")
            pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 6 > size - pos:
            raise overrun("DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResponse.results", n2, pos, size)
        l1: list[DescribeUserScramCredentialsResult] = []
        m.results = l1
        for _ in range(n2):
            e1 = DescribeUserScramCredentialsResult.__new__(DescribeUserScramCredentialsResult)
            l1.append(e1)
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResult.user", n3 - 1, pos, size)
            e1.user = str(data[pos:z2], "utf-8")
            pos = z2
            e1.error_code, n4 = _unpack_hB(data, pos)
            pos += 3
            if n4 > 127:
                n4, pos = uvarint_at(data, pos - 1)
            if n4 == 0:
                e1.error_message = None
            else:
                z3 = pos + n4 - 1
                if z3 > size:
                    raise overrun("DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResult.error_message", n4 - 1, pos, size)
                e1.error_message = str(data[pos:z3], "utf-8")
                pos = z3
            n5 = data[pos]
            pos += 1
            if n5 > 127:
                n5, pos = uvarint_at(data, pos - 1)
            n5 -= 1
            if n5 < 0 or n5 * 6 > size - pos:
                raise overrun("DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResult.credential_infos", n5, pos, size)
            l2: list[CredentialInfo] = []
            e1.credential_infos = l2
            for _ in range(n5):
                e2 = CredentialInfo.__new__(CredentialInfo)
                l2.append(e2)
                e2.mechanism, e2.iterations, k1 = _unpack_biB(data, pos)
                pos += 6
                if k1:
                    pos = skip_tagged("DescribeUserScramCredentialsResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("DescribeUserScramCredentialsResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("DescribeUserScramCredentialsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeUserScramCredentialsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeUserScramCredentialsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeUserScramCredentialsResponse, int]]]] = {
    0: _decode_v0,
}
