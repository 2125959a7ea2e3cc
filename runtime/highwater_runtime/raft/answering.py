"""Answers to the quorum's requests (KIP-595): votes, the calls of leaders, fetches.

Every request names an epoch. One below this replica's is refused with the newer epoch and its leader
(FENCED_LEADER_EPOCH); a higher one of a Vote, BeginQuorumEpoch or EndQuorumEpoch is joined first; a Fetch of a higher
one is refused (UNKNOWN_LEADER_EPOCH): who fetches knows more than this replica, but its leader will tell.

A Vote or BeginQuorumEpoch that is meant for another voter is refused and changes nothing (INVALID_VOTER_KEY, KIP-853).
So is a request whose epoch is too far ahead (INVALID_REQUEST, :mod:`~highwater_runtime.epochs`).
"""

from __future__ import annotations

from typing import Protocol

from highwater_runtime.epochs import is_too_far
from highwater_runtime.ports import ApiMessage, InboundRequest
from highwater_runtime.ports.trace import Transition, TransitionTaken
from highwater_runtime.raft import messages
from highwater_runtime.raft.election import grants_pre_vote, grants_vote
from highwater_runtime.raft.fetching import Fetching
from highwater_runtime.raft.leading import Leading
from highwater_runtime.raft.messages import Ballot, FetchParams, LeaderNotice, QuorumResponse
from highwater_runtime.raft.read_offset import OnReadOffset, is_well_formed, read_offset_response_of
from highwater_runtime.raft.scope import Role, Shared
from highwater_runtime.raft.snapshot_messages import (
    SnapshotParams,
    SnapshotPiece,
    snapshot_params_of,
    snapshot_response,
)
from highwater_runtime.raft.states import State, Unattached, Voted
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from highwater_runtime.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from highwater_runtime.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.vote_request import VoteRequest


class Replica(Protocol):
    """What answering needs of the replica."""

    @property
    def role(self) -> Role | None:
        """Return the role that the replica has now."""

    def go(self, state: State) -> None:
        """Go to ``state``, durable on return, and begin its role."""

    def learned(self, answer: QuorumResponse) -> bool:
        """Take up the epoch and leader that another node knows."""

    def submit_fetch(self, request: InboundRequest, params: FetchParams) -> None:
        """Answer a fetch now or let it wait."""

    def submit_read(self, on_answer: OnReadOffset) -> None:
        """Answer a ReadOffset now or when it is certain."""


