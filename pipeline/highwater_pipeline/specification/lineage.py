"""Which leader epoch each offset of a log was appended in: what makes two logs equal, as records do not change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Final

UNKNOWN: Final = -1


@dataclass(slots=True)
class Lineage:
    """A log by ranges of one epoch: range ``i`` begins at ``starts[i]``, and the last one goes on to the log's end."""

    starts: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)

    def copy(self) -> Lineage:
        """A copy that does not change when this one does."""
        return Lineage(self.starts[:], self.epochs[:])

    def at(self, offset: int) -> int:
        """Epoch of the record at ``offset``; −1 if that is not known."""
        place = bisect_right(self.starts, offset) - 1
        return self.epochs[place] if place >= 0 else UNKNOWN

    def cut(self, end: int) -> None:
        """Forget what is at ``end`` or behind it."""
        while self.starts and self.starts[-1] >= end:
            self.starts.pop()
            self.epochs.pop()

    def forget_below(self, start: int) -> None:
        """What was below ``start`` is deleted: it is not known any more."""
        place = bisect_right(self.starts, start) - 1
        if place >= 0:
            del self.starts[:place], self.epochs[:place]
            self.starts[0] = start

    def extend(self, start: int, epoch: int) -> None:
        """From ``start`` on, the log's records are of ``epoch``."""
        if not self.epochs or self.epochs[-1] != epoch:
            self.starts.append(start)
            self.epochs.append(epoch)

    def extend_from(self, other: Lineage, start: int, end: int) -> None:
        """Take over [``start``, ``end``) of ``other``."""
        self.extend(start, other.at(start))
        taken = slice(bisect_right(other.starts, start), bisect_left(other.starts, end))
        for at, epoch in zip(other.starts[taken], other.epochs[taken], strict=True):
            self.extend(at, epoch)

    def common_end(self, other: Lineage, end: int) -> int:
        """The first offset below ``end`` at which both are known and differ; ``end`` if there is none."""
        known = ((offset, self.at(offset), other.at(offset)) for offset in (*self.starts, *other.starts))
        return min([end, *(offset for offset, mine, its in known if UNKNOWN not in (mine, its) and mine != its)])
