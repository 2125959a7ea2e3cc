"""RequestHeader: header, versions 0 to 2.

Generated from ``schemas/headers.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    ENCODE_FAULTS,
    Buffer,
    DecodeError,
    malformed,
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
)

_pack_h: Final = Struct(">h").pack
_pack_hhi: Final = Struct(">hhi").pack
_unpack_hhi: Final = Struct(">hhi").unpack_from
_unpack_hhih: Final = Struct(">hhih").unpack_from


class RequestHeader:
    """In front of every request. The client id keeps its old form in every version, so that any broker can read it.

    ``request_api_key`` int16

    ``request_api_version`` int16

    ``correlation_id`` int32: Comes back in the response.

    ``client_id`` string (v1+)
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "RequestHeader"
    KIND: ClassVar[str] = "header"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")
    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RequestHeader):
            return NotImplemented
        return (
            self.request_api_key == other.request_api_key
            and self.request_api_version == other.request_api_version
            and self.correlation_id == other.correlation_id
            and self.client_id == other.client_id
        )

    def __repr__(self) -> str:
        return (
            f"RequestHeader(request_api_key={self.request_api_key!r}, "
            f"request_api_version={self.request_api_version!r}, "
            f"correlation_id={self.correlation_id!r}, "
            f"client_id={self.client_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("RequestHeader", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("RequestHeader", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> RequestHeader:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("RequestHeader", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("RequestHeader", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[RequestHeader, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("RequestHeader", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: RequestHeader) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.client_id == ""):
        raise not_in_version("RequestHeader", "RequestHeader.client_id", m.client_id)
    add(_pack_hhi(m.request_api_key, m.request_api_version, m.correlation_id))
    return out


def _encode_v1(m: RequestHeader) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    add(_pack_hhi(m.request_api_key, m.request_api_version, m.correlation_id))
    if m.client_id is None:
        add(b"\xff\xff")
    else:
        b1 = m.client_id.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("RequestHeader", "client_id", len(b1))
        add(_pack_h(n1))
        add(b1)
    return out


def _encode_v2(m: RequestHeader) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_hhi(m.request_api_key, m.request_api_version, m.correlation_id))
    if m.client_id is None:
        add(b"\xff\xff")
    else:
        b1 = m.client_id.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("RequestHeader", "client_id", len(b1))
        add(_pack_h(n1))
        add(b1)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[RequestHeader, int]:
    # versions 0
    size = len(data)
    try:
        m = RequestHeader.__new__(RequestHeader)
        m.client_id = ""
        m.request_api_key, m.request_api_version, m.correlation_id = _unpack_hhi(data, pos)
        pos += 8
    except DECODE_FAULTS as fault:
        raise malformed("RequestHeader", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[RequestHeader, int]:
    # versions 1
    size = len(data)
    try:
        m = RequestHeader.__new__(RequestHeader)
        m.request_api_key, m.request_api_version, m.correlation_id, n1 = _unpack_hhih(data, pos)
        pos += 10
        if n1 == -1:
            m.client_id = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("RequestHeader", "RequestHeader.client_id", n1, pos, size)
            m.client_id = str(data[pos:z1], "utf-8")
            pos = z1
    except DECODE_FAULTS as fault:
        raise malformed("RequestHeader", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[RequestHeader, int]:
    # versions 2
    size = len(data)
    try:
        m = RequestHeader.__new__(RequestHeader)
        m.request_api_key, m.request_api_version, m.correlation_id, n1 = _unpack_hhih(data, pos)
        pos += 10
        if n1 == -1:
            m.client_id = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("RequestHeader", "RequestHeader.client_id", n1, pos, size)
            m.client_id = str(data[pos:z1], "utf-8")
            pos = z1
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("RequestHeader", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("RequestHeader", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[RequestHeader], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[RequestHeader, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
