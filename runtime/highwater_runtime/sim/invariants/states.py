"""``false-report``: what a broker reported of a replica is the state that the replica has.

The checks, the specification and :mod:`.reported` see events alone. So after each event of the simulator the events of
every replica that it touched, added up, are compared with the live replica: where its log starts and ends, its leader
epoch and ``min.insync.replicas``, and of a leader the partition epoch, the ISR and the high watermark. (The high
watermark of a follower is not reported.) A report that says what was before it, or under which state an acks=all write
was acknowledged, must agree with the reports before it. :mod:`.claims` looks at what nodes say of each other.

Worked example: a leader moves its high watermark to 8 and reports 7. No rule on events is broken. The check of
committed records believes that record 7 may be lost.

The trap: a log that has failed reports no more, and its broker knows no more of it than others do. It is left alone
until it is loaded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, get_args

from highwater_runtime.broker.partition import Partition
from highwater_runtime.metadata import NO_LEADER
from highwater_runtime.ports.trace import (
    BecameFollower,
    BecameLeader,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrTaken,
    LogAppended,
    LogLoaded,
    LogRemoved,
    LogStartMoved,
    LogTruncated,
    MinIsrSet,
    NodeStarted,
    TransitionTaken,
    WriteAcknowledged,
)
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations

ReplicaEvent = (
    BecameFollower
    | BecameLeader
    | HighWatermarkAdvanced
    | IsrProposalEnded
    | IsrTaken
    | LogAppended
    | LogLoaded
    | LogRemoved
    | LogStartMoved
    | LogTruncated
    | MinIsrSet
    | NodeStarted
    | TransitionTaken
    | WriteAcknowledged
)
OF_STATES: Final = frozenset(get_args(ReplicaEvent))
"""Events that :meth:`StateInvariants.on_event` has to see."""


@dataclass(slots=True)
class _Replica:
    """The reports of a replica, added up; None: not reported yet. The last five are a leader's."""

    topic_id: str
    start: int
    end: int
    leader_epoch: int | None = None
    min_isr: int | None = None
    leads: bool = False
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    high_watermark: int = 0
    acknowledged_under: tuple[int, int] | None = None
    """Partition epoch and ``min.insync.replicas`` of its last report of an acknowledgement."""


