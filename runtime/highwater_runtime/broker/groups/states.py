"""The states of a group, and which may follow which.

::

              join (first member)                all have joined, or the time is up
      Empty ─────────────────────► PreparingRebalance ───────────────────► CompletingRebalance
        ▲                             ▲   │        ▲                           │           │
        │   all members have left     │   │        │  join, leave, failure     │           │ the leader's
        └─────────────────────────────┼───┘        └───────────────────────────┘           │ assignment is
                                      │                                                    │ committed
                                      └──────────── join, leave, failure ─────── Stable ◄──┘

Any state may become Dead: the group was deleted, or this broker no longer coordinates it. Responses for a dead group
are those for an unknown group.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class GroupState(Enum):
    """The values are what ListGroups and DescribeGroups say."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


MAY_FOLLOW: Final[Mapping[GroupState, tuple[GroupState, ...]]] = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY),
    GroupState.COMPLETING_REBALANCE: (GroupState.PREPARING_REBALANCE,),
    GroupState.STABLE: (GroupState.COMPLETING_REBALANCE,),
    GroupState.DEAD: tuple(GroupState),
}
"""State → those it may come from."""
