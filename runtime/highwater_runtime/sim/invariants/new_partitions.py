"""``new-partition-isr``: all replicas of a new partition whose brokers are alive are in its first ISR.

Else its first leader alone has what is acknowledged first, though min ISR may be met later.

A KRaft controller is looked at in the event in which it decides. In ZooKeeper mode the ensemble reports the state once
it is written, so only brokers count that had been registered for a while, while the controller was the same.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from highwater_runtime.controller.placement import is_active
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    PartitionChanged,
)
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.api_keys import ApiKey

OF_NEW_PARTITIONS: Final = (ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS)
"""Requests after which :meth:`NewPartitionInvariants.on_request` has to look."""
Registered = BrokerRegistered | BrokerRegistrationChanged | BrokerStateChanged | ControllerChanged | PartitionChanged
OF_REGISTERED: Final = frozenset(
    (BrokerRegistered, BrokerRegistrationChanged, BrokerStateChanged, ControllerChanged, PartitionChanged)
)
"""Events that :meth:`NewPartitionInvariants.on_event` has to see."""
_KNOWN_NS: Final = 3 * SECOND
"""A controller in office, and a registration, count when they are so old."""


class NewPartitionInvariants:
    """Checks controllers after requests for partitions, and what the ensemble reports of new ones."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._since: dict[int, int] = {}
        """ZooKeeper mode: since when each broker is registered; brokers that shut down are left out."""
        self._controller_since = 0
        self._made: dict[tuple[str, UUID, int], None] = {}
        """KRaft mode: what each controller has made."""
        self._seen = -1

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

    def on_event(self, node: str, _incarnation: int, event: Registered) -> None:
        """Follow registrations in ZooKeeper, by whichever server reports them first, and look at new partitions."""
        if isinstance(event, BrokerStateChanged):
            if event.reason == "controlled-shutdown":
                self._since.pop(event.broker, None)
            return
        if not node.startswith("zookeeper-") or event.metadata_offset < self._seen:
            return
        self._seen = event.metadata_offset
        now = self._simulator.now_ns
        match event:
            case BrokerRegistered():
                self._since[event.broker] = now
            case BrokerRegistrationChanged():
                self._since.pop(event.broker, None)
            case ControllerChanged():
                self._controller_since = now
            case PartitionChanged(reason="created") if now - self._controller_since >= _KNOWN_NS:
                missing = [
                    one
                    for one in event.replicas
                    if one not in event.isr and now - self._since.get(one, now) >= _KNOWN_NS
                ]
                if event.partition_epoch == 0:
                    self._found(event.partition, node, event.isr, missing)

    def _found(self, partition: str, node: str, isr: list[int], missing: list[int]) -> None:
        if missing:
            what = f"{node} has the new partition {partition} with ISR {isr}; brokers {missing} are alive, too"
            self._violations.add("new-partition-isr", partition, what, tuple(missing))
