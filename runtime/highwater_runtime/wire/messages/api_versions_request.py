"""ApiVersionsRequest: request body, key 18, versions 0 to 4.

Generated from ``schemas/api_versions.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
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



class ApiVersionsRequest:
    """Which APIs and versions does the broker speak (KIP-35, KIP-511)?

    ``client_software_name`` string (v3+): Name of the client library.

    ``client_software_version`` string (v3+): Its version.
    """

    API_KEY: ClassVar[int] = 18
    NAME: ClassVar[str] = "ApiVersionsRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("client_software_name", "client_software_version")
    client_software_name: str
    client_software_version: str

    def __init__(
        self,
        *,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApiVersionsRequest):
            return NotImplemented
        return (
            self.client_software_name == other.client_software_name
            and self.client_software_version == other.client_software_version
        )

    def __repr__(self) -> str:
        return (
            f"ApiVersionsRequest(client_software_name={self.client_software_name!r}, "
            f"client_software_version={self.client_software_version!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ApiVersionsRequest", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ApiVersionsRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ApiVersionsRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ApiVersionsRequest", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ApiVersionsRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ApiVersionsRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ApiVersionsRequest", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: ApiVersionsRequest) -> list[bytes]:
    # versions 0, 1, 2
    out: list[bytes] = []
    add = out.append
    return out


def _encode_v3(m: ApiVersionsRequest) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    b1 = m.client_software_name.encode()
    n1 = len(b1) + 1
    if n1 > 32768:
        raise short_string("ApiVersionsRequest", "client_software_name", len(b1))
    add(UVARINT[n1] if n1 < 128 else uvarint(n1))
    add(b1)
    b2 = m.client_software_version.encode()
    n2 = len(b2) + 1
    if n2 > 32768:
        raise short_string("ApiVersionsRequest", "client_software_version", len(b2))
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    add(b2)
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ApiVersionsRequest, int]:
    # versions 0, 1, 2
    size = len(data)
    try:
        m = ApiVersionsRequest.__new__(ApiVersionsRequest)
        m.client_software_name = ""
        m.client_software_version = ""
    except DECODE_FAULTS as fault:
        raise malformed("ApiVersionsRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ApiVersionsRequest, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = ApiVersionsRequest.__new__(ApiVersionsRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        z1 = pos + n1 - 1
        if n1 == 0 or z1 > size:
            raise overrun("ApiVersionsRequest", "ApiVersionsRequest.client_software_name", n1 - 1, pos, size)
        m.client_software_name = str(data[pos:z1], "utf-8")
        pos = z1
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        z2 = pos + n2 - 1
        if n2 == 0 or z2 > size:
            raise overrun("ApiVersionsRequest", "ApiVersionsRequest.client_software_version", n2 - 1, pos, size)
        m.client_software_version = str(data[pos:z2], "utf-8")
        pos = z2
        k1 = data[pos]
        pos += 1
        if k1:
            pos = skip_tagged("ApiVersionsRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ApiVersionsRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ApiVersionsRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v0,
    3: _encode_v3,
    4: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ApiVersionsRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v0,
    3: _decode_v3,
    4: _decode_v3,
}
