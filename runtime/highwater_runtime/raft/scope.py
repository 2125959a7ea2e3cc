"""What the roles of a replica share, and the span of one role's life.

A replica plays one role at a time (wait, canvass, campaign, lead, resign, fetch), for one state in one epoch. All that
a role begins (timers, requests) belongs to its :class:`Scope` and ends with it: no late answer and no forgotten timer
of a former role ever reaches the replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from highwater_runtime.ports import ApiMessage, Endpoint, Ports, Timer
from highwater_runtime.raft.election import Timing
from highwater_runtime.raft.messages import Answer
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.patience import Patience
from highwater_runtime.raft.quorum import Quorum
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.raft.snapshotting import Snapshots


class Actions(Protocol):
    """What a role may ask of its replica."""

    @property
    def high_watermark(self) -> int:
        """What this replica knows to be committed (exclusive end)."""

    def learned(self, answer: Answer) -> bool:
        """Take up the epoch and leader that another node knows; whether that ended the role."""

    def stand(self, retries: int, *, leader_resigned: bool = False) -> None:
        """Stand for election in the next epoch, after ``retries`` failed elections in a row. Ends the role.

        With pre-vote a voter asks first, except where the leader itself has called for the election.
        """

    def would_win(self) -> None:
        """Stand: a majority would grant. Ends the role."""

    def won(self, granting: tuple[int, ...]) -> None:
        """Lead: a majority granted. Ends the role."""

    def give_up(self, successors: tuple[int, ...]) -> None:
        """Lead no more. Ends the role."""

    def commit_up_to(self, offset: int, leader_id: int) -> None:
        """All below ``offset`` is committed, says the leader. Does not end the role."""

    def take_snapshot(self, snapshot_id: SnapshotId, data: bytes, leader_id: int) -> None:
        """Begin anew with a snapshot of the leader's, if it is whole and ahead. Does not end the role."""


@dataclass(frozen=True, slots=True)
class Shared:
    """One replica's surroundings. ``event`` wraps a callback so that the replica settles after it."""

    node_id: int
    endpoints: Mapping[int, Endpoint]
    cluster_id: str
    ports: Ports
    timing: Timing
    patience: Patience
    quorum: Quorum
    log: MetadataLog
    snapshots: Snapshots
    pre_vote: bool
    confirm_reads: bool
    event: Callable[[Callable[[], None]], None]


class Scope:
    """The span of one role."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._timers: dict[int, Timer] = {}
        self._next_timer = 0
        self._endings: list[Callable[[], None]] = []
        self.is_open = True

    def close(self) -> None:
        """End the role: nothing it began calls back from now on."""
        self.is_open = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for ending in self._endings:
            ending()

    def at_end(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when the role ends, before the next one begins."""
        self._endings.append(callback)

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        """Run ``callback`` after ``delay_ns``, if the role still plays then."""
        key, self._next_timer = self._next_timer, self._next_timer + 1

        def due() -> None:
            del self._timers[key]
            self._shared.event(callback)

        self._timers[key] = self._shared.ports.clock.call_later(delay_ns, due)

    def send(
        self, voter: int, request: ApiMessage, version: int, on_response: Callable[[Any], None], *, channel: str
    ) -> None:
        """Send to a voter; ``on_response`` gets the response or a failure, if the role still plays then."""

        def answered(response: Any) -> None:
            if self.is_open:
                self._shared.event(lambda: on_response(response))

        shared = self._shared
        shared.ports.network.send(
            shared.endpoints[voter], request, version, answered, timeout_ns=shared.timing.request_ns, channel=channel
        )


class Role(Protocol):
    """One role."""

    scope: Scope

    def start(self) -> None:
        """Begin. May end the role at once (a single voter wins when it stands)."""

    def on_flushed(self) -> None:
        """The log is durable further than before."""
