"""IncrementalAlterConfigsResponse: response body, key 44, versions 0 to 1.

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
_pack_bh: Final = Struct(">bh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_bB: Final = Struct(">bB").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class AlterConfigsResourceResponse:
    """Part of :class:`IncrementalAlterConfigsResponse`.

    ``error_code`` int16

    ``error_message`` string

    ``resource_type`` int8

    ``resource_name`` string
    """

    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlterConfigsResourceResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.error_message == other.error_message
            and self.resource_type == other.resource_type
            and self.resource_name == other.resource_name
        )

    def __repr__(self) -> str:
        return (
            f"AlterConfigsResourceResponse(error_code={self.error_code!r}, "
            f"error_message={self.error_message!r}, "
            f"resource_type={self.resource_type!r}, "
            f"resource_name={self.resource_name!r})"
        )


class IncrementalAlterConfigsResponse:
    """One result for each resource.

    ``throttle_time_ms`` int32

    ``responses`` []AlterConfigsResourceResponse
    """

    API_KEY: ClassVar[int] = 44
    NAME: ClassVar[str] = "IncrementalAlterConfigsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "responses")
    throttle_time_ms: int
    responses: list[AlterConfigsResourceResponse]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IncrementalAlterConfigsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.responses == other.responses
        )

    def __repr__(self) -> str:
        return (
            f"IncrementalAlterConfigsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"responses={self.responses!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("IncrementalAlterConfigsResponse", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("IncrementalAlterConfigsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> IncrementalAlterConfigsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("IncrementalAlterConfigsResponse", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("IncrementalAlterConfigsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[IncrementalAlterConfigsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("IncrementalAlterConfigsResponse", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: IncrementalAlterConfigsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\xff\xff")
        else:
            b1 = e1.error_message.encode()
            n2 = len(b1)
            if n2 > 32767:
                raise short_string("AlterConfigsResourceResponse", "error_message", len(b1))
            add(_pack_h(n2))
            add(b1)
        b2 = e1.resource_name.encode()
        n3 = len(b2)
        if n3 > 32767:
            raise short_string("AlterConfigsResourceResponse", "resource_name", len(b2))
        add(_pack_bh(e1.resource_type, n3))
        add(b2)
    return out


def _encode_v1(m: IncrementalAlterConfigsResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b1 = e1.error_message.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("AlterConfigsResourceResponse", "error_message", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
        b2 = e1.resource_name.encode()
        n3 = len(b2) + 1
        if n3 > 32768:
            raise short_string("AlterConfigsResourceResponse", "resource_name", len(b2))
        add(_pack_bB(e1.resource_type, n3) if n3 < 128 else _pack_b(e1.resource_type) + uvarint(n3))
        add(b2)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = IncrementalAlterConfigsResponse.__new__(IncrementalAlterConfigsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("IncrementalAlterConfigsResponse", "IncrementalAlterConfigsResponse.responses", n1, pos, size)
        l1: list[AlterConfigsResourceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = AlterConfigsResourceResponse.__new__(AlterConfigsResourceResponse)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            if n2 == -1:
                e1.error_message = None
            else:
                z1 = pos + n2
                if n2 < 0 or z1 > size:
                    raise overrun("IncrementalAlterConfigsResponse", "AlterConfigsResourceResponse.error_message", n2, pos, size)
                e1.error_message = str(data[pos:z1], "utf-8")
                pos = z1
            e1.resource_type, n3 = _unpack_bh(data, pos)
            pos += 3
            z2 = pos + n3
            if n3 < 0 or z2 > size:
                raise overrun("IncrementalAlterConfigsResponse", "AlterConfigsResourceResponse.resource_name", n3, pos, size)
            e1.resource_name = str(data[pos:z2], "utf-8")
            pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("IncrementalAlterConfigsResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = IncrementalAlterConfigsResponse.__new__(IncrementalAlterConfigsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("IncrementalAlterConfigsResponse", "IncrementalAlterConfigsResponse.responses", n1, pos, size)
        l1: list[AlterConfigsResourceResponse] = []
        m.responses = l1
        for _ in range(n1):
            e1 = AlterConfigsResourceResponse.__new__(AlterConfigsResourceResponse)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            if n2 == 0:
                e1.error_message = None
            else:
                z1 = pos + n2 - 1
                if z1 > size:
                    raise overrun("IncrementalAlterConfigsResponse", "AlterConfigsResourceResponse.error_message", n2 - 1, pos, size)
                e1.error_message = str(data[pos:z1], "utf-8")
                pos = z1
            e1.resource_type, n3 = _unpack_bB(data, pos)
            pos += 2
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            z2 = pos + n3 - 1
            if n3 == 0 or z2 > size:
                raise overrun("IncrementalAlterConfigsResponse", "AlterConfigsResourceResponse.resource_name", n3 - 1, pos, size)
            e1.resource_name = str(data[pos:z2], "utf-8")
            pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("IncrementalAlterConfigsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("IncrementalAlterConfigsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("IncrementalAlterConfigsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[IncrementalAlterConfigsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[IncrementalAlterConfigsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
