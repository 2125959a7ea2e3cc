"""One replica of one partition on this broker: leader or follower, by the epochs of the metadata.

Rules in words:

* Metadata moves forward only: a state with a lower partition epoch than the one in force is older than what an
  AlterPartition answer has brought, and is ignored; the same partition epoch brings no news of the ISR, so a
  proposal that is under way stays. Kafka ends it then, and its HW no longer waits for a replica that may be in the ISR
  by now: switch ``proposal-kept``, which acts in :meth:`Partition.apply`.
* A new leader epoch begins a new leadership, even of the same broker: the leader notes the epoch and its LEO as where
  the epoch starts, appends or not, and forgets the followers' positions.
* Each request names the leader epoch that its sender knows. It is refused if that is another one (FENCED_LEADER_EPOCH:
  the sender is behind, UNKNOWN_LEADER_EPOCH: this broker is), or if this replica does not lead.
* The HW of a follower is the one from its leader, at most its own LEO. It may lag, and go back when the log is cut.
  Only a leader's HW is a promise (:mod:`highwater_runtime.broker.leadership`).
* A replica whose log has failed neither leads nor follows until its broker restarts, whatever the metadata says, and
  every request gets KAFKA_STORAGE_ERROR. The broker reports it to the controller.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from highwater_runtime.broker.isr import IsrState
from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.partition_context import PartitionContext
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.truncation import (
    Cut,
    EpochEnd,
    TruncationProtocol,
    cut_by_exact_leader_epoch,
    cut_by_leader_epoch,
    cut_for_divergence,
    cut_to_high_watermark,
)
from highwater_runtime.epochs import MOST_AHEAD
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.log import Log, StartReason, TruncationReason
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.log.records import BatchView, iter_batches
from highwater_runtime.metadata import NO_LEADER, PartitionRegistration
from highwater_runtime.metadata.image import MetadataReplayError
from highwater_runtime.ports.trace import BecameFollower, IsrTaken, MinIsrSet
from highwater_runtime.wire.errors import ErrorCode

ANY_LEADER_EPOCH: Final = -1
"""``current_leader_epoch`` of a client that does not fence."""


class Partition:
    """One replica on this broker. ``high_watermark`` is what it knows of the HW, ``leading`` is set while it leads."""

    __slots__ = (
        "_high_watermark",
        "context",
        "index",
        "isr",
        "key",
        "leader_epoch",
        "leader_id",
        "leading",
        "log",
        "min_isr",
        "name",
        "partition_epoch",
        "replicas",
        "topic",
        "topic_id",
        "tp",
    )

    def __init__(
        self, topic: str, topic_id: UUID, index: int, log: Log, high_watermark: int, context: PartitionContext
    ) -> None:
        assert log.log_start_offset <= log.log_end_offset
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.key: PartitionKey = (topic_id, index)
        self.tp = TopicPartition(topic, index)
        self.name = f"{topic}-{index}"
        self.log = log
        self.context = context
        self.replicas: tuple[int, ...] = ()
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.isr = IsrState(())
        self.leading: Leadership | None = None
        self.min_isr = 0
        """``min.insync.replicas``, which cannot ask for more replicas than there are."""
        self._high_watermark = max(log.log_start_offset, min(high_watermark, log.log_end_offset))
        log.on_start_moved = self._start_moved

    # --- what others may know -------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads, as far as it knows."""
        return self.leading is not None

    @property
    def high_watermark(self) -> int:
        """Exclusive end of what this replica knows to be committed."""
        return self._high_watermark

    @property
    def committed_isr(self) -> tuple[int, ...]:
        """The ISR of the metadata (or of an AlterPartition answer that is ahead of it)."""
        return self.isr.committed

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """The committed ISR and, on the leader, whom it has proposed to add."""
        return self.isr.maximal

    @property
    def under_min_isr(self) -> bool:
        """Whether the committed ISR is too small for acks=all."""
        return len(self.isr.committed) < self.min_isr

    def check_leader_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """Fence a request that is meant for the leader in ``current_leader_epoch`` (−1: in any)."""
        if self.log.failure is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if current_leader_epoch != ANY_LEADER_EPOCH:
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if current_leader_epoch > self.leader_epoch:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.leading is not None else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def move_high_watermark(self, to: int) -> None:
        """Set the HW. For the leadership (forward only) and the follower's part of this class."""
        assert self.log.log_start_offset <= to <= self.log.log_end_offset, (
            f"{self.name}: HW {to} outside of the log [{self.log.log_start_offset}, {self.log.log_end_offset}]"
        )
        assert to >= self._high_watermark or self.leading is None, (
            f"{self.name}: HW of the leader of epoch {self.leader_epoch} back from {self._high_watermark} to {to}"
        )
        self._high_watermark = to

    def begin_at(self, offset: int, reason: StartReason) -> None:
        """Move the beginning of the log forward to ``offset``, at most the HW. Raises ``LogError``."""
        assert offset <= self._high_watermark, f"{self.name}: begin at {offset}, HW {self._high_watermark}"
        self.log.advance_log_start_offset(offset, reason=reason)

    def _start_moved(self) -> None:
        self.context.changed(self.name)
        self.context.start_moved(self.key)

    # --- transitions ----------------------------------------------------------------------------------------------

    def apply(self, state: PartitionRegistration) -> None:
        """Take over a state of the metadata: lead, follow, or learn of a new ISR or assignment."""
        if state.partition_epoch < self.partition_epoch:
            return
        if state.leader_epoch < self.leader_epoch:
            raise MetadataReplayError(
                f"{self.name}: expected a leader epoch of {self.leader_epoch} or more, found {state.leader_epoch}"
            )
        if state.isr != state.replicas and not set(state.isr) <= set(state.replicas):
            raise MetadataReplayError(f"{self.name}: expected an ISR among {state.replicas}, found {state.isr}")
        new_leader_epoch = state.leader_epoch > self.leader_epoch
        # At the same partition epoch an AlterPartition answer came first, and a later proposal may be under way.
        isr_is_news = state.partition_epoch > self.partition_epoch or not self.context.proposal_kept
        led_before, leader_before, isr_before = self.leading, self.leader_id, self.isr
        partition_epoch_before = self.partition_epoch
        self.replicas = state.replicas
        self.configured()
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        if isr_is_news:
            self.isr = IsrState(state.isr)
            if led_before is not None and isr_before.proposal is not None:
                self.context.withdraw(self.key)
                led_before.proposal_superseded(isr_before)
            elif led_before is not None and not new_leader_epoch and state.partition_epoch > partition_epoch_before:
                self._report_isr()
        if state.leader == self.context.broker_id:
            if new_leader_epoch or led_before is None:
                self._lead()
            else:
                led_before.assignment_changed()
        else:
            self._stop_leading()
            if (new_leader_epoch or leader_before != state.leader) and self.log.failure is None:
                self._report_follower()
        self.context.changed(self.name)

    def _lead(self) -> None:
        self.leading = Leadership(self)
        try:
            self.leading.begin()
        except LogError:
            assert self.log.failure is not None, f"{self.name}: a log that has not failed refuses a leadership"
            self.go_offline()

    def go_offline(self) -> None:
        """Stop leading, since the log has failed."""
        self._stop_leading()
        self.context.changed(self.name)

    def configured(self) -> None:
        """The topic's configuration, or who its replicas are, may be another now."""
        min_isr = min(self.context.min_isr(self.topic), len(self.replicas))
        if min_isr != self.min_isr:
            self.min_isr = min_isr
            self.context.changed(self.name)
            self.context.trace.emit(MinIsrSet(partition=self.name, min_isr=min_isr))

    def _report_isr(self) -> None:
        self.context.trace.emit(
            IsrTaken(
                partition=self.name,
                leader_epoch=self.leader_epoch,
                partition_epoch=self.partition_epoch,
                isr=list(self.isr.committed),
            )
        )

    def _report_follower(self) -> None:
        self.context.trace.emit(
            BecameFollower(
                partition=self.name,
                topic_id=self.topic_id.hex,
                leader=self.leader_id,
                leader_epoch=self.leader_epoch,
                offset=self._high_watermark,
                end_offset=self.log.log_end_offset,
            )
        )

    def close(self) -> None:
        """Give up the replica. Requests that wait for it get an error from now on."""
        self._stop_leading()
        self.leader_id = NO_LEADER
        self.context.changed(self.name)

    def _stop_leading(self) -> None:
        """The answer to a proposal that is under way says nothing to a replica that does not lead any more."""
        if self.leading is not None and self.isr.proposal is not None:
            self.context.withdraw(self.key)
            self.isr = IsrState(self.isr.committed)
        self.leading = None

    # --- following ------------------------------------------------------------------------------------------------

    def append_from_leader(
        self,
        records: bytes,
        leader_epoch: int,
        leader_high_watermark: int,
        leader_log_start_offset: int = -1,
        *,
        fenced: bool = True,
    ) -> int:
        """Append what was fetched from the leader of ``leader_epoch``; returns the bytes appended.

        The log begins where the leader's does: what was deleted there (DeleteRecords, retention) is unreadable here.
        That may be within a batch. A follower that starts over there gets the whole batch, and begins with it.

        Batches from the first one on whose epoch is above the asked one are left out: they come from a leadership
        that this follower does not know yet, and whose start it has not compared its log with. With ``fenced`` false
        batches of any epoch are taken, as Kafka does before KIP-320.
        """
        assert self.leading is None, f"{self.name}: the leader of epoch {self.leader_epoch} does not follow"
        assert leader_epoch == self.leader_epoch
        end_before = self.log.log_end_offset
        appended = 0
        if records:
            known = known_batches(records, leader_epoch if fenced else self.leader_epoch + MOST_AHEAD)
            if known:
                first, last = known[0], known[-1]
                appended = last.position + last.size_in_bytes
                if self.log.log_start_offset == end_before and 0 <= first.base_offset < end_before <= first.last_offset:
                    self.start_over_at(first.base_offset)
                self.log.append_batches(records, known, leader_epoch=leader_epoch, epochs_ascend=fenced)
        self._follow_high_watermark(leader_high_watermark)
        if leader_log_start_offset > self.log.log_start_offset:
            self.begin_at(min(leader_log_start_offset, self._high_watermark), "leader")
        if self.log.log_end_offset != end_before:
            self.context.changed(self.name)
        return appended

    def cut_back(self, leader: EpochEnd) -> None:
        """Truncate as the leader's diverging epoch says (see :mod:`highwater_runtime.broker.truncation`)."""
        assert self.leading is None
        self._truncate(cut_for_divergence(leader, self._own_end(leader.epoch), self.log.log_end_offset).offset)

    def cut_to_high_watermark(self) -> Cut:
        """Truncate to the HW that this follower knows (Design V3)."""
        return self._cut(cut_to_high_watermark(self._high_watermark, self.log.log_end_offset), by_epoch=False)

    def cut_by_leader_epoch(self, leader_end: int | None, protocol: TruncationProtocol) -> Cut:
        """Truncate to where this log's last epoch ends at the leader; None: the leader does not know (KIP-101).

        A protocol that ``leaves_hole`` goes on at the cut, although the batch that holds it has gone as a whole.
        """
        cut = cut_by_leader_epoch(leader_end, self._high_watermark, self.log.log_end_offset)
        self._cut(cut, by_epoch=leader_end is not None)
        if protocol.leaves_hole and cut.offset > self.log.log_end_offset:
            self.log.leave_hole(cut.offset)
        return cut

    def cut_by_exact_leader_epoch(self, leader: EpochEnd | None) -> Cut:
        """Truncate by the leader's largest epoch that is not above this log's last one; None: it has none (KIP-279)."""
        own = None if leader is None else self._own_end(leader.epoch)
        cut = cut_by_exact_leader_epoch(leader, own, self._high_watermark, self.log.log_end_offset)
        return self._cut(cut, by_epoch=leader is not None)

    def _cut(self, cut: Cut, *, by_epoch: bool) -> Cut:
        assert self.leading is None
        self._truncate(cut.offset, "diverging-epoch" if by_epoch else "high-watermark")
        return cut

    def _own_end(self, epoch: int) -> EpochEnd | None:
        own = self.log.epoch_end_offset(epoch)
        return EpochEnd(own.epoch, own.end_offset) if own.end_offset >= 0 else None

    def cut_to_leader_end(self, leader_end_offset: int) -> None:
        """Truncate to the end of a leader whose whole log ends before this one (after an unclean election)."""
        assert self.leading is None
        self._truncate(leader_end_offset)

    def start_over_at(self, offset: int) -> None:
        """Drop everything and begin at ``offset``, where the leader's log begins: nothing here overlaps with it."""
        assert self.leading is None
        self.log.truncate_fully_and_start_at(offset, leader_epoch=self.leader_epoch)
        self._high_watermark = offset
        self.context.changed(self.name)

    def _truncate(self, offset: int, reason: TruncationReason = "diverging-epoch") -> None:
        if offset < self.log.log_start_offset:
            self.start_over_at(offset)
            return
        # Even where no record goes: the epoch entry of an own leadership that appended nothing must go.
        self.log.truncate_to(offset, reason=reason, leader_epoch=self.leader_epoch)
        self._high_watermark = min(self._high_watermark, self.log.log_end_offset)
        self.context.changed(self.name)

    def _follow_high_watermark(self, leader_high_watermark: int) -> None:
        bounded = max(self.log.log_start_offset, min(leader_high_watermark, self.log.log_end_offset))
        self.move_high_watermark(bounded)


def known_batches(records: bytes, leader_epoch: int) -> list[BatchView]:
    """The complete batches at the beginning of ``records`` whose epoch is not above ``leader_epoch``."""
    known: list[BatchView] = []
    for batch in iter_batches(records):
        if batch.leader_epoch > leader_epoch:
            break
        known.append(batch)
    return known
