"""A prospective candidate: asks every other voter whether it would be elected, and bumps nothing (KIP-650).

With a majority of grants it stands. Refused by a majority, or without one when the time is up, it goes back to the
leader it had and fetches on; where it had none it backs off, as a candidate does, and asks again.
"""

from __future__ import annotations

from highwater_runtime.raft.election import VoteTally
from highwater_runtime.raft.messages import PRE_VOTE_VERSION, Ballot, QuorumResponse, answer_of
from highwater_runtime.raft.polling import poll_voters
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.states import Prospective
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.vote_response import VoteResponse


class PreElection:
    """One round of pre-votes."""

    def __init__(self, shared: Shared, actions: Actions, state: Prospective) -> None:
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions
        self._state = state
        self._tally = VoteTally(shared.node_id, shared.quorum.voters)
        self._is_over = False

    def start(self) -> None:
        """Ask all other voters. A single voter asks none."""
        if self._tally.is_won:
            self._actions.would_win()
            return
        shared = self._shared
        self.scope.later(shared.election_timer.renew(), self._lost)
        ballot = Ballot(self._state.epoch, shared.node_id, shared.log.end, pre_vote=True)
        poll_voters(shared, self.scope, ballot, PRE_VOTE_VERSION, self._answered)

    def on_flushed(self) -> None:
        """Nothing depends on it here."""

    def _answered(self, voter: int, response: VoteResponse) -> None:
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            granted = True  # one who does not know pre-votes cannot refuse; the vote will tell
        else:
            answer = answer_of(response)
            if answer is not None and self._is_news(voter, answer) and self._actions.learned(answer):
                return
            granted = answer is not None and answer.grants_in(self._state.epoch)
        self._tally.record(voter, granted)
        if self._is_over:
            return
        if self._tally.is_won:
            self._actions.would_win()
        elif self._tally.is_lost:
            self._lost()

    def _is_news(self, voter: int, answer: QuorumResponse) -> bool:
        """That others still name the leader that this voter no longer hears says little; unless it is that leader."""
        return answer.epoch > self._state.epoch or answer.leader_id == voter or self._state.leader_id is None

    def _lost(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        state = self._state
        if state.leader_id in self._shared.quorum.others:
            self._actions.learned(QuorumResponse(ErrorCode.NONE, state.epoch, state.leader_id))
        else:
            backoff = self._shared.timing.election_backoff_ns(state.retries, self._shared.ports.random)
            self.scope.later(backoff, lambda: self._actions.stand(state.retries + 1))