class StateInvariants:
    """Checks reports; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations
        self._replicas: dict[str, dict[str, _Replica]] = {}
        """By node and partition."""
        self._touched: dict[tuple[str, str], None] = {}

    def on_event(self, node: str, _incarnation: int, event: ReplicaEvent) -> None:
        replicas = self._replicas.get(node)
        if replicas is None or isinstance(event, NodeStarted):
            replicas = self._replicas[node] = {}
            if isinstance(event, NodeStarted):
                return
        replica = replicas.get(event.partition)
        if isinstance(event, LogLoaded):
            replica = _Replica(self._live.topic_of(node, event), event.offset, event.end_offset)
            replicas[event.partition] = replica
        if replica is None:
            return
        match event:
            case LogAppended():
                if event.offset < replica.end:  # a log that is compacted may have gaps
                    self._contradicts(node, replica, event, "log end offset", event.offset, replica.end)
                replica.end = event.end_offset
            case HighWatermarkAdvanced():
                replica.high_watermark = event.offset
            case LogTruncated():
                if event.end_offset != replica.end:
                    self._contradicts(node, replica, event, "log end offset", event.end_offset, replica.end)
                replica.end = event.offset
                replica.start = event.offset if event.reason == "restart-at" else min(event.offset, replica.start)
            case LogStartMoved():
                if event.offset != replica.start:
                    self._contradicts(node, replica, event, "log start offset", event.offset, replica.start)
                replica.start = event.end_offset
            case BecameLeader() | BecameFollower():
                if event.end_offset != replica.end:
                    self._contradicts(node, replica, event, "log end offset", event.end_offset, replica.end)
                replica.topic_id = self._live.topic_of(node, event)
                replica.leader_epoch, replica.leads = event.leader_epoch, isinstance(event, BecameLeader)
                if isinstance(event, BecameLeader):
                    replica.partition_epoch, replica.isr = event.partition_epoch, tuple(event.isr)
                    replica.high_watermark, replica.acknowledged_under = event.offset, None
            case IsrProposalEnded() | IsrTaken():
                replica.partition_epoch, replica.isr = event.partition_epoch, tuple(event.isr)
            case MinIsrSet():
                replica.min_isr = event.min_isr
            case WriteAcknowledged():
                self._acknowledged(node, replica, event)
            case LogRemoved():
                del replicas[event.partition]
            case TransitionTaken(reason="log-offline"):
                del replicas[event.partition]
        self._touched[node, event.partition] = None

    def _acknowledged(self, node: str, replica: _Replica, event: WriteAcknowledged) -> None:
        """An acknowledgement names the state under which it was made: that of the reports before it."""
        replica.acknowledged_under = event.partition_epoch, event.min_isr
        for what, said, before in (
            ("leader epoch", event.leader_epoch, replica.leader_epoch),
            ("partition epoch", event.partition_epoch, replica.partition_epoch),
            ("ISR", sorted(event.isr), sorted(replica.isr)),
            ("min.insync.replicas", event.min_isr, replica.min_isr),
        ):
            if before is not None and said != before:
                self._contradicts(node, replica, event, what, said, before)

    def _contradicts(
        self, node: str, replica: _Replica, event: ReplicaEvent, what: str, said: object, before: object
    ) -> None:
        name = event.__struct_config__.tag
        sentence = f"{node} reported {what} {said} of its replica ({name}), after reports that add up to {before}"
        self._violations.add("false-report", getattr(event, "partition", ""), sentence, (replica.topic_id, node, what))

    def after_event(self) -> None:
        """Compare the replicas that the event touched."""
        for node, name in self._touched:
            reported = self._replicas[node].get(name)
            replica = None if reported is None else self._live.replica(node, name, reported.topic_id)
            if reported is not None and replica is not None and replica.log.is_online:
                self._compare(node, name, reported, replica)
        self._touched.clear()

    def _compare(self, node: str, name: str, reported: _Replica, replica: Partition) -> None:
        log = replica.log
        found: list[tuple[str, object, object]] = []
        if reported.end != log.log_end_offset:
            found.append(("log end offset", reported.end, log.log_end_offset))
        if reported.start != log.log_start_offset:
            found.append(("log start offset", reported.start, log.log_start_offset))
        if reported.min_isr is not None and reported.min_isr != replica.min_isr:
            found.append(("min.insync.replicas", reported.min_isr, replica.min_isr))
        if reported.leader_epoch is not None:
            if reported.leader_epoch != replica.leader_epoch:
                found.append(("leader epoch", reported.leader_epoch, replica.leader_epoch))
            # A replica that was given up, as by a broker that stops, has neither leader nor role.
            if reported.leads != replica.is_leader and replica.leader_id != NO_LEADER:
                found.append(("role leader", reported.leads, replica.is_leader))
        if reported.leads and replica.leading is not None:
            if reported.high_watermark != replica.high_watermark:
                found.append(("high watermark", reported.high_watermark, replica.high_watermark))
            if reported.partition_epoch != replica.partition_epoch:
                found.append(("partition epoch", reported.partition_epoch, replica.partition_epoch))
            under = replica.leading.acknowledged_under
            if reported.acknowledged_under != under:
                found.append(("acknowledgements under partition epoch and min ISR", reported.acknowledged_under, under))
            isr = replica.committed_isr
            if reported.isr != isr and {*reported.isr} != {*isr}:
                found.append(("ISR", [*reported.isr], [*isr]))
        for what, said, has in found:
            sentence = f"{node} reported {what} {said} of its replica, which has {has}"
            self._violations.add("false-report", name, sentence, (reported.topic_id, node, what))
