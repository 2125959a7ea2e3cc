"""DeleteGroupsResponse: response body, key 42, versions 0 to 2.

Generated from ``schemas/group_administration.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_hx: Final = Struct(">hx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class DeletableGroupResult:
    """Part of :class:`DeleteGroupsResponse`.

    ``group_id`` string

    ``error_code`` int16
    """

    __slots__ = ("group_id", "error_code")
    group_id: str
    error_code: int

    def __init__(
        self,
        *,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeletableGroupResult):
            return NotImplemented
        return (
            self.group_id == other.group_id
            and self.error_code == other.error_code
        )

    def __repr__(self) -> str:
        return (
            f"DeletableGroupResult(group_id={self.group_id!r}, "
            f"error_code={self.error_code!r})"
        )


class DeleteGroupsResponse:
    """One result for each group.

    ``throttle_time_ms`` int32

    ``results`` []DeletableGroupResult
    """

    API_KEY: ClassVar[int] = 42
    NAME: ClassVar[str] = "DeleteGroupsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")
    throttle_time_ms: int
    results: list[DeletableGroupResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteGroupsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.results == other.results
        )

    def __repr__(self) -> str:
        return (
            f"DeleteGroupsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"results={self.results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DeleteGroupsResponse", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DeleteGroupsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DeleteGroupsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteGroupsResponse", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DeleteGroupsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DeleteGroupsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteGroupsResponse", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DeleteGroupsResponse) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DeletableGroupResult", "group_id", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_h(e1.error_code))
    return out


def _encode_v2(m: DeleteGroupsResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.group_id.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeletableGroupResult", "group_id", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_hx(e1.error_code))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DeleteGroupsResponse, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = DeleteGroupsResponse.__new__(DeleteGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("DeleteGroupsResponse", "DeleteGroupsResponse.results", n1, pos, size)
        l1: list[DeletableGroupResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DeletableGroupResult.__new__(DeletableGroupResult)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DeleteGroupsResponse", "DeletableGroupResult.group_id", n2, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            (e1.error_code,) = _unpack_h(data, pos)
            pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("DeleteGroupsResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DeleteGroupsResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = DeleteGroupsResponse.__new__(DeleteGroupsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("DeleteGroupsResponse", "DeleteGroupsResponse.results", n1, pos, size)
        l1: list[DeletableGroupResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DeletableGroupResult.__new__(DeletableGroupResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteGroupsResponse", "DeletableGroupResult.group_id", n2 - 1, pos, size)
            e1.group_id = str(data[pos:z1], "utf-8")
            pos = z1
            e1.error_code, k1 = _unpack_hB(data, pos)
            pos += 3
            if k1:
                pos = skip_tagged("DeleteGroupsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("DeleteGroupsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteGroupsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DeleteGroupsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DeleteGroupsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
}
