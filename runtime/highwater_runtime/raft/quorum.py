"""The current state of one replica: every change of it goes through here, is checked, made durable and reported."""

from __future__ import annotations

from highwater_runtime.ports import Trace
from highwater_runtime.ports.trace import RaftStateChanged
from highwater_runtime.raft.quorum_state_store import QuorumStateStore
from highwater_runtime.raft.states import (
    ElectionState,
    State,
    Unattached,
    check_transition,
    election_state,
    leader_of,
    state_after_restart,
)


class Quorum:
    """Who this replica is to the quorum, and what it believes of the others.

    ``voters`` are the voters' ids, ascending. :attr:`saved` is what the disk holds; it never lags :attr:`state`.
    """

    def __init__(self, node_id: int, voters: tuple[int, ...], store: QuorumStateStore, trace: Trace) -> None:
        self.node_id = node_id
        self.voters = voters
        self.is_voter = node_id in voters
        self.majority = len(voters) // 2 + 1
        self._store = store
        self._trace = trace
        self.saved = ElectionState(0)
        self.state: State = Unattached(0)

    @property
    def epoch(self) -> int:
        """The epoch this replica is in."""
        return self.state.epoch

    @property
    def leader_id(self) -> int | None:
        """The leader of :attr:`epoch` where known."""
        return leader_of(self.state)

    @property
    def voted_id(self) -> int | None:
        """This replica's vote in :attr:`epoch` where it gave one."""
        return self.saved.voted_id

    @property
    def others(self) -> tuple[int, ...]:
        """The voters other than this replica, ascending."""
        return tuple(voter for voter in self.voters if voter != self.node_id)

    def load(self, log_epoch: int) -> None:
        """Take up the saved state; ``log_epoch`` is the epoch of the log's last record, 0 where it is empty."""
        found = self._store.load()
        state = state_after_restart(found, self.node_id, self.voters, log_epoch)
        assert state.epoch >= found.epoch, f"epoch went back over a restart: {found} became {state}"
        # Saved again even if nothing changed: a process that died between rename and fsync left in the page cache what
        # a power loss can still take back, and from now on this replica acts on it.
        self._save(election_state(state))
        self._enter(state)

    def transition(self, state: State) -> None:
        """Go to ``state``: durable before this returns. Raises ``OSError`` where the disk fails."""
        check_transition(self.state, state)
        new, old = election_state(state), self.saved
        assert new.epoch >= old.epoch, f"epoch never goes back: {old} to {new}"
        if new.epoch == old.epoch and old.voted_id is not None:
            assert new.voted_id == old.voted_id, f"one vote in an epoch: {old} to {new}"
        if new.epoch == old.epoch and old.leader_id is not None:
            assert new.leader_id == old.leader_id, f"one leader in an epoch: {old} to {new}"
        self._enter(state)

    def _save(self, durable: ElectionState) -> None:
        self._store.save(durable)
        self.saved = durable

    def _enter(self, state: State) -> None:
        durable = election_state(state)
        if durable != self.saved:
            self._save(durable)
        self.state = state
        self._trace.emit(
            RaftStateChanged(
                epoch=state.epoch,
                leader=_or_minus_one(self.leader_id),
                broker=_or_minus_one(self.voted_id),
                reason=state.NAME,
            )
        )


def _or_minus_one(number: int | None) -> int:
    return -1 if number is None else number
