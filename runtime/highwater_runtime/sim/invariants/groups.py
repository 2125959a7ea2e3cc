"""Invariants of group coordinators.

* ``group-offset-uncommitted``: a coordinator counts a commit of offsets only once its record is committed in
  ``__consumer_offsets``. Else a group may be told of a commit that the next coordinator does not know.

What a coordinator loads when it begins to lead is exempt: it reads to the end of its log, which its followers will get.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.ports.trace import BecameLeader, LogAppended, NodeEvent
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations

_PREFIX: Final = "__consumer_offsets-"


class GroupInvariants:
    """Checks coordinators; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations
        self._began: dict[tuple[str, str], int] = {}
        """Where the log of a leader ended when it began to lead."""
        self._touched: dict[tuple[str, str], None] = {}

    def on_event(self, node: str, event: NodeEvent) -> None:
        """Note which partition of ``__consumer_offsets`` an event touched."""
        match event:
            case LogAppended(reason="leader", partition=name) if name.startswith(_PREFIX):
                self._touched[node, name] = None
            case BecameLeader(partition=name, end_offset=end) if name.startswith(_PREFIX):
                self._began[node, name] = end

    def after_event(self) -> None:
        """Check the coordinators of these partitions."""
        for node, name in self._touched:
            broker = self._live.broker(node)
            shard = None if broker is None else broker.coordinator.shard(int(name.removeprefix(_PREFIX)))
            if shard is None:
                continue
            known = max(shard.partition.high_watermark, self._began.get((node, name), 0))
            for group in shard.groups.values():
                for (topic, index), offset in group.offsets.record_offsets():
                    if offset >= known:
                        what = (
                            f"{node} counts the offset of group {group.id} in {topic}-{index} whose record is at offset"
                            f" {offset}; the HW is {shard.partition.high_watermark}"
                        )
                        self._violations.add("group-offset-uncommitted", name, what, (node, group.id, topic, index))
        self._touched.clear()
