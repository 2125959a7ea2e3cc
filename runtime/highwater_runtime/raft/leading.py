"""The leader: appends, answers fetches, moves the HW, and resigns when it has lost the majority (KIP-595).

* Its epoch begins with a LeaderChange record. The HW moves only once it covers that.
* Voters that do not fetch get BeginQuorumEpoch until they fetch, with growing intervals up to half a fetch time-out.
* Check-quorum: when the majority has not fetched within 1.5 fetch time-outs, it resigns.
"""

from __future__ import annotations

from typing import Any

from highwater_runtime.ports import RpcFailure
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft.election import RETRY_BACKOFF_NS, LogEnd
from highwater_runtime.raft.messages import (
    BEGIN_QUORUM_EPOCH_VERSION,
    FetchParams,
    LeaderNotice,
    QuorumResponse,
    answer_of,
    begin_quorum_epoch,
    fetched,
)
from highwater_runtime.raft.progress import LeaderProgress
from highwater_runtime.raft.read_index import ReadIndex
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.states import Leader
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_response import FetchResponse


class Leading:
    """The leader of one epoch."""

    def __init__(self, shared: Shared, actions: Actions, state: Leader) -> None:
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions
        self._state = state
        self._call_interval_ns = RETRY_BACKOFF_NS
        self._calls: dict[int, bool] = {}
        self.epoch_start = shared.log.append_leader_change(
            state.epoch, shared.node_id, shared.quorum.voters, state.granting
        )
        self.progress = LeaderProgress(shared.quorum.others, self.epoch_start, shared.ports.clock.now_ns())
        self.reads = ReadIndex(shared, self.scope, actions, state.epoch, self.epoch_start)

    def start(self) -> None:
        """Make the LeaderChange durable and call the others."""
        self._shared.election_timer.stop()
        self._shared.log.flush_soon()
        if self._shared.quorum.others:
            self._call_voters()
            self._check_quorum()

    def on_flushed(self) -> None:
        """The leader's own log counts for the majority up to where it is durable."""
        self._advance()

    def append(self, records: list[bytes]) -> int:
        """One batch of these values; returns its last offset."""
        last_offset = self._shared.log.append_records(records, self._state.epoch)
        self._shared.log.flush_soon()
        return last_offset

    # --- fetches -------------------------------------------------------------------------------------------------

    def on_fetch(self, params: FetchParams) -> None:
        """Take note of a fetch in this epoch: the replica is alive, and its log is durable up to the fetch offset."""
        assert params.epoch == self._state.epoch
        if params.replica_id < 0 or params.replica_id == self._shared.node_id:
            return
        now = self._shared.ports.clock.now_ns()
        progress = self.progress.of(params.replica_id, now)
        log = self._shared.log
        if (
            not log.is_behind(params.offset, params.last_epoch)
            and log.diverging_epoch(params.offset, params.last_epoch) is None
        ):
            assert params.offset <= log.end_offset
            progress.fetched(params.offset, log.end_offset, now)
            self._advance()
        progress.heard_ns = now

    def on_fetch_snapshot(self, replica_id: int) -> None:
        """A replica that fetches a snapshot is there too."""
        if replica_id >= 0 and replica_id != self._shared.node_id:
            now = self._shared.ports.clock.now_ns()
            self.progress.of(replica_id, now).heard_ns = now

    def answer_fetch(self, params: FetchParams, *, may_wait: bool) -> FetchResponse | None:
        """Records, or where the logs part, or news of the HW; None where it ``may_wait`` and there is none of these."""
        log = self._shared.log
        answer = QuorumResponse(ErrorCode.NONE, self._state.epoch, self._shared.node_id)
        if log.is_behind(params.offset, params.last_epoch):
            newest = self._shared.snapshots.newest
            assert newest is not None, f"the log begins at {log.base} and no snapshot stands for what is below"
            return fetched(
                answer,
                high_watermark=self._actions.high_watermark,
                log_start_offset=log.start_offset,
                snapshot=LogEnd(newest.epoch, newest.end_offset),
            )
        diverging = log.diverging_epoch(params.offset, params.last_epoch)
        progress = None
        if params.replica_id >= 0 and params.replica_id != self._shared.node_id:
            progress = self.progress.of(params.replica_id, self._shared.ports.clock.now_ns())
        has_news = (
            diverging is not None
            or params.offset < log.end_offset
            or (progress is not None and progress.sent_high_watermark < self._actions.high_watermark)
        )
        if may_wait and not has_news:
            return None
        if progress is not None:
            progress.sent_high_watermark = self._actions.high_watermark
        records = (
            log.read(params.offset, params.max_bytes) if diverging is None and params.offset < log.end_offset else b""
        )
        return fetched(
            answer,
            high_watermark=self._actions.high_watermark,
            log_start_offset=log.start_offset,
            records=records,
            diverging=diverging,
        )

    def _advance(self) -> None:
        reached = self.progress.high_watermark(self._shared.log.flushed_end)
        if reached is not None and reached > self._actions.high_watermark:
            assert self.epoch_start < reached <= self._shared.log.end_offset
            self._actions.commit_up_to(reached, self._shared.node_id)
            self.reads.answer_confirmed()

    # --- the majority --------------------------------------------------------------------------------------------

    def _call_voters(self) -> None:
        now = self._shared.ports.clock.now_ns()
        quiet_ns = self._shared.timing.begin_epoch_ns
        notice = LeaderNotice(self._state.epoch, self._shared.node_id)
        for voter, progress in self.progress.voters.items():
            is_quiet = progress.end_offset < 0 or now - progress.heard_ns >= quiet_ns
            if is_quiet and voter not in self._calls:
                self._call(voter, notice)
        self.scope.later(self._call_interval_ns, self._call_voters)
        self._call_interval_ns = min(self._call_interval_ns * 2, quiet_ns)

    def _call(self, voter: int, notice: LeaderNotice) -> None:
        def answered(response: Any) -> None:
            del self._calls[voter]
            if isinstance(response, RpcFailure):
                return  # the next round calls again
            answer = answer_of(response)
            if answer is not None:
                self._actions.learned(answer)

        self._calls[voter] = True
        request = begin_quorum_epoch(self._shared.cluster_id, voter, notice)
        self.scope.send(voter, request, BEGIN_QUORUM_EPOCH_VERSION, answered, channel="raft")

    def _check_quorum(self) -> None:
        heard_ns = self.progress.majority_heard_ns()
        assert heard_ns is not None
        left_ns = heard_ns + self._shared.timing.check_quorum_ns - self._shared.ports.clock.now_ns()
        if left_ns <= 0:
            self._shared.ports.trace.emit(TransitionTaken(reason="quorum-lost"))
            self._actions.give_up(self.progress.successors())
        else:
            self.scope.later(left_ns, self._check_quorum)
