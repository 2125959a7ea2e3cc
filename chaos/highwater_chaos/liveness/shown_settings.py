"""Whether each broker comes to show what was altered of the settings, as it was acknowledged.

Worked example: a throttled move is over, and ``removeThrottle`` is acknowledged, but the controller writes no record of
the rates. Nothing is slow now, for nothing is moved. The next replica that leaves the ISR comes back at that rate.

The rule: once the cluster has recovered, each broker answers DescribeConfigs once with what a step asked for: the
values that ``alterTopic`` gave a topic, and none that it took away; and with none of what ``removeThrottle`` removes,
the throttled replicas of the topic, and the broker's own rates. Any broker answers for a topic, only the broker itself
for its rates. A value that is not set dynamically (a default, or of the broker's own file) does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, broker_names, node_id
from highwater_chaos.experiment.steps import AlterTopic, RemoveThrottle
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


class Wanted(NamedTuple):
    """What a step asked for: what a topic has set of its own (None: not), and whether brokers have no rates."""

    topic: str
    values: tuple[tuple[str, str | None], ...]
    without_rates: bool

    @classmethod
    def by(cls, step: AlterTopic | RemoveThrottle) -> Wanted:
        if isinstance(step, RemoveThrottle):
            return cls(step.topic, tuple((name, None) for name in _OF_TOPICS), True)
        values = tuple((name, None if value is None else str(value)) for name, value in step.config.items())
        return cls(step.topic, values, False)

    def of(self, broker: int) -> Iterator[tuple[ConfigResource, Mapping[str, str | None]]]:
        """What this broker has to show."""
        yield ConfigResource(TOPIC_RESOURCE, self.topic), dict(self.values)
        if self.without_rates:
            yield ConfigResource(BROKER_RESOURCE, str(broker)), dict.fromkeys(_OF_BROKERS)


class ShownSettings:
    """Of one run. ``every``: what was acknowledged. A broker that showed one of them once is not looked at again for
    it."""

    def __init__(self, cluster: Cluster, backend: Backend, clients: Clients, every: Sequence[Wanted]) -> None:
        self._backend = backend
        self._clients = clients
        self._every = tuple(dict.fromkeys(every))
        self._brokers = [node_id(name) for name in broker_names(cluster)]
        self._answers: dict[int, SetProperties] = {}
        self._shown: dict[tuple[int, Wanted], None] = {}

    def ask(self) -> Process[None]:
        """Ask each broker until it has shown all."""
        while waiting := [broker for broker in self._brokers if any(self._left(broker, one) for one in self._every)]:
            for broker in waiting:
                self._backend.post(partial(self._ask, broker))
            yield Sleep(_ASK_AGAIN_NS)

    def _ask(self, broker: int) -> None:
        keys: dict[ConfigResource, dict[str, None]] = {}
        for one in self._every:
            for resource, values in one.of(broker):
                keys.setdefault(resource, {}).update(dict.fromkeys(values))
        self._clients.metadata_probe.describe(broker, {key: list(names) for key, names in keys.items()}, self._answers)

    def missing(self, wanted: Wanted) -> str:
        """What a broker shows that is not as it was asked for, as a clause; empty: each has shown it."""
        return next((clause for broker in self._brokers if (clause := self._left(broker, wanted))), "")

    def _left(self, broker: int, wanted: Wanted) -> str:
        if (broker, wanted) in self._shown:
            return ""
        answer = self._answers.get(broker)
        if answer is None:
            return f"{broker_name(broker)} did not answer DescribeConfigs"
        for resource, values in wanted.of(broker):
            of = f"topic {wanted.topic}" if resource.type == TOPIC_RESOURCE else "itself"
            if resource not in answer:
                return f"{broker_name(broker)} does not describe {of}"
            for key, value in values.items():
                if (found := answer[resource].get(key)) != value:
                    said = f"{key}={found[:_MOST_SHOWN]}" if found else f"no {key}"
                    return f"{broker_name(broker)} answers DescribeConfigs with {said} of {of}"
        self._shown[broker, wanted] = None
        return ""
