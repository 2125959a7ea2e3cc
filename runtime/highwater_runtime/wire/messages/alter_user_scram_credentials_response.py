"""AlterUserScramCredentialsResponse: response body, key 51, versions 0.

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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class AlterUserScramCredentialsResult:
    """Part of :class:`AlterUserScramCredentialsResponse`.

    ``user`` string

    ``error_code`` int16

    ``error_message`` string
    """

    __slots__ = ("user", "error_code", "error_message")
    user: str
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterUserScramCredentialsResult):
            return NotImplemented
        return (
            self.user == other.user
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"AlterUserScramCredentialsResult(user={self.user!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )


class AlterUserScramCredentialsResponse:
    """One result for each user.

    ``throttle_time_ms`` int32

    ``results`` []AlterUserScramCredentialsResult
    """

    API_KEY: ClassVar[int] = 51
    NAME: ClassVar[str] = "AlterUserScramCredentialsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "results")
    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterUserScramCredentialsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.results == other.results
        )

    def __repr__(self) -> str:
        return (
            f"AlterUserScramCredentialsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"results={self.results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("AlterUserScramCredentialsResponse", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("AlterUserScramCredentialsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> AlterUserScramCredentialsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterUserScramCredentialsResponse", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("AlterUserScramCredentialsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[AlterUserScramCredentialsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("AlterUserScramCredentialsResponse", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: AlterUserScramCredentialsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.user.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("AlterUserScramCredentialsResult", "user", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("AlterUserScramCredentialsResult", "error_message", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[AlterUserScramCredentialsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = AlterUserScramCredentialsResponse.__new__(AlterUserScramCredentialsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("AlterUserScramCredentialsResponse", "AlterUserScramCredentialsResponse.results", n1, pos, size)
        l1: list[AlterUserScramCredentialsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = AlterUserScramCredentialsResult.__new__(AlterUserScramCredentialsResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("AlterUserScramCredentialsResponse", "AlterUserScramCredentialsResult.user", n2 - 1, pos, size)
            e1.user = str(data[pos:z1], "utf-8")
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
                    raise overrun("AlterUserScramCredentialsResponse", "AlterUserScramCredentialsResult.error_message", n3 - 1, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("AlterUserScramCredentialsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("AlterUserScramCredentialsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("AlterUserScramCredentialsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[AlterUserScramCredentialsResponse], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[AlterUserScramCredentialsResponse, int]]]] = {
    0: _decode_v0,
}
