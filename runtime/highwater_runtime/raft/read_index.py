"""A leader's answer to ReadOffset: an offset that no acknowledged write lies above (KIP-650; Raft's ReadIndex).

KIP-650's draft lets the leader answer with what it has applied. That is not linearizable: a leader that was deposed
and has not heard of it does not know what its successor has committed, and a new one may not have committed, nor
applied, all that its predecessor acknowledged. So a read waits for two things:

* The HW covers a record of the leader's *own epoch*. Then it covers all that any earlier leader has acknowledged.
* A majority of the voters was in this epoch *after the read had arrived*. Then no leader of a higher epoch had been
  elected by then, so none had acknowledged anything: it would have needed one voter of that majority.

The second is asked for by calling the voters once more (BeginQuorumEpoch, which changes nothing where it is known
already): an answer belongs to one request, and that was sent after the read had arrived, whatever the network delays
or repeats. A fetch proves less: it may have been sent long before.

**Many reads share a confirmation**: at most one call a voter is under way, and an answer speaks for all reads that had
arrived when its request was sent. Reads are numbered by arrival; that is all it takes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from highwater_runtime.ports import RpcFailure
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft.election import RETRY_BACKOFF_NS
from highwater_runtime.raft.messages import BEGIN_QUORUM_EPOCH_VERSION, LeaderNotice, answer_of, begin_quorum_epoch
from highwater_runtime.raft.read_offset import OnReadOffset, ReadOffset
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.wire.errors import ErrorCode


class Confirmations:
    """Which reads a majority has spoken for, in one leader's epoch. Reads are numbered from 1, in order of arrival."""

    def __init__(self, others: tuple[int, ...]) -> None:
        self.arrived = 0
        self._spoke_for = dict.fromkeys(others, 0)
        self._others_needed = (len(others) + 1) // 2

    def confirm(self, voter: int, number: int) -> None:
        """``voter`` was in this epoch after read ``number`` had arrived, and so after all before it."""
        self._spoke_for[voter] = max(self._spoke_for[voter], number)

    def lacks(self, voter: int, number: int) -> bool:
        """Whether ``voter`` has not spoken for read ``number`` yet."""
        return self._spoke_for[voter] < number

    @property
    def up_to(self) -> int:
        """The last read that a majority has spoken for, the leader included. A single voter needs no other."""
        if self._others_needed == 0:
            return self.arrived
        return sorted(self._spoke_for.values(), reverse=True)[self._others_needed - 1]


@dataclass(slots=True)
class _Read:
    number: int
    offset: int | None
    deadline_ns: int
    on_answer: OnReadOffset


class ReadIndex:
    """The reads that wait at the leader of ``epoch``, whose LeaderChange record is at ``epoch_start``."""

    def __init__(self, shared: Shared, scope: Scope, actions: Actions, epoch: int, epoch_start: int) -> None:
        self._shared = shared
        self._scope = scope
        self._actions = actions
        self._epoch = epoch
        self._epoch_start = epoch_start
        self._reads: deque[_Read] = deque()
        self._confirmations = Confirmations(shared.quorum.others)
        self._calls: dict[int, bool] = {}
        self._is_watched = False
        scope.at_end(self._fail_all)

    def __len__(self) -> int:
        return len(self._reads)

    def submit(self, on_answer: OnReadOffset) -> None:
        """Answer once it is certain; after a request time-out REQUEST_TIMED_OUT, at the end of this leadership
        NOT_LEADER_OR_FOLLOWER."""
        confirmations = self._confirmations
        confirmations.arrived += 1
        deadline_ns = self._shared.ports.clock.now_ns() + self._shared.timing.request_ns
        self._reads.append(_Read(confirmations.arrived, self._committed_offset(), deadline_ns, on_answer))
        for voter in self._shared.quorum.others:
            self._call(voter)
        self._watch()
        self.answer_confirmed()

    def answer_confirmed(self) -> None:
        """Answer what can be: after every confirmation and whenever the HW has moved."""
        confirmed = self._confirmations.up_to
        while self._reads and self._reads[0].number <= confirmed:
            first = self._reads[0]
            # What had not committed when the read came may be counted in once it has: a read may see more than it must.
            offset = self._committed_offset() if first.offset is None else first.offset
            if offset is None:
                return
            self._reads.popleft()
            first.on_answer(ReadOffset(ErrorCode.NONE, offset, self._shared.node_id, self._epoch))

    def _committed_offset(self) -> int | None:
        committed_end = self._actions.high_watermark
        return committed_end - 1 if committed_end > self._epoch_start else None

    # --- the majority --------------------------------------------------------------------------------------------

    def _call(self, voter: int) -> None:
        if voter in self._calls or not self._reads or not self._confirmations.lacks(voter, self._reads[-1].number):
            return
        speaks_for = self._confirmations.arrived

        def answered(response: Any) -> None:
            del self._calls[voter]
            answer = None if isinstance(response, RpcFailure) else answer_of(response)
            if answer is not None and self._actions.learned(answer):
                return
            if answer is None or answer.error is not ErrorCode.NONE or answer.epoch != self._epoch:
                self._scope.later(RETRY_BACKOFF_NS, lambda: self._call(voter))
                return
            self._confirmations.confirm(voter, speaks_for)
            self.answer_confirmed()
            self._call(voter)

        self._calls[voter] = True
        notice = LeaderNotice(self._epoch, self._shared.node_id)
        request = begin_quorum_epoch(self._shared.cluster_id, voter, notice)
        self._scope.send(voter, request, BEGIN_QUORUM_EPOCH_VERSION, answered, channel="raft-confirm")

    # --- those that wait too long, or for nothing ------------------------------------------------------------------

    def _watch(self) -> None:
        if self._reads and not self._is_watched:
            self._is_watched = True
            left_ns = self._reads[0].deadline_ns - self._shared.ports.clock.now_ns()
            self._scope.later(max(left_ns, 0), self._time_out)

    def _time_out(self) -> None:
        self._is_watched = False
        now = self._shared.ports.clock.now_ns()
        while self._reads and self._reads[0].deadline_ns <= now:
            late = self._reads.popleft()
            self._shared.ports.trace.emit(TransitionTaken(reason="read-offset-timed-out"))
            late.on_answer(ReadOffset(ErrorCode.REQUEST_TIMED_OUT, -1, self._shared.node_id, self._epoch))
        self._watch()

    def _fail_all(self) -> None:
        waiting, self._reads = self._reads, deque()
        for read in waiting:
            read.on_answer(ReadOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, self._epoch))
