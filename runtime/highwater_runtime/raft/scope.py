"""What the roles of a replica share, and the span of one role's life.

A replica has one role at a time (waiting, pre-election, campaign, leading, resigning, fetching), for one state in one
epoch. All timers and requests of a role belong to its :class:`Scope` and end with it. So no late response and no timer
of a former role reaches the replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from highwater_runtime.ports import ApiMessage, Endpoint, Ports, RpcFailure, Timer
from highwater_runtime.raft.election import Timing
from highwater_runtime.raft.election_timer import ElectionTimer
from highwater_runtime.raft.messages import QuorumResponse, came_to_another
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.quorum import Quorum
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.raft.snapshotting import Snapshots


class Actions(Protocol):
    """What a role may ask of its replica."""

    @property
    def high_watermark(self) -> int:
        """The exclusive end of what this replica knows to be committed."""

    def learned(self, answer: QuorumResponse) -> bool:
        """Adopt the epoch and leader that another node knows. Return whether that ended the role."""

    def stand(self, retries: int, *, leader_resigned: bool = False) -> None:
        """Become candidate in the next epoch, after ``retries`` failed elections in a row. Ends the role.

        With pre-vote, become prospective first, unless the leader itself asked for the election.
        """

    def would_win(self) -> None:
        """Become candidate, since a majority granted its pre-votes. Ends the role."""

    def won(self, granting: tuple[int, ...]) -> None:
        """Become leader, since a majority granted its votes. Ends the role."""

    def give_up(self, successors: tuple[int, ...]) -> None:
        """Resign. Ends the role."""

    def commit_up_to(self, offset: int, leader_id: int) -> None:
        """Advance the HW to ``offset`` (exclusive). Does not end the role."""

    def take_snapshot(self, snapshot_id: SnapshotId, data: bytes, leader_id: int) -> bool:
        """Replace log and state by a snapshot of the leader. Return False, with nothing done, if it is not complete or
        not ahead. Does not end the role."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all roles of a replica share. ``event`` runs a callback, then brings replica and listener up to date."""

    node_id: int
    endpoints: Mapping[int, Endpoint]
    cluster_id: str
    ports: Ports
    timing: Timing
    election_timer: ElectionTimer
    quorum: Quorum
    log: MetadataLog
    snapshots: Snapshots
    pre_vote: bool
    confirm_reads: bool
    event: Callable[[Callable[[], None]], None]


class Scope:
    """The lifetime of one role."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._timers: dict[int, Timer] = {}
        self._next_timer = 0
        self._endings: list[Callable[[], None]] = []
        self.is_open = True

    def close(self) -> None:
        """End the role. Cancel its timers and ignore responses to its requests."""
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
        """Run ``callback`` after ``delay_ns``, unless the role has ended."""
        key, self._next_timer = self._next_timer, self._next_timer + 1

        def due() -> None:
            del self._timers[key]
            self._shared.event(callback)

        self._timers[key] = self._shared.ports.clock.call_later(delay_ns, due)

    def send(
        self, voter: int, request: ApiMessage, version: int, on_response: Callable[[Any], None], *, channel: str
    ) -> None:
        """Send to a voter. ``on_response`` gets the response or an ``RpcFailure``, unless the role has ended. A
        response of another voter counts as a failure."""

        def answered(response: Any) -> None:
            if came_to_another(response):
                self.reconnect(voter)
                response = RpcFailure.DISCONNECTED
            if self.is_open:
                self._shared.event(lambda: on_response(response))

        shared = self._shared
        shared.ports.network.send(
            shared.endpoints[voter], request, version, answered, timeout_ns=shared.timing.request_ns, channel=channel
        )

    def reconnect(self, voter: int) -> None:
        """Connect to a voter anew: another one answers at its address."""
        self._shared.ports.network.disconnect(self._shared.endpoints[voter])


class Role(Protocol):
    """One role."""

    scope: Scope

    def start(self) -> None:
        """Begin the role. May end it at once (a single voter wins its election)."""

    def on_flushed(self) -> None:
        """React to a larger flushed end of the log."""
