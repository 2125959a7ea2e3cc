"""What the leader of a partition does, for the length of one leader epoch: append, watch followers, move the HW.

The rules of ISR and HW are pure functions in :mod:`highwater_runtime.broker.isr`; here they meet the log, the clock
and the trace. A leadership ends when its replica drops it.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol
from uuid import UUID

from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.isr import (
    Answer,
    IsrState,
    Proposal,
    lagging,
    may_join,
    may_join_as_printed,
    next_high_watermark,
    next_isr,
    proposal_reason,
)
from highwater_runtime.broker.partition_context import PartitionContext
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.log.log import Log
from highwater_runtime.log.results import AppendInfo, BatchMark
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BecameLeader,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    WriteAcknowledged,
)
from highwater_runtime.wire.errors import ErrorCode

PRINTED_LAG_MIN: Final = 10
"""Records: ``MIN_BYTES_LAG`` of Design V3."""

DROPPED: Final = (ErrorCode.INELIGIBLE_REPLICA,)
"""Errors by which the controller says that what was proposed has not been done and never will be, by any controller:
the metadata log holds a later partition epoch then (:mod:`highwater_runtime.controller.kraft.alter_partition`)."""

LEFT_TO_METADATA: Final = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Errors that say that the leader is behind. Whether an earlier attempt was carried out is open, so the proposal stays
(and the HW waits for those in it) until the metadata brings a newer state."""


class LedReplica(Protocol):
    """What a leadership reads and changes of the replica that leads."""

    partition_epoch: int
    isr: IsrState

    @property
    def context(self) -> PartitionContext: ...

    @property
    def name(self) -> str:
        """Topic, dash, index."""

    @property
    def key(self) -> PartitionKey:
        """Topic id and index."""

    @property
    def topic_id(self) -> UUID: ...

    @property
    def log(self) -> Log: ...

    @property
    def leader_epoch(self) -> int:
        """The epoch in force."""

    @property
    def replicas(self) -> tuple[int, ...]: ...

    @property
    def min_isr(self) -> int:
        """``min.insync.replicas``, at most the number of replicas."""

    @property
    def high_watermark(self) -> int:
        """Exclusive end of what is committed."""

    def move_high_watermark(self, to: int) -> None:
        """Set the high watermark, forward only."""


