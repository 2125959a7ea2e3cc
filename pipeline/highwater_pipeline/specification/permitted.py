"""Leader epochs, and which steps the specification permits to a replica, in words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import le

from highwater_pipeline.specification.lineage import UNKNOWN, Lineage
from highwater_pipeline.specification.replica import Replica


@dataclass(slots=True)
class Led:
    """A leader epoch: the leader's log as it was at the ``start`` of the epoch, and how far it has gone on since.
    ``ends`` and ``high_watermarks``: the log end offset and the high watermark at each move of the latter;
    ``is_ascending``: no end is below the one before."""

    broker: int
    log: Lineage | None
    start: int
    end: int
    row: int
    ends: list[int] = field(default_factory=list)
    high_watermarks: list[int] = field(default_factory=list)
    is_ascending: bool = True

    def extend(self, ends: list[int], high_watermarks: list[int]) -> None:
        """Take in moves of the high watermark, each with the log end offset then."""
        self.is_ascending = self.is_ascending and all(map(le, [*self.ends[-1:], *ends], ends))
        self.ends += ends
        self.high_watermarks += high_watermarks

    def epoch_at(self, offset: int) -> int:
        """Epoch of the leader's record at ``offset``; −1 if that is not known."""
        return UNKNOWN if self.log is None else self.log.at(offset)

    def high_watermark_known_at(self, end: int) -> int:
        """The high watermark that the leader had when it sent the last record below ``end``, at least."""
        place = bisect_left(self.ends, end)
        return self.high_watermarks[place - 1] if place else 0


def permitted_steps(
    replica: Replica, led: Led | None, replicas: Mapping[int, Replica], *, exact_order: bool
) -> Iterator[str]:
    """Yield the steps that are permitted to ``replica``. ``led``: its leader epoch; ``replicas``: by broker."""
    epoch, end = replica.leader_epoch, replica.end
    yield "take a role that was decided" + ("" if epoch is None else f", of leader epoch {epoch} or higher")
    if replica.role == "leader":
        yield f"append at {end} in leader epoch {epoch}"
        yield from _permitted_to_leader(replica, replicas, exact_order=exact_order)
    elif replica.role == "follower":
        upto = "" if led is None or not exact_order else f", up to {led.end}"
        yield f"append at {end} what broker {replica.leader} has, in leader epoch {epoch}{upto}"
        yield "truncate to the first record that differs from the leader's"
    else:
        yield "load its log" + ("" if end is None else f" with log end offset {end} or less")


def _permitted_to_leader(replica: Replica, replicas: Mapping[int, Replica], *, exact_order: bool) -> Iterator[str]:
    isr, end, high_watermark, epoch = replica.isr, replica.end, replica.high_watermark, replica.leader_epoch
    if isr is None or end is None or high_watermark is None or epoch is None:
        return  # a leader has them all
    least_in_sync = replica.least_in_sync
    if least_in_sync is not None and len(isr) < least_in_sync:
        yield f"no move of the high watermark: the ISR is below min.insync.replicas, {least_in_sync}"
    else:
        members = {*isr, *(replica.open or ())} - {replica.broker}
        known = [replicas[b].reached.get(epoch, 0) for b in members if b in replicas]
        least = min([end, *known]) if exact_order else end
        if least > high_watermark:
            yield f"move the high watermark above {high_watermark}, up to {least}"
        else:
            yield f"no move of the high watermark: the ISR has fetched up to {least}"
    if high_watermark:
        yield f"acknowledge what ends at {high_watermark} or below"
    if replica.open is None:
        yield f"propose an ISR based on partition epoch {replica.partition_epoch}"
