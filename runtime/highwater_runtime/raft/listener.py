"""What the state machine above the metadata log hears from Raft (KIP-595).

One replica has one listener. Within one incarnation it is told of every committed batch exactly once and in offset
order, beginning with the first batch of the log: after a restart it is told again of what the log already holds, as
soon as the new incarnation knows that it is committed. A snapshot stands for what is no longer in the log: it is
loaded at the start, or in the middle, where the replica had fallen behind the beginning of its leader's log (KIP-630).
"""

from __future__ import annotations

from typing import Protocol


class RaftListener(Protocol):
    """The controller's or broker's side of a :class:`~highwater_runtime.raft.RaftReplica`.

    All methods are called at the end of the event that made the news. They may call ``append`` and ``resign`` of
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

        What comes next begins at ``end_offset``. A leader is never told so.
        """

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """The quorum's epoch or leader is another now; ``None``: not known, or there is none.

        Told at once, with one exception: a replica that becomes leader itself hears of it only after it was told of
        every batch up to and with the LeaderChange record of its own epoch, so that its state is complete.
        Leadership that was never announced is not taken back by more than the news of the next epoch.
        """
