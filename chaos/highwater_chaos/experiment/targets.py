"""Whom a fault or condition is about. A target is resolved once, when the fault starts, and written down."""

from __future__ import annotations

from typing import Literal

from highwater_chaos.experiment.base import NodeIndex, OneOf, PartitionName

Group = Literal["brokers", "controllers"]


class Target(OneOf):
    """Exactly one way to name nodes.

    ``leaderOf``, ``followerOf`` (a replica that is not the leader, the first by id), ``isrOf`` (all members),
    ``lastIsrOf`` (the member when the ISR has one), ``activeController`` name nodes by what they are at that moment;
    ``one``, ``minority``, ``majority``, ``minorityThird`` and ``all`` draw from a group with the experiment's seed.
    """

    broker: NodeIndex | None = None
    controller: NodeIndex | None = None
    leader_of: PartitionName | None = None
    follower_of: PartitionName | None = None
    isr_of: PartitionName | None = None
    last_isr_of: PartitionName | None = None
    active_controller: Literal[True] | None = None
    one: Group | None = None
    minority: Group | None = None
    majority: Group | None = None
    minority_third: Group | None = None
    all: Group | None = None
