"""What a schedule can wait for. A condition that is not met in time makes the run inconclusive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from highwater_chaos.experiment.base import Model, NodeIndex, OneOf, PartitionName
from highwater_chaos.experiment.units import Duration


class IsrCondition(OneOf):
    """The committed ISR of a partition, as the controllers have it."""

    partition: PartitionName
    equals: list[NodeIndex] | None = None
    includes: list[NodeIndex] | None = None
    excludes: list[NodeIndex] | None = None
    size: Annotated[int, Field(ge=0)] | None = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """The partition stands beside the choice."""
        return frozenset({"partition"})


class LeaderCondition(OneOf):
    """The leader of a partition, as the controllers have it. ``none: true``: it has no leader."""

    partition: PartitionName
    is_: Annotated[NodeIndex | None, Field(alias="is")] = None
    is_not: NodeIndex | None = None
    none: Literal[True] | None = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """The partition stands beside the choice."""
        return frozenset({"partition"})


class BrokerCondition(Model):
    """The state of a broker: ``down`` (no process), ``registered`` (in its present incarnation), ``fenced``,
    ``unfenced`` (registered in its present incarnation, and so)."""

    id: NodeIndex
    state: Literal["down", "registered", "fenced", "unfenced"]


class ActiveControllerCondition(OneOf):
    """Which controller is active: by index, or whether there is one."""

    is_: Annotated[NodeIndex | None, Field(alias="is")] = None
    is_not: NodeIndex | None = None
    exists: bool | None = None


class HighWatermarkCondition(Model):
    """The leader's HW of a partition has reached ``atLeast`` (an offset)."""

    partition: PartitionName
    at_least: Annotated[int, Field(ge=0)]


class AckedCondition(Model):
    """At least so many records were acknowledged to producers since the run began."""

    at_least: Annotated[int, Field(ge=1)]


class CaughtCondition(Model):
    """A ``hold``, ``drop``, ``delay`` or ``duplicate`` fault (by its name) has caught so many messages."""

    name: str
    at_least: Annotated[int, Field(ge=1)] = 1


class Await(OneOf):
    """One condition and how long it may take."""

    within: Duration
    isr: IsrCondition | None = None
    leader: LeaderCondition | None = None
    broker: BrokerCondition | None = None
    active_controller: ActiveControllerCondition | None = None
    high_watermark: HighWatermarkCondition | None = None
    acked: AckedCondition | None = None
    under_replicated: Annotated[int, Field(ge=0)] | None = None
    caught: CaughtCondition | None = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """The bound stands beside the choice."""
        return frozenset({"within"})
