"""duplicate: a value stands at two or more offsets, and was allowed fewer.

Example: a producer sends value 52, the leader appends it at offset 27, and its answer is lost. The producer sends it
again, and a leader appends it at offset 62. An idempotent producer was promised that the second attempt writes nothing.
A producer without idempotence was promised nothing of the kind: it may write a value once for each attempt.

The trap: a leader recognises a batch by what it knows of the producer, and it learns that from its own log. So it knows
nothing of a copy that lies below the log start at which it learned it: where it restarted its log (a follower whose
log ends before its leader's begins), recovered it, or cut it back. Retention may have moved the log start to 48 before
that. Apache Kafka does the same: ``truncateFullyAndStartAt`` clears the producers' state, and a leader that knows
nothing of a producer takes any sequence (releases from 2.5, KIP-360). A copy that stands there is no duplicate.

The leader that appended a copy is the one whose leader epoch was committed at its offset. A live log whose log start
moves forgets no producer, so retention alone excuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from highwater_pipeline.checks.columns import SHOWN, Bools, Ints, finding, ints, is_any, listing, of_kind, rows_of
from highwater_pipeline.checks.promises import LOG_START_MOVED, recorded
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Seen, VersionOrder
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.units import Unit

_LIFE: Final = ("log-loaded", "log-truncated", LOG_START_MOVED)
_APPENDS: Final = ("log-appended", "batch-committed")


def duplicates(unit: Unit, seen: Seen, placed: list[Bools], orders: list[VersionOrder], why: str) -> Finding:
    """``placed`` and ``orders``: by promises that are certain, and by all that may have been made (if they differ);
    ``why`` they differ."""
    idempotence = unit.facts.settings.idempotence
    if idempotence is False:
        certain, possible = (_not_by_retries(unit, seen, order) for order in (orders[0], orders[-1]))
    else:
        surely, perhaps = (_not_forgotten(unit, order) for order in (orders[0], orders[-1]))
        certain, possible = surely[YES], np.concatenate([perhaps[YES], perhaps[UNKNOWN]])
        if len(perhaps[UNKNOWN]):
            why = "it is not known which records a leader could still know of"
    if idempotence is None and len(possible):
        certain = certain[np.isin(certain, _not_by_retries(unit, seen, orders[0]))]
        why = "it is not known whether producers were idempotent"
    found = _found(seen, placed[0], orders[0], certain)
    return Finding(found.count, found.examples, max(len(possible) - len(certain), 0), why)


def _not_by_retries(unit: Unit, seen: Seen, order: VersionOrder) -> Ints:
    """Values that stand at more offsets than a producer without idempotence can have written them to: one for each
    attempt of its one send, or any number where the attempts are not known, or where sends were duplicated."""
    doubled = order.values[order.places > 1]
    if not len(doubled):
        return doubled
    sends = np.flatnonzero(seen.is_send)
    sends = sends[np.argsort(seen.value[sends], kind="stable")]
    low, high = (np.searchsorted(seen.value[sends], doubled, side) for side in ("left", "right"))
    once = high - low == 1
    attempts = ints(seen.table, "attempts")[sends[np.minimum(low, max(len(sends) - 1, 0))]] if len(sends) else low * 0
    many = (attempts < 0) | (order.places[order.places > 1] <= attempts) | unit.facts.duplicates_sends
    too_many: Ints = doubled[~(once & many)]
    return too_many


def _not_forgotten(unit: Unit, order: VersionOrder) -> dict[int, Ints]:
    """Values of which some copy's leader knew the copy before: for certain (YES), or perhaps (UNKNOWN)."""
    doubled = order.values[order.places > 1]
    answers = np.full(len(doubled), YES, np.int64)
    if len(doubled):
        logs = _Logs.of(unit)
        answers[:] = [_known(order.offset[order.value == value], logs) for value in doubled]
    return {answer: doubled[answers == answer] for answer in (YES, UNKNOWN)}


def _known(copies: Ints, logs: _Logs) -> int:
    """Whether the leader of some copy knew the copy before it."""
    return max(logs.knew(first, second) for first, second in pairwise(copies.tolist()))


@dataclass(frozen=True, slots=True)
class _Logs:
    """From where on the leaders of a partition knew their producers, each time they appended.

    ``known_from``: one entry for each append of a leader; ``otherwise``: the answer where that was not recorded.
    """

    start: Ints
    end: Ints
    leader_epoch: Ints
    known_from: Ints
    committed: pa.Table
    otherwise: int

    @classmethod
    def of(cls, unit: Unit) -> _Logs:
        """Those of one partition of one topic."""
        is_recorded = recorded(unit.facts, *_LIFE, *_APPENDS)
        otherwise = YES if unit.facts.settings.deletes(unit.partition) is False else UNKNOWN
        events = of_kind(unit.events, *_LIFE, "log-appended") if is_recorded else unit.events.slice(0, 0)
        by_leader = events.filter(
            pa.array(~is_any(events, "kind", "log-appended") | is_any(events, "reason", "leader"))
        )
        appends = of_kind(by_leader, "log-appended")
        return cls(
            ints(appends, "offset"),
            ints(appends, "end_offset"),
            ints(appends, "leader_epoch"),
            np.fromiter(_known_from(by_leader), np.int64),
            of_kind(unit.events, "batch-committed"),
            otherwise,
        )

    def knew(self, first: int, second: int) -> int:
        """Whether the leader that appended the committed copy at ``second`` knew one at ``first``."""
        passed = (ints(self.committed, "offset") <= second) & (second < ints(self.committed, "end_offset"))
        epochs = ints(self.committed, "epoch")[passed]
        theirs = (self.start <= second) & (second < self.end) & np.isin(self.leader_epoch, epochs)
        if not theirs.any():
            return self.otherwise
        return YES if (self.known_from[theirs] <= first).any() else NO


def _known_from(events: pa.Table) -> Iterator[int]:
    """For every append: the log start of its log when its leader last learned of producers from the log alone."""
    starts: dict[str, int] = {}
    known: dict[str, int] = {}
    columns = [events[name].to_pylist() for name in ("kind", "node", "reason", "offset", "end_offset")]
    for kind, node, reason, offset, end_offset in zip(*columns, strict=True):
        match kind:
            case "log-appended":
                yield known.get(node, 0)
            case "log-start-moved":
                starts[node] = end_offset
            case "log-loaded":
                starts[node] = offset
                if reason != "clean":  # a clean stop leaves a snapshot of all that was known
                    known[node] = offset
            case _:
                if reason == "restart-at":
                    starts[node] = offset
                known[node] = starts.get(node, 0)


def _found(seen: Seen, sends: Bools, order: VersionOrder, doubled: Ints) -> Finding:
    known = seen.is_poll | sends

    def examples() -> Iterator[Example]:
        for value in doubled:
            offsets = order.offset[order.value == value]
            witnesses = [seen.first(known & (seen.value == value) & (seen.offset == at)) for at in offsets[:SHOWN]]
            yield {
                "partition": seen.partition,
                "value": int(value),
                "offsets": [int(offset) for offset in offsets[:SHOWN]],
                "rows": rows_of("operations", map(seen.row_at, witnesses)),
                "story": (
                    f"Value {value} stands at {len(offsets)} offsets of {seen.partition}: "
                    + listing([f"{o} by {seen.who(w)}" for o, w in zip(offsets, witnesses, strict=False)])
                    + "."
                ),
            }

    return finding(len(doubled), examples())
