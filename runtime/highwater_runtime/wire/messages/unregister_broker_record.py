"""UnregisterBrokerRecord: record of the metadata log, key 1, versions 0.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_iqx: Final = Struct(">iqx").pack
_unpack_iqB: Final = Struct(">iqB").unpack_from


class UnregisterBrokerRecord:
    """A broker is gone for good.

    ``broker_id`` int32

    ``broker_epoch`` int64
    """

    API_KEY: ClassVar[int] = 1
    NAME: ClassVar[str] = "UnregisterBrokerRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch")
    broker_id: int
    broker_epoch: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnregisterBrokerRecord):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.broker_epoch == other.broker_epoch
        )

    def __repr__(self) -> str:
        return (
            f"UnregisterBrokerRecord(broker_id={self.broker_id!r}, "
            f"broker_epoch={self.broker_epoch!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UnregisterBrokerRecord", version, 0, 0)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UnregisterBrokerRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UnregisterBrokerRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UnregisterBrokerRecord", version, 0, 0)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UnregisterBrokerRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UnregisterBrokerRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UnregisterBrokerRecord", version, 0, 0)
        return decoder(data, position)


def _encode_v0(m: UnregisterBrokerRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_iqx(m.broker_id, m.broker_epoch))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UnregisterBrokerRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = UnregisterBrokerRecord.__new__(UnregisterBrokerRecord)
        m.broker_id, m.broker_epoch, k1 = _unpack_iqB(data, pos)
        pos += 13
        if k1:
            pos = skip_tagged("UnregisterBrokerRecord", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UnregisterBrokerRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UnregisterBrokerRecord], list[bytes]]]] = {
    0: _encode_v0,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UnregisterBrokerRecord, int]]]] = {
    0: _decode_v0,
}
