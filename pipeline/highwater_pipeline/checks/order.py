"""Order, per consumer and per producer: ``poll-skip``, ``nonmonotonic-poll``, ``nonmonotonic-send`` and the same inside
one operation (``int-``), by Jepsen's definitions.

A consumer that read offset 4 and then 7 skipped what stands between, if anything does: in a log with gaps nothing need
be wrong. One that read 4 and then 3 went back. A consumer that was given another position in between did neither, so
an assignment with an offset is the new position; one without keeps the position of the partitions that it lists, and
forgets that of all others. A subscription lets a group move the consumer, of which the history says nothing: from then
on its order is not judged.

A producer's sends stand in the order in which they began. An idempotent one is promised that of all of them
(pipelined sends of one client are operations of several processes); another only of a send that began after the last
one had been acknowledged, which are the sends of one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from highwater_pipeline.checks.columns import Bools, Ints, bools, codes, finding, ints, last_known, rows_of
from highwater_pipeline.checks.promises import Promises
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Seen, VersionOrder
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.micro_operations import OK
from highwater_pipeline.units import Unit


@dataclass(frozen=True, slots=True)
class _Steps:
    """Successive micro-operations of one process on one partition: positions ``before`` and ``after`` in the history;
    ``past``: offsets up to and with which everything lies behind ``before``; ``inside``: both are of one operation."""

    before: Ints
    after: Ints
    past: Ints
    inside: Bools

    def where(self, which: Bools) -> _Steps:
        """Some of the steps."""
        return _Steps(self.before[which], self.after[which], self.past[which], self.inside[which])


def poll_order(seen: Seen, orders: list[VersionOrder], promises: Promises) -> dict[str, Finding]:
    """``orders``: the version order by what was promised for certain, and by all that may have been promised."""
    steps = _poll_steps(seen)
    to = seen.offset[steps.after]
    back = to <= steps.past
    past = np.maximum(steps.past, promises.log_start - 1)
    certain = ~back & orders[0].between(past, to) & (promises.whole == YES)
    possible = ~back & orders[-1].between(past, to) & (promises.whole != NO)
    found = {}
    for prefix, inside in (("", ~steps.inside), ("int-", steps.inside)):
        found[f"{prefix}nonmonotonic-poll"] = _finding(seen, steps.where(back & inside), "went back")
        skipped = _finding(seen, steps.where(certain & inside), "skipped the record between")
        unknown = int((possible & inside).sum()) - skipped.count
        found[f"{prefix}poll-skip"] = Finding(skipped.count, skipped.examples, max(unknown, 0), promises.why)
    return found


def _poll_steps(seen: Seen) -> _Steps:
    """Every poll of a record whose consumer's position before is known."""
    relevant = np.flatnonzero(~seen.is_send & (seen.outcome == OK))
    at = relevant[np.argsort(seen.process[relevant], kind="stable")]
    process, polled, offset = seen.process[at], seen.is_poll[at], seen.offset[at]
    number = ints(seen.table, "assignment")[at]
    same = np.zeros(len(at), np.bool_)
    same[1:] = process[1:] == process[:-1]
    # An assignment that does not list the partition leaves no row here, only a gap in the numbers.
    lost = ~same
    lost[1:] |= number[1:] - number[:-1] > np.where(polled[1:], 0, 1)
    sets = polled | (offset >= 0)
    latest = last_known(sets)
    before = np.concatenate([[-1], latest[:-1]]) if len(at) else latest
    losses = np.cumsum(lost)
    known = polled & (before >= 0) & (losses == losses[before]) & ~bools(seen.table, "subscribed")[at]
    after = np.flatnonzero(known)
    before = before[known]
    past = np.where(polled[before], offset[before], offset[before] - 1)
    inside = polled[before] & (seen.row[at[before]] == seen.row[at[after]])
    return _Steps(at[before], at[after], past, inside)


def send_order(unit: Unit, seen: Seen, orders: list[VersionOrder], promises: Promises) -> dict[str, Finding]:
    """Only acknowledged sends count, and of these the ones that were promised to stay."""
    certain = _send_steps(unit, seen, promises.placed == YES)
    possible = _send_steps(unit, seen, promises.placed != NO) if (promises.placed == UNKNOWN).any() else certain
    found = {}
    for name, inside, how in (
        ("nonmonotonic-send", False, "was written before it"),
        ("int-nonmonotonic-send", True, "was written before it"),
    ):
        wrong, perhaps = (
            steps.where(_is_back(seen, steps) & (steps.inside == inside)) for steps in (certain, possible)
        )
        proven = _finding(seen, wrong, how)
        found[name] = Finding(proven.count, proven.examples, max(len(perhaps.after) - proven.count, 0), promises.why)
    to = seen.offset[certain.after]
    skips = certain.inside & ~_is_back(seen, certain) & orders[0].between(certain.past, to)
    found["int-send-skip"] = _finding(seen, certain.where(skips), "stands behind a record of another operation")
    return found


def _send_steps(unit: Unit, seen: Seen, which: Bools) -> _Steps:
    relevant = np.flatnonzero(which & seen.acknowledged & (seen.offset >= 0))
    producer = seen.process[relevant]
    if unit.facts.settings.idempotence:
        client, names = codes(seen.table, "client")
        producer = np.where(client[relevant] >= 0, client[relevant], producer + len(names))
    at = relevant[np.lexsort((relevant, ints(seen.table, "invoke_row")[relevant], producer))]
    producer = np.sort(producer)
    same = producer[1:] == producer[:-1]
    before, after = at[:-1][same], at[1:][same]
    return _Steps(before, after, seen.offset[before], seen.row[before] == seen.row[after])


def _is_back(seen: Seen, steps: _Steps) -> Bools:
    back: Bools = seen.offset[steps.after] <= steps.past
    return back


def _finding(seen: Seen, steps: _Steps, how: str) -> Finding:
    def examples() -> Iterator[Example]:
        for before, after in zip(steps.before.tolist(), steps.after.tolist(), strict=True):
            start, to = int(seen.offset[before]), int(seen.offset[after])
            first = "was put at" if not seen.is_poll[before] and not seen.is_send[before] else "was at"
            what = f"value {seen.value[after]} at offset {to}"
            yield {
                "partition": seen.partition,
                "offset": to,
                "previous": start,
                "rows": rows_of("operations", [seen.row_at(before), seen.row_at(after)]),
                "story": (
                    f"On {seen.partition} {seen.who(before)} {first} offset {start}, and next {what}"
                    f" by {seen.who(after)} {how}."
                ),
            }

    return finding(len(steps.after), examples())
