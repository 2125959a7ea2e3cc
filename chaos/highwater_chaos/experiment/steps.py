"""The schedule: steps that run in order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from highwater_chaos.experiment.base import Model, NodeIndex, OneOf, PartitionName, TopicName
from highwater_chaos.experiment.conditions import Await
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.experiment.targets import Group
from highwater_chaos.experiment.units import Duration


class CreateTopic(Model):
    """A topic: partitions and replication factor, or the replicas of each partition."""

    name: TopicName
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    replication_factor: Annotated[int, Field(ge=1, le=100)] | None = None
    assignment: list[list[NodeIndex]] | None = None
    config: dict[str, str | int | bool] = Field(default_factory=dict)


class DeleteTopic(Model):
    """Delete a topic."""

    name: TopicName


class AddPartitions(Model):
    """Grow a topic to ``total`` partitions."""

    topic: TopicName
    total: Annotated[int, Field(ge=1, le=10_000)]


class Reassign(Model):
    """Move a partition to other replicas."""

    partition: PartitionName
    replicas: Annotated[list[NodeIndex], Field(min_length=1)]


class ElectLeaders(Model):
    """Elect the preferred leader of these partitions (absent: of all)."""

    partitions: list[PartitionName] | None = None


class RollSwitch(Model):
    """Set a switch on every node by a rolling restart."""

    name: str
    value: str | bool


class UpgradeMetadata(Model):
    """Raise ``metadata.version`` (``3.5-IV1``), as the last step of a rolling upgrade."""

    version: str


class Admin(OneOf):
    """Administration as load."""

    create_topic: CreateTopic | None = None
    delete_topic: DeleteTopic | None = None
    add_partitions: AddPartitions | None = None
    reassign: Reassign | None = None
    elect_leaders: ElectLeaders | None = None
    roll_switch: RollSwitch | None = None
    upgrade_metadata: UpgradeMetadata | None = None


class Repeat(Model):
    """The same steps several times."""

    times: Annotated[int, Field(ge=1, le=10_000)]
    steps: Annotated[list[Step], Field(min_length=1)]


class RandomFaults(Model):
    """Faults drawn by the seed.

    For as long as ``for``, one fault on average ``every`` so often, its kind by weight, its target from ``targets``,
    each lasting up to ``lasting``. ``spare: lastInSync`` keeps to what a replicated log promises to survive: no fault
    that loses a disk's or a page cache's content hits a broker that is the only live in-sync replica of a partition,
    and at most a minority of the controllers is hit at once. ``spare: none`` lets anything happen.
    """

    for_: Annotated[Duration, Field(alias="for")]
    every: Duration
    faults: Annotated[dict[str, Annotated[float, Field(gt=0, strict=False)]], Field(min_length=1)]
    targets: Annotated[list[Group], Field(min_length=1, default_factory=lambda: ["brokers", "controllers"])]
    lasting: Duration = 5_000_000_000
    spare: Literal["lastInSync", "none"] = "lastInSync"


class Step(OneOf):
    """One step of a schedule."""

    inject: Inject | None = None
    heal: Annotated[str | list[str] | None, Field()] = None
    wait: Duration | None = None
    await_: Annotated[Await | None, Field(alias="await")] = None
    parallel: Annotated[list[list[Step]], Field(min_length=1)] | None = None
    repeat: Repeat | None = None
    random: RandomFaults | None = None
    admin: Admin | None = None


Repeat.model_rebuild()
Step.model_rebuild()
