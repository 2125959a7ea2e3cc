"""Whether each broker comes to show that a throttle was removed, as it was acknowledged.

Worked example: a throttled move is over, and ``removeThrottle`` is acknowledged, but the controller writes no record of
the rates. Nothing is slow now, for nothing is moved. The next replica that leaves the ISR comes back at that rate.

The rule: once the cluster has recovered, each broker answers DescribeConfigs once with none of what ``removeThrottle``
removes: the throttled replicas of the topic, and the broker's own rates. Any broker answers for a topic, only the
broker itself for its rates. A value that is not set dynamically (a default, or of the broker's own file) does not
count.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, broker_names, node_id
from highwater_chaos.workload.clients import Clients
from highwater_chaos.workload.metadata_probe import SetProperties
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource
from highwater_runtime.metadata.topic_config import (
    FOLLOWER_THROTTLED_RATE,
    FOLLOWER_THROTTLED_REPLICAS,
    LEADER_THROTTLED_RATE,
    LEADER_THROTTLED_REPLICAS,
)
from highwater_runtime.ports import MS

_ASK_AGAIN_NS: Final = 500 * MS
_MOST_SHOWN: Final = 80
_OF_TOPICS: Final = (LEADER_THROTTLED_REPLICAS, FOLLOWER_THROTTLED_REPLICAS)
_OF_BROKERS: Final = (LEADER_THROTTLED_RATE, FOLLOWER_THROTTLED_RATE)


class RemovedThrottles:
    """Of one run. ``topics``: those of which a removal was acknowledged. A broker that showed the removal of a topic's
    throttle once is not looked at again for it."""

    def __init__(self, cluster: Cluster, backend: Backend, clients: Clients, topics: Collection[str]) -> None:
        self._backend = backend
        self._clients = clients
        self._topics = tuple(topics)
        self._brokers = [node_id(name) for name in broker_names(cluster)]
        self._answers: dict[int, SetProperties] = {}
        self._shown: dict[tuple[int, str], None] = {}

    def ask(self) -> Process[None]:
        """Ask each broker until it has shown all removals."""
        while waiting := [broker for broker in self._brokers if any(self._left(broker, one) for one in self._topics)]:
            for broker in waiting:
                self._backend.post(partial(self._ask, broker))
            yield Sleep(_ASK_AGAIN_NS)

    def _ask(self, broker: int) -> None:
        keys = dict.fromkeys((ConfigResource(TOPIC_RESOURCE, topic) for topic in self._topics), _OF_TOPICS)
        keys[ConfigResource(BROKER_RESOURCE, str(broker))] = _OF_BROKERS
        self._clients.metadata_probe.describe(broker, keys, self._answers)

    def missing(self, topic: str) -> str:
        """What a broker still shows of the throttle of a topic, as a clause; empty: none shows anything."""
        return next((clause for broker in self._brokers if (clause := self._left(broker, topic))), "")

    def _left(self, broker: int, topic: str) -> str:
        if (broker, topic) in self._shown:
            return ""
        answer = self._answers.get(broker)
        if answer is None:
            return f"{broker_name(broker)} did not answer DescribeConfigs"
        for resource in (ConfigResource(TOPIC_RESOURCE, topic), ConfigResource(BROKER_RESOURCE, str(broker))):
            of = f"topic {topic}" if resource.type == TOPIC_RESOURCE else "itself"
            if resource not in answer:
                return f"{broker_name(broker)} does not describe {of}"
            for key, value in answer[resource].items():
                return f"{broker_name(broker)} answers DescribeConfigs with {key}={value[:_MOST_SHOWN]} of {of}"
        self._shown[broker, topic] = None
        return ""
