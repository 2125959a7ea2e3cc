"""The committed states of a partition, and which may follow which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NO_LEADER = -1


class Decided(NamedTuple):
    """A committed state of a partition, as a ``partition-changed`` event has it. Each controller reports each state;
    its first report counts. ``row``: that of the report, in a recording."""

    metadata_offset: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Sequence[int]
    replicas: Sequence[int]
    reason: str
    row: int = -1


def is_led_from_outside(state: Decided) -> bool:
    """Whether the leader is no member of the ISR (Detailed Replication Design V3, A step 3.1)."""
    return state.leader != NO_LEADER and state.leader not in state.isr


def unassigned(state: Decided) -> list[int]:
    """Members of the ISR that are no replicas (KIP-455)."""
    return [broker for broker in state.isr if broker not in state.replicas]


def elects_from_outside(before: Decided, state: Decided) -> bool:
    """Whether the leader was no member of the ISR before: an unclean election, or one of a replica that is proposed in
    the same change."""
    return state.leader != NO_LEADER and state.leader not in before.isr


def is_outcome(state: Decided, isr: Sequence[int], partition_epoch: int) -> bool:
    """Whether a committed state is what an accepted proposal of ``isr``, based on ``partition_epoch``, led to. If the
    controller was deposed, something else may have been committed at that place of the metadata."""
    return state.partition_epoch == partition_epoch + 1 and {*state.isr} <= {*isr}


def leaves_gap(before: Decided, state: Decided) -> bool:
    """Whether states between the two are missing: each change of a partition has the next partition epoch."""
    return state.reason != "created" and state.partition_epoch > before.partition_epoch + 1


def needs_leader_epoch(before: Decided, state: Decided) -> bool:
    """Whether the change needs a higher leader epoch than it has: a leader epoch has one leader (KIP-101), and a
    replica that is taken away is fenced by a new one (KIP-320)."""
    if state.leader_epoch != before.leader_epoch:
        return state.leader_epoch < before.leader_epoch
    return state.leader != before.leader or any(broker not in state.replicas for broker in before.replicas)
