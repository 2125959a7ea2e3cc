"""InitProducerIdRequest: request body, key 22, versions 0 to 5.

Generated from ``schemas/init_producer_id.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from highwater_runtime.wire.codec import (
    DECODE_FAULTS,
    ENCODE_FAULTS,
    UVARINT,
    Buffer,
    DecodeError,
    malformed,
    not_in_version,
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
_pack_iqhx: Final = Struct(">iqhx").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iqhB: Final = Struct(">iqhB").unpack_from


class InitProducerIdRequest:
    """A producer id for an idempotent producer.

    ``transactional_id`` string: Null if the producer is only idempotent.

    ``transaction_timeout_ms`` int32

    ``producer_id`` int64 (v3+): The id that it has, to bump its epoch (KIP-360).

    ``producer_epoch`` int16 (v3+)
    """

    API_KEY: ClassVar[int] = 22
    NAME: ClassVar[str] = "InitProducerIdRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch")
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int

    def __init__(
        self,
        *,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InitProducerIdRequest):
            return NotImplemented
        return (
            self.transactional_id == other.transactional_id
            and self.transaction_timeout_ms == other.transaction_timeout_ms
            and self.producer_id == other.producer_id
            and self.producer_epoch == other.producer_epoch
        )

    def __repr__(self) -> str:
        return (
            f"InitProducerIdRequest(transactional_id={self.transactional_id!r}, "
            f"transaction_timeout_ms={self.transaction_timeout_ms!r}, "
            f"producer_id={self.producer_id!r}, "
            f"producer_epoch={self.producer_epoch!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("InitProducerIdRequest", version, 0, 5)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("InitProducerIdRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> InitProducerIdRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("InitProducerIdRequest", version, 0, 5)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("InitProducerIdRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[InitProducerIdRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("InitProducerIdRequest", version, 0, 5)
        return decoder(data, position)


def _encode_v0(m: InitProducerIdRequest) -> list[bytes]:
    # versions 0, 1
    out: list[bytes] = []
    add = out.append
    if not (m.producer_id == -1):
        raise not_in_version("InitProducerIdRequest", "InitProducerIdRequest.producer_id", m.producer_id)
    if not (m.producer_epoch == -1):
        raise not_in_version("InitProducerIdRequest", "InitProducerIdRequest.producer_epoch", m.producer_epoch)
    if m.transactional_id is None:
        add(b"\xff\xff")
    else:
        b1 = m.transactional_id.encode()
        n1 = len(b1)
        if n1 > 32767:
            raise short_string("InitProducerIdRequest", "transactional_id", len(b1))
        add(_pack_h(n1))
        add(b1)
    add(_pack_i(m.transaction_timeout_ms))
    return out


def _encode_v2(m: InitProducerIdRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (m.producer_id == -1):
        raise not_in_version("InitProducerIdRequest", "InitProducerIdRequest.producer_id", m.producer_id)
    if not (m.producer_epoch == -1):
        raise not_in_version("InitProducerIdRequest", "InitProducerIdRequest.producer_epoch", m.producer_epoch)
    if m.transactional_id is None:
        add(b"\x00")
    else:
        b1 = m.transactional_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("InitProducerIdRequest", "transactional_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    add(_pack_ix(m.transaction_timeout_ms))
    return out


def _encode_v3(m: InitProducerIdRequest) -> list[bytes]:
    # versions 3, 4, 5
    out: list[bytes] = []
    add = out.append
    if m.transactional_id is None:
        add(b"\x00")
    else:
        b1 = m.transactional_id.encode()
        n1 = len(b1) + 1
        if n1 > 32768:
            raise short_string("InitProducerIdRequest", "transactional_id", len(b1))
        add(UVARINT[n1] if n1 < 128 else uvarint(n1))
        add(b1)
    add(_pack_iqhx(m.transaction_timeout_ms, m.producer_id, m.producer_epoch))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[InitProducerIdRequest, int]:
    # versions 0, 1
    size = len(data)
    try:
        m = InitProducerIdRequest.__new__(InitProducerIdRequest)
        m.producer_id = -1
        m.producer_epoch = -1
        (n1,) = _unpack_h(data, pos)
        pos += 2
        if n1 == -1:
            m.transactional_id = None
        else:
            z1 = pos + n1
            if n1 < 0 or z1 > size:
                raise overrun("InitProducerIdRequest", "InitProducerIdRequest.transactional_id", n1, pos, size)
            m.transactional_id = str(data[pos:z1], "utf-8")
            pos = z1
        (m.transaction_timeout_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("InitProducerIdRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[InitProducerIdRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = InitProducerIdRequest.__new__(InitProducerIdRequest)
        m.producer_id = -1
        m.producer_epoch = -1
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.transactional_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("InitProducerIdRequest", "InitProducerIdRequest.transactional_id", n1 - 1, pos, size)
            m.transactional_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.transaction_timeout_ms, k1 = _unpack_iB(data, pos)
        pos += 5
        if k1:
            pos = skip_tagged("InitProducerIdRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("InitProducerIdRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[InitProducerIdRequest, int]:
    # versions 3, 4, 5
    size = len(data)
    try:
        m = InitProducerIdRequest.__new__(InitProducerIdRequest)
        n1 = data[pos]
        pos += 1
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        if n1 == 0:
            m.transactional_id = None
        else:
            z1 = pos + n1 - 1
            if z1 > size:
                raise overrun("InitProducerIdRequest", "InitProducerIdRequest.transactional_id", n1 - 1, pos, size)
            m.transactional_id = str(data[pos:z1], "utf-8")
            pos = z1
        m.transaction_timeout_ms, m.producer_id, m.producer_epoch, k1 = _unpack_iqhB(data, pos)
        pos += 15
        if k1:
            pos = skip_tagged("InitProducerIdRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("InitProducerIdRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[InitProducerIdRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v0,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v3,
    5: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[InitProducerIdRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v0,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v3,
    5: _decode_v3,
}
