"""ApiVersionsResponse: response body, key 18, versions 0 to 4.

Generated from ``schemas/api_versions.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_BBT: Final = Struct(">BB?").pack
_pack_BBq: Final = Struct(">BBq").pack
_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_hhh: Final = Struct(">hhh").pack
_pack_hhhx: Final = Struct(">hhhx").pack
_pack_hhx: Final = Struct(">hhx").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_unpack_T: Final = Struct(">?").unpack_from
_unpack_hB: Final = Struct(">hB").unpack_from
_unpack_hhB: Final = Struct(">hhB").unpack_from
_unpack_hhh: Final = Struct(">hhh").unpack_from
_unpack_hhhB: Final = Struct(">hhhB").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_q: Final = Struct(">q").unpack_from


class ApiVersion:
    """Part of :class:`ApiVersionsResponse`.

    ``api_key`` int16

    ``min_version`` int16

    ``max_version`` int16
    """

    __slots__ = ("api_key", "min_version", "max_version")
    api_key: int
    min_version: int
    max_version: int

    def __init__(
        self,
        *,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApiVersion):
            return NotImplemented
        return (
            self.api_key == other.api_key
            and self.min_version == other.min_version
            and self.max_version == other.max_version
        )

    def __repr__(self) -> str:
        return (
            f"ApiVersion(api_key={self.api_key!r}, "
            f"min_version={self.min_version!r}, "
            f"max_version={self.max_version!r})"
        )


class SupportedFeatureKey:
    """Part of :class:`ApiVersionsResponse`.

    ``name`` string (v3+)

    ``min_version`` int16 (v3+)

    ``max_version`` int16 (v3+)
    """

    __slots__ = ("name", "min_version", "max_version")
    name: str
    min_version: int
    max_version: int

    def __init__(
        self,
        *,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SupportedFeatureKey):
            return NotImplemented
        return (
            self.name == other.name
            and self.min_version == other.min_version
            and self.max_version == other.max_version
        )

    def __repr__(self) -> str:
        return (
            f"SupportedFeatureKey(name={self.name!r}, "
            f"min_version={self.min_version!r}, "
            f"max_version={self.max_version!r})"
        )


class FinalizedFeatureKey:
    """Part of :class:`ApiVersionsResponse`.

    ``name`` string (v3+)

    ``max_version_level`` int16 (v3+)

    ``min_version_level`` int16 (v3+)
    """

    __slots__ = ("name", "max_version_level", "min_version_level")
    name: str
    max_version_level: int
    min_version_level: int

    def __init__(
        self,
        *,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FinalizedFeatureKey):
            return NotImplemented
        return (
            self.name == other.name
            and self.max_version_level == other.max_version_level
            and self.min_version_level == other.min_version_level
        )

    def __repr__(self) -> str:
        return (
            f"FinalizedFeatureKey(name={self.name!r}, "
            f"max_version_level={self.max_version_level!r}, "
            f"min_version_level={self.min_version_level!r})"
        )


class ApiVersionsResponse:
    """The APIs and version ranges of the broker. Its header is always version 0, so that any client can read it.

    ``error_code`` int16

    ``api_keys`` []ApiVersion: One entry for each API.

    ``throttle_time_ms`` int32 (v1+)

    ``supported_features`` []SupportedFeatureKey (v3+, tag 0): Features that the broker could run with (KIP-584).

    ``finalized_features_epoch`` int64 (v3+, tag 1): Epoch of the finalized features; -1 if unknown.

    ``finalized_features`` []FinalizedFeatureKey (v3+, tag 2): Cluster-wide levels; valid if the epoch is not negative.

    ``zk_migration_ready`` bool (v3+, tag 3)
    """

    API_KEY: ClassVar[int] = 18
    NAME: ClassVar[str] = "ApiVersionsResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 3

    __slots__ = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")
    error_code: int
    api_keys: list[ApiVersion]
    throttle_time_ms: int
    supported_features: list[SupportedFeatureKey]
    finalized_features_epoch: int
    finalized_features: list[FinalizedFeatureKey]
    zk_migration_ready: bool

    def __init__(
        self,
        *,
        error_code: int = 0,
        api_keys: list[ApiVersion] = EMPTY,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = EMPTY,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = EMPTY,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is EMPTY else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is EMPTY else finalized_features
        self.zk_migration_ready = zk_migration_ready

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApiVersionsResponse):
            return NotImplemented
        return (
            self.error_code == other.error_code
            and self.api_keys == other.api_keys
            and self.throttle_time_ms == other.throttle_time_ms
            and self.supported_features == other.supported_features
            and self.finalized_features_epoch == other.finalized_features_epoch
            and self.finalized_features == other.finalized_features
            and self.zk_migration_ready == other.zk_migration_ready
        )

    def __repr__(self) -> str:
        return (
            f"ApiVersionsResponse(error_code={self.error_code!r}, "
            f"api_keys={self.api_keys!r}, "
            f"throttle_time_ms={self.throttle_time_ms!r}, "
            f"supported_features={self.supported_features!r}, "
            f"finalized_features_epoch={self.finalized_features_epoch!r}, "
            f"finalized_features={self.finalized_features!r}, "
            f"zk_migration_ready={self.zk_migration_ready!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ApiVersionsResponse", version, 0, 4)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ApiVersionsResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ApiVersionsResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ApiVersionsResponse", version, 0, 4)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ApiVersionsResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ApiVersionsResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ApiVersionsResponse", version, 0, 4)
        return decoder(data, position)


def _encode_v0(m: ApiVersionsResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.api_keys
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        add(_pack_hhh(e1.api_key, e1.min_version, e1.max_version))
    return out


def _encode_v1(m: ApiVersionsResponse) -> list[bytes]:
    # versions 1, 2
    out: list[bytes] = []
    add = out.append
    l1 = m.api_keys
    n1 = len(l1)
    add(_pack_hi(m.error_code, n1))
    for e1 in l1:
        add(_pack_hhh(e1.api_key, e1.min_version, e1.max_version))
    add(_pack_i(m.throttle_time_ms))
    return out


def _encode_v3(m: ApiVersionsResponse) -> list[bytes]:
    # versions 3, 4
    out: list[bytes] = []
    add = out.append
    l1 = m.api_keys
    n1 = len(l1) + 1
    add(_pack_hB(m.error_code, n1) if n1 < 128 else _pack_h(m.error_code) + uvarint(n1))
    for e1 in l1:
        add(_pack_hhhx(e1.api_key, e1.min_version, e1.max_version))
    add(_pack_i(m.throttle_time_ms))
    if not m.supported_features and m.finalized_features_epoch == -1 and not m.finalized_features and not m.zk_migration_ready:
        add(b"\x00")
    else:
        k1 = 0
        t1: list[bytes] = []
        if not (not m.supported_features):
            k1 += 1
            p1: list[bytes] = []
            l2 = m.supported_features
            n2 = len(l2) + 1
            p1.append(UVARINT[n2] if n2 < 128 else uvarint(n2))
            for e2 in l2:
                b1 = e2.name.encode()
                n3 = len(b1) + 1
                if n3 > 32768:
                    raise short_string("SupportedFeatureKey", "name", len(b1))
                p1.append(UVARINT[n3] if n3 < 128 else uvarint(n3))
                p1.append(b1)
                p1.append(_pack_hhx(e2.min_version, e2.max_version))
            q1 = b"".join(p1)
            t1 += (UVARINT[0], uvarint(len(q1)), q1)
        if not (m.finalized_features_epoch == -1):
            k1 += 1
            t1.append(_pack_BBq(1, 8, m.finalized_features_epoch))
        if not (not m.finalized_features):
            k1 += 1
            p3: list[bytes] = []
            l3 = m.finalized_features
            n4 = len(l3) + 1
            p3.append(UVARINT[n4] if n4 < 128 else uvarint(n4))
            for e3 in l3:
                b2 = e3.name.encode()
                n5 = len(b2) + 1
                if n5 > 32768:
                    raise short_string("FinalizedFeatureKey", "name", len(b2))
                p3.append(UVARINT[n5] if n5 < 128 else uvarint(n5))
                p3.append(b2)
                p3.append(_pack_hhx(e3.max_version_level, e3.min_version_level))
            q2 = b"".join(p3)
            t1 += (UVARINT[2], uvarint(len(q2)), q2)
        if not (not m.zk_migration_ready):
            k1 += 1
            t1.append(_pack_BBT(3, 1, m.zk_migration_ready))
        add(UVARINT[k1] + b"".join(t1))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ApiVersionsResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = ApiVersionsResponse.__new__(ApiVersionsResponse)
        m.throttle_time_ms = 0
        m.supported_features = []
        m.finalized_features_epoch = -1
        m.finalized_features = []
        m.zk_migration_ready = False
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ApiVersionsResponse", "ApiVersionsResponse.api_keys", n1, pos, size)
        l1: list[ApiVersion] = []
        m.api_keys = l1
        for _ in range(n1):
            e1 = ApiVersion.__new__(ApiVersion)
            l1.append(e1)
            e1.api_key, e1.min_version, e1.max_version = _unpack_hhh(data, pos)
            pos += 6
    except DECODE_FAULTS as fault:
        raise malformed("ApiVersionsResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[ApiVersionsResponse, int]:
    # versions 1, 2
    size = len(data)
    try:
        m = ApiVersionsResponse.__new__(ApiVersionsResponse)
        m.supported_features = []
        m.finalized_features_epoch = -1
        m.finalized_features = []
        m.zk_migration_ready = False
        m.error_code, n1 = _unpack_hi(data, pos)
        pos += 6
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ApiVersionsResponse", "ApiVersionsResponse.api_keys", n1, pos, size)
        l1: list[ApiVersion] = []
        m.api_keys = l1
        for _ in range(n1):
            e1 = ApiVersion.__new__(ApiVersion)
            l1.append(e1)
            e1.api_key, e1.min_version, e1.max_version = _unpack_hhh(data, pos)
            pos += 6
        (m.throttle_time_ms,) = _unpack_i(data, pos)
        pos += 4
    except DECODE_FAULTS as fault:
        raise malformed("ApiVersionsResponse", pos, fault) from fault
    return m, pos


def _decode_v3(data: Buffer, pos: int) -> tuple[ApiVersionsResponse, int]:
    # versions 3, 4
    size = len(data)
    try:
        m = ApiVersionsResponse.__new__(ApiVersionsResponse)
        m.supported_features = []
        m.finalized_features_epoch = -1
        m.finalized_features = []
        m.zk_migration_ready = False
        m.error_code, n1 = _unpack_hB(data, pos)
        pos += 3
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - pos:
            raise overrun("ApiVersionsResponse", "ApiVersionsResponse.api_keys", n1, pos, size)
        l1: list[ApiVersion] = []
        m.api_keys = l1
        for _ in range(n1):
            e1 = ApiVersion.__new__(ApiVersion)
            l1.append(e1)
            e1.api_key, e1.min_version, e1.max_version, k1 = _unpack_hhhB(data, pos)
            pos += 7
            if k1:
                pos = skip_tagged("ApiVersionsResponse", data, pos - 1)
        m.throttle_time_ms, k2 = _unpack_iB(data, pos)
        pos += 5
        if k2:
            if k2 > 127:
                k2, pos = uvarint_at(data, pos - 1)
            for _ in range(k2):
                g1 = data[pos]
                s1 = data[pos + 1]
                if g1 > 127 or s1 > 127:
                    g1, pos = uvarint_at(data, pos)
                    s1, pos = uvarint_at(data, pos)
                else:
                    pos += 2
                y1 = pos + s1
                if y1 > size:
                    raise overrun("ApiVersionsResponse", "ApiVersionsResponse tagged field", s1, pos, size)
                if g1 == 0:
                    n2 = data[pos]
                    pos += 1
                    if n2 > 127:
                        n2, pos = uvarint_at(data, pos - 1)
                    n2 -= 1
                    if n2 < 0 or n2 * 6 > size - pos:
                        raise overrun("ApiVersionsResponse", "ApiVersionsResponse.supported_features", n2, pos, size)
                    l2: list[SupportedFeatureKey] = []
                    m.supported_features = l2
                    for _ in range(n2):
                        e2 = SupportedFeatureKey.__new__(SupportedFeatureKey)
                        l2.append(e2)
                        n3 = data[pos]
                        pos += 1
                        if n3 > 127:
                            n3, pos = uvarint_at(data, pos - 1)
                        z1 = pos + n3 - 1
                        if n3 == 0 or z1 > size:
                            raise overrun("ApiVersionsResponse", "SupportedFeatureKey.name", n3 - 1, pos, size)
                        e2.name = str(data[pos:z1], "utf-8")
                        pos = z1
                        e2.min_version, e2.max_version, k3 = _unpack_hhB(data, pos)
                        pos += 5
                        if k3:
                            pos = skip_tagged("ApiVersionsResponse", data, pos - 1)
                elif g1 == 1:
                    (m.finalized_features_epoch,) = _unpack_q(data, pos)
                    pos += 8
                elif g1 == 2:
                    n4 = data[pos]
                    pos += 1
                    if n4 > 127:
                        n4, pos = uvarint_at(data, pos - 1)
                    n4 -= 1
                    if n4 < 0 or n4 * 6 > size - pos:
                        raise overrun("ApiVersionsResponse", "ApiVersionsResponse.finalized_features", n4, pos, size)
                    l3: list[FinalizedFeatureKey] = []
                    m.finalized_features = l3
                    for _ in range(n4):
                        e3 = FinalizedFeatureKey.__new__(FinalizedFeatureKey)
                        l3.append(e3)
                        n5 = data[pos]
                        pos += 1
                        if n5 > 127:
                            n5, pos = uvarint_at(data, pos - 1)
                        z2 = pos + n5 - 1
                        if n5 == 0 or z2 > size:
                            raise overrun("ApiVersionsResponse", "FinalizedFeatureKey.name", n5 - 1, pos, size)
                        e3.name = str(data[pos:z2], "utf-8")
                        pos = z2
                        e3.max_version_level, e3.min_version_level, k4 = _unpack_hhB(data, pos)
                        pos += 5
                        if k4:
                            pos = skip_tagged("ApiVersionsResponse", data, pos - 1)
                elif g1 == 3:
                    (m.zk_migration_ready,) = _unpack_T(data, pos)
                    pos += 1
                else:
                    pos = y1
                if pos != y1:
                    raise DecodeError("ApiVersionsResponse", pos, "tagged field of another length than announced")
    except DECODE_FAULTS as fault:
        raise malformed("ApiVersionsResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ApiVersionsResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v1,
    3: _encode_v3,
    4: _encode_v3,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ApiVersionsResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v1,
    3: _decode_v3,
    4: _decode_v3,
}
