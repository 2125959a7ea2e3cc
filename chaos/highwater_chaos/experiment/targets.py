"""Whom a fault or condition is about. A target is resolved once, when the fault starts, and written down."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.experiment.base import BrokerId, NodeIndex, OneOf, PartitionName

Group = Literal["brokers", "controllers", "zookeepers"]


CHOOSE: Final = frozenset(
    {
        "followerOf",
        "inSyncFollowerOf",
        "isrOf",
        "followerController",
        "one",
        "minority",
        "majority",
        "minorityThird",
        "all",
    }
)
"""Targets that choose among several nodes, so that ``not`` may leave out some."""


class NamedNodes(OneOf):
    """Exactly one way to name nodes.

    ``leaderOf``, ``followerOf`` (a replica that is not the leader, the first by id), ``inSyncFollowerOf`` (the same of
    the ISR), ``isrOf`` (all members), ``lastIsrOf`` (the member when the ISR has one), ``activeController`` (in
    ZooKeeper mode one of the brokers), ``followerController`` (the first controller that is not active) name nodes by
    what they are at that moment; ``one``, ``minority``, ``majority``, ``minorityThird`` and ``all`` draw from a group
    with the experiment's seed.
    """

    broker: Annotated[BrokerId | None, Field(description="The broker of this id.")] = None
    controller: Annotated[NodeIndex | None, Field(description="The controller of this index.")] = None
    zookeeper: Annotated[NodeIndex | None, Field(description="The ZooKeeper server of this index.")] = None
    leader_of: Annotated[PartitionName | None, Field(description="The leader of a partition.")] = None
    follower_of: Annotated[PartitionName | None, Field(description="The first replica that does not lead.")] = None
    in_sync_follower_of: Annotated[
        PartitionName | None, Field(description="The first in-sync replica that does not lead.")
    ] = None
    isr_of: Annotated[PartitionName | None, Field(description="All in-sync replicas of a partition.")] = None
    last_isr_of: Annotated[PartitionName | None, Field(description="The only in-sync replica of a partition.")] = None
    active_controller: Annotated[Literal[True] | None, Field(description="The active controller.")] = None
    follower_controller: Annotated[
        Literal[True] | None, Field(description="The first controller that is not active. Not in ZooKeeper mode.")
    ] = None
    one: Annotated[Group | None, Field(description="One of a group, drawn by the seed.")] = None
    minority: Annotated[Group | None, Field(description="The largest minority of a group, drawn by the seed.")] = None
    majority: Annotated[Group | None, Field(description="The smallest majority of a group, drawn by the seed.")] = None
    minority_third: Annotated[
        Group | None, Field(description="The largest number of nodes below a third of a group.")
    ] = None
    all: Annotated[Group | None, Field(description="The whole group.")] = None


class Target(NamedNodes):
    """The nodes of a fault. ``not`` leaves nodes out before some are chosen: those of another target, or those that a
    fault of the schedule hit, by its name."""

    not_: Annotated[
        str | NamedNodes | None,
        Field(
            alias="not",
            description="Nodes to leave out: another target, or the name of a fault that has hit them before.",
        ),
    ] = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """What is left out stands beside the choice."""
        return frozenset({"not_"})

    @model_validator(mode="after")
    def _not_needs_a_choice(self) -> Self:
        if self.not_ is not None and self.choice not in CHOOSE:
            allowed = ", ".join(sorted(CHOOSE))
            raise PydanticCustomError(
                "not",
                "not leaves out some of several nodes, so it goes with {allowed}; found {found}",
                {"allowed": allowed, "found": self.choice},
            )
        return self


Victims = Annotated[Target, Field(description="The nodes that it hits; resolved once, when the fault starts.")]
"""The target of a fault."""
