"""UpdateFeaturesRequest: request body, key 57, versions 0 to 1.

Generated from ``schemas/update_features.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    not_in_version,
    overrun,
    short_string,
    skip_tagged,
    unencodable,
    unsupported,
    uvarint,
    uvarint_at,
)

_pack_Tx: Final = Struct(">?x").pack
_pack_hTx: Final = Struct(">h?x").pack
_pack_hbx: Final = Struct(">hbx").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_hTB: Final = Struct(">h?B").unpack_from
_unpack_hbB: Final = Struct(">hbB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from


class FeatureUpdateKey:
    """Part of :class:`UpdateFeaturesRequest`.

    ``feature`` string

    ``max_version_level`` int16: The level to go to; 0 removes the feature.

    ``allow_downgrade`` bool (v0-0): Whether the level may go down.

    ``upgrade_type`` int8 (v1+): 1 upgrade only, 2 safe downgrade, 3 unsafe downgrade.
    """

    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")
    feature: str
    max_version_level: int
    allow_downgrade: bool
    upgrade_type: int

    def __init__(
        self,
        *,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureUpdateKey):
            return NotImplemented
        return (
            self.feature == other.feature
            and self.max_version_level == other.max_version_level
            and self.allow_downgrade == other.allow_downgrade
            and self.upgrade_type == other.upgrade_type
        )

    def __repr__(self) -> str:
        return (
            f"FeatureUpdateKey(feature={self.feature!r}, "
            f"max_version_level={self.max_version_level!r}, "
            f"allow_downgrade={self.allow_downgrade!r}, "
            f"upgrade_type={self.upgrade_type!r})"
        )


class UpdateFeaturesRequest:
    """Raise or lower finalized feature levels, metadata.version above all (KIP-584, KIP-778).

    ``timeout_ms`` int32

    ``feature_updates`` []FeatureUpdateKey

    ``validate_only`` bool (v1+)
    """

    API_KEY: ClassVar[int] = 57
    NAME: ClassVar[str] = "UpdateFeaturesRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "feature_updates", "validate_only")
    timeout_ms: int
    feature_updates: list[FeatureUpdateKey]
    validate_only: bool

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is EMPTY else feature_updates
        self.validate_only = validate_only

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UpdateFeaturesRequest):
            return NotImplemented
        return (
            self.timeout_ms == other.timeout_ms
            and self.feature_updates == other.feature_updates
            and self.validate_only == other.validate_only
        )

    def __repr__(self) -> str:
        return (
            f"UpdateFeaturesRequest(timeout_ms={self.timeout_ms!r}, "
            f"feature_updates={self.feature_updates!r}, "
            f"validate_only={self.validate_only!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("UpdateFeaturesRequest", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("UpdateFeaturesRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> UpdateFeaturesRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UpdateFeaturesRequest", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("UpdateFeaturesRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[UpdateFeaturesRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("UpdateFeaturesRequest", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: UpdateFeaturesRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (not m.validate_only):
        raise not_in_version("UpdateFeaturesRequest", "UpdateFeaturesRequest.validate_only", m.validate_only)
    l1 = m.feature_updates
    n1 = len(l1) + 1
    add(_pack_iB(m.timeout_ms, n1) if n1 < 128 else _pack_i(m.timeout_ms) + uvarint(n1))
    for e1 in l1:
        if not (e1.upgrade_type == 1):
            raise not_in_version("UpdateFeaturesRequest", "FeatureUpdateKey.upgrade_type", e1.upgrade_type)
        b1 = e1.feature.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("FeatureUpdateKey", "feature", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_hTx(e1.max_version_level, e1.allow_downgrade))
    add(b"\x00")
    return out


def _encode_v1(m: UpdateFeaturesRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.feature_updates
    n1 = len(l1) + 1
    add(_pack_iB(m.timeout_ms, n1) if n1 < 128 else _pack_i(m.timeout_ms) + uvarint(n1))
    for e1 in l1:
        if not (not e1.allow_downgrade):
            raise not_in_version("UpdateFeaturesRequest", "FeatureUpdateKey.allow_downgrade", e1.allow_downgrade)
        b1 = e1.feature.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("FeatureUpdateKey", "feature", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        add(_pack_hbx(e1.max_version_level, e1.upgrade_type))
    add(_pack_Tx(m.validate_only))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[UpdateFeaturesRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = UpdateFeaturesRequest.__new__(UpdateFeaturesRequest)
        m.validate_only = False
        m.timeout_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("UpdateFeaturesRequest", "UpdateFeaturesRequest.feature_updates", n1, pos, size)
        l1: list[FeatureUpdateKey] = []
        m.feature_updates = l1
        for _ in range(n1):
            e1 = FeatureUpdateKey.__new__(FeatureUpdateKey)
            l1.append(e1)
            e1.upgrade_type = 1
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("UpdateFeaturesRequest", "FeatureUpdateKey.feature", n2 - 1, pos, size)
            e1.feature = str(data[pos:z1], "utf-8")
            pos = z1
            e1.max_version_level, e1.allow_downgrade, k1 = _unpack_hTB(data, pos)
            pos += 4
            if k1:
                pos = skip_tagged("UpdateFeaturesRequest", data, pos - 1)
        k2 = data[pos]
        pos += 1
        if k2:
            pos = skip_tagged("UpdateFeaturesRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UpdateFeaturesRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[UpdateFeaturesRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = UpdateFeaturesRequest.__new__(UpdateFeaturesRequest)
        m.timeout_ms, n1 = _unpack_iB(data, pos)
        pos += 5
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("UpdateFeaturesRequest", "UpdateFeaturesRequest.feature_updates", n1, pos, size)
        l1: list[FeatureUpdateKey] = []
        m.feature_updates = l1
        for _ in range(n1):
            e1 = FeatureUpdateKey.__new__(FeatureUpdateKey)
            l1.append(e1)
            e1.allow_downgrade = False
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("UpdateFeaturesRequest", "FeatureUpdateKey.feature", n2 - 1, pos, size)
            e1.feature = str(data[pos:z1], "utf-8")
            pos = z1
            e1.max_version_level, e1.upgrade_type, k1 = _unpack_hbB(data, pos)
            pos += 4
            if k1:
                pos = skip_tagged("UpdateFeaturesRequest", data, pos - 1)
        m.validate_only, k2 = _unpack_TB(data, pos)
        pos += 2
        if k2:
            pos = skip_tagged("UpdateFeaturesRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("UpdateFeaturesRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[UpdateFeaturesRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[UpdateFeaturesRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
