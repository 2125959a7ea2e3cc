"""Control batches of the metadata quorum (KIP-595, KIP-630): leader change, snapshot header and footer.

A control batch holds one record whose key is (version i16, type i16) and whose value is a flexible-version message.
The messages are few and frozen, so they are encoded here by hand: the log may not import the wire format.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct
from struct import error as StructError  # noqa: N812 (it is one)
from typing import Final, NamedTuple

from highwater_runtime.log.errors import CorruptRecordError
from highwater_runtime.log.records import NO_TIMESTAMP, BatchView, Record, build_batch

_KEY: Final = Struct(">hh")
_LEADER_CHANGE: Final = Struct(">hi")
_VOTER: Final = Struct(">i")
_SNAPSHOT_HEADER: Final = Struct(">hq")
_VERSION: Final = Struct(">h")


class ControlType(IntEnum):
    """What a control record says."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4


class LeaderChange(NamedTuple):
    """The first record of a leader's epoch in the metadata log: the leader, the voters, and the votes for it."""

    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


def build_control_batch(
    control_type: ControlType,
    value: bytes,
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    timestamp_ms: int = NO_TIMESTAMP,
) -> bytes:
    """A control batch of one record."""
    return build_batch(
        [Record(key=_KEY.pack(0, control_type), value=value)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        timestamp_ms=timestamp_ms,
        is_control=True,
    )


def control_type_of(record: Record) -> ControlType:
    """The type of a control batch's record.

    Raises:
        CorruptRecordError: its key is not one of a control record.
    """
    try:
        return ControlType(_KEY.unpack(record.key or b"")[1])
    except (StructError, ValueError) as error:
        raise CorruptRecordError(f"control record at offset {record.offset} has key {record.key!r}") from error


def build_leader_change(
    leader_id: int,
    voters: Sequence[int],
    granting_voters: Sequence[int],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    timestamp_ms: int = NO_TIMESTAMP,
) -> bytes:
    """The control batch with which a new leader of the metadata log begins its epoch (LeaderChangeMessage v0)."""
    value = bytearray(_LEADER_CHANGE.pack(0, leader_id))
    for group in (voters, granting_voters):
        if len(group) > 126:
            raise ValueError(f"{len(group)} voters; at most 126 fit")
        value.append(len(group) + 1)  # compact array
        for voter in group:
            value += _VOTER.pack(voter)
            value.append(0)  # no tagged fields
    value.append(0)
    return build_control_batch(
        ControlType.LEADER_CHANGE,
        bytes(value),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        timestamp_ms=timestamp_ms,
    )


def read_leader_change(batch: BatchView) -> LeaderChange | None:
    """What a leader-change batch says; None for any other batch.

    Raises:
        CorruptRecordError: it is a leader change but cannot be read, or a control batch without record.
    """
    if not batch.is_control:
        return None
    records = batch.records()
    if not records:
        raise CorruptRecordError(f"control batch at offset {batch.base_offset} has no record")
    record = records[0]
    value = record.value or b""
    if control_type_of(record) is not ControlType.LEADER_CHANGE:
        return None
    try:
        _, leader_id = _LEADER_CHANGE.unpack_from(value)
        position = _LEADER_CHANGE.size
        groups: list[tuple[int, ...]] = []
        for _ in range(2):
            count = value[position] - 1
            position += 1
            groups.append(tuple(_VOTER.unpack_from(value, position + 5 * i)[0] for i in range(count)))
            position += 5 * count
    except (IndexError, StructError) as error:
        raise CorruptRecordError(f"leader change at offset {batch.base_offset} cannot be read") from error
    return LeaderChange(leader_id, *groups)


def snapshot_header_value(last_contained_log_timestamp: int) -> bytes:
    """Value of a snapshot's first record (SnapshotHeaderRecord v0)."""
    return _SNAPSHOT_HEADER.pack(0, last_contained_log_timestamp) + b"\0"


def snapshot_footer_value() -> bytes:
    """Value of a snapshot's last record (SnapshotFooterRecord v0)."""
    return _VERSION.pack(0) + b"\0"
