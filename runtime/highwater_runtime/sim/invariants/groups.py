"""Invariants of group coordinators.

* ``group-offset-uncommitted``: a coordinator counts a commit of offsets only once its record is committed in
  ``__consumer_offsets``. Else a group may be told of a commit that the next coordinator does not know.
* ``group-offset-stale``: of the commits of a partition that were committed in time, a coordinator counts the last.
  Else a group begins again where it has been, and the next coordinator says something else.
  A coordinator that has just loaded its log has the last commit that is in it, and none that was deleted.
  It forgets those of a topic in the event in which it learns that the topic is deleted: a new topic of that name would
  be read from the middle.
* ``group-state``: it has each group in the generation that is in its log, and none that was deleted. Else generations
  begin anew, and a member of a former one may commit. A group whose members have their assignment is in the log first.
* ``group-commit-fenced``: no member commits in another generation than its group is in. Else the earlier owner of a
  partition takes back what the present one has committed.
* ``group-coordinator-epoch``: who coordinates the groups of a partition does so for the leader epoch in which it leads.
  A coordinator of a former epoch knows nothing of what others wrote since, and can write nothing.

What a coordinator loads when it begins to lead is exempt from the first: it reads to the end of its log, which its
followers will get. A commit whose time is over before its record is committed has an unknown outcome, as in Apache
Kafka: the coordinator keeps the one before it, so the second says nothing of it.

Records do not carry a generation. Members of the workload write it into the metadata of their commits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from highwater_runtime.broker import Broker
from highwater_runtime.broker.groups.coordinator import Shard, ShardState
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.log import Log
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import BecameLeader, HighWatermarkAdvanced, LogAppended, NodeEvent, TransitionTaken
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.wire.messages.group_metadata_key import GroupMetadataKey
from highwater_runtime.wire.messages.group_metadata_value import GroupMetadataValue
from highwater_runtime.wire.messages.offset_commit_key import OffsetCommitKey
from highwater_runtime.wire.messages.offset_commit_value import OffsetCommitValue
from highwater_runtime.wire.versioned import decode_coordinator_key, decode_versioned

_PREFIX: Final = "__consumer_offsets-"
OF_GROUPS: Final = frozenset((BecameLeader, HighWatermarkAdvanced, LogAppended, TransitionTaken))
"""Events that :meth:`GroupInvariants.on_event` has to see."""
_GENERATION: Final = "generation "
"""How the metadata of a commit begins that names the generation of its member."""


class _Commit(NamedTuple):
    """A record of a commit, and what it is for."""

    group: str
    topic: str
    partition: int
    record_offset: int
    metadata: str


@dataclass(slots=True)
class _Led:
    """What was seen of a partition of ``__consumer_offsets`` since its leader began to lead."""

    began: int = 0
    """Where its log ended then."""
    has_begun: bool = False
    """Whether it was seen after it had loaded its log, when others may have deleted offsets since."""
    appended: list[tuple[int, int]] = field(default_factory=list)
    """What was appended since the last look: offset and end."""
    waiting: deque[tuple[int, list[_Commit]]] = field(default_factory=deque)
    """Commits that are not committed yet, with the time by which they have to be (by the node's clock)."""
    last: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Where the last record is that was committed in time, by group, topic and partition."""
    topics: dict[str, None] = field(default_factory=dict)
    """Topics of offsets that it has counted while there were these topics."""


class GroupInvariants:
    """Checks coordinators; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations
        self._led: dict[tuple[str, str], _Led] = {}
        self._touched: dict[tuple[str, str], None] = {}
        self._loaded: dict[str, None] = {}
        """Nodes that have just loaded a log with groups."""
        self._assigned: dict[str, None] = {}
        """Nodes that have just given the members of a group their assignment."""

    def on_event(self, node: str, _incarnation: int, event: NodeEvent) -> None:
        """Note which partition of ``__consumer_offsets`` an event touched."""
        match event:
            case BecameLeader(partition=name, end_offset=end) if name.startswith(_PREFIX):
                self._led[node, name] = _Led(end)
            case LogAppended(reason="leader", partition=name) if name.startswith(_PREFIX):
                self._led.setdefault((node, name), _Led()).appended.append((event.offset, event.end_offset))
            case TransitionTaken(reason="group-loaded"):
                self._loaded[node] = None
                return
            case TransitionTaken(reason="group-stable"):
                self._assigned[node] = None
                return
            case HighWatermarkAdvanced(partition=name) if name.startswith(_PREFIX):
                pass
            case _:
                return
        self._touched[node, name] = None

    def after_event(self) -> None:
        """Check the coordinators of these partitions."""
        if self._loaded:
            for key in [key for key in self._led if key[0] in self._loaded]:
                self._has_loaded(*key)
            self._loaded.clear()
        if self._assigned:
            for key in [key for key in self._led if key[0] in self._assigned]:
                self._has_stored(*key)
            self._assigned.clear()
        for node, name in self._touched:
            broker = self._live.broker(node)
            shard = None if broker is None else broker.coordinator.shard(int(name.removeprefix(_PREFIX)))
            led = self._led.get((node, name))
            if broker is None or shard is None or led is None or shard.partition.leading is None:
                continue
            led.has_begun = led.has_begun or shard.state is not ShardState.LOADING
            if shard.leader_epoch != shard.partition.leader_epoch:
                what = (
                    f"{node} coordinates groups for leader epoch {shard.leader_epoch} of {name}, and leads in"
                    f" {shard.partition.leader_epoch}"
                )
                self._violations.add("group-coordinator-epoch", name, what, (node, shard.partition.leader_epoch))
            now = self._live.node_time_ns(node)
            by = now + broker.options.config.offsets_commit_timeout_ms * MS
            for begin, end in led.appended:
                commits = _commits(shard.partition.log, begin, end)
                led.waiting.append((by, commits))
                self._are_of_this_generation(node, name, shard, commits)
            led.appended.clear()
            self._settle(led, shard, now)
            self._counts_right(node, name, shard, led)
            self._counts_none_of_deleted_topics(node, name, broker, shard, led)
        self._touched.clear()

    def _has_stored(self, node: str, name: str) -> None:
        """Compare the groups that have their assignment with the coordinator's log."""
        broker = self._live.broker(node)
        shard = None if broker is None else broker.coordinator.shard(int(name.removeprefix(_PREFIX)))
        if shard is None or shard.partition.leading is None:
            return
        log = shard.partition.log
        if not log.is_online or self._live.disk_fails(node):
            return
        generations = _last_records(log, log.log_end_offset)[1]
        for group in shard.groups.values():
            stored = generations.get(group.id, 0)
            if group.state is GroupState.STABLE and stored != group.generation:
                what = (
                    f"{node} gave the members of group {group.id} their assignment of generation {group.generation};"
                    f" its log has generation {stored}"
                )
                self._violations.add("group-state", group.id, what, (node, name, group.generation))

    def _has_loaded(self, node: str, name: str) -> None:
        """Compare what a coordinator has just loaded with its log."""
        broker, led = self._live.broker(node), self._led[node, name]
        shard = None if broker is None else broker.coordinator.shard(int(name.removeprefix(_PREFIX)))
        if shard is None or led.has_begun or shard.state is not ShardState.ACTIVE or shard.partition.leading is None:
            return
        led.has_begun = True
        inside, generations = _last_records(shard.partition.log, led.began)
        for group_id, generation in generations.items():
            group = shard.groups.get(group_id)
            loaded = 0 if group is None else group.generation
            if loaded != generation:
                what = f"{node} loaded generation {loaded} of group {group_id}; its log has {generation}"
                self._violations.add("group-state", group_id, what, (node, name, generation))
        for known in shard.groups.values():
            for (topic, index), offset in known.offsets.record_offsets():
                if (known.id, topic, index) not in inside and offset < led.began:
                    what = f"{node} loaded the offset of group {known.id} in {topic}-{index}, which was deleted"
                    self._violations.add("group-offset-stale", name, what, (node, known.id, topic, index, "deleted"))
        for (group_id, topic, index), last in inside.items():
            group = shard.groups.get(group_id)
            offsets = {} if group is None else dict(group.offsets.record_offsets())
            if offsets.get((topic, index), -1) < last:
                what = (
                    f"{node} loaded no offset of group {group_id} in {topic}-{index} whose record is at offset {last}"
                    f" of its log or later"
                )
                self._violations.add("group-offset-stale", name, what, (node, group_id, topic, index))

    def _are_of_this_generation(self, node: str, name: str, shard: Shard, commits: list[_Commit]) -> None:
        for commit in commits:
            group = shard.groups.get(commit.group)
            generation = commit.metadata.removeprefix(_GENERATION)
            if group is None or generation in (commit.metadata, str(group.generation)):
                continue
            what = (
                f"{node} took a commit of generation {generation} of group {commit.group} for {commit.topic}-"
                f"{commit.partition}, at offset {commit.record_offset}; the group is in generation {group.generation}"
            )
            self._violations.add("group-commit-fenced", name, what, (node, commit.record_offset))

    def _settle(self, led: _Led, shard: Shard, now: int) -> None:
        """Take in what is committed by now."""
        partition = shard.partition
        while led.waiting:
            by, commits = led.waiting[0]
            if commits and commits[-1].record_offset >= partition.high_watermark:
                return
            led.waiting.popleft()
            if now < by and not partition.under_min_isr:
                led.last.update(((one.group, one.topic, one.partition), one.record_offset) for one in commits)

    def _counts_right(self, node: str, name: str, shard: Shard, led: _Led) -> None:
        known = max(shard.partition.high_watermark, led.began)
        for group in shard.groups.values():
            for (topic, index), offset in group.offsets.record_offsets():
                if offset >= known:
                    what = (
                        f"{node} counts the offset of group {group.id} in {topic}-{index} whose record is at offset"
                        f" {offset}; the HW is {shard.partition.high_watermark}"
                    )
                    self._violations.add("group-offset-uncommitted", name, what, (node, group.id, topic, index))
                last = led.last.get((group.id, topic, index), -1)
                if offset < last:
                    what = (
                        f"{node} counts the offset of group {group.id} in {topic}-{index} whose record is at offset"
                        f" {offset}; a later one at {last} is committed"
                    )
                    self._violations.add("group-offset-stale", name, what, (node, group.id, topic, index))

    def _counts_none_of_deleted_topics(self, node: str, name: str, broker: Broker, shard: Shard, led: _Led) -> None:
        topics = broker.image.topics_by_name
        for group in shard.groups.values():
            for topic in dict.fromkeys(topic for (topic, _), _ in group.offsets.items()):  # not what is being written
                if topic in topics:
                    led.topics[topic] = None
                elif topic in led.topics:
                    what = f"{node} counts offsets of group {group.id} in topic {topic}, which is deleted"
                    self._violations.add("group-offset-stale", name, what, (node, group.id, topic, "deleted topic"))


def _commits(log: Log, begin: int, end: int) -> list[_Commit]:
    """The commits of offsets among the records in [``begin``, ``end``), which were just appended."""
    found: list[_Commit] = []
    try:
        batches = list(iter_batches(log.read(begin, 1, max_offset=end)))
    except LogError:  # the disk has failed since
        return found
    for batch in batches:
        for record in batch.records():
            key = decode_coordinator_key(record.key or b"")
            if isinstance(key, OffsetCommitKey) and record.value is not None:
                value = decode_versioned(OffsetCommitValue, record.value)
                found.append(_Commit(key.group, key.topic, key.partition, record.offset, value.metadata))
    return found


def _last_records(log: Log, end: int) -> tuple[dict[tuple[str, str, int], int], dict[str, int]]:
    """Where the last record of each commit below ``end`` is that no tombstone follows, by group, topic, partition; and
    the generation in the last record of each group, 0 for a tombstone."""
    last: dict[tuple[str, str, int], int] = {}
    generations: dict[str, int] = {}
    try:
        batches = list(log.batches_between(log.log_start_offset, end))
    except LogError:  # the disk has failed since
        return last, generations
    for batch in batches:
        for record in batch.records():
            match decode_coordinator_key(record.key or b""):
                case OffsetCommitKey() as key:
                    place = (key.group, key.topic, key.partition)
                    last.pop(place, None)
                    if record.value is not None:
                        last[place] = record.offset
                case GroupMetadataKey() as key:
                    value = None if record.value is None else decode_versioned(GroupMetadataValue, record.value)
                    generations[key.group] = 0 if value is None else value.generation
    return last, generations
