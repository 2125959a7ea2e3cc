"""What a schedule can wait for. A condition that is not met in time makes the run inconclusive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from highwater_chaos.base.quantities import Duration
from highwater_chaos.experiment.base import BrokerId, Model, OneOf, PartitionName

Partition = Annotated[PartitionName, Field(description="The partition: topic, dash, index (orders-0).")]
"""The partition that a condition is about."""


class IsrCondition(OneOf):
    """The committed ISR of a partition, as the controllers have it."""

    partition: Partition
    equals: Annotated[list[BrokerId] | None, Field(description="The ISR consists of these broker ids.")] = None
    includes: Annotated[list[BrokerId] | None, Field(description="These broker ids are in the ISR.")] = None
    excludes: Annotated[list[BrokerId] | None, Field(description="These broker ids are not in the ISR.")] = None
    size: Annotated[int | None, Field(ge=0, description="The ISR has this many members.")] = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """The partition stands beside the choice."""
        return frozenset({"partition"})


class LeaderCondition(OneOf):
    """The leader of a partition, as the controllers have it. ``none: true``: it has no leader."""

    partition: Partition
    is_: Annotated[BrokerId | None, Field(alias="is", description="The leader is this broker id.")] = None
    is_not: Annotated[BrokerId | None, Field(description="There is a leader, and it is not this broker id.")] = None
    none: Annotated[Literal[True] | None, Field(description="true: there is no leader.")] = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """The partition stands beside the choice."""
        return frozenset({"partition"})


class BrokerCondition(Model):
    """The state of a broker: ``down`` (no process), ``registered`` (in its present incarnation), ``fenced``,
    ``unfenced`` (registered in its present incarnation, and so). In ZooKeeper mode nobody fences: a broker is
    ``unfenced`` if it is registered, that is in ``/brokers/ids``, and ``fenced`` if it is not."""

    id: Annotated[BrokerId, Field(description="The broker's id.")]
    state: Annotated[
        Literal["down", "registered", "fenced", "unfenced"],
        Field(description="down: no process; the others as its present incarnation is registered."),
    ]


class ActiveControllerCondition(OneOf):
    """Which controller is active: by index (in ZooKeeper mode: by broker id), or whether there is one."""

    is_: Annotated[BrokerId | None, Field(alias="is", description="It is the controller of this index.")] = None
    is_not: Annotated[BrokerId | None, Field(description="It is another than the one of this index.")] = None
    exists: Annotated[bool | None, Field(description="Whether any controller is active.")] = None


class HighWatermarkCondition(Model):
    """The leader's HW of a partition has reached ``atLeast`` (an offset)."""

    partition: Partition
    at_least: Annotated[int, Field(ge=0, description="Offset that the high watermark is to reach.")]


class AckedCondition(Model):
    """At least this many records were acknowledged since the run began."""

    at_least: Annotated[int, Field(ge=1, description="Records acknowledged since the run began.")]


class CaughtCondition(Model):
    """A ``hold``, ``drop``, ``delay`` or ``duplicate`` fault (by its name) has caught this many messages."""

    name: Annotated[str, Field(description="The fault's name.")]
    at_least: Annotated[int, Field(ge=1, description="Messages that it has caught.")] = 1


class ClusterCondition(OneOf):
    """One condition."""

    isr: IsrCondition | None = None
    leader: LeaderCondition | None = None
    broker: BrokerCondition | None = None
    active_controller: ActiveControllerCondition | None = None
    high_watermark: HighWatermarkCondition | None = None
    acked: AckedCondition | None = None
    under_replicated: Annotated[
        int | None, Field(ge=0, description="This many partitions have an ISR smaller than their replicas.")
    ] = None
    caught: CaughtCondition | None = None


class Await(ClusterCondition):
    """One condition and how long it may take."""

    within: Annotated[
        Duration, Field(description="Not met by then, the run is inconclusive. A duration such as 500ms, 20s or 1m30s.")
    ]

    @classmethod
    def common(cls) -> frozenset[str]:
        """The bound stands beside the choice."""
        return frozenset({"within"})


class Holds(ClusterCondition):
    """One condition that must stay true all the time, from the beginning of the step on."""

    for_: Annotated[
        Duration,
        Field(
            gt=0,
            alias="for",
            description="How long it must hold; if it does not, the cluster is unavailable. A duration such as 20s.",
        ),
    ]

    @classmethod
    def common(cls) -> frozenset[str]:
        """The length stands beside the choice."""
        return frozenset({"for_"})
