"""DeleteTopicsResponse: response body, key 20, versions 1 to 6.

Generated from ``schemas/delete_topics.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    EMPTY,
    ENCODE_FAULTS,
    UVARINT,
    ZERO_UUID,
    Buffer,
    DecodeError,
    malformed,
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_Uh: Final = Struct(">16sh").pack
_pack_h: Final = Struct(">h").pack
_pack_hx: Final = Struct(">hx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_UhB: Final = Struct(">16shB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class DeletableTopicResult:
    """Part of :class:`DeleteTopicsResponse`.

    ``name`` string

    ``topic_id`` uuid (v6+)

    ``error_code`` int16

    ``error_message`` string (v5+)
    """

    __slots__ = ("name", "topic_id", "error_code", "error_message")
    name: str | None
    topic_id: UUID
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeletableTopicResult):
            return NotImplemented
        return (
            self.name == other.name
            and self.topic_id == other.topic_id
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"DeletableTopicResult(name={self.name!r}, "
            f"topic_id={self.topic_id!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )


class DeleteTopicsResponse:
    """One result for each topic.

    ``throttle_time_ms`` int32

    ``responses`` []DeletableTopicResult
    """

    API_KEY: ClassVar[int] = 20
    NAME: ClassVar[str] = "DeleteTopicsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "responses")
    throttle_time_ms: int
    responses: list[DeletableTopicResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeleteTopicsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.responses == other.responses
        )

    def __repr__(self) -> str:
        return (
            f"DeleteTopicsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"responses={self.responses!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DeleteTopicsResponse", version, 1, 6)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DeleteTopicsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DeleteTopicsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteTopicsResponse", version, 1, 6)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DeleteTopicsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DeleteTopicsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DeleteTopicsResponse", version, 1, 6)
        return decoder(data, position)


def _encode_v1(m: DeleteTopicsResponse) -> list[bytes]:
    # versions 1, 2, 3
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        if e1.name is None:
            raise not_in_version("DeleteTopicsResponse", "DeletableTopicResult.name", None)
        b1 = e1.name.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DeletableTopicResult", "name", len(b1))
        add(_pack_h(n2))
        add(b1)
        add(_pack_h(e1.error_code))
    return out


def _encode_v4(m: DeleteTopicsResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        if e1.name is None:
            raise not_in_version("DeleteTopicsResponse", "DeletableTopicResult.name", None)
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeletableTopicResult", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_hx(e1.error_code))
    add(b"\x00")
    return out


def _encode_v5(m: DeleteTopicsResponse) -> list[bytes]:
    # versions 5
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        if e1.name is None:
            raise not_in_version("DeleteTopicsResponse", "DeletableTopicResult.name", None)
        b1 = e1.name.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DeletableTopicResult", "name", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_h(e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("DeletableTopicResult", "error_message", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v6(m: DeleteTopicsResponse) -> list[bytes]:
    # versions 6
    out: list[bytes] = []
    add = out.append
    l1 = m.responses
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        if e1.name is None:
            add(b"\x00")
        else:
            b1 = e1.name.encode()
            n2 = len(b1) + 1
            if n2 > 32768:
                raise short_string("DeletableTopicResult", "name", len(b1))
            add(UVARINT[n2] if n2 < 128 else uvarint(n2))
            add(b1)
        add(_pack_Uh(e1.topic_id.bytes, e1.error_code))
        if e1.error_message is None:
            add(b"\x00")
        else:
            b2 = e1.error_message.encode()
            n3 = len(b2) + 1
            if n3 > 32768:
                raise short_string("DeletableTopicResult", "error_message", len(b2))
            add(UVARINT[n3] if n3 < 128 else uvarint(n3))
            add(b2)
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # versions 1, 2, 3
    size = len(data)
    try:
        m = DeleteTopicsResponse.__new__(DeleteTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("DeleteTopicsResponse", "DeleteTopicsResponse.responses", n1, pos, size)
        l1: list[DeletableTopicResult] = []
        m.responses = l1
        for _ in range(n1):
            e1 = DeletableTopicResult.__new__(DeletableTopicResult)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            e1.error_message = None
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DeleteTopicsResponse", "DeletableTopicResult.name", n2, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            (e1.error_code,) = _unpack_h(data, pos)
            pos += 2
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = DeleteTopicsResponse.__new__(DeleteTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - pos:
            raise overrun("DeleteTopicsResponse", "DeleteTopicsResponse.responses", n1, pos, size)
        l1: list[DeletableTopicResult] = []
        m.responses = l1
        for _ in range(n1):
            e1 = DeletableTopicResult.__new__(DeletableTopicResult)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            e1.error_message = None
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteTopicsResponse", "DeletableTopicResult.name", n2 - 1, pos, size)
            e1.name = str(data[pos:z1], "utf-8")
            pos = z1
            e1.error_code, k1 = _unpack_hB(data, pos)
            pos += 3
            if k1:
                pos = skip_tagged("DeleteTopicsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("DeleteTopicsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsResponse", pos, fault) from fault
    return m, pos


def _decode_v5(data: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # versions 5
    size = len(data)
    try:
        m = DeleteTopicsResponse.__new__(DeleteTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("DeleteTopicsResponse", "DeleteTopicsResponse.responses", n1, pos, size)
        l1: list[DeletableTopicResult] = []
        m.responses = l1
        for _ in range(n1):
            e1 = DeletableTopicResult.__new__(DeletableTopicResult)
            l1.append(e1)
            e1.topic_id = ZERO_UUID
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DeleteTopicsResponse", "DeletableTopicResult.name", n2 - 1, pos, size)
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
                    raise overrun("DeleteTopicsResponse", "DeletableTopicResult.error_message", n3 - 1, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("DeleteTopicsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("DeleteTopicsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsResponse", pos, fault) from fault
    return m, pos


def _decode_v6(data: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # versions 6
    size = len(data)
    try:
        m = DeleteTopicsResponse.__new__(DeleteTopicsResponse)
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 21 > size - pos:
            raise overrun("DeleteTopicsResponse", "DeleteTopicsResponse.responses", n1, pos, size)
        l1: list[DeletableTopicResult] = []
        m.responses = l1
        for _ in range(n1):
            e1 = DeletableTopicResult.__new__(DeletableTopicResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            if n2 == 0:
                e1.name = None
            else:
                z1 = pos + n2 - 1
                if z1 > size:
                    raise overrun("DeleteTopicsResponse", "DeletableTopicResult.name", n2 - 1, pos, size)
                e1.name = str(data[pos:z1], "utf-8")
                pos = z1
            u1, e1.error_code, n3 = _unpack_UhB(data, pos)
            pos += 19
            e1.topic_id = uuid_of(u1)
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            if n3 == 0:
                e1.error_message = None
            else:
                z2 = pos + n3 - 1
                if z2 > size:
                    raise overrun("DeleteTopicsResponse", "DeletableTopicResult.error_message", n3 - 1, pos, size)
                e1.error_message = str(data[pos:z2], "utf-8")
                pos = z2
            k1 = data[pos]
            pos += 1
            if k1:
                pos = skip_tagged("DeleteTopicsResponse", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("DeleteTopicsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DeleteTopicsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DeleteTopicsResponse], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v1,
    4: _encode_v4,
    5: _encode_v5,
    6: _encode_v6,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DeleteTopicsResponse, int]]]] = {
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v1,
    4: _decode_v4,
    5: _decode_v5,
    6: _decode_v6,
}
