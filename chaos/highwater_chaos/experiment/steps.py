"""The schedule: steps that run in order."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from highwater_chaos.base.quantities import Duration
from highwater_chaos.experiment.base import BrokerId, Model, OneOf, PartitionName, TopicName
from highwater_chaos.experiment.conditions import Await, Holds
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.experiment.targets import Group, Target


class CreateTopic(Model):
    """A topic: partitions and replication factor, or the replicas of each partition."""

    name: Annotated[TopicName, Field(description="The topic's name: letters, digits, dots, underscores, dashes.")]
    partitions: Annotated[
        int, Field(ge=1, le=10_000, description="How many partitions, where no assignment says so.")
    ] = 1
    replication_factor: Annotated[
        int | None,
        Field(ge=1, le=100, description="Replicas of each partition; absent: default.replication.factor."),
    ] = None
    assignment: Annotated[
        list[list[BrokerId]] | None,
        Field(description="Instead of both: broker ids of each partition's replicas, the preferred leader first."),
    ] = None
    config: dict[str, str | int | bool] = Field(
        description="Properties of the topic, by Kafka's names.", default_factory=dict
    )


class DeleteTopic(Model):
    """Delete a topic."""

    name: Annotated[TopicName, Field(description="The topic's name.")]


class AddPartitions(Model):
    """Grow a topic to ``total`` partitions."""

    topic: Annotated[TopicName, Field(description="The topic's name.")]
    total: Annotated[int, Field(ge=1, le=10_000, description="Partitions that it has then.")]


class Reassign(Model):
    """Move a partition to other replicas.

    With ``throttle`` the replicas it has are throttled as leaders and those it gets as followers, on their brokers too,
    as by ``kafka-reassign-partitions --execute --throttle``; until a ``removeThrottle`` step or the schedule's end.
    """

    partition: Annotated[PartitionName, Field(description="The partition: topic, dash, index (orders-0).")]
    replicas: Annotated[list[BrokerId], Field(min_length=1, description="Broker ids, the preferred leader first.")]
    throttle: Annotated[
        int | None,
        Field(ge=0, description="Bytes a second that each broker may send and fetch for moves; absent: any."),
    ] = None


class CancelReassign(Model):
    """Take back a partition's reassignment that is under way (KIP-455)."""

    partition: Annotated[PartitionName, Field(description="The partition: topic, dash, index (orders-0).")]


class RemoveThrottle(Model):
    """End the throttle of a topic's replicas, and remove the rates of all brokers."""

    topic: Annotated[TopicName, Field(description="The topic's name.")]


class ElectLeaders(Model):
    """Elect the preferred leader of these partitions (absent: of all)."""

    partitions: Annotated[list[PartitionName] | None, Field(description="Partitions, as orders-0; absent: all.")] = None


class DeleteRecords(Model):
    """Delete a partition's records below an offset, on all its replicas (KIP-107)."""

    partition: Annotated[PartitionName, Field(description="The partition: topic, dash, index (orders-0).")]
    before: Annotated[
        int | None, Field(ge=0, description="Where the log is to begin; absent: at the high watermark.")
    ] = None


class AlterTopic(Model):
    """Set properties that a topic has of its own, or delete them, while it is used.

    Only those on which no check depends: what others promise is read from what topics are created with.
    """

    topic: Annotated[TopicName, Field(description="The topic's name.")]
    config: Annotated[
        dict[
            Literal["flush.messages", "flush.ms", "index.interval.bytes", "segment.ms"],
            Annotated[int, Field(ge=1)] | None,
        ],
        Field(min_length=1, description="Values by Kafka's names; null: the topic has none of its own any more."),
    ]


class UpgradeMetadata(Model):
    """Raise ``metadata.version`` (``3.5-IV1``), as the last step of a rolling upgrade."""

    version: Annotated[str, Field(description="By Kafka's name: 3.5-IV1.")]


class Produce(Model):
    """Write one batch to a partition, and wait until it is acknowledged.

    It is for schedules that need records at exact offsets, so the workload has no producers then. ``acks`` and
    idempotence are those of the workload.
    """

    partition: Annotated[PartitionName, Field(description="The partition: topic, dash, index (orders-0).")]
    records: Annotated[int, Field(ge=1, le=1000, description="Records of the batch.")] = 1