class Leadership:
    """One leader epoch of one partition, as lived by its leader."""

    __slots__ = (
        "_lag_max_ns",
        "_members",
        "_partition",
        "_uncommitted",
        "acknowledged_under",
        "epoch",
        "followers",
        "start_offset",
    )

    def __init__(self, partition: LedReplica) -> None:
        self._partition = partition
        self._lag_max_ns = partition.context.config.replica_lag_time_max_ms * MS
        self._uncommitted: deque[BatchMark] = deque()
        """Batches whose commit is to be reported, in order."""
        self.acknowledged_under: tuple[int, int] | None = None
        """Partition epoch and ``min.insync.replicas`` of the acknowledgement that was reported last."""
        self._members: tuple[int, ...] = ()
        self.epoch = partition.leader_epoch
        self.start_offset = partition.log.log_end_offset
        self.followers: dict[int, FollowerState] = {}

    # --- transitions ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take office: note where the epoch starts and begin with no knowledge of the followers."""
        p = self._partition
        p.log.assign_epoch_start(self.epoch, self.start_offset)
        self._uncommitted.extend(p.log.batch_marks(p.high_watermark, self.start_offset))
        self._match_followers()
        p.context.trace.emit(
            BecameLeader(
                partition=p.name,
                topic_id=p.topic_id.hex,
                leader_epoch=self.epoch,
                partition_epoch=p.partition_epoch,
                offset=p.high_watermark,
                end_offset=self.start_offset,
                isr=list(p.isr.committed),
                replicas=list(p.replicas),
            )
        )
        self.advance_high_watermark()

    def assignment_changed(self) -> None:
        """ISR or replicas are others now, in the same leader epoch."""
        self._match_followers()
        self.advance_high_watermark()

    def _match_followers(self) -> None:
        p, now = self._partition, self._partition.context.clock.now_ns()
        p.context.review_later(p.key)
        known, self.followers = self.followers, {}
        members_before, self._members = self._members, p.isr.committed
        for b in p.replicas:
            if b != p.context.broker_id:
                follower = self.followers[b] = known.get(b) or FollowerState.at_epoch_start(
                    b, in_isr=b in p.isr.committed, now_ns=now, lag_max_ns=self._lag_max_ns
                )
                if b in members_before and b not in p.isr.committed:
                    follower.left_isr = True

    # --- produce --------------------------------------------------------------------------------------------------

    def append(self, records: bytes) -> AppendInfo:
        """Append a producer's batches. Raises ``LogError`` where the log refuses them."""
        p = self._partition
        info = p.log.append_as_leader(records, self.epoch, p.context.clock.wall_ms())
        if not info.duplicate:
            if p.context.trace.follows_records:
                self._uncommitted.extend(info.marks)
            p.context.appended(p.name)
            p.context.review_later(p.key)
            self.advance_high_watermark()
        return info

    def acknowledged(self, offset: int, end_offset: int) -> None:
        """Report that [``offset``, ``end_offset``) is acknowledged as committed, unless an earlier report covers it."""
        p = self._partition
        under = (p.partition_epoch, p.min_isr)
        if under == self.acknowledged_under:
            return
        self.acknowledged_under = under
        p.context.trace.emit(
            WriteAcknowledged(
                partition=p.name,
                topic_id=p.topic_id.hex,
                leader_epoch=self.epoch,
                partition_epoch=p.partition_epoch,
                offset=offset,
                end_offset=end_offset,
                isr=list(p.isr.committed),
                min_isr=p.min_isr,
            )
        )

    # --- followers ------------------------------------------------------------------------------------------------

    def fetched_by(self, broker_id: int, offset: int, log_start_offset: int, replica_epoch: int) -> None:
        """A follower in the assignment has fetched at ``offset``, so that is its LEO: the HW or the ISR may move."""
        p = self._partition
        follower, hw = self.followers[broker_id], p.high_watermark
        end_before, leader_end = follower.log_end_offset, p.log.log_end_offset
        assert offset <= leader_end, f"{p.name}: broker {broker_id} fetched at {offset}, beyond the LEO {leader_end}"
        if offset < follower.log_end_offset:
            p.context.review_later(p.key)
        if log_start_offset > max(follower.log_start_offset, 0):
            p.context.changed(p.name)  # a deletion of records may wait for that
        follower.fetched(offset, log_start_offset, replica_epoch, leader_end, p.context.clock.now_ns())
        if p.isr.proposal is None and broker_id not in p.isr.committed:
            self._review(joining=self._joining(only=broker_id), leaving=())
        self.advance_high_watermark()
        if end_before <= hw < offset and p.high_watermark == hw and not self._waits_for_member:
            p.context.changed(p.name)  # only time holds the HW back from now on, so all fetches have to look

    def gains_nothing_by(self, follower: FollowerState) -> bool:
        """Whether more fetches of this follower at the LEO change nothing before something of the partition is marked.

        A follower outside the ISR may join by any fetch, unless a proposal is under way, whose end is marked. Any fetch
        may move a HW that only time holds back (a replica outside the ISR that is caught up); in Kafka, one that moves
        the follower's LEO. It cannot if the HW is at the LEO, or if the ISR holds it back: a member that is behind, or
        too few members. One that has been silent since it left the ISR is waited for again once it fetches.
        """
        p = self._partition
        if follower.log_end_offset != p.log.log_end_offset or not follower.has_fetched:
            return False
        if follower.broker_id not in p.isr.committed and p.isr.proposal is None:
            return False
        return p.high_watermark == follower.log_end_offset or len(p.isr.committed) < p.min_isr or self._waits_for_member

    @property
    def _waits_for_member(self) -> bool:
        hw, members = self._partition.high_watermark, self._partition.isr.maximal
        return any(other.log_end_offset <= hw and b in members for b, other in self.followers.items())

    # --- high watermark -------------------------------------------------------------------------------------------

    def advance_high_watermark(self) -> None:
        """Move the HW as far as the rules let it, and tell of each batch that is committed by that."""
        p = self._partition
        context = p.context
        target = next_high_watermark(
            self.followers.values(),
            p.isr,
            leader_end_offset=p.log.log_end_offset,
            min_isr=p.min_isr,
            now_ns=context.clock.now_ns(),
            lag_max_ns=self._lag_max_ns,
            eligible=context.eligible,
        )
        if target is None or target <= p.high_watermark:
            return
        uncommitted = self._uncommitted
        while uncommitted and uncommitted[0].end_offset <= target:
            mark = uncommitted.popleft()
            context.trace.emit(
                BatchCommitted(
                    partition=p.name,
                    leader_epoch=self.epoch,
                    offset=mark.base_offset,
                    end_offset=mark.end_offset,
                    epoch=mark.epoch,
                    crc=mark.crc,
                    producer_id=mark.producer_id,
                    producer_epoch=mark.producer_epoch,
                )
            )
        p.move_high_watermark(target)
        if context.trace.follows_records:
            context.trace.emit(HighWatermarkAdvanced(partition=p.name, leader_epoch=self.epoch, offset=target))
        context.committed(p.name)

    # --- ISR ------------------------------------------------------------------------------------------------------

    @property
    def is_fully_replicated(self) -> bool:
        """Whether time changes nothing: all replicas are in the ISR and have everything, and so says the HW."""
        p, end = self._partition, self._partition.log.log_end_offset
        return (
            p.isr.proposal is None
            and p.high_watermark == end
            and len(p.isr.committed) == len(p.replicas)
            and all(follower.log_end_offset == end for follower in self.followers.values())
        )

    def review_isr(self) -> None:
        """The periodic pass: propose to take out who lags, and see whether the HW may move by now.

        A replica joins by a fetch of its own, as in Apache Kafka (``Partition.updateFollowerFetchState``): by what it
        fetched before, one that has lost its log since would join. As Design V3 prints it, any pass lets in.

        The HW depends on time as well: a replica outside the ISR stops being waited for when it lags.
        """
        p = self._partition
        if p.isr.proposal is None:
            leaving = lagging(
                p.isr.committed,
                self.followers,
                leader_end_offset=p.log.log_end_offset,
                now_ns=p.context.clock.now_ns(),
                lag_max_ns=self._lag_max_ns,
            )
            self._review(joining=self._joining() if p.context.isr_expansion_as_printed else (), leaving=leaving)
        self.advance_high_watermark()

    def _joining(self, only: int | None = None) -> tuple[int, ...]:
        p = self._partition
        return tuple(
            b
            for b, follower in self.followers.items()
            if (only is None or b == only) and b not in p.isr.committed and self._may_join(follower)
        )

    def _may_join(self, follower: FollowerState) -> bool:
        p = self._partition
        if p.context.isr_expansion_as_printed:
            members = (self.followers[b].log_end_offset for b in p.isr.committed if b in self.followers)
            return may_join_as_printed(
                follower,
                least_isr_end_offset=min(members, default=p.log.log_end_offset),
                lag_min=PRINTED_LAG_MIN,
                eligible=p.context.eligible,
            )
        return may_join(
            follower,
            high_watermark=p.high_watermark,
            epoch_start_offset=self.start_offset,
            eligible=p.context.eligible,
        )

    def _review(self, joining: tuple[int, ...], leaving: tuple[int, ...]) -> None:
        if not joining and not leaving:
            return
        p = self._partition
        assert p.isr.proposal is None, f"{p.name}: one proposal at a time"
        isr = next_isr(p.isr.committed, joining, leaving)
        assert p.context.broker_id in isr, f"{p.name}: a leader stays in the ISR it proposes, {isr}"
        proposal = Proposal(
            leader_epoch=self.epoch,
            partition_epoch=p.partition_epoch,
            isr=isr,
            isr_epochs=tuple(self.replica_epoch(b) for b in isr),
            reason=proposal_reason(joining, leaving),
        )
        p.isr = IsrState(p.isr.committed, proposal)
        p.context.trace.emit(
            IsrProposed(
                partition=p.name,
                leader_epoch=self.epoch,
                partition_epoch=proposal.partition_epoch,
                isr=list(isr),
                isr_epochs=list(proposal.isr_epochs),
                reason=proposal.reason,
            )
        )
        p.context.propose(p.key, proposal, self.proposal_answered)

    def replica_epoch(self, broker_id: int) -> int:
        if broker_id == self._partition.context.broker_id:
            return self._partition.context.broker_epoch()
        return self.followers[broker_id].replica_epoch

    def proposal_answered(self, proposal: Proposal, answer: Answer) -> bool:
        """Act on the controller's answer; whether to send the same proposal again."""
        p = self._partition
        if p.isr.proposal is not proposal:
            return False  # newer metadata has overtaken it
        match answer.error:
            case ErrorCode.NONE if not self._is_possible(answer):
                return True
            case ErrorCode.NONE:
                # In another leader epoch, or older than what is known: the metadata will tell, and sooner or later
                # supersede the proposal.
                if answer.leader_epoch == self.epoch and answer.partition_epoch >= p.partition_epoch:
                    self._committed(answer)
                return False
            case error if error in DROPPED:
                p.isr = IsrState(p.isr.committed)
                self._report_end(error.name)
                p.context.changed(p.name)  # whoever was to join may be proposed again when it fetches next
                self.advance_high_watermark()
                return False
            case error:
                return error not in LEFT_TO_METADATA

    def _is_possible(self, answer: Answer) -> bool:
        """Whether a controller can have committed this: no broker twice, none that is no replica, and the leader."""
        p = self._partition
        isr = set(answer.isr)
        mine = answer.leader_epoch != self.epoch or p.context.broker_id in isr
        return len(isr) == len(answer.isr) and isr <= set(p.replicas) and mine

    def _committed(self, answer: Answer) -> None:
        p = self._partition
        before = p.isr
        p.partition_epoch = answer.partition_epoch
        p.isr = IsrState(answer.isr)
        self._match_followers()
        self.proposal_superseded(before)
        p.context.changed(p.name)
        self.advance_high_watermark()

    def proposal_superseded(self, before: IsrState) -> None:
        """A newer state is in force: either what ``before`` proposed, or something else that rules it out."""
        committed = self._partition.isr.committed
        proposed = before.proposal
        assert proposed is not None
        if sorted(committed) == sorted(proposed.isr):
            self._report_end("committed")
            self._partition.context.isr_changed(
                self._partition.key,
                any(b not in before.committed for b in committed),
                any(b not in committed for b in before.committed),
            )
        else:
            self._report_end("superseded")

    def _report_end(self, reason: str) -> None:
        p = self._partition
        p.context.trace.emit(
            IsrProposalEnded(
                partition=p.name,
                leader_epoch=self.epoch,
                partition_epoch=p.partition_epoch,
                isr=list(p.isr.committed),
                reason=reason,
            )
        )
