"""LeaderChangeMessage: data, versions 0 to 1.

Generated from ``schemas/control_records.schema``: edit that, then ``python -m highwater_runtime.wire.generate``.
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
    ZERO_UUID,
    Buffer,
    DecodeError,
    malformed,
    not_in_version,
    overrun,
    skip_tagged,
    unencodable,
    unsupported,
    uuid_of,
    uvarint,
    uvarint_at,
)

_pack_hi: Final = Struct(">hi").pack
_pack_hiB: Final = Struct(">hiB").pack
_pack_iUx: Final = Struct(">i16sx").pack
_pack_ix: Final = Struct(">ix").pack
_unpack_hiB: Final = Struct(">hiB").unpack_from
_unpack_iB: Final = Struct(">iB").unpack_from
_unpack_iUB: Final = Struct(">i16sB").unpack_from


class Voter:
    """Part of :class:`LeaderChangeMessage`.

    ``voter_id`` int32

    ``voter_directory_id`` uuid (v1+)
    """

    __slots__ = ("voter_id", "voter_directory_id")
    voter_id: int
    voter_directory_id: UUID

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Voter):
            return NotImplemented
        return (
            self.voter_id == other.voter_id
            and self.voter_directory_id == other.voter_directory_id
        )

    def __repr__(self) -> str:
        return (
            f"Voter(voter_id={self.voter_id!r}, "
            f"voter_directory_id={self.voter_directory_id!r})"
        )


class LeaderChangeMessage:
    """The first record of a leader's epoch in the metadata log.

    ``version`` int16

    ``leader_id`` int32

    ``voters`` []Voter

    ``granting_voters`` []Voter: Those who voted for the leader.
    """

    API_KEY: ClassVar[int] = -1
    NAME: ClassVar[str] = "LeaderChangeMessage"
    KIND: ClassVar[str] = "data"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0

    __slots__ = ("version", "leader_id", "voters", "granting_voters")
    version: int
    leader_id: int
    voters: list[Voter]
    granting_voters: list[Voter]

    def __init__(
        self,
        *,
        version: int = 0,
        leader_id: int = 0,
        voters: list[Voter] = EMPTY,
        granting_voters: list[Voter] = EMPTY,
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is EMPTY else voters
        self.granting_voters = [] if granting_voters is EMPTY else granting_voters

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LeaderChangeMessage):
            return NotImplemented
        return (
            self.version == other.version
            and self.leader_id == other.leader_id
            and self.voters == other.voters
            and self.granting_voters == other.granting_voters
        )

    def __repr__(self) -> str:
        return (
            f"LeaderChangeMessage(version={self.version!r}, "
            f"leader_id={self.leader_id!r}, "
            f"voters={self.voters!r}, "
            f"granting_voters={self.granting_voters!r})"
        )

    def encode(self, version: int) -> bytes:
        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[bytes]:
        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""
        encoder = _ENCODERS.get(version)
        if encoder is None:
            raise unsupported("LeaderChangeMessage", version, 0, 1)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable("LeaderChangeMessage", version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> LeaderChangeMessage:
        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaderChangeMessage", version, 0, 1)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError("LeaderChangeMessage", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[LeaderChangeMessage, int]:
        """The message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = _DECODERS.get(version)
        if decoder is None:
            raise unsupported("LeaderChangeMessage", version, 0, 1)
        return decoder(data, position)


def _encode_v0(m: LeaderChangeMessage) -> list[bytes]:
    # versions 0
    out: list[bytes] = []
    add = out.append
    l1 = m.voters
    n1 = len(l1) + 1
    add(_pack_hiB(m.version, m.leader_id, n1) if n1 < 128 else _pack_hi(m.version, m.leader_id) + uvarint(n1))
    for e1 in l1:
        if not (e1.voter_directory_id == ZERO_UUID):
            raise not_in_version("LeaderChangeMessage", "Voter.voter_directory_id", e1.voter_directory_id)
        add(_pack_ix(e1.voter_id))
    l2 = m.granting_voters
    n2 = len(l2) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e2 in l2:
        if not (e2.voter_directory_id == ZERO_UUID):
            raise not_in_version("LeaderChangeMessage", "Voter.voter_directory_id", e2.voter_directory_id)
        add(_pack_ix(e2.voter_id))
    add(b"\x00")
    return out


