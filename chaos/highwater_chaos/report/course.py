"""The course of a run, as far as faults can change it: what was committed of each partition, and when nodes ran.

It is made from node events in one pass, without those that come with every batch. Controllers report each change once
each; the first report counts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from highwater_chaos.report.files import Row


class Committed(NamedTuple):
    """A committed state of a partition from ``time_ns`` on; without replicas: it was deleted."""

    time_ns: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]


@dataclass(slots=True)
class Course:
    """``partitions``: states in order; ``nodes``: (time, whether it ran from then on) in order."""

    partitions: dict[str, list[Committed]] = field(default_factory=dict)
    nodes: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    truncations: int = 0
    broker_restarts: int = 0
    _offsets: dict[str, int] = field(default_factory=dict)

    def taking(self, events: Iterable[Row]) -> Iterator[Row]:
        """The same events, each taken in as it is gone through."""
        for row in events:
            self.take(row)
            yield row

    def take(self, row: Row) -> None:
        """Take in one more event."""
        match row["kind"]:
            case "partition-changed" if row["metadata_offset"] > self._offsets.get(row["partition"], -1):
                self._offsets[row["partition"]] = row["metadata_offset"]
                replicas = () if row["reason"] == "deleted" else tuple(row["replicas"])
                state = Committed(row["time_ns"], row["leader"], row["leader_epoch"], tuple(row["isr"]), replicas)
                self.partitions.setdefault(row["partition"], []).append(state)
            case "node-started":
                lives = self.nodes.setdefault(row["node"], [])
                self.broker_restarts += bool(lives) and row["node"].startswith("broker-")
                lives.append((row["time_ns"], True))
            case "node-stopped":
                self.nodes.setdefault(row["node"], []).append((row["time_ns"], False))
            case "log-truncated":
                self.truncations += 1

    def steps(self) -> Iterator[tuple[Committed, Committed]]:
        """Each change of a partition: the state before, and the one after."""
        for states in self.partitions.values():
            for before, after in pairwise(states):
                if before.replicas and after.replicas:
                    yield before, after

    @property
    def elections(self) -> int:
        """How often another leader was committed, or one after there was none."""
        return sum(after.leader >= 0 and after.leader != before.leader for before, after in self.steps())

    def isr_changes(self) -> tuple[int, int]:
        """How often a smaller, and a larger ISR was committed."""
        sizes = [(len(before.isr), len(after.isr)) for before, after in self.steps()]
        return sum(after < before for before, after in sizes), sum(after > before for before, after in sizes)

    def at(self, partition: str, time_ns: int, unsure_ns: int = 0) -> Committed | None:
        """The state of a partition at a time; None if it has none, or one that changed within ``unsure_ns``."""
        states = self.partitions.get(partition, [])
        n = bisect_right(states, time_ns - unsure_ns, key=lambda one: one.time_ns)
        if n == 0 or bisect_right(states, time_ns + unsure_ns, key=lambda one: one.time_ns) != n:
            return None
        return states[n - 1] if states[n - 1].replicas else None

    def down_since(self, node: str, time_ns: int, unsure_ns: int = 0) -> int | None:
        """Since when a node was down before ``time_ns``; None: it ran, or that is not known."""
        lives = self.nodes.get(node, [])
        n = bisect_left(lives, time_ns - unsure_ns, key=lambda one: one[0])
        if n == 0 or lives[n - 1][1] or bisect_left(lives, time_ns, key=lambda one: one[0]) != n:
            return None
        return lives[n - 1][0]

    def downtimes(self, node: str, end_ns: int) -> list[tuple[int, int]]:
        """When a node was down: from, until."""
        lives = self.nodes.get(node, [])
        return [
            (since_ns, until_ns) for (since_ns, runs), (until_ns, _) in pairwise([*lives, (end_ns, True)]) if not runs
        ]
