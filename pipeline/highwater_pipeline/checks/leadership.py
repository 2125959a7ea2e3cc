"""Who leads, and how far: two-leaders, leader-not-in-isr, hw-regression. ``highwater_runtime.model`` has the rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from highwater_pipeline.arrow.view import CHUNK, View
from highwater_pipeline.checks.columns import (
    NOTHING,
    codes,
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
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.partitions.small_partitions import ranked
from highwater_pipeline.verdict import Example, Finding
from highwater_runtime.model.decisions import Decided, is_led_from_outside
from highwater_runtime.model.leaders import Claim, HighWatermarks, Leaders, Move


def two_leaders(unit: PartitionTables) -> Finding:
    """Leader epochs in which more than one (node, incarnation) appended as leader."""
    appended = of_kind(unit.events, "log-appended")
    appended = appended.where(is_any(appended, "reason", "leader"))
    if appended.num_rows == 0:
        return NOTHING
    keys = ints(appended, "leader_epoch"), codes(appended, "node")[0], ints(appended, "incarnation")
    order, is_first = ranked(*keys)
    leaders = Leaders(of_nodes=is_zookeeper(unit.events))
    contested: set[int] = set()
    for row in appended.take(np.sort(order[is_first])).to_pylist("leader_epoch", *Claim._fields):
        leader_epoch = row.pop("leader_epoch")
        if leaders.append(leader_epoch, Claim(**row)) is not None:
            contested.add(leader_epoch)
    several = {epoch: [*leaders.claims[epoch].values()] for epoch in sorted(contested)}

    def examples() -> Iterator[Example]:
        for leader_epoch, claims in several.items():
            yield {
                "partition": unit.partition,
                "leader_epoch": leader_epoch,
                "nodes": [{"node": one.node, "incarnation": one.incarnation} for one in claims],
                "offsets": [one.offset for one in claims],
                "rows": rows_of("node_event", [one.row for one in claims]),
                "story": (
                    f"In leader epoch {leader_epoch} of {unit.partition} "
                    + listing([f"{one.node} (incarnation {one.incarnation}) at offset {one.offset}" for one in claims])
                    + " all appended as leader."
                ),
            }

    return finding(len(several), examples())


def leader_not_in_isr(unit: PartitionTables) -> Finding:
    """Committed partition states whose leader is not a member of their ISR."""
    states = [Decided(**row) for row in committed_states(unit.events).to_pylist(*Decided._fields)]
    outside = [state for state in states if state.reason != "deleted" and is_led_from_outside(state)]

    def examples() -> Iterator[Example]:
        for state in outside:
            yield {
                "partition": unit.partition,
                "leader": state.leader,
                "isr": state.isr,
                "leader_epoch": state.leader_epoch,
                "partition_epoch": state.partition_epoch,
                "rows": rows_of("node_event", [state.row]),
                "story": (
                    f"Partition epoch {state.partition_epoch} of {unit.partition} has leader {state.leader}"
                    f" in leader epoch {state.leader_epoch}, but its ISR is {state.isr}."
                ),
            }

    return finding(len(outside), examples())


def hw_regression(unit: PartitionTables) -> Finding:
    """Reports of a leader's HW that lie below an earlier one of the same or a lower leader epoch."""
    moved = of_kind(unit.events, "high-watermark")
    offsets = ints(moved, "offset")
    if not (offsets[1:] < offsets[:-1]).any():
        return NOTHING  # it never went back, in whatever leader epoch
    moves, back = HighWatermarks(), []
    for start in range(0, moved.num_rows, CHUNK):
        for row in moved.slice(start, CHUNK).to_pylist(*Move._fields):
            before = moves.move(Move(**row))
            if before is not None:
                back.append((before.row, row["row"]))

    def examples() -> Iterator[Example]:
        rows = ints(moved, "row")
        for of_highest, of_move in back:
            was, now = (moved.row(int(np.argmax(rows == row))) for row in (of_highest, of_move))
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


@once
def committed_states(events: View) -> View:
    """``partition-changed`` events, each once: every controller reports them, and the first report counts."""
    changed = of_kind(events, "partition-changed")
    return changed.where(first_per(ints(changed, "metadata_offset")))
