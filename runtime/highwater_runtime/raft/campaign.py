"""A candidate: asks every other voter until it has won, lost, or run out of time.

An answer that does not come is asked for again. After a loss, or an election time-out without majority, the candidate
waits (binary exponential back-off) and stands again in the next epoch.
"""

from __future__ import annotations

from highwater_runtime.raft.election import VoteTally
from highwater_runtime.raft.messages import VOTE_VERSION, Ballot, answer_of
from highwater_runtime.raft.polling import poll_voters
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.states import Candidate
from highwater_runtime.wire.messages.vote_response import VoteResponse


class Campaign:
    """One election of one candidate."""

    def __init__(self, shared: Shared, actions: Actions, state: Candidate) -> None:
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions
        self._state = state
        self._tally = VoteTally(shared.node_id, shared.quorum.voters)
        self._is_over = False

    def start(self) -> None:
        """Ask all other voters; a single voter has won already."""
        if self._tally.is_won:
            self._actions.won(self._tally.granting)
            return
        shared = self._shared
        self.scope.later(shared.election_timer.renew(), self._lost)
        ballot = Ballot(self._state.epoch, shared.node_id, shared.log.end)
        poll_voters(shared, self.scope, ballot, VOTE_VERSION, self._answered)

    def on_flushed(self) -> None:
        """Nothing depends on it here: what counts for a vote is what the log holds, durable or not."""

    def _answered(self, voter: int, response: VoteResponse) -> None:
        answer = answer_of(response)
        if answer is not None and self._actions.learned(answer):
            return
        self._tally.record(voter, answer is not None and answer.grants_in(self._state.epoch))
        if self._tally.is_won:
            self._actions.won(self._tally.granting)
        elif self._tally.is_lost:
            self._lost()

    def _lost(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        backoff = self._shared.timing.election_backoff_ns(self._state.retries, self._shared.ports.random)
        self.scope.later(backoff, lambda: self._actions.stand(self._state.retries + 1))
