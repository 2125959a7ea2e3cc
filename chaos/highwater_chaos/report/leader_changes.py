"""What became of each replica's log when its partition got a new leader, from the events of a recorded run.

A row is one replica in one leader epoch: where its log ended when it began to lead or to follow, to where it was
truncated in that epoch, and where it ended at last, which for the last epoch is the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["leader", "follower"]


@dataclass(slots=True, kw_only=True)
class ReplicaChange:
    """One replica in one leader epoch. Offsets are log end offsets; ``cut_to`` is None if nothing was truncated."""

    partition: str
    leader_epoch: int
    broker: int
    role: Role
    before: int
    cut_to: int | None
    after: int


def leader_changes(events: Iterable[dict[str, Any]]) -> list[ReplicaChange]:
    """The replicas of each partition by leader epoch and broker, in that order."""
    rows: dict[tuple[str, int, int], ReplicaChange] = {}
    present: dict[tuple[str, str], ReplicaChange] = {}
    for event in events:
        kind, node = event["kind"], event["node"]
        if kind in ("became-leader", "became-follower"):
            row = ReplicaChange(
                partition=event["partition"],
                leader_epoch=event["leader_epoch"],
                broker=int(node.rpartition("-")[2]),
                role="leader" if kind == "became-leader" else "follower",
                before=event["end_offset"],
                cut_to=None,
                after=event["end_offset"],
            )
            # A restarted broker takes up the same leader epoch once more: its row goes on.
            at = (row.partition, row.leader_epoch, row.broker)
            present[event["partition"], node] = rows.setdefault(at, row)
        elif (event.get("partition"), node) in present:
            row = present[event["partition"], node]
            if kind == "log-truncated":
                row.after = event["offset"]
                row.cut_to = row.after if row.cut_to is None else min(row.cut_to, row.after)
            elif kind in ("log-appended", "log-cut"):
                row.after = event["end_offset"]
    return [rows[at] for at in sorted(rows)]


def last_epochs(rows: list[ReplicaChange]) -> Iterator[ReplicaChange]:
    """Only the rows of each partition's last leader epoch."""
    last = {row.partition: row.leader_epoch for row in rows}
    return (row for row in rows if row.leader_epoch == last[row.partition])
