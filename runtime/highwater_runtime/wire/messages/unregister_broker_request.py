"""UnregisterBrokerRequest: request body, key 64, versions 0.

Generated from ``schemas/broker_lifecycle.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    skip_tagged,
    unencodable,
    unsupported,
)

_pack_ix: Final = Struct(">ix").pack
_unpack_iB: Final = Struct(">iB").unpack_from


class UnregisterBrokerRequest:
    """Forget a broker for good.

    ``broker_id`` int32
    """

    API_KEY: ClassVar[int] = 64
    NAME: ClassVar[str] = "UnregisterBrokerRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id",)
    broker_id: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
    ) -> None:
        self.broker_id = broker_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnregisterBrokerRequest):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
        )

    def __repr__(self) -> str:
        return (
            f"UnregisterBrokerRequest(broker_id={self.broker_id!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UnregisterBrokerRequest", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UnregisterBrokerRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UnregisterBrokerRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UnregisterBrokerRequest", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UnregisterBrokerRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UnregisterBrokerRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UnregisterBrokerRequest", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: UnregisterBrokerRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_ix(m.broker_id))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UnregisterBrokerRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = UnregisterBrokerRequest.__new__(UnregisterBrokerRequest)
        m.broker_id, k1 = _unpack_iB(data, pos)
        pos += 5
        if k1:
            pos = skip_tagged("UnregisterBrokerRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UnregisterBrokerRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UnregisterBrokerRequest], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UnregisterBrokerRequest, int]]]] = {
    0: _decode_v0,
}
