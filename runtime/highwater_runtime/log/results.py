"""What a log answers, as small values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from highwater_runtime.log.records import BatchView


class BatchMark(NamedTuple):
    """One stored batch in short: [``base_offset``, ``end_offset``), its leader epoch, its CRC and who produced it."""

    base_offset: int
    end_offset: int
    epoch: int
    crc: int
    producer_id: int
    producer_epoch: int

    @classmethod
    def of(cls, batch: BatchView) -> BatchMark:
        return cls(
            batch.base_offset,
            batch.last_offset + 1,
            batch.leader_epoch,
            batch.crc,
            batch.producer_id,
            batch.producer_epoch,
        )


class AppendInfo(NamedTuple):
    """What an append did.

    ``first_offset`` … ``last_offset`` (inclusive) are those of the batches; where ``duplicate``, those of the
    original that was found, and nothing was written. ``max_timestamp`` in ms, −1: none. ``batches``: those written.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_start_offset: int
    duplicate: bool
    batches: Sequence[BatchView]

    @property
    def end_offset(self) -> int:
        """The offset behind the last."""
        return self.last_offset + 1

    @property
    def marks(self) -> tuple[BatchMark, ...]:
        """One for each batch written."""
        return tuple(map(BatchMark.of, self.batches))


class TimestampOffset(NamedTuple):
    """A record found by its timestamp (ms); ``leader_epoch`` is that of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int
