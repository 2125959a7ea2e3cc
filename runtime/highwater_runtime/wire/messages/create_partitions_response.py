"""CreatePartitionsResponse: response body, key 37, versions 0 to 3.

Generated from ``schemas/create_partitions.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class CreatePartitionsTopicResult:
    """Part of :class:`CreatePartitionsResponse`.

    ``name`` string

    ``error_code`` int16

    ``error_message`` string
    """

    __slots__ = ("name", "error_code", "error_message")
    name: str
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatePartitionsTopicResult):
            return NotImplemented
        return (
            self.name == other.name
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"CreatePartitionsTopicResult(name={self.name!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )


class CreatePartitionsResponse:
    """One result for each topic.

    ``throttle_time_ms`` int32

    ``results`` []CreatePartitionsTopicResult
    """

    API_KEY: ClassVar[int] = 37
    NAME: ClassVar[str] = "CreatePartitionsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")
    throttle_time_ms: int
    results: list[CreatePartitionsTopicResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CreatePartitionsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.results == other.results
        )

    def __repr__(self) -> str:
        return (
            f"CreatePartitionsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"results={self.results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("CreatePartitionsResponse", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("CreatePartitionsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> CreatePartitionsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreatePartitionsResponse", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("CreatePartitionsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[CreatePartitionsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("CreatePartitionsResponse", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: CreatePartitionsResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("CreatePartitionsTopicResult", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\xff\xff")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2)
            if n3 > 32767:
                raise short_string("CreatePartitionsTopicResult", "error_message", len(b2))
            add(_pack_h(n3))
            add(b2)
    return out


def _encode_v2(m: CreatePartitionsResponse) -> list[bytes]:
    # versions 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("CreatePartitionsTopicResult", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("CreatePartitionsTopicResult", "error_message", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[CreatePartitionsResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = CreatePartitionsResponse.__new__(CreatePartitionsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("CreatePartitionsResponse", "CreatePartitionsResponse.results", n1, pos, size)
        l1: list[CreatePartitionsTopicResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = CreatePartitionsTopicResult.__new__(CreatePartitionsTopicResult)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("CreatePartitionsResponse", "CreatePartitionsTopicResult.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.error_code, n3 = _unpack_hh(data, pos)
            pos += 4
            if n3 == -1:
                e1.error_message = None
            else:
                z2 = pos + n3
                if n3 < 0 or z2 > size:
                    raise overrun("CreatePartitionsResponse", "CreatePartitionsTopicResult.error_message", n3, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("CreatePartitionsResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[CreatePartitionsResponse, int]:
    # versions 2, 3
    size = len(data)
    try:
        m = CreatePartitionsResponse.__new__(CreatePartitionsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("CreatePartitionsResponse", "CreatePartitionsResponse.results", n1, pos, size)
        l1: list[CreatePartitionsTopicResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = CreatePartitionsTopicResult.__new__(CreatePartitionsTopicResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("CreatePartitionsResponse", "CreatePartitionsTopicResult.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
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
                    raise overrun("CreatePartitionsResponse", "CreatePartitionsTopicResult.error_message", n3 - 1, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("CreatePartitionsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("CreatePartitionsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("CreatePartitionsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[CreatePartitionsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
    3: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[CreatePartitionsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
    3: _decode_v2,
}
