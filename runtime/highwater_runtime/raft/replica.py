"""One replica of the metadata log: a voter or an observer of the quorum (KIP-595).

The replica holds what outlives a role (state, log, HW, waiting fetches, the listener's place), routes requests, and
goes from role to role. The rules are elsewhere: the states in :mod:`.states`, the decisions of an election in
:mod:`.election`, what each role does in its own module.

After every event (request, response, timer, flush) the replica checks waiting fetches again, notifies the listener, and
sets the gauges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, assert_never

from highwater_runtime.config import NodeConfig
from highwater_runtime.epochs import LAST, is_too_far
from highwater_runtime.log.log import Log
from highwater_runtime.ports import Endpoint, InboundRequest, Ports, Timer
from highwater_runtime.ports.trace import RaftHighWatermark
from highwater_runtime.raft import messages
from highwater_runtime.raft.answering import Answering
from highwater_runtime.raft.campaign import Campaign
from highwater_runtime.raft.commit_feed import MOST_AT_ONCE, CommitFeed, Leadership
from highwater_runtime.raft.describe import describe_quorum
from highwater_runtime.raft.election import Timing
from highwater_runtime.raft.election_timer import ElectionTimer
from highwater_runtime.raft.errors import NotLeaderError, halt
from highwater_runtime.raft.fetching import Fetching
from highwater_runtime.raft.leading import Leading
from highwater_runtime.raft.listener import RaftListener
from highwater_runtime.raft.messages import FetchParams, QuorumResponse
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.metrics import RaftMetrics
from highwater_runtime.raft.pre_election import PreElection
from highwater_runtime.raft.purgatory import FetchPurgatory
from highwater_runtime.raft.quorum import Quorum
from highwater_runtime.raft.quorum_state_store import QuorumStateStore
from highwater_runtime.raft.read_barrier import OnReady, ReadBarrier
from highwater_runtime.raft.read_offset import OnReadOffset, ReadOffset
from highwater_runtime.raft.resigning import Resigning
from highwater_runtime.raft.scope import Role, Shared
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.raft.snapshotting import Snapshots
from highwater_runtime.raft.states import (
    Candidate,
    Follower,
    Leader,
    Observer,
    Prospective,
    Resigned,
    State,
    Unattached,
    Voted,
)
from highwater_runtime.raft.waiting import Waiting
from highwater_runtime.switches import Switches
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest

_DEFAULTS: Final = Switches()
_QUORUM_APIS: Final = frozenset(
    {ApiKey.VOTE, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH, ApiKey.FETCH_SNAPSHOT, ApiKey.READ_OFFSET}
)


class RaftReplica:
    """A voter (``node_id`` in ``voters``) or an observer.

    ``voters`` maps each voter's id to where it listens. ``log`` is open and belongs to the caller, who closes it after
    :meth:`stop`. ``directory`` holds the file ``quorum-state``. Nothing happens before :meth:`start`.

    A failed flush or write of the quorum state raises ``OSError`` out of the event in which it was found: the node
    must not go on, as what it has promised may be lost.
    """

    def __init__(
        self,
        node_id: int,
        voters: Mapping[int, Endpoint],
        cluster_id: str,
        ports: Ports,
        config: NodeConfig,
        log: Log,
        listener: RaftListener,
        *,
        directory: str = "__cluster_metadata-0",
        switches: Switches = _DEFAULTS,
    ) -> None:
        assert voters, "a quorum needs at least one voter"
        voter_ids = tuple(sorted(voters))
        store = QuorumStateStore(ports.disk, directory, voter_ids, sync=switches.quorum_state_sync == "on")
        self._quorum = Quorum(node_id, voter_ids, store, ports.trace)
        self._log = MetadataLog(log, ports.clock, ports.trace, self._on_flushed)
        self._snapshots = Snapshots(ports.disk, directory, self._log, ports.trace)
        timing = Timing.of(config)
        self._shared = Shared(
            node_id=node_id,
            endpoints=dict(voters),
            cluster_id=cluster_id,
            ports=ports,
            timing=timing,
            election_timer=ElectionTimer(timing, ports.clock, ports.random),
            quorum=self._quorum,
            log=self._log,
            snapshots=self._snapshots,
            pre_vote=switches.pre_vote == "on",
            confirm_reads=switches.read_offset == "confirmed",
            event=self._event,
        )
        self._answering = Answering(self._shared, self)
        self._purgatory = FetchPurgatory(self._answering.evaluate_fetch, self._stamp, self._call_later)
        self._feed = CommitFeed(self._log, listener, self._leadership, self._snapshots.report_loaded, ports.trace)
        self._barrier = ReadBarrier(self._shared, self.read_offset, lambda: self._applied_end)
        self._applied_end = 0
        self._metrics = RaftMetrics(ports.metrics, ports.clock.now_ns)
        self._high_watermark = 0
        self._role: Role | None = None
        self._is_settling = False
        self._goes_on = False
        """Whether an event is due that delivers more committed records to the listener."""
        self._is_closed = False
        self._on_stopped: Callable[[], None] | None = None

    # --- what the node sees --------------------------------------------------------------------------------------

    @property
    def node_id(self) -> int:
        return self._shared.node_id

    @property
    def is_voter(self) -> bool:
        """Whether this replica votes; else it observes."""
        return self._quorum.is_voter

    @property
    def state(self) -> State:
        """The state this replica is in; see :mod:`.states`."""
        return self._quorum.state

    @property
    def epoch(self) -> int:
        """The quorum's epoch as this replica knows it; never goes back, not even over restarts."""
        return self._quorum.epoch

    @property
    def leader_id(self) -> int | None:
        """The leader of :attr:`epoch`; None if it is not known."""
        return self._quorum.leader_id

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads now (the listener may not have heard of it yet)."""
        return isinstance(self._quorum.state, Leader)

    @property
    def hears_leader(self) -> bool:
        """Whether it follows a leader and has fetched from it within the fetch time-out."""
        return isinstance(self._role, Fetching) and self._role.hears_leader

    @property
    def timing(self) -> Timing:
        return self._shared.timing

    @property
    def voter_count(self) -> int:
        """How many voters the quorum has."""
        return len(self._quorum.voters)

    @property
    def high_watermark(self) -> int:
        """Exclusive end of what this replica knows to be committed; after a restart the end of its newest snapshot,
        until it learns more."""
        return self._high_watermark

    @property
    def log(self) -> Log:
        """The log of this replica, to read. A caller that appends to it or truncates it breaks the quorum."""
        return self._log.log

    @property
    def log_end_offset(self) -> int:
        """The next offset of this replica's log."""
        return self._log.end_offset

    def start(self) -> None:
        """Make the log durable, load the newest snapshot and the quorum state, and begin.

        Raises:
            OSError: the disk failed.
            QuorumStateError: the file ``quorum-state`` cannot be read.
            VotersChangedError: it names other voters.
            SnapshotMissingError: the log begins in the middle and no whole snapshot stands for what is gone.
        """
        self._log.make_durable(self._shared.ports.disk)
        snapshot = self._snapshots.load(self._quorum.epoch)
        self._quorum.load(self._log.last_epoch)
        if snapshot is not None:
            self._high_watermark = snapshot.id.end_offset
            self._feed.jump_to(snapshot)
            self._settle()  # before it can be a leader, who never loads one
        self._event(self._play)

    def handles(self, request: InboundRequest) -> bool:
        """Whether ``request`` is for the quorum: Vote, BeginQuorumEpoch, EndQuorumEpoch, ReadOffset, Fetch and
        FetchSnapshot of the metadata log; on a voter DescribeQuorum too."""
        key = request.api_key
        if key == ApiKey.FETCH:
            return messages.is_metadata_fetch(request.body)
        return key in _QUORUM_APIS or (key == ApiKey.DESCRIBE_QUORUM and self.is_voter)

    def on_request(self, request: InboundRequest) -> None:
        """Answer a request for which :meth:`handles` is true; a Fetch or a ReadOffset perhaps later, the others at
        once."""
        if self._is_closed:
            request.reply(messages.refusal(request, ErrorCode.BROKER_NOT_AVAILABLE))
        elif isinstance(request.body, DescribeQuorumRequest):
            answer = describe_quorum(
                self._shared, self._role, request.body, self._high_watermark, version=request.version
            )
            request.reply(answer)
        else:
            self._event(lambda: self._answering.handle(request))

    def refresh_metrics(self) -> None:
        """Bring the gauges that change as time goes by up to date: for a host that is asked for them."""
        self._metrics.refresh()

    def append(self, records: list[bytes]) -> int:
        """Append the record values (at least one) as one atomic batch; returns the offset of the last.

        The batch is committed when ``on_commit`` says so; it may be lost if this replica loses its leadership before.

        Raises:
            NotLeaderError: this replica does not lead.
            highwater_runtime.log.errors.RecordBatchTooLargeError: the values hold more than
                ``metadata_log.MAX_BATCH_BYTES``; nothing was appended.
            OSError: the disk failed.
        """
        if not isinstance(self._role, Leading):
            raise NotLeaderError(self.leader_id, self.epoch)
        last_offset = self._role.append(records)
        if not self._is_settling:
            self._purgatory.recheck()
        return last_offset

    def read_offset(self, on_answer: OnReadOffset) -> None:
        """Return the offset that a read must apply to see everything that was acknowledged before; leader only.

        ``on_answer`` is called once, now or later: with NOT_LEADER_OR_FOLLOWER if this replica does not lead or
        its leadership ends, with REQUEST_TIMED_OUT if no majority confirms it in time. With the switch
        ``read-offset`` at ``unconfirmed`` the answer is what this leader has applied, at once (KIP-650's draft).
        """
        if self._is_closed:
            on_answer(ReadOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        else:
            self._event(lambda: self.submit_read(on_answer))

    def read_when_current(self, timeout_ns: int, on_ready: OnReady) -> None:
        """Call ``on_ready`` once, when the listener's state holds all that was acknowledged before this call.

        At any replica, voter or observer. ``on_ready`` gets NONE, or REQUEST_TIMED_OUT after ``timeout_ns``, or
        BROKER_NOT_AVAILABLE where this replica stops.
        """
        if self._is_closed:
            on_ready(ErrorCode.BROKER_NOT_AVAILABLE)
        else:
            self._event(lambda: self._barrier.hold(timeout_ns, on_ready))

    def write_snapshot(self, end_offset: int, records: list[bytes]) -> bool:
        """Keep ``records`` as the state of all below ``end_offset``, durably, and let older parts of the log go.

        ``end_offset`` is the end of a batch that the listener got. Return False, and do nothing, if there is already a
        snapshot up to that offset.

        Raises:
            OSError: the disk failed.
        """
        assert end_offset <= self._feed.next_offset, f"a snapshot up to {end_offset}, above {self._feed.next_offset}"
        return self._snapshots.write(end_offset, records)

    def resign(self) -> None:
        """Give up leadership, let the most caught-up voter stand; nothing happens on a replica that does not lead."""
        self._event(self._resign)

    def stop(self, on_stopped: Callable[[], None] = lambda: None) -> None:
        """Leave cleanly, then call ``on_stopped`` once.

        A leader resigns first. It waits until all voters have responded, another voter leads, or a request time-out is
        over. From then on this replica refuses every request with BROKER_NOT_AVAILABLE.
        """
        assert self._on_stopped is None, "stop was called before"
        self._on_stopped = on_stopped
        self._event(self._hand_over)

    # --- events --------------------------------------------------------------------------------------------------

    def _event(self, happen: Callable[[], None]) -> None:
        if not self._is_closed:
            happen()
            self._settle()

    def _call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        return self._shared.ports.clock.call_later(delay_ns, lambda: self._event(callback))

    def _on_flushed(self) -> None:
        if self._role is not None:
            self._event(self._role.on_flushed)

    def _settle(self) -> None:
        if self._is_settling:
            return
        self._is_settling = True
        try:
            self._purgatory.recheck()
            left, is_news = MOST_AT_ONCE, True
            while is_news:
                is_news, records = self._feed.notify(self._high_watermark, left)
                left -= records
                if is_news:
                    self._purgatory.recheck()
        finally:
            self._is_settling = False
        if self._feed.next_offset < self._high_watermark and not self._goes_on:
            self._goes_on = True
            self._call_later(0, self._go_on)
        self._applied_end = self._feed.next_offset
        self._barrier.recheck()
        self._metrics.report(self._quorum, self._log, self._high_watermark)
        if self._on_stopped is not None and not self._is_handing_over():
            self._close(self._on_stopped)

    def _go_on(self) -> None:
        self._goes_on = False  # the rest is delivered behind this event

    def _leadership(self) -> Leadership:
        claim_from = self._role.epoch_start if isinstance(self._role, Leading) else None
        return Leadership(self.leader_id, self.epoch, claim_from)

    def _stamp(self) -> tuple[int, ...]:
        return self.epoch, int(self.is_leader), self._log.end_offset, self._high_watermark

    # --- from role to role ---------------------------------------------------------------------------------------

    @property
    def role(self) -> Role | None:
        """What this replica does now; None before it started."""
        return self._role

    def go(self, state: State) -> None:
        """Go to ``state``, durable on return, and begin its role."""
        if self._role is not None:
            self._role.scope.close()
        self._quorum.transition(state)
        self._play()

    def _play(self) -> None:
        role: Role
        match self._quorum.state:
            case Unattached() if not self.is_voter:
                role = Fetching(self._shared, self, None)
            case Unattached() | Voted():
                role = Waiting(self._shared, self)
            case Follower(leader_id=leader_id) | Observer(leader_id=leader_id):
                role = Fetching(self._shared, self, leader_id)
            case Prospective() as prospective:
                role = PreElection(self._shared, self, prospective)
            case Candidate() as candidate:
                role = Campaign(self._shared, self, candidate)
            case Leader() as leader:
                role = Leading(self._shared, self, leader)
            case Resigned() as resigned:
                role = Resigning(self._shared, self, resigned)
            case state:
                assert_never(state)
        self._role = role
        role.start()

    def submit_fetch(self, request: InboundRequest, params: FetchParams) -> None:
        """Answer a fetch now or let it wait."""
        self._purgatory.submit(request, params)

    def submit_read(self, on_answer: OnReadOffset) -> None:
        """Answer a ReadOffset now or when it is certain."""
        if not isinstance(self._role, Leading):
            known = -1 if self.leader_id is None else self.leader_id
            on_answer(ReadOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, known, self.epoch))
        elif self._shared.confirm_reads:
            self._role.reads.submit(on_answer)
        else:
            on_answer(ReadOffset(ErrorCode.NONE, self._applied_end - 1, self.node_id, self.epoch))

    def learned(self, answer: QuorumResponse) -> bool:
        """Take up the epoch and leader that another node knows; see :class:`.scope.Actions`."""
        epoch, leader_id = answer.epoch, answer.leader_id
        if is_too_far(epoch, self.epoch):
            return False
        known = self._quorum.leader_id
        is_other_voter = leader_id in self._quorum.voters and leader_id != self.node_id
        if epoch > self.epoch:
            self.go(self._following(epoch, leader_id) if is_other_voter else Unattached(epoch))
            return True
        if epoch < self.epoch or not is_other_voter:
            return False
        recorded = self._quorum.saved.leader_id
        if recorded not in (None, leader_id):
            what = f"epoch {epoch} is led by {recorded}, and {leader_id} is said to lead it too"
            raise halt(self._shared.ports.trace, "raft-election-safety", epoch, recorded, what)
        if known is not None:
            return False
        self.go(self._following(epoch, leader_id))
        return True

    def _following(self, epoch: int, leader_id: int) -> State:
        if not self.is_voter:
            return Observer(epoch, leader_id)
        return Follower(epoch, leader_id, self._quorum.voted_id if epoch == self.epoch else None)

    def stand(self, retries: int, *, leader_resigned: bool = False) -> None:
        """Stand for election, or ask first whether it would be won; see :class:`.scope.Actions`."""
        assert self.is_voter, "an observer does not stand for election"
        if self._on_stopped is not None or self.epoch == LAST:
            return
        if self._shared.pre_vote and not leader_resigned:
            saved = self._quorum.saved
            self.go(Prospective(self.epoch, self.node_id, retries, saved.leader_id, saved.voted_id))
        else:
            self.go(Candidate(self.epoch + 1, self.node_id, retries))

    def would_win(self) -> None:
        """Stand: a majority would grant; see :class:`.scope.Actions`."""
        state = self._quorum.state
        assert isinstance(state, Prospective), f"{state} did not ask for pre-votes"
        if self._on_stopped is None:
            self.go(Candidate(self.epoch + 1, self.node_id, state.retries))

    def won(self, granting: tuple[int, ...]) -> None:
        """Lead; see :class:`.scope.Actions`."""
        assert len(granting) >= self._quorum.majority, f"{granting} is no majority of {self._quorum.voters}"
        assert self.node_id in granting
        self.go(Leader(self.epoch, self.node_id, granting))

    def give_up(self, successors: tuple[int, ...]) -> None:
        """Resign; see :class:`.scope.Actions`."""
        self.go(Resigned(self.epoch, self.node_id, successors))

    def commit_up_to(self, offset: int, leader_id: int) -> None:
        """Move the HW; see :class:`.scope.Actions`."""
        assert offset > self._high_watermark, f"the HW goes up only: {self._high_watermark} to {offset}"
        assert offset <= self._log.end_offset, f"HW {offset} above the log's end {self._log.end_offset}"
        self._high_watermark = offset
        self._shared.ports.trace.emit(RaftHighWatermark(offset=offset, epoch=self.epoch, leader=leader_id))

    def take_snapshot(self, snapshot_id: SnapshotId, data: bytes, leader_id: int) -> bool:
        """Replace log and state by a snapshot of the leader; see :class:`.scope.Actions`."""
        assert not self.is_leader, "a leader never loads a snapshot"
        if snapshot_id.end_offset <= self._high_watermark:
            return False  # an older answer: what it stands for is here already
        snapshot = self._snapshots.take(snapshot_id, data, self.epoch)
        if snapshot is None:
            return False
        self._feed.jump_to(snapshot)
        self.commit_up_to(snapshot_id.end_offset, leader_id)
        return True

    # --- stopping ------------------------------------------------------------------------------------------------

    def _resign(self) -> None:
        if isinstance(self._role, Leading):
            self.give_up(self._role.progress.successors())

    def _hand_over(self) -> None:
        self._resign()
        if isinstance(self._role, Resigning):
            self._role.scope.later(self._shared.timing.request_ns, self._stop_waiting)

    def _stop_waiting(self) -> None:
        if isinstance(self._role, Resigning):
            self._role.unnotified.clear()

    def _is_handing_over(self) -> bool:
        return isinstance(self._role, Resigning) and bool(self._role.unnotified)

    def _close(self, on_stopped: Callable[[], None]) -> None:
        assert not self._is_closed
        assert self._role is not None
        self._role.scope.close()
        self._is_closed = True
        self._barrier.close()
        self._log.close()
        assert len(self._purgatory) == 0, "only a leader keeps fetches waiting"
        on_stopped()