class Answering:
    """Judges requests by the quorum's state and acts on what they say."""

    def __init__(self, shared: Shared, replica: Replica) -> None:
        self._shared = shared
        self._quorum = shared.quorum
        self._replica = replica

    def handle(self, request: InboundRequest) -> None:
        """Answer ``request``, a fetch perhaps later."""
        body = request.body
        if body.cluster_id is not None and body.cluster_id != self._shared.cluster_id:
            request.reply(messages.refusal(request, ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        answer: QuorumResponse | None
        match body:
            case VoteRequest() if request.version >= messages.PRE_VOTE_VERSION and not self._shared.pre_vote:
                request.reply(messages.refusal(request, ErrorCode.UNSUPPORTED_VERSION))
                return
            case VoteRequest() | BeginQuorumEpochRequest() if not self._is_meant_for_this(body.voter_id):
                answer = self._answer(ErrorCode.INVALID_VOTER_KEY)
            case VoteRequest():
                ballot = messages.ballot_of(body)
                answer = None if ballot is None or self._is_too_far(ballot.epoch) else self._vote(ballot)
            case BeginQuorumEpochRequest():
                notice = messages.begin_of(body)
                answer = None if notice is None or self._is_too_far(notice.epoch) else self._begin_epoch(notice)
            case EndQuorumEpochRequest():
                notice = messages.end_of(body)
                answer = None if notice is None or self._is_too_far(notice.epoch) else self._end_epoch(notice)
            case FetchSnapshotRequest():
                snapshot_params = snapshot_params_of(body)
                if snapshot_params is not None:
                    request.reply(self._fetch_snapshot(snapshot_params))
                    return
                answer = None
            case ReadOffsetRequest() if is_well_formed(body):
                cluster_id = self._shared.cluster_id
                self._replica.submit_read(lambda result: request.reply(read_offset_response_of(cluster_id, result)))
                return
            case ReadOffsetRequest():
                answer = None
            case _:
                params = messages.fetch_params_of(request)
                if params is not None:
                    self._fetch(request, params)
                    return
                answer = None
        if answer is None:
            request.reply(messages.refusal(request, ErrorCode.INVALID_REQUEST))
        else:
            request.reply(messages.reply(request, answer))

    def _is_too_far(self, epoch: int) -> bool:
        return is_too_far(epoch, self._quorum.epoch)

    def _is_meant_for_this(self, voter_id: int) -> bool:
        return voter_id in (self._shared.node_id, messages.ANY_VOTER)

    def _answer(self, error: ErrorCode, *, vote_granted: bool = False) -> QuorumResponse:
        leader_id = self._quorum.leader_id
        return QuorumResponse(error, self._quorum.epoch, -1 if leader_id is None else leader_id, vote_granted)

    def _vote(self, ballot: Ballot) -> QuorumResponse:
        is_among_voters = self._quorum.is_voter and ballot.candidate_id in self._quorum.voters
        if not is_among_voters or ballot.candidate_id == self._shared.node_id:
            return self._answer(ErrorCode.INCONSISTENT_VOTER_SET)
        if ballot.epoch < self._quorum.epoch:
            return self._answer(ErrorCode.FENCED_LEADER_EPOCH)
        if ballot.pre_vote:
            return self._pre_vote(ballot)
        granted = grants_vote(
            self._quorum.state, ballot.epoch, ballot.candidate_id, ballot.log_end, self._shared.log.end
        )
        new: State = Voted(ballot.epoch, ballot.candidate_id) if granted else Unattached(ballot.epoch)
        if new.epoch > self._quorum.epoch or (granted and self._quorum.state != new):
            self._replica.go(new)  # durable before the answer
        assert not granted or self._quorum.saved.voted_id == ballot.candidate_id
        self._took("vote-granted" if granted else "vote-refused")
        return self._answer(ErrorCode.NONE, vote_granted=granted)

    def _took(self, transition: Transition) -> None:
        self._shared.ports.trace.emit(TransitionTaken(reason=transition))

    def _pre_vote(self, ballot: Ballot) -> QuorumResponse:
        if ballot.epoch > self._quorum.epoch:
            self._replica.go(Unattached(ballot.epoch))
        role = self._replica.role
        granted = grants_pre_vote(
            self._quorum.state,
            ballot.log_end,
            self._shared.log.end,
            hears_leader=isinstance(role, Fetching) and role.hears_leader,
        )
        self._took("pre-vote-granted" if granted else "pre-vote-refused")
        return self._answer(ErrorCode.NONE, vote_granted=granted)

    def _begin_epoch(self, notice: LeaderNotice) -> QuorumResponse:
        error = self._notice_error(notice)
        if error is ErrorCode.NONE:
            self._replica.learned(QuorumResponse(error, notice.epoch, notice.leader_id))
        return self._answer(error)

    def _end_epoch(self, notice: LeaderNotice) -> QuorumResponse:
        error = self._notice_error(notice)
        if error is ErrorCode.NONE:
            self._replica.learned(QuorumResponse(error, notice.epoch, notice.leader_id))
            if self._quorum.is_voter and isinstance(self._replica.role, Fetching):
                line = notice.successors
                position = line.index(self._shared.node_id) if self._shared.node_id in line else len(line)
                timing = self._shared.timing
                self._replica.role.stand_after(timing.successor_backoff_ns(position, len(line)))
        return self._answer(error)

    def _notice_error(self, notice: LeaderNotice) -> ErrorCode:
        if (
            not self._quorum.is_voter
            or notice.leader_id not in self._quorum.voters
            or notice.leader_id == self._shared.node_id
        ):
            return ErrorCode.INCONSISTENT_VOTER_SET
        if notice.epoch < self._quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.NONE

    def _fetch(self, request: InboundRequest, params: FetchParams) -> None:
        if isinstance(self._replica.role, Leading) and params.epoch == self._quorum.epoch:
            self._replica.role.on_fetch(params)
        self._replica.submit_fetch(request, params)

    def evaluate_fetch(self, params: FetchParams, *, may_wait: bool) -> ApiMessage | None:
        """The answer to a fetch; None, only where it ``may_wait``: nothing to tell yet."""
        if params.epoch == self._quorum.epoch and isinstance(self._replica.role, Leading):
            return self._replica.role.answer_fetch(params, may_wait=may_wait)
        return messages.fetched(self._answer(self._why_not_leading(params.epoch)))

    def _why_not_leading(self, epoch: int) -> ErrorCode:
        if epoch < self._quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > self._quorum.epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _fetch_snapshot(self, params: SnapshotParams) -> ApiMessage:
        role = self._replica.role
        if params.epoch == self._quorum.epoch and isinstance(role, Leading):
            role.on_fetch_snapshot(params.replica_id)
            error, piece = self._shared.snapshots.piece(params)
        else:
            error, piece = (
                self._why_not_leading(params.epoch),
                SnapshotPiece(params.snapshot_id, params.position, 0, b""),
            )
        return snapshot_response(self._answer(error), piece)
