"""Followers and observers: fetch, append, flush, fetch on (KIP-595).

One fetch is under way at a time. It says *all below its offset is on my disk*, so after records have come, the next
one waits for the flush. A fetch after a failure asks for an answer at once: the lost answer may have had news, above
all the HW.

If the answer names a snapshot, the leader's log no longer has the records that the replica needs. The replica fetches
the snapshot and restarts its log with it (KIP-630).

A voter fetches from its leader alone, and stands for election when no answer has come for a fetch time-out. An
observer that knows no leader, or cannot reach it, asks any voter; the refusal names the leader. Apache Kafka 4.0 may
ask the voter again that did not answer, as often as it is drawn; this one asks another first, so that how long it looks
for a leader has a bound.

An address can come to be that of another voter. It shows if a voter that was taken for the leader says that it does not
lead, and names the leader. Then the replica connects anew.

A response that no correct leader sends changes nothing. The replica fetches again after a back-off, and such a response
does not count as a sign of life of the leader.
"""

from __future__ import annotations

from typing import Any

from highwater_runtime.log.errors import LogError
from highwater_runtime.ports import RpcFailure
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft.download import SnapshotDownload
from highwater_runtime.raft.election import LogEnd, retry_backoff_ns
from highwater_runtime.raft.errors import InvalidResponseError
from highwater_runtime.raft.messages import FETCH_VERSION, MAX_FETCH_BYTES, FetchParams, fetch, fetched_of
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_response import PartitionData


class Fetching:
    """Follows ``leader_id`` in one epoch, or, an observer, looks for it (None)."""

    def __init__(self, shared: Shared, actions: Actions, leader_id: int | None) -> None:
        assert leader_id is not None or not shared.quorum.is_voter
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions
        self._leader_id = leader_id
        self._failures = 0
        self._unanswered: int | None = None
        """The voter that was asked last and did not answer."""
        self._is_sure = False
        self._is_fetching = False
        self._waits_for_flush = False
        self._is_hurried = False
        self._has_heard = False
        self._heard_ns = shared.ports.clock.now_ns()

    def start(self) -> None:
        """Fetch; a voter watches its leader."""
        self._shared.election_timer.stop()
        if self._shared.quorum.is_voter:
            self._watch_leader()
        self._fetch_when_durable()

    def on_flushed(self) -> None:
        """What was fetched is durable: fetch on."""
        if self._waits_for_flush:
            self._waits_for_flush = False
            self._fetch_when_durable()

    @property
    def hears_leader(self) -> bool:
        """Whether it has fetched from this leader within the fetch time-out, and got no EndQuorumEpoch from it."""
        silence_ns = self._shared.ports.clock.now_ns() - self._heard_ns
        return self._has_heard and not self._is_hurried and silence_ns < self._shared.timing.fetch_ns

    def stand_after(self, delay_ns: int) -> None:
        """The leader has resigned: stand after ``delay_ns``, unless another is quicker."""
        if not self._is_hurried:
            self._is_hurried = True
            self.scope.later(delay_ns, lambda: self._actions.stand(0, leader_resigned=True))

    def _watch_leader(self) -> None:
        left_ns = self._heard_ns + self._shared.timing.fetch_ns - self._shared.ports.clock.now_ns()
        if left_ns <= 0:
            self._actions.stand(0)
        else:
            self.scope.later(left_ns, self._watch_leader)

    def _fetch_when_durable(self) -> None:
        log = self._shared.log
        if log.flushed_end < log.end_offset:
            self._waits_for_flush = True
            log.flush_soon()
        else:
            self._fetch()

    def _fetch(self) -> None:
        assert not self._is_fetching, "one fetch at a time"
        log = self._shared.log
        end = log.end
        assert log.flushed_end == end.offset, f"a fetch at {end.offset} would claim more than {log.flushed_end} flushed"
        params = FetchParams(
            replica_id=self._shared.node_id,
            epoch=self._shared.quorum.epoch,
            offset=end.offset,
            last_epoch=end.epoch,
            max_bytes=MAX_FETCH_BYTES,
            max_wait_ms=self._shared.timing.fetch_wait_ms if self._is_sure else 0,
        )
        self._is_fetching = True
        request = fetch(self._shared.cluster_id, params)
        asked = self._target(self._failures)

        def fetched(response: Any) -> None:
            self._fetched(asked, response)

        self.scope.send(asked, request, FETCH_VERSION, fetched, channel="raft-fetch")

    def _target(self, failures: int) -> int:
        quorum = self._shared.quorum
        leader = self._leader_id
        if leader is not None and (quorum.is_voter or (failures % 2 == 0 and leader != self._unanswered)):
            return leader
        others = [voter for voter in quorum.voters if voter != self._unanswered]
        return self._shared.ports.random.choice(others or quorum.voters)

    def _fetched(self, asked: int, response: Any) -> None:
        self._is_fetching = False
        self._unanswered = asked if isinstance(response, RpcFailure) else None
        parts = None if isinstance(response, RpcFailure) else fetched_of(response)
        if parts is None:
            self._failed()
            return
        answer, data = parts
        if self._actions.learned(answer):
            return
        if answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and answer.leader_id == asked:
            self.scope.reconnect(asked)  # no leader says that of itself
        is_of_leader = (answer.epoch, answer.leader_id) == (self._shared.quorum.epoch, self._leader_id)
        if answer.error is not ErrorCode.NONE or not is_of_leader:
            self._failed()
            return
        snapshot_id = SnapshotId(data.snapshot_id.end_offset, data.snapshot_id.epoch)
        try:
            if snapshot_id.end_offset < 0:
                self._take(data)
            elif not 0 < snapshot_id.epoch <= answer.epoch:
                raise InvalidResponseError(f"snapshot {snapshot_id}: expected an epoch from 1 to {answer.epoch}")
        except (InvalidResponseError, LogError):
            self._shared.ports.trace.emit(TransitionTaken(reason="leader-response-refused"))
            self._failed()
            return
        self._heard()
        self._failures = 0
        self._is_sure = True
        if snapshot_id.end_offset >= 0:
            self._download(snapshot_id)
        else:
            self._fetch_when_durable()

    def _heard(self) -> None:
        self._heard_ns = self._shared.ports.clock.now_ns()
        self._has_heard = True

    def _download(self, snapshot_id: SnapshotId) -> None:
        leader_id = self._leader_id
        assert leader_id is not None

        def done(data: bytes | None) -> None:
            if data is None:
                self._failed()
            elif self._actions.take_snapshot(snapshot_id, data, leader_id):
                self._fetch_when_durable()
            else:  # damaged, and so it stays until the leader has a newer one
                self.scope.later(self._shared.timing.fetch_ns // 2, self._fetch_when_durable)

        SnapshotDownload(
            self._shared, self._actions, self.scope, leader_id, self._target, snapshot_id, self._heard, done
        ).start()

    def _take(self, data: PartitionData) -> None:
        log, epoch = self._shared.log, self._shared.quorum.epoch
        if data.diverging_epoch.epoch >= 0:
            diverging = LogEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
            log.truncate_to_diverging(diverging, self._actions.high_watermark, epoch)
            return  # what is left may diverge too: the leader's HW says something of this log only where they agree
        if data.records:
            log.append_fetched(data.records, epoch)
        assert self._leader_id is not None
        known = min(data.high_watermark, log.end_offset)
        if known > self._actions.high_watermark:
            self._actions.commit_up_to(known, self._leader_id)

    def _failed(self) -> None:
        self._failures += 1
        self._is_sure = False
        self.scope.later(retry_backoff_ns(self._failures), self._fetch_when_durable)
