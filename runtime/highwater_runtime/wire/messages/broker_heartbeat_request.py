"""BrokerHeartbeatRequest: request body, key 63, versions 0 to 1.

Generated from ``schemas/broker_lifecycle.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    Buffer,
    DecodeError,
    malformed,
    overrun,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_iqqTT: Final = Struct(">iqq??").pack
_pack_iqqTTx: Final = Struct(">iqq??x").pack
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_iqqTTB: Final = Struct(">iqq??B").unpack_from


class BrokerHeartbeatRequest:
    """Keeps the session; asks to be unfenced or to shut down.

    ``broker_id`` int32

    ``broker_epoch`` int64

    ``current_metadata_offset`` int64: How far the broker has applied the metadata log.

    ``want_fence`` bool

    ``want_shut_down`` bool

    ``offline_log_dirs`` []uuid (v1+, tag 0)
    """

    API_KEY: ClassVar[int] = 63
    NAME: ClassVar[str] = "BrokerHeartbeatRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "current_metadata_offset", "want_fence", "want_shut_down", "offline_log_dirs")
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: list[UUID]

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[UUID] = EMPTY,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is EMPTY else offline_log_dirs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BrokerHeartbeatRequest):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.broker_epoch == other.broker_epoch
            and self.current_metadata_offset == other.current_metadata_offset
            and self.want_fence == other.want_fence
            and self.want_shut_down == other.want_shut_down
            and self.offline_log_dirs == other.offline_log_dirs
        )

    def __repr__(self) -> str:
        return (
            f"BrokerHeartbeatRequest(broker_id={self.broker_id!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"current_metadata_offset={self.current_metadata_offset!r}, "
            f"want_fence={self.want_fence!r}, "
            f"want_shut_down={self.want_shut_down!r}, "
            f"offline_log_dirs={self.offline_log_dirs!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("BrokerHeartbeatRequest", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("BrokerHeartbeatRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> BrokerHeartbeatRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerHeartbeatRequest", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("BrokerHeartbeatRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[BrokerHeartbeatRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerHeartbeatRequest", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: BrokerHeartbeatRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    add(_pack_iqqTTx(m.broker_id, m.broker_epoch, m.current_metadata_offset, m.want_fence, m.want_shut_down))
    return out


def _encode_v1(m: BrokerHeartbeatRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    add(_pack_iqqTT(m.broker_id, m.broker_epoch, m.current_metadata_offset, m.want_fence, m.want_shut_down))
    if not m.offline_log_dirs:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (not m.offline_log_dirs):
            k1 += 1
            p1: list[bytes] = []
            l1 = m.offline_log_dirs
            n1 = len(l1) + 1
            p1.append(UVARINT[n1] if n1 < 128 else uvarint(n1))
            for e1 in l1:
                p1.append(e1.bytes)
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[BrokerHeartbeatRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = BrokerHeartbeatRequest.__new__(BrokerHeartbeatRequest)
        m.offline_log_dirs = []
        m.broker_id, m.broker_epoch, m.current_metadata_offset, m.want_fence, m.want_shut_down, k1 = _unpack_iqqTTB(data, pos)
        pos += 23
        if k1:
            pos = skip_tagged("BrokerHeartbeatRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("BrokerHeartbeatRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[BrokerHeartbeatRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = BrokerHeartbeatRequest.__new__(BrokerHeartbeatRequest)
        m.offline_log_dirs = []
        m.broker_id, m.broker_epoch, m.current_metadata_offset, m.want_fence, m.want_shut_down, k1 = _unpack_iqqTTB(data, pos)
        pos += 23
        if k1:
            if k1 > 127:
                k1, pos = uvarint_at(data, pos - 1)
            for _ in range(k1):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("BrokerHeartbeatRequest", "BrokerHeartbeatRequest tagged field", s1, pos, size)
                if g1 == 0:
                    n1 = data[pos]
                    pos += 1
                    if n1 > 127:
                        n1, pos = uvarint_at(data, pos - 1)
                    n1 -= 1
                    if n1 < 0 or n1 * 16 > size - pos:
                        raise overrun("BrokerHeartbeatRequest", "BrokerHeartbeatRequest.offline_log_dirs", n1, pos, size)
                    l1: list[UUID] = []
                    m.offline_log_dirs = l1
                    for _ in range(n1):
                        (e1,) = _unpack_U(data, pos)
                        pos += 16
                        l1.append(uuid_of(e1))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("BrokerHeartbeatRequest", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("BrokerHeartbeatRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[BrokerHeartbeatRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[BrokerHeartbeatRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
