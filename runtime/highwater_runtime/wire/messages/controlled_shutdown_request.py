"""ControlledShutdownRequest: request body, key 7, versions 1 to 3.

Generated from ``schemas/zookeeper_mode.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_i: Final = Struct(">i").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqx: Final = Struct(">iqx").pack
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from


class ControlledShutdownRequest:
    """A broker of the ZooKeeper mode wants to go and asks for its leaderships to be moved.

    ``broker_id`` int32

    ``broker_epoch`` int64 (v2+)
    """

    API_KEY: ClassVar[int] = 7
    NAME: ClassVar[str] = "ControlledShutdownRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("broker_id", "broker_epoch")
    broker_id: int
    broker_epoch: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ControlledShutdownRequest):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.broker_epoch == other.broker_epoch
        )

    def __repr__(self) -> str:
        return (
            f"ControlledShutdownRequest(broker_id={self.broker_id!r}, "
            f"broker_epoch={self.broker_epoch!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ControlledShutdownRequest", version, 1, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ControlledShutdownRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ControlledShutdownRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ControlledShutdownRequest", version, 1, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ControlledShutdownRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ControlledShutdownRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ControlledShutdownRequest", version, 1, 3)
        return decoder(data, position)


def _encode_v1(m: ControlledShutdownRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    add(_pack_i(m.broker_id))
    return out


def _encode_v2(m: ControlledShutdownRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_iq(m.broker_id, m.broker_epoch))
    return out


def _encode_v3(m: ControlledShutdownRequest) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    add(_pack_iqx(m.broker_id, m.broker_epoch))
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[ControlledShutdownRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = ControlledShutdownRequest.__new__(ControlledShutdownRequest)
        m.broker_epoch = -1
        (m.broker_id,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ControlledShutdownRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[ControlledShutdownRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = ControlledShutdownRequest.__new__(ControlledShutdownRequest)
        m.broker_id, m.broker_epoch = _unpack_iq(data, pos)
        pos += 12
    except DECODE_FAULTS as fault:
        raise malformed("ControlledShutdownRequest", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ControlledShutdownRequest, int]:
    # versions 3
    size = len(data)
    try:
        m = ControlledShutdownRequest.__new__(ControlledShutdownRequest)
        m.broker_id, m.broker_epoch, k1 = _unpack_iqB(data, pos)
        pos += 13
        if k1:
            pos = skip_tagged("ControlledShutdownRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ControlledShutdownRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ControlledShutdownRequest], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ControlledShutdownRequest, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
}
