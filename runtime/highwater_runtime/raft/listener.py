"""The interface of the state machine above the metadata log (KIP-595).

One replica has one listener. Within one incarnation the listener gets every committed batch exactly once, in offset
order, from the first batch of the log. After a restart it gets the batches of the log again, when the new incarnation
knows that they are committed. A snapshot replaces what is no longer in the log: it is loaded at the start, or later if
the replica falls behind the start of its leader's log (KIP-630).
"""

from __future__ import annotations

from typing import Protocol


class RaftListener(Protocol):
    """The controller's or broker's side of a :class:`~highwater_runtime.raft.RaftReplica`.

    All methods are called at the end of the event that caused them. They may call ``append`` and ``resign`` of
    the replica.
    """

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:
        """The batch [``base_offset``, ``last_offset``] of ``epoch`` is committed; ``records[i]`` has offset
        ``base_offset + i``.

        A control batch (the LeaderChange record at the start of every epoch) comes with an empty ``records``, so
        that ``last_offset`` + 1 is always the offset up to which the state machine is complete.
        """

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        """Forget the state and take up that of ``records``: all below ``end_offset``, the last of it of ``epoch``.

        The next batch begins at ``end_offset``. Never called on a leader.
        """

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """The epoch or the leader of the quorum has changed. ``leader_id`` is None if it is not known or there is none.

        Called at once, with one exception. If this replica itself becomes leader, it is called after every batch up to
        the LeaderChange record of its own epoch, so that the state is complete. If the replica loses that leadership
        before, there is only the call for the next epoch.
        """
