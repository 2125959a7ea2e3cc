"""``new-partition-isr``: all replicas of a new partition whose brokers are alive are in its first ISR.

Else its first leader alone has what is acknowledged first, though min ISR may be met later.

An active controller of KRaft mode is looked at in the event in which it decides. In ZooKeeper mode nothing shows which
brokers the controller knew then.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from highwater_runtime.controller.placement import is_active
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.api_keys import ApiKey

OF_NEW_PARTITIONS: Final = (ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS)
"""Requests after which :meth:`NewPartitionInvariants.on_request` has to look."""


class NewPartitionInvariants:
    """Checks active controllers after requests for partitions."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._made: dict[tuple[str, UUID, int], None] = {}
        """What each controller has made."""

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at what an active controller of KRaft mode has just made."""
        self._violations.now_ns = self._simulator.now_ns
        image = self._live.latest_image(node)
        if image is None:
            return
        named = dict.fromkeys(topic.name for topic in call.body.topics)
        for topic in [image.topics_by_name[name] for name in named if name in image.topics_by_name]:
            for index, state in topic.partitions.items():
                made = (node, topic.id, index)
                # What is committed, or was seen before, was made before, and a broker may have come back since.
                if made in self._made or self._live.committed(node, f"{topic.name}-{index}", topic.id.hex) is not None:
                    continue
                self._made[made] = None
                missing = [one for one in state.replicas if one not in state.isr and is_active(image, one)]
                self._found(f"{topic.name}-{index}", node, list(state.isr), missing)

    def _found(self, partition: str, node: str, isr: list[int], missing: list[int]) -> None:
        if missing:
            what = f"{node} has the new partition {partition} with ISR {isr}; brokers {missing} are alive, too"
            self._violations.add("new-partition-isr", partition, what, tuple(missing))
