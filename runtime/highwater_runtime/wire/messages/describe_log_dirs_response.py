"""DescribeLogDirsResponse: response body, key 35, versions 1 to 4.

Generated from ``schemas/describe_log_dirs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
_pack_hB: Final = Struct(">hB").pack
_pack_hh: Final = Struct(">hh").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iqqT: Final = Struct(">iqq?").pack
_pack_iqqTx: Final = Struct(">iqq?x").pack
_pack_qqx: Final = Struct(">qqx").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqqT: Final = Struct(">iqq?").unpack_from
_unpack_iqqTB: Final = Struct(">iqq?B").unpack_from
_unpack_qqB: Final = Struct(">qqB").unpack_from


class DescribeLogDirsPartition:
    """Part of :class:`DescribeLogDirsResponse`.

    ``partition_index`` int32

    ``partition_size`` int64: Bytes of all segments.

    ``offset_lag`` int64: How far the log is behind the high watermark (or, for a future log, behind the current one).

    ``is_future_key`` bool
    """

    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeLogDirsPartition):
            return NotImplemented
        return (
            self.partition_index == other.partition_index
            and self.partition_size == other.partition_size
            and self.offset_lag == other.offset_lag
            and self.is_future_key == other.is_future_key
        )

    def __repr__(self) -> str:
        return (
            f"DescribeLogDirsPartition(partition_index={self.partition_index!r}, "
            f"partition_size={self.partition_size!r}, "
            f"offset_lag={self.offset_lag!r}, "
            f"is_future_key={self.is_future_key!r})"
        )


class DescribeLogDirsTopic:
    """Part of :class:`DescribeLogDirsResponse`.

    ``name`` string

    ``partitions`` []DescribeLogDirsPartition
    """

    __slots__ = ("name", "partitions")
    name: str
    partitions: list[DescribeLogDirsPartition]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeLogDirsTopic):
            return NotImplemented
        return (
            self.name == other.name
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return (
            f"DescribeLogDirsTopic(name={self.name!r}, "
            f"partitions={self.partitions!r})"
        )


class DescribeLogDirsResult:
    """Part of :class:`DescribeLogDirsResponse`.

    ``error_code`` int16

    ``log_dir`` string

    ``topics`` []DescribeLogDirsTopic

    ``total_bytes`` int64 (v4+): Of the file system (KIP-827); -1 if unknown.

    ``usable_bytes`` int64 (v4+)
    """

    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes")
    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: int
    usable_bytes: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = EMPTY,
        total_bytes: int = -1,
        usable_bytes: int = -1,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is EMPTY else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeLogDirsResult):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.log_dir == other.log_dir
            and self.topics == other.topics
            and self.total_bytes == other.total_bytes
            and self.usable_bytes == other.usable_bytes
        )

    def __repr__(self) -> str:
        return (
            f"DescribeLogDirsResult(error_code={self.error_code!r}, "
            f"log_dir={self.log_dir!r}, "
            f"topics={self.topics!r}, "
            f"total_bytes={self.total_bytes!r}, "
            f"usable_bytes={self.usable_bytes!r})"
        )


class DescribeLogDirsResponse:
    """One result for each log directory.

    ``throttle_time_ms`` int32

    ``error_code`` int16 (v3+)

    ``results`` []DescribeLogDirsResult
    """

    API_KEY: ClassVar[int] = 35
    NAME: ClassVar[str] = "DescribeLogDirsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "results")
    throttle_time_ms: int
    error_code: int
    results: list[DescribeLogDirsResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is EMPTY else results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeLogDirsResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.results == other.results
        )

    def __repr__(self) -> str:
        return (
            f"DescribeLogDirsResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"results={self.results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeLogDirsResponse", version, 1, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeLogDirsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeLogDirsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeLogDirsResponse", version, 1, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeLogDirsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeLogDirsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeLogDirsResponse", version, 1, 4)
        return decoder(data, position)


def _encode_v1(m: DescribeLogDirsResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.log_dir.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("DescribeLogDirsResult", "log_dir", len(b1))
        add(_pack_hh(e1.error_code, n2))
        add(b1)
        l2 = e1.topics
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2)
            if n4 > 32767:
                raise short_string("DescribeLogDirsTopic", "name", len(b2))
            add(_pack_h(n4))
            add(b2)
            l3 = e2.partitions
            n5 = len(l3)
            add(_pack_i(n5))
            for e3 in l3:
                add(_pack_iqqT(e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key))
    return out


def _encode_v2(m: DescribeLogDirsResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_iB(m.throttle_time_ms, n1) if n1 < 128 else _pack_i(m.throttle_time_ms) + uvarint(n1))
    for e1 in l1:
        b1 = e1.log_dir.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DescribeLogDirsResult", "log_dir", len(b1))
        add(_pack_hB(e1.error_code, n2) if n2 < 128 else _pack_h(e1.error_code) + uvarint(n2))
        add(b1)
        l2 = e1.topics
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("DescribeLogDirsTopic", "name", len(b2))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b2)
            l3 = e2.partitions
            n5 = len(l3) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e3 in l3:
                add(_pack_iqqTx(e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v3(m: DescribeLogDirsResponse) -> list[bytes]:
    # versions 3
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.log_dir.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DescribeLogDirsResult", "log_dir", len(b1))
        add(_pack_hB(e1.error_code, n2) if n2 < 128 else _pack_h(e1.error_code) + uvarint(n2))
        add(b1)
        l2 = e1.topics
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("DescribeLogDirsTopic", "name", len(b2))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b2)
            l3 = e2.partitions
            n5 = len(l3) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e3 in l3:
                add(_pack_iqqTx(e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key))
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _encode_v4(m: DescribeLogDirsResponse) -> list[bytes]:
    # versions 4
    out: list[bytes] = []
    add = out.append
    l1 = m.results
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.log_dir.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("DescribeLogDirsResult", "log_dir", len(b1))
        add(_pack_hB(e1.error_code, n2) if n2 < 128 else _pack_h(e1.error_code) + uvarint(n2))
        add(b1)
        l2 = e1.topics
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            b2 = e2.name.encode()
            n4 = len(b2) + 1
            if n4 > 32768:
                raise short_string("DescribeLogDirsTopic", "name", len(b2))
            add(UVARINT[n4] if n4 < 128 else uvarint(n4))
            add(b2)
            l3 = e2.partitions
            n5 = len(l3) + 1
            add(UVARINT[n5] if n5 < 128 else uvarint(n5))
            for e3 in l3:
                add(_pack_iqqTx(e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key))
            add(b"\x00")
        add(_pack_qqx(e1.total_bytes, e1.usable_bytes))
    add(b"\x00")
    return out


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = DescribeLogDirsResponse.__new__(DescribeLogDirsResponse)
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 8 > size - pos:
            raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResponse.results", n1, pos, size)
        l1: list[DescribeLogDirsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeLogDirsResult.__new__(DescribeLogDirsResult)
            l1.append(e1)
            e1.total_bytes = -1
            e1.usable_bytes = -1
            e1.error_code, n2 = _unpack_hh(data, pos)
            pos += 4
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.log_dir", n2, pos, size)
            e1.log_dir = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 6 > size - pos:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.topics", n3, pos, size)
            l2: list[DescribeLogDirsTopic] = []
            e1.topics = l2
            for _ in range(n3):
                e2 = DescribeLogDirsTopic.__new__(DescribeLogDirsTopic)
                l2.append(e2)
                (n4,) = _unpack_h(data, pos)
                pos += 2
                z2 = pos + n4
                if n4 < 0 or z2 > size:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.name", n4, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                (n5,) = _unpack_i(data, pos)
                pos += 4
                if n5 < 0 or n5 * 21 > size - pos:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.partitions", n5, pos, size)
                l3: list[DescribeLogDirsPartition] = []
                e2.partitions = l3
                for _ in range(n5):
                    e3 = DescribeLogDirsPartition.__new__(DescribeLogDirsPartition)
                    l3.append(e3)
                    e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key = _unpack_iqqT(data, pos)
                    pos += 21
    except DECODE_FAULTS as fault:
        raise malformed("DescribeLogDirsResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = DescribeLogDirsResponse.__new__(DescribeLogDirsResponse)
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResponse.results", n1, pos, size)
        l1: list[DescribeLogDirsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeLogDirsResult.__new__(DescribeLogDirsResult)
            l1.append(e1)
            e1.total_bytes = -1
            e1.usable_bytes = -1
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.log_dir", n2 - 1, pos, size)
            e1.log_dir = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - pos:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.topics", n3, pos, size)
            l2: list[DescribeLogDirsTopic] = []
            e1.topics = l2
            for _ in range(n3):
                e2 = DescribeLogDirsTopic.__new__(DescribeLogDirsTopic)
                l2.append(e2)
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.name", n4 - 1, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 22 > size - pos:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.partitions", n5, pos, size)
                l3: list[DescribeLogDirsPartition] = []
                e2.partitions = l3
                for _ in range(n5):
                    e3 = DescribeLogDirsPartition.__new__(DescribeLogDirsPartition)
                    l3.append(e3)
                    e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key, k1 = _unpack_iqqTB(data, pos)
                    pos += 22
                    if k1:
                        pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeLogDirsResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # versions 3
    size = len(data)
    try:
        m = DescribeLogDirsResponse.__new__(DescribeLogDirsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResponse.results", n1, pos, size)
        l1: list[DescribeLogDirsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeLogDirsResult.__new__(DescribeLogDirsResult)
            l1.append(e1)
            e1.total_bytes = -1
            e1.usable_bytes = -1
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.log_dir", n2 - 1, pos, size)
            e1.log_dir = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - pos:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.topics", n3, pos, size)
            l2: list[DescribeLogDirsTopic] = []
            e1.topics = l2
            for _ in range(n3):
                e2 = DescribeLogDirsTopic.__new__(DescribeLogDirsTopic)
                l2.append(e2)
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.name", n4 - 1, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 22 > size - pos:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.partitions", n5, pos, size)
                l3: list[DescribeLogDirsPartition] = []
                e2.partitions = l3
                for _ in range(n5):
                    e3 = DescribeLogDirsPartition.__new__(DescribeLogDirsPartition)
                    l3.append(e3)
                    e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key, k1 = _unpack_iqqTB(data, pos)
                    pos += 22
                    if k1:
                        pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
            k3 = data[pos]
            pos += 1
            if k3:
                pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeLogDirsResponse", pos, fault) from fault
    return m, pos


def _decode_v4(data: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # versions 4
    size = len(data)
    try:
        m = DescribeLogDirsResponse.__new__(DescribeLogDirsResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 21 > size - pos:
            raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResponse.results", n1, pos, size)
        l1: list[DescribeLogDirsResult] = []
        m.results = l1
        for _ in range(n1):
            e1 = DescribeLogDirsResult.__new__(DescribeLogDirsResult)
            l1.append(e1)
            e1.error_code, n2 = _unpack_hB(data, pos)
            pos += 3
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.log_dir", n2 - 1, pos, size)
            e1.log_dir = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - pos:
                raise overrun("DescribeLogDirsResponse", "DescribeLogDirsResult.topics", n3, pos, size)
            l2: list[DescribeLogDirsTopic] = []
            e1.topics = l2
            for _ in range(n3):
                e2 = DescribeLogDirsTopic.__new__(DescribeLogDirsTopic)
                l2.append(e2)
                n4 = data[pos]
                pos += 1
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                z2 = pos + n4 - 1
                if n4 == 0 or z2 > size:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.name", n4 - 1, pos, size)
                e2.name = str(data[pos:z2], "utf-8")
                pos = z2
                n5 = data[pos]
                pos += 1
                if n5 > 127:
                    n5, pos = uvarint_at(data, pos - 1)
                n5 -= 1
                if n5 < 0 or n5 * 22 > size - pos:
                    raise overrun("DescribeLogDirsResponse", "DescribeLogDirsTopic.partitions", n5, pos, size)
                l3: list[DescribeLogDirsPartition] = []
                e2.partitions = l3
                for _ in range(n5):
                    e3 = DescribeLogDirsPartition.__new__(DescribeLogDirsPartition)
                    l3.append(e3)
                    e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key, k1 = _unpack_iqqTB(data, pos)
                    pos += 22
                    if k1:
                        pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
                k2 = data[pos]
                pos += 1
                if k2:
                    pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
            e1.total_bytes, e1.usable_bytes, k3 = _unpack_qqB(data, pos)
            pos += 17
            if k3:
                pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
        k4 = data[pos]
        pos += 1
        if k4:
            pos = skip_tagged("DescribeLogDirsResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeLogDirsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeLogDirsResponse], list[bytes]]]] = {
    1: _encode_v1,
    2: _encode_v2,
    3: _encode_v3,
    4: _encode_v4,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeLogDirsResponse, int]]]] = {
    1: _decode_v1,
    2: _decode_v2,
    3: _decode_v3,
    4: _decode_v4,
}
