"""Who leads, and how far: two-leaders, leader-not-in-isr, hw-regression.

* ``two-leaders``: in one leader epoch two nodes append as leader; or two incarnations of one node, which would mean
  that a leader came back after a crash without a new epoch. In ZooKeeper mode only nodes count: a controller that is
  elected after a broker has come back knows nothing of its death, and lets it lead on in the epoch of before, as
  Apache Kafka's does.
* ``leader-not-in-isr``: a committed partition state with a leader that its ISR does not have.
* ``hw-regression``: the *true* HW goes back: a leader reports an HW below one reported earlier in the same or a lower
  leader epoch. A follower's copy may lag and go back, and is not reported; a new leader begins with such a copy, but
  what it reports is its first *move*, which cannot be below the true HW unless an ISR member lacked records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from highwater_pipeline.arrays import Bools, Ints
from highwater_pipeline.checks.columns import (
    NOTHING,
    codes,
    distinct,
    finding,
    first_per,
    ints,
    is_any,
    is_zookeeper,
    listing,
    of_kind,
    once,
    rows_of,
)
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.units import Unit
from highwater_pipeline.view import View

_LOWEST: Final = np.iinfo(np.int64).min


def two_leaders(unit: Unit) -> Finding:
    """Leader epochs in which more than one (node, incarnation) appended as leader."""
    appended = of_kind(unit.events, "log-appended")
    appended = appended.where(is_any(appended, "reason", "leader"))
    if appended.num_rows == 0:
        return NOTHING
    node, names = codes(appended, "node")
    incarnation, epoch = ints(appended, "incarnation"), ints(appended, "leader_epoch")
    life = np.zeros_like(incarnation) if is_zookeeper(unit.events) else incarnation
    first = np.flatnonzero(_first_of_each(epoch, node, life))
    _, group, sizes = np.unique(epoch[first], return_inverse=True, return_counts=True)
    several = np.flatnonzero(sizes > 1)

    def examples() -> Iterator[Example]:
        for which in several:
            positions = np.sort(first[group == which])
            lives = [(names[node[p]], int(incarnation[p])) for p in positions]
            leader_epoch = int(epoch[positions[0]])
            starts, rows = (appended.take(positions).values(name) for name in ("offset", "row"))
            yield {
                "partition": unit.partition,
                "leader_epoch": leader_epoch,
                "nodes": [{"node": name, "incarnation": life} for name, life in lives],
                "offsets": starts,
                "rows": rows_of("node_event", rows),
                "story": (
                    f"In leader epoch {leader_epoch} of {unit.partition} "
                    + listing([f"{n} (incarnation {i}) at offset {o}" for (n, i), o in zip(lives, starts, strict=True)])
                    + " all appended as leader."
                ),
            }

    return finding(len(several), examples())


def leader_not_in_isr(unit: Unit) -> Finding:
    """Committed partition states whose leader is not a member of their ISR."""
    changed = committed_states(unit.events)
    changed = changed.where(~is_any(changed, "reason", "deleted"))
    if changed.num_rows == 0:
        return NOTHING
    leader = ints(changed, "leader")
    member, parent = changed.lists("isr")
    inside = np.zeros(changed.num_rows, np.bool_)
    inside[parent[member == leader[parent]]] = True
    outside = np.flatnonzero((leader >= 0) & ~inside)

    def examples() -> Iterator[Example]:
        for state in changed.take(outside).to_pylist():
            yield {
                "partition": unit.partition,
                "leader": state["leader"],
                "isr": state["isr"],
                "leader_epoch": state["leader_epoch"],
                "partition_epoch": state["partition_epoch"],
                "rows": rows_of("node_event", [state["row"]]),
                "story": (
                    f"Partition epoch {state['partition_epoch']} of {unit.partition} has leader {state['leader']}"
                    f" in leader epoch {state['leader_epoch']}, but its ISR is {state['isr']}."
                ),
            }

    return finding(len(outside), examples())


def hw_regression(unit: Unit) -> Finding:
    """Reports of a leader's HW that lie below an earlier one of the same or a lower leader epoch."""
    moved = of_kind(unit.events, "high-watermark")
    if moved.num_rows == 0:
        return NOTHING
    hw, epoch = ints(moved, "offset"), ints(moved, "leader_epoch")
    back = np.flatnonzero(went_back(hw, epoch))

    def examples() -> Iterator[Example]:
        for position in back:
            before = np.arange(len(hw)) < position
            highest = int(np.argmax(np.where(before & (epoch <= epoch[position]), hw, _LOWEST)))
            was, now = (moved.row(int(p)) for p in (highest, position))
            yield {
                "partition": unit.partition,
                "leader_epoch": now["leader_epoch"],
                "node": now["node"],
                "high_watermark": now["offset"],
                "before": {key: was[key] for key in ("node", "leader_epoch", "offset")},
                "rows": rows_of("node_event", [was["row"], now["row"]]),
                "story": (
                    f"{now['node']}, leader of {unit.partition} in epoch {now['leader_epoch']}, moved the high"
                    f" watermark to {now['offset']}, after {was['node']} in epoch {was['leader_epoch']}"
                    f" had moved it to {was['offset']}."
                ),
            }

    return finding(len(back), examples())


def went_back(hw: Ints, epoch: Ints) -> Bools:
    """Where ``hw`` is below an earlier one whose ``epoch`` is not higher. One pass where epochs never fall, which is
    the rule; else a pass per epoch."""
    if (epoch[1:] >= epoch[:-1]).all():
        return hw < np.maximum.accumulate(hw)
    back = np.zeros(len(hw), np.bool_)
    for level in distinct(epoch):
        highest = np.maximum.accumulate(np.where(epoch <= level, hw, _LOWEST))
        back |= (epoch == level) & (hw < highest)
    return back


@once
def committed_states(events: View) -> View:
    """``partition-changed`` events, each once: every controller reports them, and the first report counts."""
    changed = of_kind(events, "partition-changed")
    return changed.where(first_per(ints(changed, "metadata_offset")))


def _first_of_each(*keys: Ints) -> Bools:
    """The first occurrence of every combination of keys."""
    order = np.lexsort(keys)  # stable: within a combination, the first comes first
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for key in keys:
        fresh[1:] |= key[order][1:] != key[order][:-1]
    first = np.zeros(len(order), np.bool_)
    first[order[fresh]] = True
    return first
