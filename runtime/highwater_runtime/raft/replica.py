"""One replica of the metadata log: signatures first, the protocol grows behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highwater_runtime.config import NodeConfig
from highwater_runtime.log import Log
from highwater_runtime.log.records import Record, build_batch
from highwater_runtime.ports import Endpoint, InboundRequest, Ports
from highwater_runtime.raft.errors import NotLeader
from highwater_runtime.raft.listener import RaftListener


class RaftReplica:
    """A voter (``node_id`` in ``voters``) or an observer of the quorum."""

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
    ) -> None:
        self.node_id = node_id
        self.voters = dict(voters)
        self._ports = ports
        self._log = log
        self._listener = listener
        self._epoch = 0
        self._leader_id: int | None = None
        self._high_watermark = 0

    @property
    def epoch(self) -> int:
        """The quorum's epoch as this replica knows it; never goes back, not even over restarts."""
        return self._epoch

    @property
    def leader_id(self) -> int | None:
        """Who leads :attr:`epoch`; ``None`` where that is not known."""
        return self._leader_id

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads now (it may not yet have been announced to the listener)."""
        return self._leader_id == self.node_id

    @property
    def high_watermark(self) -> int:
        """Exclusive end of what this replica knows to be committed; 0 until it learns more."""
        return self._high_watermark

    @property
    def log_end_offset(self) -> int:
        """The next offset of this replica's log."""
        return self._log.log_end_offset

    def start(self) -> None:
        """Load the quorum state and begin. Raises ``OSError`` where the disk fails."""
        self._epoch, self._leader_id = 1, self.node_id

    def handles(self, request: InboundRequest) -> bool:
        """Whether ``request`` is for the quorum: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch of the metadata log."""
        return False

    def on_request(self, request: InboundRequest) -> None:
        """Answer a request for which :meth:`handles` is true, now or later."""

    def append(self, records: list[bytes]) -> int:
        """Append the record values as one atomic batch; returns the offset of the last.

        It is committed when ``on_commit`` says so, or lost if leadership is. Raises :class:`NotLeader`.
        """
        if not self.is_leader:
            raise NotLeader(self._leader_id, self._epoch)
        batch = build_batch([Record(value=value) for value in records], leader_epoch=self._epoch)
        info = self._log.append_as_leader(batch, self._epoch, self._ports.clock.wall_ms())
        self._log.flush_later(lambda error: self._commit(info.first_offset, records))
        return info.last_offset

    def _commit(self, base_offset: int, records: list[bytes]) -> None:
        self._high_watermark = base_offset + len(records)
        self._listener.on_commit(base_offset, self._epoch, records, self._high_watermark - 1)

    def resign(self) -> None:
        """Give up leadership; nothing happens on a replica that does not lead."""

    def stop(self, on_stopped: Callable[[], None] = lambda: None) -> None:
        """Leave cleanly: a leader hands over first (EndQuorumEpoch). Then calls ``on_stopped`` once."""
        on_stopped()
