"""The ISR as its leader holds it, and the rules by which it changes and by which the HW moves. All pure.

The *committed* ISR is the one in the metadata log. A leader that wants another proposes it to the controller
(AlterPartition), and until the answer is known either may be the truth. So the leader takes the stricter one for each
question:

=============================================  ==================================================================
question                                       judged by
=============================================  ==================================================================
may an acks=all produce be taken, may HW move  committed ISR: its size against ``min.insync.replicas``
who must have a record before HW passes it     *maximal* ISR: committed plus proposed additions; removals count
                                               only once they are committed
=============================================  ==================================================================

::

            propose                      committed, or superseded by newer metadata
  Committed ───────► Committed+Proposal ─────────────────────────────────────────► Committed (new)
      ▲                    │   │ other errors: stay until metadata says otherwise, or ask again
      └────────────────────┘   └─┐▲
        INELIGIBLE_REPLICA       └┘

A replica is let in by a fetch of its own; lagging ones are taken out by a periodic pass. As Design V3 prints it, any
pass does both: they go into one proposal, so neither overwrites the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.wire.errors import ErrorCode

Eligible = Callable[[FollowerState], bool]
"""Whether the metadata at hand lets this replica be in an ISR: registered, unfenced, not shutting down, and its
replica epoch is that of its registration."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """An ISR that the leader asked the controller for. Compared by identity: each proposal is an act of its own.

    ``isr_epochs`` are the replica epochs known from Fetch when the proposal was made, same order as ``isr``; a retry
    repeats them, for they say on whose fetches the proposal rests.
    """

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_epochs: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The controller's answer for one partition. The fields after ``error`` hold only where that is ``NONE``."""

    error: ErrorCode
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()


OnAnswer = Callable[[Proposal, Answer], bool]
"""The leader's reaction to an answer; ``True`` asks for the same proposal to be sent again."""


@dataclass(frozen=True, slots=True)
class IsrState:
    """Committed ISR and the proposal that is not decided yet, if any."""

    committed: tuple[int, ...]
    proposal: Proposal | None = None

    @property
    def maximal(self) -> tuple[int, ...]:
        """Everyone who may be in the ISR as the controller sees it: the HW waits for all of them."""
        if self.proposal is None:
            return self.committed
        return self.committed + tuple(b for b in self.proposal.isr if b not in self.committed)


def may_join(follower: FollowerState, *, high_watermark: int, epoch_start_offset: int, eligible: Eligible) -> bool:
    """Whether a follower outside the ISR may be proposed.

    It has fetched in this leader epoch and since it left the ISR, has everything below the HW and everything from
    before this leader epoch, and is eligible. Reaching the HW alone is not enough: a new leader's HW may lag behind the
    true one, but it has all committed records at its epoch's start.
    """
    return (
        follower.has_fetched
        and follower.log_end_offset >= high_watermark
        and follower.log_end_offset >= epoch_start_offset
        and eligible(follower)
    )


def may_join_as_printed(
    follower: FollowerState, *, least_isr_end_offset: int, lag_min: int, eligible: Eligible
) -> bool:
    """:func:`may_join` as *Detailed Replication Design V3* (G) prints it: ``r.leo - leo_min < MIN_BYTES_LAG``, where
    ``leo_min`` is the least LEO in the ISR. It is true of each replica that lags: it lets in
    replicas that lack committed records. Offsets of that time counted bytes, those of today count records.
    Switch ``isr-expansion-rule``.
    """
    return follower.has_fetched and follower.log_end_offset - least_isr_end_offset < lag_min and eligible(follower)


def lagging(
    committed: Iterable[int],
    followers: Mapping[int, FollowerState],
    *,
    leader_end_offset: int,
    now_ns: int,
    lag_max_ns: int,
) -> tuple[int, ...]:
    """Members of the committed ISR that have not been caught up within ``replica.lag.time.max.ms``."""
    return tuple(
        b for b in committed if b in followers and not followers[b].caught_up(leader_end_offset, now_ns, lag_max_ns)
    )


def next_isr(committed: tuple[int, ...], joining: tuple[int, ...], leaving: tuple[int, ...]) -> tuple[int, ...]:
    """The ISR to propose: members stay in their order, those who join come last."""
    return tuple(b for b in committed if b not in leaving) + joining


def proposal_reason(joining: tuple[int, ...], leaving: tuple[int, ...]) -> str:
    """Word for the trace: ``expand``, ``shrink`` or ``expand-shrink``."""
    if joining and leaving:
        return "expand-shrink"
    return "expand" if joining else "shrink"


def next_high_watermark(
    followers: Iterable[FollowerState],
    isr: IsrState,
    *,
    leader_end_offset: int,
    min_isr: int,
    now_ns: int,
    lag_max_ns: int,
    eligible: Eligible,
) -> int | None:
    """Offset to which the HW may move, or ``None`` while the committed ISR is below ``min_isr``.

    The least LEO of the maximal ISR. Replicas outside it that are caught up and eligible are waited for too: they are
    about to join, and would otherwise be a moving target for themselves. Two kinds are not waited for, for they cannot
    join and would only stop the partition: ineligible ones, and those that have not fetched in this leader epoch and
    since they left the ISR (they count as caught up for ``replica.lag.time.max.ms``, though their log may be lost). The
    answer may lie below the present HW (a member that has not fetched yet): then the HW stays.
    """
    if len(isr.committed) < min_isr:
        return None
    least = leader_end_offset
    maximal = isr.maximal
    for follower in followers:
        if follower.log_end_offset < least and (
            follower.broker_id in maximal
            or (
                follower.has_fetched
                and follower.caught_up(leader_end_offset, now_ns, lag_max_ns)
                and eligible(follower)
            )
        ):
            least = follower.log_end_offset
    return least
