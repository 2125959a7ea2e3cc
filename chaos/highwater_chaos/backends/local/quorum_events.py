"""What the events of controllers show about Raft's invariants, if the nodes themselves cannot be looked into.

The simulator checks the quorum against live cores after every event. Real processes only write events, so a check here
can use nothing else. ``raft-leader-completeness`` and ``raft-commit-majority`` are judged by the log that each
controller reported (an append, a truncation, a fetched snapshot). Its next incarnation has the same log, unless it lost
its disk or its power. Then the controller is left out until it has reported again.

Names are those of ``highwater_pipeline.anomalies``. Events must come in the order of their times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable
from typing import Final, NamedTuple

from highwater_chaos.backends.protocol import InvariantViolation, TimedEvent
from highwater_runtime.ports.trace import (
    NodeEvent,
    NodeStarted,
    NodeStopped,
    RaftAppended,
    RaftBroken,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
    RaftTruncated,
)

QUORUM_KINDS: Final = (b"raft-", b"node-started", b"node-stopped")
"""The kinds of events that are judged here, by the beginning of their names."""
SUBJECT: Final = "__cluster_metadata-0"
_MOST: Final = 1000
_NOTHING_REPORTED: Final = 1 << 62
"""As an offset: behind everything."""


class _Batch(NamedTuple):
    end_offset: int
    epoch: int
    crc: int


class _Voter:
    """What one controller has reported."""

    __slots__ = ("end", "epoch", "high_watermark", "known", "leader", "log", "state", "uncommitted", "up")

    def __init__(self) -> None:
        self.up = False
        self.state = ""
        self.epoch = 0
        self.leader = -1
        self.high_watermark = 0
        self.log: dict[int, _Batch] = {}
        self.uncommitted: deque[tuple[int, _Batch]] = deque()
        """The part of ``log`` that no HW of its own has covered yet."""
        self.end = 0
        self.known = True
        """Whether ``log`` and ``end`` are all it holds; not once it has lost power."""

    def forget_log(self) -> None:
        self.log.clear()
        self.uncommitted.clear()
        self.end = 0


class QuorumJudge:
    """Judges the events of one run.

    Args:
        voters: names of the controllers, by node id.
        wiped: (node, incarnation) of those that began on an empty disk after another one had been there.
    """

    def __init__(self, voters: dict[int, str], wiped: Container[tuple[str, int]] = ()) -> None:
        self.violations: list[InvariantViolation] = []
        self._names = voters
        self._wiped = wiped
        self._voters = {name: _Voter() for name in voters.values()}
        self._leaders: dict[int, str] = {}
        self._batches: dict[tuple[int, int], tuple[int, int]] = {}
        self._committed: dict[int, _Batch] = {}
        self._committed_in: dict[int, int] = {}
        self._snapshots: dict[tuple[int, int], int] = {}
        self._seen: set[tuple[str, str, object]] = set()
        self._now_ns = 0

    def judge(self, events: Iterable[TimedEvent]) -> list[InvariantViolation]:
        """Take in further events; returns everything found so far."""
        for timed in events:
            self._now_ns = timed.time_ns
            voter = self._voters.get(timed.node)
            if voter is not None:
                self._take(timed.node, timed.incarnation, voter, timed.event)
            elif isinstance(timed.event, RaftAppended):
                self._log_matching(timed.node, timed.event)
        return self.violations

    def _take(self, node: str, incarnation: int, voter: _Voter, event: NodeEvent) -> None:
        match event:
            case NodeStarted():
                voter.up, voter.state, voter.leader, voter.high_watermark = True, "", -1, 0
                if (node, incarnation) in self._wiped:
                    voter.forget_log()
                    voter.epoch, voter.known = 0, True
            case NodeStopped(reason=reason):
                voter.up = False
                if reason == "power-loss":
                    voter.forget_log()
                    voter.known = False
            case RaftStateChanged():
                self._state(node, voter, event)
            case RaftAppended():
                voter.log[event.offset] = batch = _Batch(event.end_offset, event.epoch, event.crc)
                voter.uncommitted.append((event.offset, batch))
                voter.end = event.end_offset
                self._log_matching(node, event)
            case RaftTruncated():
                voter.end = event.offset
                while voter.uncommitted and voter.uncommitted[-1][0] >= event.offset:
                    voter.uncommitted.pop()
                voter.log = {offset: batch for offset, batch in voter.log.items() if offset < event.offset}
                if event.offset < voter.high_watermark:
                    what = f"{node} cut its log back to {event.offset}, below its HW"
                    self._add("raft-committed-data", node, what, event.offset)
            case RaftHighWatermark():
                self._high_watermark(node, voter, event)
            case RaftSnapshot():
                self._snapshot(node, voter, event)
            case RaftBroken():
                what = f"{node} follows node {event.leader} in epoch {event.epoch}, but got: {event.reason}"
                self._add(event.reason, SUBJECT, what, ("contradicted", event.epoch))

    # --- elections ---

    def _state(self, node: str, voter: _Voter, event: RaftStateChanged) -> None:
        # Epoch and vote are durable before they are used, so power loss is no excuse; another disk is.
        if event.epoch < voter.epoch:
            what = f"{node} went from epoch {voter.epoch} back to {event.epoch}"
            self._add("raft-epoch-regression", node, what, event.epoch)
        if event.reason == "candidate":
            self._epoch_inflation(node, event.epoch)
        voter.epoch, voter.state, voter.leader = event.epoch, event.reason, event.leader
        if event.reason == "leader":
            self._new_leader(node, voter, event.epoch)

    def _new_leader(self, node: str, voter: _Voter, epoch: int) -> None:
        if self._leaders and epoch not in self._leaders:
            before = max(self._leaders)
            what = f"{node} leads epoch {epoch} after {self._leaders[before]} led epoch {before}"
            self._add("stable-leadership", SUBJECT, what, epoch)
        leader = self._leaders.setdefault(epoch, node)
        if leader != node:
            self._add("raft-election-safety", SUBJECT, f"{node} and {leader} both lead epoch {epoch}", epoch)
        start = min(voter.log, default=0 if voter.known else _NOTHING_REPORTED)
        for offset, batch in self._committed.items():
            # It has not reported what its log holds from before a snapshot or a power loss.
            if offset >= start and self._committed_in[offset] < epoch and voter.log.get(offset) != batch:
                what = f"{node} leads epoch {epoch} without the committed batch at offset {offset}"
                self._add("raft-leader-completeness", SUBJECT, what, (epoch, offset))
                return

    def _epoch_inflation(self, node: str, epoch: int) -> None:
        """Check whether a voter raised the epoch although a leader of a lower one lives and a majority follows it. A
        voter without an answer from its leader for a fetch time-out is no longer a follower, and reports this."""
        for number, name in self._names.items():
            leader = self._voters[name]
            if not leader.up or leader.state != "leader" or leader.epoch >= epoch or name == node:
                continue
            following = [
                other
                for other, voter in self._voters.items()
                if other != node
                and voter.up
                and voter.state == "follower"
                and (voter.epoch, voter.leader) == (leader.epoch, number)
            ]
            if 2 * (len(following) + 1) > len(self._voters):
                heard_by = ", ".join(following)
                what = f"{node} bumps the epoch to {epoch} while {name} leads epoch {leader.epoch}, heard by {heard_by}"
                self._add("epoch-inflation", node, what, epoch)

    # --- logs ---

    def _log_matching(self, node: str, event: RaftAppended) -> None:
        batch = (event.end_offset, event.crc)
        known = self._batches.setdefault((event.epoch, event.offset), batch)
        if known != batch:
            what = f"{node} has another batch of epoch {event.epoch} at offset {event.offset} than a node before it"
            self._add("raft-log-matching", SUBJECT, what, (event.epoch, event.offset))

    def _high_watermark(self, node: str, voter: _Voter, event: RaftHighWatermark) -> None:
        if event.offset <= voter.high_watermark:
            what = f"{node}'s HW went from {voter.high_watermark} to {event.offset}"
            self._add("raft-hw-regression", node, what, event.offset)
        voter.high_watermark = max(voter.high_watermark, event.offset)
        if self._names.get(event.leader) == node and all(one.known for one in self._voters.values()):
            holders = sum(one.end >= event.offset for one in self._voters.values())
            if 2 * holders <= len(self._voters):
                what = f"{node} announces HW {event.offset}, which {holders} of {len(self._voters)} voters have reached"
                self._add("raft-commit-majority", SUBJECT, what, event.offset)
        last: _Batch | None = None
        while voter.uncommitted and voter.uncommitted[0][1].end_offset <= event.offset:
            offset, batch = voter.uncommitted.popleft()
            last = batch
            self._committed_in.setdefault(offset, event.epoch)
            known = self._committed.setdefault(offset, batch)
            if known != batch:
                what = f"{node} holds another batch below its HW at offset {offset} than was committed"
                self._add("raft-committed-data", SUBJECT, what, (node, offset))
        if self._names.get(event.leader) == node and last is not None and last.epoch != event.epoch:
            what = (
                f"{node}, leader of epoch {event.epoch}, announces HW {event.offset}, and the last record below it is"
                f" of epoch {last.epoch}"
            )
            self._add("raft-commit-own-epoch", SUBJECT, what, event.offset)

    def _snapshot(self, node: str, voter: _Voter, event: RaftSnapshot) -> None:
        if event.reason == "ignored":
            return
        if event.reason == "fetched":
            voter.forget_log()
            voter.end = event.offset
            voter.known = True
        if event.reason == "loaded" and voter.state == "leader":
            what = f"{node} leads and loads the snapshot of offset {event.offset}"
            self._add("raft-leader-loads-snapshot", node, what, event.offset)
        known = self._snapshots.setdefault((event.offset, event.epoch), event.crc)
        if known != event.crc:
            what = f"{node} has another state below offset {event.offset} in its snapshot than a node before it"
            self._add("raft-committed-data", SUBJECT, what, (node, "snapshot", event.offset))

    def _add(self, name: str, subject: str, what: str, key: object) -> None:
        identity = (name, subject, key)
        if identity not in self._seen and len(self.violations) < _MOST:
            self._seen.add(identity)
            self.violations.append(InvariantViolation(name, self._now_ns, subject, what))
