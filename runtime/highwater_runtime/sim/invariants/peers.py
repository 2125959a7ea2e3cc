"""What leaders and followers make of what the other one says (``peer-forgotten``).

* A leader knows how far each replica has fetched, and goes on to know it as long as it leads in that epoch: whatever
  else changes, ISR or assignment, says nothing of that.
* A follower takes over the HW and the log start of each response, as far as its log reaches, with or without records.

Worked example: a leader that takes a laggard out of the ISR forgets the other followers, too. So what these have is not
committed before each has fetched again; a cluster at rest waits for the next record.

The trap: a follower has seen a response only when the next request of its fetch session comes over the same connection.
If its role or its log has changed since it sent the request, it leaves that response alone.
"""

from __future__ import annotations

from typing import Final, NamedTuple, get_args

from highwater_runtime.broker.apis.fetch import REPLICA_STATE_SINCE
from highwater_runtime.broker.fetch_sessions import TOPIC_IDS_SINCE
from highwater_runtime.broker.follower_state import UNKNOWN_OFFSET
from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.ports.trace import (
    BecameFollower,
    BecameLeader,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    IsrTaken,
    LogLoaded,
    LogRemoved,
    LogTruncated,
)
from highwater_runtime.sim.connection import Connection, ConnectionState, SimRequest
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.reported import ReportInvariants
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.errors import ErrorCode

_OfLeader = HighWatermarkAdvanced | IsrProposalEnded | IsrProposed | IsrTaken
_OfReplica = BecameFollower | BecameLeader | LogLoaded | LogRemoved | LogTruncated
OF_PEERS: Final = frozenset((*get_args(_OfLeader), *get_args(_OfReplica)))
"""Events that :meth:`PeerInvariants.on_event` has to see."""

_MANY: Final = 100
"""Connections that are remembered before those that were closed are forgotten."""


class _Known(NamedTuple):
    """The replicas of which a leadership knows what they have."""

    leading: Leadership
    replicas: frozenset[int]


class _Fetch(NamedTuple):
    """A fetch, and how many events of roles and logs there had been when the leader handled it, and when it was sent at
    the earliest: when the one before was handled; −1: unknown."""

    call: SimRequest
    at: int
    sent_at: int


class PeerInvariants:
    """Checks leaders and followers; the monitor feeds it events, and requests of followers when they were handled."""

    def __init__(
        self, simulator: Simulator, live: LiveCluster, reports: ReportInvariants, violations: Violations
    ) -> None:
        self._simulator = simulator
        self._live = live
        self._reports = reports
        self._violations = violations
        self._known: dict[tuple[str, str], _Known] = {}
        self._changes = 0
        self._changed: dict[tuple[str, str], int] = {}
        """By node and partition: the number of the last event of its role or log."""
        self._last: dict[Connection, _Fetch] = {}
        self.unheard: dict[tuple[str, PartitionKey], None] = {}
        """Nodes and partitions whose last response said where the logs part. A follower does not take over the HW of
        such a one, and its session is not told it again before it moves, as in Apache Kafka (CachedPartition)."""

    def on_event(self, node: str, _incarnation: int, event: _OfLeader | _OfReplica) -> None:
        """Take note of a role or a log, or look at what a leader knows."""
        if isinstance(event, _OfReplica):
            self._changes += 1
            self._changed[node, event.partition] = self._changes
            return
        replica = self._live.replica(node, event.partition, self._reports.of(node, event).topic_id)
        if replica is None or replica.leading is None:
            return
        leading, key = replica.leading, (node, event.partition)
        before = self._known.get(key)
        has = {broker: one.log_end_offset != UNKNOWN_OFFSET for broker, one in leading.followers.items()}
        if before is not None and before.leading is leading:
            for broker in sorted(before.replicas):
                if has.get(broker) is False:
                    what = f"{node} has forgotten what broker {broker} has fetched in leader epoch {leading.epoch}"
                    self._violations.add("peer-forgotten", replica.name, what, (replica.topic_id, leading.epoch))
        self._known[key] = _Known(leading, frozenset(broker for broker in has if has[broker]))

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at what a follower that asks again made of the last response."""
        connection, body = call.connection, call.body
        if connection is None or call.version < TOPIC_IDS_SINCE:
            return
        replica_id = body.replica_state.replica_id if call.version >= REPLICA_STATE_SINCE else body.replica_id
        if replica_id < 0:
            return
        # A fetcher that was begun anew asks beside its predecessor, whose response may be still under way.
        before = self._last.get(connection) if body.session_epoch > 0 else None
        if before is not None:
            self._took_over(f"broker-{replica_id}", node, before)
        if len(self._last) > _MANY:
            self._last = {one: call for one, call in self._last.items() if one.state is ConnectionState.OPEN}
        self._last[connection] = _Fetch(call, self._changes, -1 if before is None else before.at)

    def _took_over(self, follower: str, leader: str, last: _Fetch) -> None:
        response, broker = last.call.response, self._live.broker(follower)
        if response is None or broker is None or response.error_code != ErrorCode.NONE:
            return
        for topic in response.responses:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                replica = broker.partitions.get(key)
                if data.error_code == ErrorCode.NONE and data.diverging_epoch.epoch >= 0:
                    self.unheard[follower, key] = None
                else:
                    self.unheard.pop((follower, key), None)
                if (
                    replica is None
                    or replica.leading is not None
                    or not replica.log.is_online
                    or data.error_code != ErrorCode.NONE
                    or data.diverging_epoch.epoch >= 0
                    or self._changed.get((follower, replica.name), 0) > last.sent_at
                ):
                    continue
                has, log = replica.high_watermark, replica.log
                what = ""
                if has < min(data.high_watermark, log.log_end_offset):
                    what = f"the HW {data.high_watermark}, and has {has}"
                elif log.log_start_offset < min(data.log_start_offset, has):
                    what = f"the log start {data.log_start_offset}, and begins at {log.log_start_offset}"
                if what:
                    self._violations.now_ns = self._simulator.now_ns
                    self._violations.add(
                        "peer-forgotten",
                        replica.name,
                        f"{follower} has a response of {leader} with {what}",
                        (follower, replica.topic_id, replica.leader_epoch),
                    )
