"""BrokerRegistrationChangeRecord: record of the metadata log, key 17, versions 0 to 3.

Generated from ``schemas/metadata_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    not_in_version,
    overrun,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_BBb: Final = Struct(">BBb").pack
_pack_iq: Final = Struct(">iq").pack
_unpack_U: Final = Struct(">16s").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_iqB: Final = Struct(">iqB").unpack_from


class BrokerRegistrationChangeRecord:
    """A registered broker was fenced or unfenced, or began its controlled shutdown. 0 leaves a state as it is.

    ``broker_id`` int32

    ``broker_epoch`` int64

    ``fenced`` int8 (tag 0): -1 unfenced, 1 fenced, 0 no change.

    ``in_controlled_shutdown`` int8 (v1+, tag 1): 1 in controlled shutdown, 0 no change.

    ``log_dirs`` []uuid (v2+, tag 2): Log directories that are online; empty for no change.

    ``cordoned_log_dirs`` []uuid (v3+, tag 3): Null for no change.
    """

    API_KEY: ClassVar[int] = 17
    NAME: ClassVar[str] = "BrokerRegistrationChangeRecord"
    KIND: ClassVar[str] = "metadata"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    broker_id: int
    broker_epoch: int
    fenced: int
    in_controlled_shutdown: int
    log_dirs: list[UUID]
    cordoned_log_dirs: list[UUID] | None

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[UUID] = EMPTY,
        cordoned_log_dirs: list[UUID] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is EMPTY else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BrokerRegistrationChangeRecord):
            return NotImplemented
        return (
            self.broker_id == other.broker_id
            and self.broker_epoch == other.broker_epoch
            and self.fenced == other.fenced
            and self.in_controlled_shutdown == other.in_controlled_shutdown
            and self.log_dirs == other.log_dirs
            and self.cordoned_log_dirs == other.cordoned_log_dirs
        )

    def __repr__(self) -> str:
        return (
            f"BrokerRegistrationChangeRecord(broker_id={self.broker_id!r}, "
            f"broker_epoch={self.broker_epoch!r}, "
            f"fenced={self.fenced!r}, "
            f"in_controlled_shutdown={self.in_controlled_shutdown!r}, "
            f"log_dirs={self.log_dirs!r}, "
            f"cordoned_log_dirs={self.cordoned_log_dirs!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("BrokerRegistrationChangeRecord", version, 0, 3)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("BrokerRegistrationChangeRecord", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> BrokerRegistrationChangeRecord:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerRegistrationChangeRecord", version, 0, 3)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("BrokerRegistrationChangeRecord", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[BrokerRegistrationChangeRecord, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("BrokerRegistrationChangeRecord", version, 0, 3)
        return decoder(data, position)


def _encode_v0(m: BrokerRegistrationChangeRecord) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.in_controlled_shutdown == 0):
        raise not_in_version("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.in_controlled_shutdown", m.in_controlled_shutdown)
    if not (not m.log_dirs):
        raise not_in_version("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.log_dirs", m.log_dirs)
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    add(_pack_iq(m.broker_id, m.broker_epoch))
    if m.fenced == 0:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.fenced == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.fenced))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v1(m: BrokerRegistrationChangeRecord) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.log_dirs):
        raise not_in_version("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.log_dirs", m.log_dirs)
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    add(_pack_iq(m.broker_id, m.broker_epoch))
    if m.fenced == 0 and m.in_controlled_shutdown == 0:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.fenced == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.fenced))
        if not (m.in_controlled_shutdown == 0):
            k1 += 1
            t1.append(_pack_BBb(1, 1, m.in_controlled_shutdown))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v2(m: BrokerRegistrationChangeRecord) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    if not (m.cordoned_log_dirs is None):
        raise not_in_version("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.cordoned_log_dirs", m.cordoned_log_dirs)
    add(_pack_iq(m.broker_id, m.broker_epoch))
    if m.fenced == 0 and m.in_controlled_shutdown == 0 and not m.log_dirs:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.fenced == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.fenced))
        if not (m.in_controlled_shutdown == 0):
            k1 += 1
            t1.append(_pack_BBb(1, 1, m.in_controlled_shutdown))
        if not (not m.log_dirs):
            k1 += 1
            p3: list[bytes] = []
            l1 = m.log_dirs
            n1 = len(l1) + 1
            p3.append(UVARINT[n1] if n1 < 128 else uvarint(n1))
            for e1 in l1:
                p3.append(e1.bytes)
            q1 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q1)), q1)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _encode_v3(m: BrokerRegistrationChangeRecord) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    add(_pack_iq(m.broker_id, m.broker_epoch))
    if m.fenced == 0 and m.in_controlled_shutdown == 0 and not m.log_dirs and m.cordoned_log_dirs is None:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (m.fenced == 0):
            k1 += 1
            t1.append(_pack_BBb(0, 1, m.fenced))
        if not (m.in_controlled_shutdown == 0):
            k1 += 1
            t1.append(_pack_BBb(1, 1, m.in_controlled_shutdown))
        if not (not m.log_dirs):
            k1 += 1
            p3: list[bytes] = []
            l1 = m.log_dirs
            n1 = len(l1) + 1
            p3.append(UVARINT[n1] if n1 < 128 else uvarint(n1))
            for e1 in l1:
                p3.append(e1.bytes)
            q1 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q1)), q1)
        if not (m.cordoned_log_dirs is None):
            k1 += 1
            p4: list[bytes] = []
            l2 = m.cordoned_log_dirs
            n2 = len(l2) + 1
            p4.append(UVARINT[n2] if n2 < 128 else uvarint(n2))
            for e2 in l2:
                p4.append(e2.bytes)
            q2 = b"".join(p4)
            t1 += (UVARINT[3], uvarint(len(q2)), q2)
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    # versions 0
    size = len(data)
    try:
        m = BrokerRegistrationChangeRecord.__new__(BrokerRegistrationChangeRecord)
        m.fenced = 0
        m.in_controlled_shutdown = 0
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.broker_epoch, k1 = _unpack_iqB(data, pos)
        pos += 13
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
                    raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.fenced,) = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("BrokerRegistrationChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationChangeRecord", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    # versions 1
    size = len(data)
    try:
        m = BrokerRegistrationChangeRecord.__new__(BrokerRegistrationChangeRecord)
        m.fenced = 0
        m.in_controlled_shutdown = 0
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.broker_epoch, k1 = _unpack_iqB(data, pos)
        pos += 13
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
                    raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.fenced,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 1:
                    (m.in_controlled_shutdown,) = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("BrokerRegistrationChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationChangeRecord", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    # versions 2
    size = len(data)
    try:
        m = BrokerRegistrationChangeRecord.__new__(BrokerRegistrationChangeRecord)
        m.fenced = 0
        m.in_controlled_shutdown = 0
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.broker_epoch, k1 = _unpack_iqB(data, pos)
        pos += 13
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
                    raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.fenced,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 1:
                    (m.in_controlled_shutdown,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 2:
                    n1 = data[pos]
                    pos += 1
                    if n1 > 127:
                        n1, pos = uvarint_at(data, pos - 1)
                    n1 -= 1
                    if n1 < 0 or n1 * 16 > size - pos:
                        raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.log_dirs", n1, pos, size)
                    l1: list[UUID] = []
                    m.log_dirs = l1
                    for _ in range(n1):
                        (e1,) = _unpack_U(data, pos)
                        pos += 16
                        l1.append(uuid_of(e1))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("BrokerRegistrationChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationChangeRecord", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    # versions 3
    size = len(data)
    try:
        m = BrokerRegistrationChangeRecord.__new__(BrokerRegistrationChangeRecord)
        m.fenced = 0
        m.in_controlled_shutdown = 0
        m.log_dirs = []
        m.cordoned_log_dirs = None
        m.broker_id, m.broker_epoch, k1 = _unpack_iqB(data, pos)
        pos += 13
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
                    raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord tagged field", s1, pos, size)
                if g1 == 0:
                    (m.fenced,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 1:
                    (m.in_controlled_shutdown,) = _unpack_b(data, pos)
                    pos += 1
                elif g1 == 2:
                    n1 = data[pos]
                    pos += 1
                    if n1 > 127:
                        n1, pos = uvarint_at(data, pos - 1)
                    n1 -= 1
                    if n1 < 0 or n1 * 16 > size - pos:
                        raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.log_dirs", n1, pos, size)
                    l1: list[UUID] = []
                    m.log_dirs = l1
                    for _ in range(n1):
                        (e1,) = _unpack_U(data, pos)
                        pos += 16
                        l1.append(uuid_of(e1))
                elif g1 == 3:
                    n2 = data[pos]
                    pos += 1
                    if n2 > 127:
                        n2, pos = uvarint_at(data, pos - 1)
                    if n2 == 0:
                        m.cordoned_log_dirs = None
                    else:
                        n2 -= 1
                        if n2 < 0 or n2 * 16 > size - pos:
                            raise overrun("BrokerRegistrationChangeRecord", "BrokerRegistrationChangeRecord.cordoned_log_dirs", n2, pos, size)
                        l2: list[UUID] = []
                        m.cordoned_log_dirs = l2
                        for _ in range(n2):
                            (e2,) = _unpack_U(data, pos)
                            pos += 16
                            l2.append(uuid_of(e2))
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("BrokerRegistrationChangeRecord", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("BrokerRegistrationChangeRecord", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[BrokerRegistrationChangeRecord], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[BrokerRegistrationChangeRecord, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
}