def _encode_v1(m: LeaderChangeMessage) -> list[bytes]:
    # versions 1
    out: list[bytes] = []
    add = out.append
    l1 = m.voters
    n1 = len(l1) + 1
    add(_pack_hiB(m.version, m.leader_id, n1) if n1 < 128 else _pack_hi(m.version, m.leader_id) + uvarint(n1))
    for e1 in l1:
        add(_pack_iUx(e1.voter_id, e1.voter_directory_id.bytes))
    l2 = m.granting_voters
    n2 = len(l2) + 1
    add(UVARINT[n2] if n2 < 128 else uvarint(n2))
    for e2 in l2:
        add(_pack_iUx(e2.voter_id, e2.voter_directory_id.bytes))
    add(b"\x00")
    return out


def _decode_v0(data: Buffer, pos: int) -> tuple[LeaderChangeMessage, int]:
    # versions 0
    size = len(data)
    try:
        m = LeaderChangeMessage.__new__(LeaderChangeMessage)
        m.version, m.leader_id, n1 = _unpack_hiB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - pos:
            raise overrun("LeaderChangeMessage", "LeaderChangeMessage.voters", n1, pos, size)
        l1: list[Voter] = []
        m.voters = l1
        for _ in range(n1):
            e1 = Voter.__new__(Voter)
            l1.append(e1)
            e1.voter_directory_id = ZERO_UUID
            e1.voter_id, k1 = _unpack_iB(data, pos)
            pos += 5
            if k1:
                pos = skip_tagged("LeaderChangeMessage", data, pos - 1)
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 5 > size - pos:
            raise overrun("LeaderChangeMessage", "LeaderChangeMessage.granting_voters", n2, pos, size)
        l2: list[Voter] = []
        m.granting_voters = l2
        for _ in range(n2):
            e2 = Voter.__new__(Voter)
            l2.append(e2)
            e2.voter_directory_id = ZERO_UUID
            e2.voter_id, k2 = _unpack_iB(data, pos)
            pos += 5
            if k2:
                pos = skip_tagged("LeaderChangeMessage", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("LeaderChangeMessage", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderChangeMessage", pos, fault) from fault
    return m, pos


def _decode_v1(data: Buffer, pos: int) -> tuple[LeaderChangeMessage, int]:
    # versions 1
    size = len(data)
    try:
        m = LeaderChangeMessage.__new__(LeaderChangeMessage)
        m.version, m.leader_id, n1 = _unpack_hiB(data, pos)
        pos += 7
        if n1 > 127:
            n1, pos = uvarint_at(data, pos - 1)
        n1 -= 1
        if n1 < 0 or n1 * 21 > size - pos:
            raise overrun("LeaderChangeMessage", "LeaderChangeMessage.voters", n1, pos, size)
        l1: list[Voter] = []
        m.voters = l1
        for _ in range(n1):
            e1 = Voter.__new__(Voter)
            l1.append(e1)
            e1.voter_id, u1, k1 = _unpack_iUB(data, pos)
            pos += 21
            e1.voter_directory_id = uuid_of(u1)
            if k1:
                pos = skip_tagged("LeaderChangeMessage", data, pos - 1)
        n2 = data[pos]
        pos += 1
        if n2 > 127:
            n2, pos = uvarint_at(data, pos - 1)
        n2 -= 1
        if n2 < 0 or n2 * 21 > size - pos:
            raise overrun("LeaderChangeMessage", "LeaderChangeMessage.granting_voters", n2, pos, size)
        l2: list[Voter] = []
        m.granting_voters = l2
        for _ in range(n2):
            e2 = Voter.__new__(Voter)
            l2.append(e2)
            e2.voter_id, u2, k2 = _unpack_iUB(data, pos)
            pos += 21
            e2.voter_directory_id = uuid_of(u2)
            if k2:
                pos = skip_tagged("LeaderChangeMessage", data, pos - 1)
        k3 = data[pos]
        pos += 1
        if k3:
            pos = skip_tagged("LeaderChangeMessage", data, pos - 1)
    except DECODE_FAULTS as fault:
        raise malformed("LeaderChangeMessage", pos, fault) from fault
    return m, pos


_ENCODERS: Final[dict[int, Callable[[LeaderChangeMessage], list[bytes]]]] = {
    0: _encode_v0,
    1: _encode_v1,
}
_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[LeaderChangeMessage, int]]]] = {
    0: _decode_v0,
    1: _decode_v1,
}
