"""DescribeClusterRequest: request body, key 60, versions 0 to 2.

Generated from ``schemas/configs.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    not_in_version,
    skip_tagged,
    unencodable,
    unsupported,
)

_pack_TbTx: Final = Struct(">?b?x").pack
_pack_Tbx: Final = Struct(">?bx").pack
_pack_Tx: Final = Struct(">?x").pack
_unpack_TB: Final = Struct(">?B").unpack_from
_unpack_TbB: Final = Struct(">?bB").unpack_from
_unpack_TbTB: Final = Struct(">?b?B").unpack_from


class DescribeClusterRequest:
    """Brokers, or (endpoint type 2) controllers.

    ``include_cluster_authorized_operations`` bool

    ``endpoint_type`` int8 (v1+): 1 brokers, 2 controllers.

    ``include_fenced_brokers`` bool (v2+): Also those that serve nobody at the moment (KIP-1073).
    """

    API_KEY: ClassVar[int] = 60
    NAME: ClassVar[str] = "DescribeClusterRequest"
    KIND: ClassVar[str] = "request"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool

    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescribeClusterRequest):
            return NotImplemented
        return (
            self.include_cluster_authorized_operations == other.include_cluster_authorized_operations
            and self.endpoint_type == other.endpoint_type
            and self.include_fenced_brokers == other.include_fenced_brokers
        )

    def __repr__(self) -> str:
        return (
            f"DescribeClusterRequest(include_cluster_authorized_operations={self.include_cluster_authorized_operations!r}, "
            f"endpoint_type={self.endpoint_type!r}, "
            f"include_fenced_brokers={self.include_fenced_brokers!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("DescribeClusterRequest", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("DescribeClusterRequest", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> DescribeClusterRequest:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeClusterRequest", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("DescribeClusterRequest", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[DescribeClusterRequest, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("DescribeClusterRequest", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: DescribeClusterRequest) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.endpoint_type == 1):
        raise not_in_version("DescribeClusterRequest", "DescribeClusterRequest.endpoint_type", m.endpoint_type)
    if not (not m.include_fenced_brokers):
        raise not_in_version("DescribeClusterRequest", "DescribeClusterRequest.include_fenced_brokers", m.include_fenced_brokers)
    add(_pack_Tx(m.include_cluster_authorized_operations))
    return out


def _encode_v1(m: DescribeClusterRequest) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    if not (not m.include_fenced_brokers):
        raise not_in_version("DescribeClusterRequest", "DescribeClusterRequest.include_fenced_brokers", m.include_fenced_brokers)
    add(_pack_Tbx(m.include_cluster_authorized_operations, m.endpoint_type))
    return out


def _encode_v2(m: DescribeClusterRequest) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    add(_pack_TbTx(m.include_cluster_authorized_operations, m.endpoint_type, m.include_fenced_brokers))
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[DescribeClusterRequest, int]:
    # versions 0
    size = len(data)
    try:
        m = DescribeClusterRequest.__new__(DescribeClusterRequest)
        m.endpoint_type = 1
        m.include_fenced_brokers = False
        m.include_cluster_authorized_operations, k1 = _unpack_TB(data, pos)
        pos += 2
        if k1:
            pos = skip_tagged("DescribeClusterRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeClusterRequest", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[DescribeClusterRequest, int]:
    # versions 1
    size = len(data)
    try:
        m = DescribeClusterRequest.__new__(DescribeClusterRequest)
        m.include_fenced_brokers = False
        m.include_cluster_authorized_operations, m.endpoint_type, k1 = _unpack_TbB(data, pos)
        pos += 3
        if k1:
            pos = skip_tagged("DescribeClusterRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeClusterRequest", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[DescribeClusterRequest, int]:
    # versions 2
    size = len(data)
    try:
        m = DescribeClusterRequest.__new__(DescribeClusterRequest)
        m.include_cluster_authorized_operations, m.endpoint_type, m.include_fenced_brokers, k1 = _unpack_TbTB(data, pos)
        pos += 4
        if k1:
            pos = skip_tagged("DescribeClusterRequest", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("DescribeClusterRequest", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[DescribeClusterRequest], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[DescribeClusterRequest, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
