"""Invariants of the quorum that keeps the metadata: controllers, or the servers of a ZooKeeper ensemble (Raft in both).

One leader an epoch, matching logs, and nothing committed is lost.

Always: ``raft-election-safety``, ``raft-log-matching``, ``raft-leader-completeness``, ``raft-committed-data``,
``raft-epoch-regression``, ``raft-hw-regression``, ``raft-commit-majority``, ``raft-commit-durable``,
``raft-commit-own-epoch``, ``raft-leader-loads-snapshot``, ``raft-overdue``. Where an experiment asks for them (see
``highwater_pipeline.anomalies``): ``epoch-inflation``, ``stable-leadership``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.log.names import METADATA_LOG_DIR
from highwater_runtime.ports.trace import (
    NodeEvent,
    RaftAppended,
    RaftBroken,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
    RaftTruncated,
)
from highwater_runtime.raft import RaftReplica
from highwater_runtime.sim.invariants.durable import DurableLogs
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.invariants.voters import is_voter
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.zookeeper import ZooKeeperServer
from highwater_runtime.zookeeper.server import DIRECTORY as TRANSACTIONS

SUBJECT = "__cluster_metadata-0"

OF_QUORUM: Final = frozenset(
    (RaftAppended, RaftBroken, RaftHighWatermark, RaftSnapshot, RaftStateChanged, RaftTruncated)
)
"""Events that :meth:`QuorumInvariants.on_event` has to see."""


class _Batch(NamedTuple):
    end_offset: int
    epoch: int
    crc: int


class QuorumInvariants:
    """Checks the quorum; the monitor feeds it every node event."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._leaders: dict[int, str] = {}
        self._batches: dict[tuple[int, int], tuple[int, int]] = {}
        self._committed: dict[int, _Batch] = {}
        self._committed_in: dict[int, int] = {}
        self._committed_end = 0
        self._snapshots: dict[tuple[int, int], int] = {}
        self._epochs: dict[str, tuple[int, int]] = {}
        self._high_watermarks: dict[tuple[str, int], int] = {}
        self._states: dict[tuple[str, int], str] = {}
        self._turn = 0
        self._stood: dict[str, int] = {}
        """When each node began to ask for the pre-votes that it counts, in events."""
        self._followed: dict[str, int] = {}
        """When each node began to follow the leader that it follows."""
        self._leaderless: dict[str, int] = {}
        """When each voter without a leader last stood, voted or lost its leader, in events."""
        self._ends: dict[str, int] = {}
        self._durable = DurableLogs()
        self._appended: dict[str, dict[int, _Batch]] = {}
        """What each node last appended at an offset: it holds that, or nothing there."""

    def on_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """Take in one node event and check it."""
        match event:
            case RaftStateChanged():
                self._states[node, incarnation] = event.reason
                self._state(node, event)
            case RaftAppended():
                self._ends[node] = event.end_offset
                batch = _Batch(event.end_offset, event.epoch, event.crc)
                self._appended.setdefault(node, {})[event.offset] = batch
                self._log_matching(node, event)
            case RaftTruncated():
                self._ends[node] = event.offset
                self._durable.forget(node)
                if event.offset < self._high_watermarks.get((node, incarnation), 0):
                    what = f"{node} cut its log back to {event.offset}, below its HW"
                    self._violations.add("raft-committed-data", node, what, event.offset)
            case RaftHighWatermark():
                self._high_watermark(node, incarnation, event)
            case RaftSnapshot():
                self._snapshot(node, incarnation, event)
            case RaftBroken():
                what = (
                    f"{node}, in epoch {event.epoch}, follows node {event.leader} and is told otherwise: {event.reason}"
                )
                self._violations.add(event.reason, SUBJECT, what, ("contradicted", event.epoch))

    @property
    def committed_end(self) -> int:
        """Exclusive end of what any node has called committed."""
        return self._committed_end

    def is_deposed(self, leader: RaftReplica) -> bool:
        """Whether a majority of the voters has gone to a newer epoch than that of this leader."""
        gone = sum(is_voter(name) and known > leader.epoch for name, (known, _) in self._epochs.items())
        return 2 * gone > leader.voter_count

    # --- elections ---------------------------------------------------------------------------------------------------

    def _state(self, node: str, event: RaftStateChanged) -> None:
        # A node remembers its epoch for as long as it has its disk.
        wipes = self._simulator.nodes[node].disk.wipes
        before, wipes_before = self._epochs.get(node, (0, wipes))
        if event.epoch < before and wipes == wipes_before:
            what = f"{node} went from epoch {before} back to {event.epoch}"
            self._violations.add("raft-epoch-regression", node, what, event.epoch)
        self._epochs[node] = (event.epoch, wipes)
        self._former_leaders_resign(event.epoch)
        self._turn += 1
        if event.reason == "follower":
            self._followed[node] = self._turn
        if event.reason == "prospective":
            self._stood[node] = self._turn
        if event.reason == "candidate":
            self._epoch_inflation(node, event.epoch, self._stood.pop(node, self._turn))
        if event.reason == "leader":
            self._new_leader(node, event.epoch)
        if event.reason in ("leader", "follower"):
            self._leaderless.pop(node, None)
        elif event.reason != "unattached" or node not in self._leaderless:
            self._stands_in_time(node)

    def _stands_in_time(self, node: str) -> None:
        """A voter without a leader stands for election, again and again, until there is one.

        That it learns of a newer epoch gives it no more time: or one that cannot win would keep it from standing.
        """
        turn = self._leaderless[node] = self._turn
        # A node that starts cannot be asked yet.
        self._simulator.call_later(0, lambda: self._stands_within(node, turn))

    def _stands_within(self, node: str, turn: int) -> None:
        replica = self._replica(node)
        if replica is None or not replica.is_voter:
            return

        def found() -> None:
            self._violations.now_ns = self._simulator.now_ns
            what = f"{node} is {replica.state.NAME} in epoch {replica.epoch}, and does not stand for election"
            self._violations.add("raft-overdue", node, what, replica.epoch)

        self._live.must_end(replica.timing.stands_within_ns, node, lambda: self._leaderless.get(node) == turn, found)

    def _former_leaders_resign(self, epoch: int) -> None:
        """A leader whose majority has gone to a newer epoch leads no longer than it may without their fetches."""
        for node in self._simulator.nodes:
            leader = self._replica(node)
            if leader is None or not leader.is_leader or leader.epoch >= epoch:
                continue
            if self.is_deposed(leader):
                self._resigns_within(node, leader, leader.epoch)

    def _resigns_within(self, node: str, leader: RaftReplica, epoch: int) -> None:
        def found() -> None:
            self._violations.now_ns = self._simulator.now_ns
            what = f"{node} still leads epoch {epoch}, though a majority of the voters has gone to a newer one"
            self._violations.add("raft-overdue", node, what, epoch)

        within_ns = leader.timing.check_quorum_ns
        self._live.must_end(within_ns, node, lambda: leader.is_leader and leader.epoch == epoch, found)

    def _new_leader(self, node: str, epoch: int) -> None:
        if self._leaders and epoch not in self._leaders:
            before = max(self._leaders)
            what = f"{node} leads epoch {epoch} after {self._leaders[before]} led epoch {before}"
            self._violations.add("stable-leadership", SUBJECT, what, epoch)
        leader = self._leaders.setdefault(epoch, node)
        if leader != node:
            what = f"{node} and {leader} both lead epoch {epoch}"
            self._violations.add("raft-election-safety", SUBJECT, what, epoch)
        self._leader_completeness(node, epoch)

    def _epoch_inflation(self, node: str, epoch: int, stood: int) -> None:
        """A voter bumps the epoch although a leader of a lower one lives and a majority hears it.

        A voter that began to follow after the candidate ``stood`` may have granted its pre-vote before that.
        """
        for name, host in self._simulator.nodes.items():
            leader = self._replica(name)
            if leader is None or not leader.is_leader or leader.epoch >= epoch:
                continue
            if host.is_paused or host.is_held:
                continue
            following = [
                other
                for other in self._simulator.nodes
                if (replica := self._replica(other)) is not None
                and replica.hears_leader
                and (replica.epoch, replica.leader_id) == (leader.epoch, leader.node_id)
                and replica.is_voter
                and self._followed.get(other, 0) <= stood
            ]
            if 2 * (len(following) + 1) > leader.voter_count:
                heard_by = ", ".join(following)
                what = f"{node} bumps the epoch to {epoch} while {name} leads epoch {leader.epoch}, heard by {heard_by}"
                self._violations.add("epoch-inflation", node, what, epoch)

    def _leader_completeness(self, node: str, epoch: int) -> None:
        replica = self._replica(node)
        if replica is None:
            return
        start = replica.log.log_start_offset
        found = {
            batch.base_offset: _Batch(batch.end_offset, batch.leader_epoch, batch.crc)
            for batch in replica.log.batches_between(start, replica.log.log_end_offset)
        }
        for offset, batch in self._committed.items():
            # A candidate that was paused may find itself leader of an epoch that is long over: it owes nothing to
            # what later epochs committed.
            if self._committed_in[offset] >= epoch or offset < start:
                continue
            if found.get(offset) != batch:
                what = f"{node} leads epoch {epoch} without the committed batch at offset {offset}"
                self._violations.add("raft-leader-completeness", SUBJECT, what, (epoch, offset))
                return

    # --- logs --------------------------------------------------------------------------------------------------------

    def _log_matching(self, node: str, event: RaftAppended) -> None:
        batch = (event.end_offset, event.crc)
        known = self._batches.setdefault((event.epoch, event.offset), batch)
        if known != batch:
            what = f"{node} has another batch of epoch {event.epoch} at offset {event.offset} than a node before it"
            self._violations.add("raft-log-matching", SUBJECT, what, (event.epoch, event.offset))

    def _high_watermark(self, node: str, incarnation: int, event: RaftHighWatermark) -> None:
        """Check that records below the HW of any replica are the same on all replicas, and stay so."""
        before = self._high_watermarks.get((node, incarnation), 0)
        if event.offset <= before:
            what = f"{node}'s HW went from {before} to {event.offset}"
            self._violations.add("raft-hw-regression", node, what, event.offset)
        self._high_watermarks[node, incarnation] = event.offset
        replica = self._replica(node)
        if replica is not None:
            if replica.node_id == event.leader:
                self._commit_majority(node, replica, event)
                self._commit_durable(node, replica, event)
                self._commit_own_epoch(node, replica, event)
            if event.offset > replica.log.log_end_offset:
                what = f"{node} has HW {event.offset} behind its log end offset {replica.log.log_end_offset}"
                self._violations.add("raft-committed-data", node, what, event.offset)
        self._note_committed(node, replica, before, event)

    def _note_committed(self, node: str, replica: RaftReplica | None, before: int, event: RaftHighWatermark) -> None:
        """Compare what the node's HW has passed with what was committed, and note what nobody's had passed yet."""
        start = min(self._committed_end, event.offset)
        if replica is not None and replica.log.log_start_offset <= start:
            end = min(event.offset, replica.log.log_end_offset)
            for batch in replica.log.batches_between(max(before, replica.log.log_start_offset), end):
                found = _Batch(batch.end_offset, batch.leader_epoch, batch.crc)
                self._committed_batch(node, batch.base_offset, found, event.epoch)
        else:  # it died in this very event, or has a snapshot by now: use what it reported
            offset, appended = start, self._appended.get(node, {})
            while offset < event.offset and offset in appended:
                self._committed_batch(node, offset, appended[offset], event.epoch)
                offset = appended[offset].end_offset
        self._committed_end = max(self._committed_end, event.offset)

    def _committed_batch(self, node: str, offset: int, found: _Batch, epoch: int) -> None:
        known = self._committed.setdefault(offset, found)
        self._committed_in.setdefault(offset, epoch)
        if known != found:
            what = f"{node} holds another batch below its HW at offset {offset} than was committed"
            self._violations.add("raft-committed-data", SUBJECT, what, (node, offset))

    def _commit_majority(self, node: str, leader: RaftReplica, event: RaftHighWatermark) -> None:
        """The HW that a leader announces is in the logs of a majority (of a dead node: by what it had last)."""
        holders = 0
        for name in self._simulator.nodes:
            replica = self._replica(name)
            if replica is not None and replica.is_voter:
                holders += replica.log_end_offset >= event.offset
            elif replica is None and is_voter(name):
                holders += self._ends.get(name, 0) >= event.offset
        if 2 * holders <= leader.voter_count:
            what = f"{node} announces HW {event.offset}, which {holders} of {leader.voter_count} voters have reached"
            self._violations.add("raft-commit-majority", SUBJECT, what, event.offset)

    def _commit_durable(self, node: str, leader: RaftReplica, event: RaftHighWatermark) -> None:
        """A majority keeps what the HW covers through any loss of power: it is on their disks, not in page caches.

        A voter whose disk was replaced may have held it on the disk before, so what it appended counts.
        """
        holders = 0
        for name, host in self._simulator.nodes.items():
            if is_voter(name):
                end = (
                    self._ends.get(name, 0)
                    if host.disk.wipes
                    else self._durable.end_offset(name, host.disk, _log_of(name))
                )
                holders += end >= event.offset
        if 2 * holders <= leader.voter_count:
            what = f"{node} announces HW {event.offset}, which {holders} of {leader.voter_count} voters have on disk"
            self._violations.add("raft-commit-durable", SUBJECT, what, event.offset)

    def _commit_own_epoch(self, node: str, leader: RaftReplica, event: RaftHighWatermark) -> None:
        """A leader commits nothing before a record of its own epoch (figure 8 of the Raft paper)."""
        for batch in leader.log.batches_between(max(event.offset - 1, leader.log.log_start_offset), event.offset):
            if batch.leader_epoch != event.epoch:
                what = (
                    f"{node}, leader of epoch {event.epoch}, announces HW {event.offset}, and the last record below it"
                    f" is of epoch {batch.leader_epoch}"
                )
                self._violations.add("raft-commit-own-epoch", SUBJECT, what, event.offset)

    def _snapshot(self, node: str, incarnation: int, event: RaftSnapshot) -> None:
        if event.reason == "ignored":
            return
        self._durable.forget(node)
        if event.reason == "fetched":
            self._ends[node] = event.offset
        if event.reason == "loaded" and self._states.get((node, incarnation)) == "leader":
            what = f"{node} leads and loads the snapshot of offset {event.offset}"
            self._violations.add("raft-leader-loads-snapshot", node, what, event.offset)
        known = self._snapshots.setdefault((event.offset, event.epoch), event.crc)
        if known != event.crc:
            what = f"{node} has another state below offset {event.offset} in its snapshot than a node before it"
            self._violations.add("raft-committed-data", SUBJECT, what, (node, "snapshot", event.offset))
        if event.offset > self._committed_end:
            what = f"{node} has a snapshot up to {event.offset}, behind what is committed ({self._committed_end})"
            self._violations.add("raft-committed-data", SUBJECT, what, (node, "snapshot", event.offset))

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _replica(self, node: str) -> RaftReplica | None:
        host = self._simulator.nodes.get(node)
        if host is None or not host.is_alive or host.process is None:
            return None
        core = host.process.core
        return core.raft if isinstance(core, QuorumController | ZooKeeperServer) and core.has_started else None


def _log_of(node: str) -> str:
    """The directory of a voter's log."""
    return TRANSACTIONS if node.startswith("zookeeper-") else METADATA_LOG_DIR
