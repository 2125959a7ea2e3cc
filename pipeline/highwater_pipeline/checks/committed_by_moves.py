"""Which records passed the high watermark, where leaders report its moves and not the batches that passed it.

Example: broker 0, leader of epoch 3, appends record 7, and broker 1 copies it. Broker 0 dies. Broker 1 becomes leader
of epoch 4 with log end offset 8 and moves the high watermark from 5 to 9. Record 7 of epoch 3 is committed, and
record 8 of epoch 4. Had broker 1 begun with log end offset 7, both would be of epoch 4, and what broker 0 had appended
at 7 would be committed by nobody.

The trap: of a log of which not all appends were reported, it is not known of which epoch a record is. Then it is not
known either which record passed the high watermark there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from highwater_pipeline.arrow.arrays import Ints
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import of_kind
from highwater_pipeline.partitions.partition_tables import RunFacts
from highwater_pipeline.specification.lineage import UNKNOWN, Lineage
from highwater_pipeline.verdict import judges_less

_KINDS: Final = ("became-leader", "high-watermark", "log-appended", "log-loaded", "log-removed", "log-truncated")
_FIELDS: Final = ("node", "kind", "reason", "leader_epoch", "offset", "end_offset")
_AT_ONCE: Final = 20_000


class Committed(NamedTuple):
    """Ranges [``start``, ``end``) that passed a leader's high watermark, each of one ``epoch``; −1: not known."""

    start: Ints
    end: Ints
    epoch: Ints


@dataclass(slots=True)
class _Log:
    """A replica's log, as far as it is known, and its end."""

    lineage: Lineage = field(default_factory=Lineage)
    end: int = 0

    def ends_at(self, end: int) -> None:
        """The log ends there: something was cut off, or is there that nobody reported."""
        if end > self.end:
            self.lineage.extend(self.end, UNKNOWN)
        self.lineage.cut(end)
        self.end = end

    def append(self, leadership: _Leadership | None, event: dict[str, Any]) -> None:
        start, end, epoch = event["offset"], event["end_offset"], event["leader_epoch"]
        self.ends_at(start)
        if event["reason"] == "leader":
            self.lineage.extend(start, epoch)
        elif leadership is None:
            self.lineage.extend(start, UNKNOWN)
        else:
            for begin, _, of in leadership.ranges(start, end, epoch):
                self.lineage.extend(begin, of)
        self.end = end


class _Leadership(NamedTuple):
    """``log``: of the leader when it began, with ``start`` as its log end offset."""

    start: int
    log: Lineage

    def ranges(self, first: int, end: int, epoch: int) -> Iterator[tuple[int, int, int]]:
        """Cut [``first``, ``end``) of the leader's log by epochs."""
        old = min(end, self.start)
        if first < old:
            cuts = [first, *(one for one in self.log.starts if first < one < old), old]
            for begin, to in pairwise(cuts):
                yield begin, to, self.log.at(begin)
        if end > self.start:
            yield max(first, self.start), end, epoch


def shows_moves(facts: RunFacts) -> bool:
    """Return whether what passed the high watermark is to be found by its moves."""
    return judges_less("committed-loss", facts) and facts.has_events and "log-appended" in (facts.recorded_events or ())


def committed_by_moves(events: View) -> Committed:
    """Return what passed the high watermark."""
    logs: dict[str, _Log] = {}
    leaders: dict[int, _Leadership] = {}
    high_watermarks: dict[tuple[str, int], int] = {}
    found: list[tuple[int, int, int]] = []
    relevant = of_kind(events, *_KINDS)
    for first in range(0, relevant.num_rows, _AT_ONCE):
        for event in relevant.slice(first, _AT_ONCE).to_pylist(*_FIELDS):
            node, epoch, offset = event["node"], event["leader_epoch"], event["offset"]
            log = logs.setdefault(node, _Log())
            match event["kind"]:
                case "log-removed":
                    logs[node] = _Log()
                case "log-loaded":
                    log.ends_at(event["end_offset"])
                case "log-truncated":
                    log.ends_at(offset)
                case "became-leader":
                    log.ends_at(event["end_offset"])
                    leaders.setdefault(epoch, _Leadership(log.end, log.lineage.copy()))
                    high_watermarks[node, epoch] = offset
                case "log-appended":
                    log.append(leaders.get(epoch), event)
                case _:
                    before = high_watermarks.get((node, epoch), offset)
                    high_watermarks[node, epoch] = max(before, offset)
                    if epoch in leaders and offset > before:
                        found += leaders[epoch].ranges(before, offset, epoch)
    ranges = np.array(found, np.int64).reshape(-1, 3)
    return Committed(ranges[:, 0], ranges[:, 1], ranges[:, 2])
