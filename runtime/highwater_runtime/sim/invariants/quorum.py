"""Invariants of the controllers' quorum (Raft): one leader an epoch, matching logs, and nothing committed is lost."""

from __future__ import annotations

from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.ports.trace import NodeEvent, RaftAppended, RaftHighWatermark, RaftStateChanged
from highwater_runtime.raft import RaftReplica
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator

SUBJECT = "__cluster_metadata-0"


class QuorumInvariants:
    """Checks the quorum; the monitor feeds it every node event."""

    def __init__(self, simulator: Simulator, violations: Violations) -> None:
        self._simulator = simulator
        self._violations = violations
        self._leaders: dict[int, str] = {}
        self._batches: dict[tuple[int, int], tuple[int, int]] = {}
        self._committed: dict[int, tuple[int, int, int]] = {}
        self._committed_in: dict[int, int] = {}
        self._committed_end = 0
        self._epochs: dict[str, tuple[int, int]] = {}

    def on_event(self, node: str, event: NodeEvent) -> None:
        """Take in one node event and check it."""
        match event:
            case RaftStateChanged():
                self._state(node, event)
            case RaftAppended():
                self._log_matching(node, event)
            case RaftHighWatermark():
                self._high_watermark(node, event)

    def _state(self, node: str, event: RaftStateChanged) -> None:
        # A node remembers its epoch for as long as it has its disk.
        wipes = self._simulator.nodes[node].disk.wipes
        before, wipes_before = self._epochs.get(node, (0, wipes))
        if event.epoch < before and wipes == wipes_before:
            what = f"{node} went from epoch {before} back to {event.epoch}"
            self._violations.add("raft-epoch-regression", node, what, event.epoch)
        self._epochs[node] = (event.epoch, wipes)
        if event.reason != "leader":
            return
        leader = self._leaders.setdefault(event.epoch, node)
        if leader != node:
            what = f"{node} and {leader} both lead epoch {event.epoch}"
            self._violations.add("raft-election-safety", SUBJECT, what, event.epoch)
        self._leader_completeness(node, event.epoch)

    def _leader_completeness(self, node: str, epoch: int) -> None:
        replica = self._replica(node)
        if replica is None:
            return
        found = {
            batch.base_offset: (batch.end_offset, batch.leader_epoch, batch.crc)
            for batch in replica.log.batches_between(replica.log.log_start_offset, replica.log.log_end_offset)
        }
        for offset, batch in self._committed.items():
            # A candidate that was paused may find itself leader of an epoch that is long over: it owes nothing to
            # what later epochs committed.
            if self._committed_in[offset] >= epoch or offset < replica.log.log_start_offset:
                continue
            if found.get(offset) != batch:
                what = f"{node} leads epoch {epoch} without the committed batch at offset {offset}"
                self._violations.add("raft-leader-completeness", SUBJECT, what, (epoch, offset))
                return

    def _log_matching(self, node: str, event: RaftAppended) -> None:
        batch = (event.end_offset, event.crc)
        known = self._batches.setdefault((event.epoch, event.offset), batch)
        if known != batch:
            what = f"{node} has another batch of epoch {event.epoch} at offset {event.offset} than a node before it"
            self._violations.add("raft-log-matching", SUBJECT, what, (event.epoch, event.offset))

    def _high_watermark(self, node: str, event: RaftHighWatermark) -> None:
        """What lies below anybody's HW is the same for everybody, for ever."""
        replica = self._replica(node)
        if replica is None:
            return
        log = replica.log
        if event.offset > log.log_end_offset:
            what = f"{node} has HW {event.offset} behind its log end offset {log.log_end_offset}"
            self._violations.add("raft-committed-data", node, what, event.offset)
        start = max(log.log_start_offset, min(self._committed_end, event.offset))
        for batch in log.batches_between(start, min(event.offset, log.log_end_offset)):
            found = (batch.end_offset, batch.leader_epoch, batch.crc)
            known = self._committed.setdefault(batch.base_offset, found)
            self._committed_in.setdefault(batch.base_offset, event.epoch)
            if known != found:
                what = f"{node} holds another batch below its HW at offset {batch.base_offset} than was committed"
                self._violations.add("raft-committed-data", SUBJECT, what, (node, batch.base_offset))
        self._committed_end = max(self._committed_end, event.offset)

    def _replica(self, node: str) -> RaftReplica | None:
        host = self._simulator.nodes.get(node)
        if host is None or not host.is_alive or host.process is None:
            return None
        core = host.process.core
        return core.raft if isinstance(core, QuorumController) else None
