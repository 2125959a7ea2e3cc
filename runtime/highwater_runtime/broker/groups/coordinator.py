"""The groups of this broker: one *shard* for each partition of ``__consumer_offsets`` that it leads.

Rules in words:

* A shard exists for one leader epoch. A new shard first loads the partition, even on the same broker, because the state
  in memory may include appends that were never committed.
* While a shard loads, the response is COORDINATOR_LOAD_IN_PROGRESS. If another broker leads the partition, it is
  NOT_COORDINATOR. If this broker has no metadata yet, it is COORDINATOR_NOT_AVAILABLE.
* When the leadership ends, the state in memory is dropped, and all waiting requests get NOT_COORDINATOR.
* If a write completes after its shard has ended, its request gets a response, but nothing else happens: its group is
  dead.
* Every ``offsets.retention.check.interval.ms`` expired offsets and unused groups are deleted, by tombstones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.groups.group import Group
from highwater_runtime.broker.groups.loading import Loader
from highwater_runtime.broker.groups.membership import Membership
from highwater_runtime.broker.groups.offsets import CommittedOffset, TopicPartition
from highwater_runtime.broker.groups.offsets_log import FOR_GROUPS, FOR_OFFSETS, OffsetsLog, Written
from highwater_runtime.broker.groups.records import (
    group_record,
    group_tombstone,
    offset_record,
    partition_for,
)
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import Record
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.topic_names import GROUP_OFFSETS_TOPIC
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import Transition, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode

_MINUTE_MS: Final = 60_000


class ShardState(Enum):
    """How far a shard is."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    """Its partition cannot be read."""


@dataclass(slots=True, eq=False)
class Shard:
    """The groups of one partition, in one leader epoch."""

    partition: Partition
    leader_epoch: int
    state: ShardState = ShardState.LOADING
    groups: dict[str, Group] = field(default_factory=dict)


class GroupCoordinator:
    """All groups that this broker coordinates. Does nothing, and holds nothing, before there is an offsets topic."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._clock = replicas.ports.clock
        self._config = replicas.options.config
        self._log = OffsetsLog(replicas)
        self._shards: dict[int, Shard] = {}
        self._shard_of: dict[Group, Shard] = {}
        self._cleaning = False
        self._closed = False
        self.membership = Membership(replicas.ports.clock, replicas.ports.random, self._config, self, self._took)

    def _took(self, transition: Transition) -> None:
        self._replicas.ports.trace.emit(TransitionTaken(reason=transition))

    # --- coming and going of partitions ---------------------------------------------------------------------------

    def publish(self, image: MetadataImage, delta: Delta) -> None:
        """The metadata has changed. What the replicas here make of it comes by :meth:`replica_changed`."""
        if any(deleted.name == GROUP_OFFSETS_TOPIC for deleted in delta.deleted):
            for index in list(self._shards):
                self._resign(index)
        if GROUP_OFFSETS_TOPIC in image.topics_by_name:
            for deleted in delta.deleted:
                self._forget_topic(deleted.name)

    def replica_changed(self, key: PartitionKey) -> None:
        """A replica here has another state, or is gone: take up what is led here now, drop the rest."""
        partition = self._replicas.partitions.get(key)
        shard = self._shards.get(key[1])
        if partition is None:
            if shard is not None and shard.partition.key == key:
                self._follow(key[1], None)
        elif partition.topic == GROUP_OFFSETS_TOPIC:
            self._follow(key[1], partition)

    def _follow(self, index: int, partition: Partition | None) -> None:
        """A partition has another state: begin, go on or end to coordinate its groups."""
        leads = partition is not None and partition.is_leader
        shard = self._shards.get(index)
        if shard is not None:
            if leads and shard.partition is partition and shard.leader_epoch == partition.leader_epoch:
                return
            self._resign(index)
        if partition is None or not leads:
            return
        shard = self._shards[index] = Shard(partition, partition.leader_epoch)
        loader = Loader(partition.log)
        if loader.done:
            self._activate(shard, loader)
        else:
            self._load(shard, loader)

    def _load(self, shard: Shard, loader: Loader) -> None:
        def next_slice() -> None:
            if self._shards.get(shard.partition.index) is not shard:
                return
            try:
                loader.read_slice()
            except LogError:
                shard.state = ShardState.FAILED
                return
            if loader.done:
                self._activate(shard, loader)
            else:
                self._clock.call_later(0, next_slice)

        self._clock.call_later(0, next_slice)

    def _activate(self, shard: Shard, loader: Loader) -> None:
        shard.state = ShardState.ACTIVE
        shard.groups = loader.groups()
        if shard.groups:
            self._took("group-loaded")
        for group in shard.groups.values():
            self._shard_of[group] = shard
            self.membership.take_up(group)
        if not self._cleaning:
            self._cleaning = True
            self._clean_later()

    def _resign(self, index: int) -> None:
        shard = self._shards.pop(index)
        groups, shard.groups = shard.groups, {}
        for group in groups.values():
            del self._shard_of[group]
            self.membership.give_up(group, ErrorCode.NOT_COORDINATOR)

    def close(self) -> None:
        """The broker stops: waiting members are sent to the next coordinator, and nothing is cleaned any more."""
        self._closed = True
        for index in list(self._shards):
            self._resign(index)

    def shard(self, index: int) -> Shard | None:
        """The groups of a partition of the offsets topic, if it is led here."""
        return self._shards.get(index)

    # --- finding a group ------------------------------------------------------------------------------------------

    def shard_for(self, group_id: str) -> Shard | ErrorCode:
        """The shard that a group belongs to, or why it cannot be asked."""
        topic = self._replicas.image.topics_by_name.get(GROUP_OFFSETS_TOPIC)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        shard = self._shards.get(partition_for(group_id, len(topic.partitions)))
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        match shard.state:
            case ShardState.LOADING:
                return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            case ShardState.FAILED:
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            case ShardState.ACTIVE:
                return shard

    def find(self, group_id: str) -> Group | ErrorCode | None:
        """A group; the error that says why it cannot be asked; None where there is no such group."""
        shard = self.shard_for(group_id)
        return shard if isinstance(shard, ErrorCode) else shard.groups.get(group_id)

    def find_or_create(self, group_id: str) -> Group | ErrorCode:
        """As :meth:`find`, but a group that does not exist does then. It is written when there is something of it."""
        shard = self.shard_for(group_id)
        if isinstance(shard, ErrorCode):
            return shard
        group = shard.groups.get(group_id)
        if group is None:
            group = shard.groups[group_id] = Group(group_id)
            self._shard_of[group] = shard
        return group

    @property
    def loading(self) -> bool:
        """Whether any partition that is led here is being loaded."""
        return any(shard.state is ShardState.LOADING for shard in self._shards.values())

    def all_groups(self) -> list[Group]:
        """Every group that is here, by partition."""
        return [group for index in sorted(self._shards) for group in self._shards[index].groups.values()]

    # --- writing --------------------------------------------------------------------------------------------------

    def store_group(self, group: Group, assignment: Mapping[str, bytes], on_done: Callable[[ErrorCode], None]) -> None:
        self._append(group, [group_record(group, assignment)], lambda w: on_done(FOR_GROUPS.get(w.error, w.error)))

    def commit(
        self,
        group: Group,
        offsets: Mapping[TopicPartition, CommittedOffset],
        on_done: Callable[[ErrorCode], None],
    ) -> None:
        """Write commits. Call ``on_done`` when they are committed, or with the error for the client."""

        def written(outcome: Written) -> None:
            committed = outcome.error is ErrorCode.NONE
            if committed:
                self._took("group-offsets-committed")
            for position, (ticket, (partition, offset)) in enumerate(zip(tickets, offsets.items(), strict=True)):
                group.offsets.end(partition, ticket, offset if committed else None, outcome.base_offset + position)
            on_done(FOR_OFFSETS.get(outcome.error, outcome.error))

        tickets = [group.offsets.begin(partition) for partition in offsets]
        records = [offset_record(group.id, partition, committed) for partition, committed in offsets.items()]
        self._append(group, records, written)

    def forget_offsets(
        self, group: Group, partitions: list[TopicPartition], on_done: Callable[[ErrorCode], None]
    ) -> None:
        """Take commits back, here at once and in the log once committed; those that there are."""
        known = group.offsets.partitions()
        present = [partition for partition in partitions if partition in known]
        if not present:
            on_done(ErrorCode.NONE)
            return
        for partition in present:
            group.offsets.forget(partition)
        records = [offset_record(group.id, partition, None) for partition in present]
        self._append(group, records, lambda w: on_done(FOR_OFFSETS.get(w.error, w.error)))

    def delete(self, group: Group, on_done: Callable[[ErrorCode], None]) -> None:
        """Forget a group that has no members, with all its offsets."""
        assert not group.members
        records = [offset_record(group.id, partition, None) for partition in group.offsets.partitions()]
        if group.generation > 0:  # else there has never been a record of it
            records.append(group_tombstone(group.id))
        self._append(group, records, lambda w: on_done(FOR_OFFSETS.get(w.error, w.error)))
        shard = self._shard_of.pop(group, None)
        if shard is not None:
            del shard.groups[group.id]
            self.membership.give_up(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _append(self, group: Group, records: list[Record], on_written: Callable[[Written], None]) -> None:
        shard = self._shard_of.get(group)
        if not records:
            on_written(Written(ErrorCode.NONE))
        elif shard is None:
            on_written(Written(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        else:
            self._log.append(shard.partition, shard.leader_epoch, records, on_written)

    # --- forgetting -----------------------------------------------------------------------------------------------

    def _clean_later(self) -> None:
        self._clock.call_later(self._config.offsets_retention_check_interval_ms * MS, self._clean)

    def _clean(self) -> None:
        if self._closed:
            return
        now_ms = self._clock.wall_ms()
        for group in self.all_groups():
            self._clean_group(group, now_ms)
        self._clean_later()

    def _clean_group(self, group: Group, now_ms: int) -> None:
        expired = group.offsets.expired(
            group.state,
            group.protocol_type,
            group.state_since_ms,
            group.subscribed_topics(),
            now_ms=now_ms,
            retention_ms=self._config.offsets_retention_minutes * _MINUTE_MS,
        )
        # Whether it succeeds is not waited for: a new coordinator that still reads them will forget them as well.
        self.forget_offsets(group, expired, lambda _error: None)
        if group.state is GroupState.EMPTY and not group.pending and not group.offsets.in_use:
            self.delete(group, lambda _error: None)

    def _forget_topic(self, topic: str) -> None:
        for group in self.all_groups():
            gone = [partition for partition in group.offsets.partitions() if partition[0] == topic]
            self.forget_offsets(group, gone, lambda _error: None)
