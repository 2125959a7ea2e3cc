"""What nodes must do by themselves, as a fold over node events: retention, compaction, snapshots of the metadata,
leave to shut down, removal of deleted directories, and records that DeleteRecords was acknowledged to have removed.

Worked example: a topic keeps 6 KB in segments of 1 KB, and 12 KB were committed while the same broker led. That broker
lived on for five intervals of its cleaner and ten seconds, and no fault touched it. In the whole run no broker deleted
a segment of the topic by retention. So retention does not work.

The traps: what is due follows from settings alone, so sizes are estimated from below (a batch has a header of 61 bytes,
each record a few bytes and the value that the workload asks for), and whatever may have removed bytes meanwhile
(DeleteRecords, another generation of the topic, a move, a leader that lacks records) begins the count anew. And one
success in the run is enough: late is not never. (A broker that wants to shut down is refused by itself: it had all of
``controlled.shutdown.timeout.ms``, while everything else was well.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import ExperimentSpec
from highwater_chaos.experiment.faults import Effect, effect_of
from highwater_chaos.experiment.nodes import quorum_names
from highwater_chaos.experiment.properties import properties_of_nodes, properties_of_topics
from highwater_chaos.experiment.timeouts import session_timeout_ms
from highwater_chaos.faults import FaultRecord
from highwater_chaos.run.settings import clocks_off_ms
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BecameLeader,
    BrokerStateChanged,
    LogLoaded,
    LogRemoved,
    LogStartMoved,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftHighWatermark,
    RaftSnapshot,
    TransitionTaken,
)

GROUPS: Final = "__consumer_offsets"
_MARGIN_NS: Final = 10 * SECOND
_CLEANINGS: Final = 5
"""How many intervals of the cleaner a broker has for what is due."""
_SEGMENTS: Final = 3
"""A log that is larger by so many segments than it may be has one that can go: not the active one."""
_HEADER: Final = 61
_AROUND_RECORD: Final = 7
_OF_GROUPS: Final = 40
"""Bytes that a batch, a record around its value, and a record about a group have at least."""
_OF_METADATA: Final = 4
"""Bytes that a record of the metadata log has at least: those of a no-op record (KIP-835)."""


class Due(NamedTuple):
    """One thing that a node had to do: in which incarnation, since when, and how long it had for it. ``what`` is a
    clause."""

    node: str
    incarnation: int
    since_ns: int
    within_ns: int
    what: str


class Kept(NamedTuple):
    """How far one rule was asked for. ``done``: it happened at least once; ``due``: what would have had to happen, for
    certain. Without both nothing demanded it. ``needs``: the kinds of events that must have been recorded."""

    feature: str
    done: bool
    due: Sequence[Due]
    needs: tuple[str, ...]


class _Limit(NamedTuple):
    """A rule about the logs of a topic: of more than ``size`` bytes, something must go within ``within_ns``."""

    rule: str
    size: int
    within_ns: int


@dataclass(slots=True)
class _Growth:
    """What is known of the log of a partition's leader. ``full``: by limit and node, in which incarnation
    and since when it is above the limit."""

    size: int = 0
    counted_to: int = 0
    replicas: list[int] = field(default_factory=list)
    full: dict[tuple[_Limit, str], tuple[int, int]] = field(default_factory=dict)

    def begin_anew(self, at: int) -> None:
        self.size, self.counted_to = 0, at
        self.full.clear()


_ABOUT: Final = frozenset(
    {
        BatchCommitted,
        BecameLeader,
        BrokerStateChanged,
        LogLoaded,
        LogRemoved,
        LogStartMoved,
        NodeStarted,
        NodeStopped,
        PartitionChanged,
        RaftHighWatermark,
        RaftSnapshot,
        TransitionTaken,
    }
)

_PROPERTIES: Final = frozenset(
    {
        "controlled.shutdown.timeout.ms",
        "log.cleanup.policy",
        "log.retention.bytes",
        "log.retention.check.interval.ms",
        "log.retention.ms",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "metadata.log.max.record.bytes.between.snapshots",
        "offsets.topic.segment.bytes",
    }
)
"""Others may be those of software that is not ours."""

RETENTION: Final = "retention"
COMPACTION: Final = "compaction"
SNAPSHOTS: Final = "snapshots of the metadata"
SHUTDOWN: Final = "controlled shutdown"
DIRECTORIES: Final = "removal of deleted directories"


class Upkeep:
    """Takes in node events; then :meth:`kept`. ``view``: as of the same events."""

    def __init__(self, spec: ExperimentSpec, view: ClusterView) -> None:
        assert spec.cluster is not None
        self._cluster = spec.cluster
        self._view = view
        self._session_ns = session_timeout_ms(spec.cluster) * MS
        nodes = properties_of_nodes(spec) or [{}]
        self._configs = [
            NodeConfig.of({name: value for name, value in {**nodes[0], **one}.items() if name in _PROPERTIES})
            for one in nodes
        ]
        self._cleaned_ns = _CLEANINGS * max(one.log_retention_check_interval_ms for one in self._configs) * MS
        self._record_bytes = _AROUND_RECORD + spec.workload.record_size
        self._skews = clocks_off_ms(spec) > 0
        topics = properties_of_topics(spec)
        self._limits = {
            name: self._limits_of([properties for other, properties in topics if other == name]) for name, _ in topics
        }
        segment = max(one.offsets_topic_segment_bytes for one in self._configs)
        self._limits[GROUPS] = [_Limit(COMPACTION, _SEGMENTS * segment, 0)]
        self._logs: dict[str, _Growth] = {}
        self._seen: dict[str, None] = {}
        """What has happened: a rule and a topic, or a rule."""
        self._lives: dict[tuple[str, int], tuple[int, int | None]] = {}
        """By node and incarnation: its beginning, and its end."""
        self._stopped: dict[tuple[str, int], int] = {}
        """By node and incarnation: when it had shut down cleanly."""
        self._deleted: list[Due] = []
        self._committed: dict[tuple[str, int], tuple[int, int | None]] = {}
        """By node and incarnation: from where on it knew the metadata log to be committed, and since when that much
        has followed that a snapshot is due."""
        self._leaving: list[tuple[Due, bool]] = []
        """Brokers that asked for leave to shut down; whether others could take over what they lead."""
        self.log_starts: dict[str, int] = {}
        """The highest offset at which any log of a partition has begun."""

    def _limits_of(self, properties: Sequence[Mapping[str, str]]) -> list[_Limit]:
        """By the loosest settings that a topic of this name may have."""
        sizes, bounds, ages, deletes, compacts = [], [], [], [], []
        for node in self._configs:
            for own in properties:
                policy = own.get("cleanup.policy", node.log_cleanup_policy)
                sizes.append(int(own.get("segment.bytes", node.log_segment_bytes)))
                bounds.append(int(own.get("retention.bytes", node.log_retention_bytes)))
                ages.append(int(own.get("retention.ms", node.log_retention_ms)))
                deletes.append("delete" in policy)
                compacts.append("compact" in policy)
        full = _SEGMENTS * max(sizes)
        limits = []
        if all(deletes) and min(bounds) >= 0:
            limits.append(_Limit(RETENTION, max(bounds) + full, 0))
        if all(deletes) and min(ages) >= 0 and not self._skews:
            limits.append(_Limit(RETENTION, full, max(ages) * MS))
        if all(compacts):
            limits.append(_Limit(COMPACTION, full, 0))
        return limits

    def observe(self, events: Iterable[TimedEvent]) -> None:
        """Take in further events, in order."""
        for timed in events:
            if type(timed.event) not in _ABOUT:
                continue
            life = timed.node, timed.incarnation
            match timed.event:
                case BatchCommitted() as event:
                    self._batch(event, timed)
                case BecameLeader(partition=name, end_offset=end) if name in self._logs:
                    if end < self._logs[name].counted_to:
                        self._logs[name].begin_anew(end)
                case PartitionChanged(partition=name, replicas=replicas, reason=reason) if name in self._logs:
                    if reason == "deleted" or replicas != self._logs[name].replicas:
                        del self._logs[name]
                case LogLoaded(partition=name, offset=offset):
                    self._begins(name, offset)
                case LogStartMoved(partition=name, end_offset=offset, reason=reason):
                    self._begins(name, offset)
                    if reason.startswith("retention-"):
                        self._seen[f"{RETENTION} {_topic(name)}"] = None
                    elif (log := self._logs.get(name)) is not None:
                        log.begin_anew(offset)
                case TransitionTaken(reason="compacted", partition=name):
                    self._seen[f"{COMPACTION} {_topic(name)}"] = None
                case TransitionTaken(reason="directory-deleted"):
                    self._seen[DIRECTORIES] = None
                case LogRemoved(partition=name, reason="deleted"):
                    delay_ns = max(one.log_segment_delete_delay_ms for one in self._configs) * MS
                    what = f"the directory of {name}, which was deleted on {timed.node}"
                    self._deleted.append(Due(*life, timed.time_ns, delay_ns + _MARGIN_NS, what))
                case RaftHighWatermark(offset=offset):
                    self._metadata(life, offset, timed.time_ns)
                case RaftSnapshot(reason="written"):
                    self._seen[SNAPSHOTS] = None
                case BrokerStateChanged(reason="controlled-shutdown", broker=broker):
                    self._leaves(broker, timed)
                case NodeStarted():
                    self._lives[life] = timed.time_ns, None
                case NodeStopped(reason=reason) if life in self._lives:
                    self._lives[life] = self._lives[life][0], timed.time_ns
                    if reason == "stop":
                        self._stopped[life] = timed.time_ns
                case _:
                    pass

    def _begins(self, partition: str, offset: int) -> None:
        self.log_starts[partition] = max(offset, self.log_starts.get(partition, 0))

    def _batch(self, event: BatchCommitted, timed: TimedEvent) -> None:
        name = event.partition
        topic = _topic(name)
        limits = self._limits.get(topic)
        partition = self._view.partitions.get(name)
        if not limits or partition is None:
            return
        log = self._logs.get(name)
        if log is None:
            log = self._logs[name] = _Growth(counted_to=event.offset, replicas=list(partition.replicas))
        records = event.end_offset - max(event.offset, log.counted_to)
        if records > 0:
            log.size += _HEADER + records * (_OF_GROUPS if topic == GROUPS else self._record_bytes)
            log.counted_to = event.end_offset
        for limit in limits:
            if log.size > limit.size:
                key = limit, timed.node
                if log.full.get(key, (0, 0))[0] != timed.incarnation:
                    log.full[key] = timed.incarnation, timed.time_ns

    def _metadata(self, life: tuple[str, int], offset: int, time_ns: int) -> None:
        first, since_ns = self._committed.setdefault(life, (offset, None))
        size = max(one.metadata_snapshot_bytes for one in self._configs)
        if since_ns is None and _OF_METADATA * (offset - first) >= size:
            self._committed[life] = first, time_ns

    def _leaves(self, broker: int, timed: TimedEvent) -> None:
        timeout_ns = min(one.controlled_shutdown_timeout_ms for one in self._configs) * MS
        led = [one for one in self._view.partitions.values() if one.leader == broker]
        others = all(any(b != broker and self._view.is_unfenced(b) for b in one.isr) for one in led)
        what = f"the leave that {timed.node} asked for to shut down"
        due = Due(timed.node, timed.incarnation, timed.time_ns, timeout_ns, what)
        self._leaving.append((due, others and timeout_ns >= _MARGIN_NS))

    # --- what was due ---

    def kept(self, now_ns: int, faults: Sequence[FaultRecord]) -> list[Kept]:
        """Return each rule, and how far it was asked for up to ``now_ns``."""
        spans = [_Span(fault, now_ns) for fault in faults]
        rules = (
            (RETENTION, self._full(RETENTION), ("batch-committed", "log-start-moved")),
            (COMPACTION, self._full(COMPACTION), ("batch-committed", "transition")),
            (SNAPSHOTS, self._unwritten(), ("raft-high-watermark", "raft-snapshot")),
            (DIRECTORIES, self._undeleted(), ("log-removed", "transition")),
        )
        kept = []
        for rule, open_, needs in rules:
            due = [one for one in open_ if self._is_over(one, now_ns, spans)]
            done = any(seen == rule or seen.startswith(f"{rule} ") for seen in self._seen)
            kept.append(Kept(rule, done and not due, due, needs))
        return [*kept, self._of_shutdowns(now_ns, spans)]

    def _ready_ns(self, due: Due, spans: Sequence[_Span]) -> int:
        """When a node has had all the time for what was due: a fault on it lets that time begin anew."""
        since_ns = due.since_ns
        for span in sorted(spans, key=lambda span: span.over_ns):
            if span.hits(due.node, since_ns, since_ns + due.within_ns):
                since_ns = span.over_ns
        return since_ns + due.within_ns

    def _is_over(self, due: Due, now_ns: int, spans: Sequence[_Span]) -> bool:
        """Whether that is past, and the node lived as long."""
        began_ns, ended_ns = self._lives.get((due.node, due.incarnation), (now_ns, now_ns))
        until_ns = now_ns if ended_ns is None else ended_ns
        return began_ns <= due.since_ns and until_ns >= self._ready_ns(due, spans)

    def next_ns(self, now_ns: int, faults: Sequence[FaultRecord]) -> int | None:
        """When something more can be judged that is due and has not happened so far, if nodes live on; None: never."""
        spans = [_Span(fault, now_ns) for fault in faults]
        waiting = [
            self._ready_ns(due, spans)
            for due in (*self._full(RETENTION), *self._full(COMPACTION), *self._unwritten(), *self._undeleted())
            if self._lives.get((due.node, due.incarnation), (0, now_ns))[1] is None
        ]
        return min((at for at in waiting if at > now_ns), default=None)

    def _full(self, rule: str) -> list[Due]:
        """Logs that are too large, of topics in which ``rule`` has not been applied once."""
        return [
            Due(
                node,
                incarnation,
                since_ns,
                self._cleaned_ns + limit.within_ns + _MARGIN_NS,
                f"{rule} of {name}, of which {node} had more than {limit.size} bytes",
            )
            for name, log in self._logs.items()
            if f"{rule} {_topic(name)}" not in self._seen
            for (limit, node), (incarnation, since_ns) in log.full.items()
            if limit.rule == rule
        ]

    def _unwritten(self) -> list[Due]:
        if SNAPSHOTS in self._seen:
            return []
        return [
            Due(node, incarnation, since_ns, _MARGIN_NS, f"a snapshot of the metadata on {node}")
            for (node, incarnation), (_, since_ns) in self._committed.items()
            if since_ns is not None and node in quorum_names(self._cluster)
        ]

    def _undeleted(self) -> list[Due]:
        return [] if DIRECTORIES in self._seen else self._deleted

    def _of_shutdowns(self, now_ns: int, spans: Sequence[_Span]) -> Kept:
        """Only the fault that stops the broker may be in force then, or shortly before."""
        granted, refused = False, []
        for due, others in self._leaving:
            ended_ns = self._lives.get((due.node, due.incarnation), (0, None))[1]
            stopped_ns = self._stopped.get((due.node, due.incarnation))
            granted = granted or (stopped_ns is not None and stopped_ns < due.since_ns + due.within_ns)
            began_ns, end_ns = due.since_ns - self._session_ns - _MARGIN_NS, due.since_ns + due.within_ns
            alone = sum(span.overlaps(began_ns, end_ns) for span in spans) == 1
            waited = (now_ns if ended_ns is None else ended_ns) >= end_ns
            if others and alone and waited and any(span.stops(due.node, due.since_ns) for span in spans):
                refused.append(due)
        return Kept(SHUTDOWN, granted and not refused, refused, ("broker-state", "partition-changed"))


class _Span:
    """When a fault was in force, and on which nodes."""

    def __init__(self, fault: FaultRecord, now_ns: int) -> None:
        self._nodes = {*fault.targets, *(node for touch in fault.intent for node in touch.nodes)}
        self._began_ns = fault.started_ns
        self.over_ns = now_ns if fault.healed_ns is None or fault.unhealed else fault.healed_ns
        effect = effect_of(fault.kind)
        self._stops = Effect.STOPS_IN_ORDER in effect and (
            Effect.ONE_AFTER_THE_OTHER in effect or len(fault.targets) == 1
        )

    def overlaps(self, began_ns: int, end_ns: int) -> bool:
        return self._began_ns <= end_ns and self.over_ns >= began_ns

    def hits(self, node: str, began_ns: int, end_ns: int) -> bool:
        return (node in self._nodes or not self._nodes) and self.overlaps(began_ns, end_ns)

    def stops(self, node: str, at_ns: int) -> bool:
        return self._stops and node in self._nodes and self.overlaps(at_ns, at_ns)


def _topic(partition: str) -> str:
    return partition.rpartition("-")[0]
