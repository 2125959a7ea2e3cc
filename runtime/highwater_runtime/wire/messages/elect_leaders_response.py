"""ElectLeadersResponse: response body, key 43, versions 0 to 2.

Generated from ``schemas/elect_leaders.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihB: Final = Struct(">ihB").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class PartitionResult:
    """Part of :class:`ElectLeadersResponse`.

    ``partition_id`` int32

    ``error_code`` int16

    ``error_message`` string
    """

    __slots__ = ("partition_id", "error_code", "error_message")
    partition_id: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionResult):
            return NotImplemented
        return (
            self.partition_id == other.partition_id
            and self.error_code == other.error_code
            and self.error_message == other.error_message
        )

    def __repr__(self) -> str:
        return (
            f"PartitionResult(partition_id={self.partition_id!r}, "
            f"error_code={self.error_code!r}, "
            f"error_message={self.error_message!r})"
        )


class ReplicaElectionResult:
    """Part of :class:`ElectLeadersResponse`.

    ``topic`` string

    ``partition_result`` []PartitionResult
    """

    __slots__ = ("topic", "partition_result")
    topic: str
    partition_result: list[PartitionResult]

    def __init__(
        self,
        *,
        topic: str = "",
        partition_result: list[PartitionResult] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is EMPTY else partition_result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicaElectionResult):
            return NotImplemented
        return (
            self.topic == other.topic
            and self.partition_result == other.partition_result
        )

    def __repr__(self) -> str:
        return (
            f"ReplicaElectionResult(topic={self.topic!r}, "
            f"partition_result={self.partition_result!r})"
        )


class ElectLeadersResponse:
    """One result for each partition.

    ``throttle_time_ms`` int32

    ``error_code`` int16 (v1+)

    ``replica_election_results`` []ReplicaElectionResult
    """

    API_KEY: ClassVar[int] = 43
    NAME: ClassVar[str] = "ElectLeadersResponse"
    KIND: ClassVar[str] = "response"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")
    throttle_time_ms: int
    error_code: int
    replica_election_results: list[ReplicaElectionResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is EMPTY else replica_election_results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ElectLeadersResponse):
            return NotImplemented
        return (
            self.throttle_time_ms == other.throttle_time_ms
            and self.error_code == other.error_code
            and self.replica_election_results == other.replica_election_results
        )

    def __repr__(self) -> str:
        return (
            f"ElectLeadersResponse(throttle_time_ms={self.throttle_time_ms!r}, "
            f"error_code={self.error_code!r}, "
            f"replica_election_results={self.replica_election_results!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("ElectLeadersResponse", version, 0, 2)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("ElectLeadersResponse", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> ElectLeadersResponse:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ElectLeadersResponse", version, 0, 2)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("ElectLeadersResponse", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[ElectLeadersResponse, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("ElectLeadersResponse", version, 0, 2)
        return decoder(data, position)


def _encode_v0(m: ElectLeadersResponse) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    if not (m.error_code == 0):
        raise not_in_version("ElectLeadersResponse", "ElectLeadersResponse.error_code", m.error_code)
    l1 = m.replica_election_results
    n1 = len(l1)
    add(_pack_ii(m.throttle_time_ms, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ReplicaElectionResult", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_result
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ih(e2.partition_id, e2.error_code))
            if e2.error_message is None:
                add(b"\xff\xff")
            else:
                b2 = e2.error_message.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("PartitionResult", "error_message", len(b2))
                add(_pack_h(n4))
                add(b2)
    return out


def _encode_v1(m: ElectLeadersResponse) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.replica_election_results
    n1 = len(l1)
    add(_pack_ihi(m.throttle_time_ms, m.error_code, n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1)
        if n2 > 32767:
            raise short_string("ReplicaElectionResult", "topic", len(b1))
        add(_pack_h(n2))
        add(b1)
        l2 = e1.partition_result
        n3 = len(l2)
        add(_pack_i(n3))
        for e2 in l2:
            add(_pack_ih(e2.partition_id, e2.error_code))
            if e2.error_message is None:
                add(b"\xff\xff")
            else:
                b2 = e2.error_message.encode()
                n4 = len(b2)
                if n4 > 32767:
                    raise short_string("PartitionResult", "error_message", len(b2))
                add(_pack_h(n4))
                add(b2)
    return out


def _encode_v2(m: ElectLeadersResponse) -> list[bytes]:
    # versions 2
    out: list[bytes] = []
    add = out.append
    l1 = m.replica_election_results
    n1 = len(l1) + 1
    add(_pack_ihB(m.throttle_time_ms, m.error_code, n1) if n1 < 128 else _pack_ih(m.throttle_time_ms, m.error_code) + uvarint(n1))
    for e1 in l1:
        b1 = e1.topic.encode()
        n2 = len(b1) + 1
        if n2 > 32768:
            raise short_string("ReplicaElectionResult", "topic", len(b1))
        add(UVARINT[n2] if n2 < 128 else uvarint(n2))
        add(b1)
        l2 = e1.partition_result
        n3 = len(l2) + 1
        add(UVARINT[n3] if n3 < 128 else uvarint(n3))
        for e2 in l2:
            add(_pack_ih(e2.partition_id, e2.error_code))
            if e2.error_message is None:
                add(b"\x00")
            else:
                b2 = e2.error_message.encode()
                n4 = len(b2) + 1
                if n4 > 32768:
                    raise short_string("PartitionResult", "error_message", len(b2))
                add(UVARINT[n4] if n4 < 128 else uvarint(n4))
                add(b2)
            add(b"\x00")
        add(b"\x00")
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[ElectLeadersResponse, int]:
    # versions 0
    size = len(data)
    try:
        m = ElectLeadersResponse.__new__(ElectLeadersResponse)
        m.error_code = 0
        m.throttle_time_ms, n1 = _unpack_ii(data, pos)
        pos += 8
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ElectLeadersResponse", "ElectLeadersResponse.replica_election_results", n1, pos, size)
        l1: list[ReplicaElectionResult] = []
        m.replica_election_results = l1
        for _ in range(n1):
            e1 = ReplicaElectionResult.__new__(ReplicaElectionResult)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ElectLeadersResponse", "ReplicaElectionResult.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 8 > size - pos:
                raise overrun("ElectLeadersResponse", "ReplicaElectionResult.partition_result", n3, pos, size)
            l2: list[PartitionResult] = []
            e1.partition_result = l2
            for _ in range(n3):
                e2 = PartitionResult.__new__(PartitionResult)
                l2.append(e2)
                e2.partition_id, e2.error_code, n4 = _unpack_ihh(data, pos)
                pos += 8
                if n4 == -1:
                    e2.error_message = None
                else:
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("ElectLeadersResponse", "PartitionResult.error_message", n4, pos, size)
                    e2.error_message = str(data[pos:z2], "utf-8")
                    pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("ElectLeadersResponse", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[ElectLeadersResponse, int]:
    # versions 1
    size = len(data)
    try:
        m = ElectLeadersResponse.__new__(ElectLeadersResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihi(data, pos)
        pos += 10
        if n1 < 0 or n1 * 6 > size - pos:
            raise overrun("ElectLeadersResponse", "ElectLeadersResponse.replica_election_results", n1, pos, size)
        l1: list[ReplicaElectionResult] = []
        m.replica_election_results = l1
        for _ in range(n1):
            e1 = ReplicaElectionResult.__new__(ReplicaElectionResult)
            l1.append(e1)
            (n2,) = _unpack_h(data, pos)
            pos += 2
            z1 = pos + n2
            if n2 < 0 or z1 > size:
                raise overrun("ElectLeadersResponse", "ReplicaElectionResult.topic", n2, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            (n3,) = _unpack_i(data, pos)
            pos += 4
            if n3 < 0 or n3 * 8 > size - pos:
                raise overrun("ElectLeadersResponse", "ReplicaElectionResult.partition_result", n3, pos, size)
            l2: list[PartitionResult] = []
            e1.partition_result = l2
            for _ in range(n3):
                e2 = PartitionResult.__new__(PartitionResult)
                l2.append(e2)
                e2.partition_id, e2.error_code, n4 = _unpack_ihh(data, pos)
                pos += 8
                if n4 == -1:
                    e2.error_message = None
                else:
                    z2 = pos + n4
                    if n4 < 0 or z2 > size:
                        raise overrun("ElectLeadersResponse", "PartitionResult.error_message", n4, pos, size)
                    e2.error_message = str(data[pos:z2], "utf-8")
                    pos = z2
    except DECODE_FAULTS as fault:
        raise malformed("ElectLeadersResponse", pos, fault) from fault
    return m, pos


def _decode_v2(data: Buffer, pos: int) -> tuple[ElectLeadersResponse, int]:
    # versions 2
    size = len(data)
    try:
        m = ElectLeadersResponse.__new__(ElectLeadersResponse)
        m.throttle_time_ms, m.error_code, n1 = _unpack_ihB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - pos:
            raise overrun("ElectLeadersResponse", "ElectLeadersResponse.replica_election_results", n1, pos, size)
        l1: list[ReplicaElectionResult] = []
        m.replica_election_results = l1
        for _ in range(n1):
            e1 = ReplicaElectionResult.__new__(ReplicaElectionResult)
            l1.append(e1)
            n2 = data[pos]
            pos += 1
            if n2 > 127:
                n2, pos = uvarint_at(data, pos - 1)
            z1 = pos + n2 - 1
            if n2 == 0 or z1 > size:
                raise overrun("ElectLeadersResponse", "ReplicaElectionResult.topic", n2 - 1, pos, size)
            e1.topic = str(data[pos:z1], "utf-8")
            pos = z1
            n3 = data[pos]
            pos += 1
            if n3 > 127:
                n3, pos = uvarint_at(data, pos - 1)
            n3 -= 1
            if n3 < 0 or n3 * 8 > size - pos:
                raise overrun("ElectLeadersResponse", "ReplicaElectionResult.partition_result", n3, pos, size)
            l2: list[PartitionResult] = []
            e1.partition_result = l2
            for _ in range(n3):
                e2 = PartitionResult.__new__(PartitionResult)
                l2.append(e2)
                e2.partition_id, e2.error_code, n4 = _unpack_ihB(data, pos)
                pos += 7
                if n4 > 127:
                    n4, pos = uvarint_at(data, pos - 1)
                if n4 == 0:
                    e2.error_message = None
                else:
                    z2 = pos + n4 - 1
                    if z2 > size:
                        raise overrun("ElectLeadersResponse", "PartitionResult.error_message", n4 - 1, pos, size)
                    e2.error_message = str(data[pos:z2], "utf-8")
                    pos = z2
                k1 = data[pos]
                pos += 1
                if k1:
                    pos = skip_tagged("ElectLeadersResponse", data, pos - 1)
            k2 = data[pos]
            pos += 1
            if k2:
                pos = skip_tagged("ElectLeadersResponse", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("ElectLeadersResponse", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("ElectLeadersResponse", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[ElectLeadersResponse], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
    2: _encode_v2,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[ElectLeadersResponse, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
    2: _decode_v2,
}
