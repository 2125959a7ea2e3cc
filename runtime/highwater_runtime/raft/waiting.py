"""A voter without a leader: unattached, or voted for another. It waits for news, and stands when there are none."""

from __future__ import annotations

from highwater_runtime.raft.scope import Actions, Scope, Shared


class Waiting:
    """Waits for one randomized election time-out."""

    def __init__(self, shared: Shared, actions: Actions) -> None:
        self.scope = Scope(shared)
        self._shared = shared
        self._actions = actions

    def start(self) -> None:
        """Set the time-out; a single voter has nobody to wait for."""
        if not self._shared.quorum.others:
            self._actions.stand(0)
            return
        timeout = self._shared.timing.election_timeout_ns(self._shared.ports.random)
        self.scope.later(timeout, lambda: self._actions.stand(0))

    def on_flushed(self) -> None:
        """Nothing depends on it here."""
