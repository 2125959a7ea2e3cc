"""A voter without a leader (unattached or voted) becomes candidate when its election time-out is over."""

from __future__ import annotations

from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.states import Voted


class Waiting:
    """Waits for the rest of its election time-out, or for a new one if it has just voted."""

    def __init__(self, shared: Shared, actions: Actions) -> None:
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions

    def start(self) -> None:
        """Set the time-out. A single voter becomes candidate at once."""
        if not self._shared.quorum.others:
            self._actions.stand(0)
            return
        election_timer = self._shared.election_timer
        has_voted = isinstance(self._shared.quorum.state, Voted)
        self.scope.later(
            election_timer.renew() if has_voted else election_timer.left_ns(), lambda: self._actions.stand(0)
        )

    def on_flushed(self) -> None:
        """Nothing depends on it here."""