class Admin(OneOf):
    """Administration as load."""

    create_topic: CreateTopic | None = None
    delete_topic: DeleteTopic | None = None
    add_partitions: AddPartitions | None = None
    reassign: Reassign | None = None
    cancel_reassign: CancelReassign | None = None
    remove_throttle: RemoveThrottle | None = None
    elect_leaders: ElectLeaders | None = None
    delete_records: DeleteRecords | None = None
    alter_topic: AlterTopic | None = None
    upgrade_metadata: UpgradeMetadata | None = None


RANDOM_ADMINISTRATION: Final = (
    "createTopic",
    "deleteTopic",
    "addPartitions",
    "reassign",
    "throttledReassign",
    "cancelReassign",
    "electLeaders",
    "deleteRecords",
    "alterTopic",
    "upgradeMetadata",
)
"""Administration that ``random`` can draw, beside faults. ``throttledReassign`` is a ``reassign`` with a throttle."""


RANDOM_RPCS: Final = (
    "Fetch",
    "ListOffsets",
    "AlterPartition",
    "LeaderAndIsr",
    "StopReplica",
    "UpdateMetadata",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "AllocateProducerIds",
    "ControlledShutdown",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "FetchSnapshot",
    "Produce",
    "Metadata",
    "InitProducerId",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "CreateTopics",
    "CreatePartitions",
    "ElectLeaders",
)
"""RPCs that ``random`` draws rules for. Three are left out, since what they ask for must not be done late: DeleteTopics
and DeleteRecords name a topic, and would hit its successor; an AlterPartitionReassignments would undo a later one, on
which the schedule counts."""


class Repeat(Model):
    """The same steps several times."""

    times: Annotated[int, Field(ge=1, le=10_000, description="How often the steps run.")]
    steps: Annotated[list[Step], Field(min_length=1, description="Steps as those of spec.schedule.")]


def _both_ends() -> list[Literal["from", "to"]]:
    return ["from", "to"]


class RandomFaults(Model):
    """Faults drawn by the seed.

    For as long as ``for``, one fault on average ``every`` so often, its kind by weight, its node from ``targets``,
    each lasting up to ``lasting``. A target as ``{one: brokers}`` is resolved once, at the beginning.
    ``spare: lastInSync`` keeps to what a replicated log promises to survive: no fault that loses a disk's or a page
    cache's content hits the only live in-sync replica of a partition, and at most a minority of the controllers is hit
    at once. ``spare: none`` lets anything happen.
    """

    for_: Annotated[Duration, Field(alias="for", description="How long faults are drawn. A duration such as 2m.")]
    every: Annotated[Duration, Field(description="Time between two of them, on average. A duration such as 5s.")]
    faults: Annotated[
        dict[str, Annotated[float, Field(gt=0, strict=False)]],
        Field(
            min_length=1, description="Weight of each kind of fault, and of administration: {kill: 2, createTopic: 1}."
        ),
    ]
    targets: Annotated[
        list[Group | Target] | None,
        Field(
            min_length=1,
            description="Groups that nodes are drawn from, or targets, resolved as the step begins; absent: all nodes.",
        ),
    ] = None
    lasting: Annotated[Duration, Field(description="The longest that one lasts. A duration.")] = 5_000_000_000
    rpcs: Annotated[
        list[str] | None,
        Field(
            min_length=1, description="RPCs that rules about messages are drawn for, as AlterPartition; absent: any."
        ),
    ] = None
    ends: list[Literal["from", "to"]] = Field(
        min_length=1,
        description="Which end a drawn rule about messages may name: from, its client; to, its server; absent: either.",
        default_factory=_both_ends,
    )
    spare: Annotated[
        Literal["lastInSync", "none"],
        Field(description="lastInSync: only what a replicated log promises to survive; none: anything."),
    ] = "lastInSync"


class Step(OneOf):
    """One step of a schedule."""

    inject: Inject | None = None
    heal: Annotated[str | list[str] | None, Field(description="Undo faults: a name, a list of names, or all.")] = None
    wait: Annotated[Duration | None, Field(description="Let time pass. A duration such as 5s.")] = None
    await_: Annotated[Await | None, Field(alias="await")] = None
    holds: Holds | None = None
    parallel: Annotated[
        list[list[Step]] | None,
        Field(min_length=1, description="Lists of steps, as those of spec.schedule, that run at the same time."),
    ] = None
    repeat: Repeat | None = None
    random: RandomFaults | None = None
    admin: Admin | None = None
    produce: Produce | None = None
