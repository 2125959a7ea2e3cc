"""A resigned leader sends EndQuorumEpoch to the voters, then waits like any voter.

It refuses requests that need a leader. After an election time-out it may become candidate again, unless it is shutting
down.
"""

from __future__ import annotations

from typing import Any

from highwater_runtime.ports import RpcFailure
from highwater_runtime.raft.election import retry_backoff_ns
from highwater_runtime.raft.messages import END_QUORUM_EPOCH_VERSION, LeaderNotice, answer_of, end_quorum_epoch
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.states import Resigned


class Resigning:
    """A former leader in its epoch. :attr:`unnotified` are the voters that have not responded yet."""

    def __init__(self, shared: Shared, actions: Actions, state: Resigned) -> None:
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions
        self._state = state
        self.unnotified = dict.fromkeys(state.successors, True)

    def start(self) -> None:
        """Send EndQuorumEpoch. A single voter becomes candidate at once."""
        if not self._state.successors:
            self._actions.stand(0)
            return
        self.scope.later(self._shared.election_timer.renew(), lambda: self._actions.stand(0))
        for voter in self._state.successors:
            self._tell(voter, failures=0)

    def on_flushed(self) -> None:
        """Nothing depends on it here."""

    def _tell(self, voter: int, failures: int) -> None:
        def answered(response: Any) -> None:
            if isinstance(response, RpcFailure):
                self.scope.later(retry_backoff_ns(failures + 1), lambda: self._tell(voter, failures + 1))
                return
            del self.unnotified[voter]
            answer = answer_of(response)
            if answer is not None:
                self._actions.learned(answer)

        notice = LeaderNotice(self._state.epoch, self._shared.node_id, self._state.successors)
        request = end_quorum_epoch(self._shared.cluster_id, notice)
        self.scope.send(voter, request, END_QUORUM_EPOCH_VERSION, answered, channel="raft")
