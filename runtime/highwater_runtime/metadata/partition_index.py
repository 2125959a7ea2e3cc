"""Which partitions a change concerns, without looking at all of them (Kafka's ``BrokersToIsrs``).

By broker, the partitions in whose ISR it is, and how many it leads; the partitions without a leader, and those that
their preferred replica does not lead; how many partitions there are; and the names that a new topic may not have.

Partitions come in one order, whatever happened to them: topics in order of creation, partitions by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from highwater_runtime.metadata.registrations import NO_LEADER, PartitionRegistration, TopicImage
from highwater_runtime.metadata.topic_names import collision_key

_NOBODY: tuple[int, ...] = ()


class _Partitions:
    """A set of partitions, topic by topic."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics: dict[UUID, dict[int, None]] = {}

    def add(self, topic_id: UUID, index: int) -> None:
        partitions = self._topics.get(topic_id)
        if partitions is None:
            partitions = self._topics[topic_id] = {}
        partitions[index] = None

    def remove(self, topic_id: UUID, index: int) -> None:
        partitions = self._topics[topic_id]
        del partitions[index]
        if not partitions:
            del self._topics[topic_id]

    def in_order(self, rank: dict[UUID, int]) -> Iterator[tuple[UUID, int]]:
        for topic_id in sorted(self._topics, key=rank.__getitem__):
            for index in sorted(self._topics[topic_id]):
                yield topic_id, index


class PartitionIndex:
    """An index of ``topics``. Code that changes them must report each change to the index."""

    def __init__(self, topics: Iterable[TopicImage]) -> None:
        self.partitions = 0
        """How many there are."""
        self._rank: dict[UUID, int] = {}
        self._next_rank = 0
        self._names: dict[str, str] = {}
        self._isrs: dict[int, _Partitions] = {}
        self._led: dict[int, int] = {}
        self._leaderless = _Partitions()
        self._not_preferred = _Partitions()
        for topic in topics:
            self.topic_created(topic)
            for index, state in topic.partitions.items():
                self.partition_changed(topic.id, index, None, state)

    # --- what it knows --------------------------------------------------------------------------------------------

    def in_sync(self, broker_id: int) -> list[tuple[UUID, int]]:
        """The partitions in whose ISR the broker is."""
        found = self._isrs.get(broker_id)
        return [] if found is None else list(found.in_order(self._rank))

    def leads_any(self, broker_id: int) -> bool:
        """Whether the broker leads a partition."""
        return self._led.get(broker_id, 0) > 0

    def leaderless(self) -> list[tuple[UUID, int]]:
        """The partitions without a leader."""
        return list(self._leaderless.in_order(self._rank))

    def not_preferred(self) -> Iterator[tuple[UUID, int]]:
        """The partitions that their preferred replica does not lead."""
        return self._not_preferred.in_order(self._rank)

    def colliding(self, name: str) -> str | None:
        """Return the topic whose name is the same as ``name`` in the name of a metric, perhaps ``name`` itself."""
        return self._names.get(collision_key(name))

    # --- what happens ---------------------------------------------------------------------------------------------

    def topic_created(self, topic: TopicImage) -> None:
        """Add a topic; its partitions come as records of their own."""
        self._rank[topic.id] = self._next_rank
        self._next_rank += 1
        self._names[collision_key(topic.name)] = topic.name

    def topic_deleted(self, topic: TopicImage) -> None:
        """With all partitions, as they were last."""
        for index, state in topic.partitions.items():
            self.partition_changed(topic.id, index, state, None)
        del self._rank[topic.id]
        del self._names[collision_key(topic.name)]

    def partition_changed(
        self, topic_id: UUID, index: int, before: PartitionRegistration | None, after: PartitionRegistration | None
    ) -> None:
        """Update the index. ``before`` is None if the partition did not exist, ``after`` if it has been deleted."""
        self.partitions += (after is not None) - (before is not None)
        isr_before = _NOBODY if before is None else before.isr
        isr_after = _NOBODY if after is None else after.isr
        if isr_before != isr_after:
            for broker_id in isr_before:
                if broker_id not in isr_after:
                    self._isrs[broker_id].remove(topic_id, index)
            for broker_id in isr_after:
                if broker_id not in isr_before:
                    self._isrs.setdefault(broker_id, _Partitions()).add(topic_id, index)
        if before and after and (before.leader, before.replicas[0]) == (after.leader, after.replicas[0]):
            return
        if before is not None:
            self._lead(topic_id, index, before, -1)
        if after is not None:
            self._lead(topic_id, index, after, +1)

    def _lead(self, topic_id: UUID, index: int, state: PartitionRegistration, sign: int) -> None:
        leader = state.leader
        if leader != NO_LEADER:
            self._led[leader] = self._led.get(leader, 0) + sign
        elif sign > 0:
            self._leaderless.add(topic_id, index)
        else:
            self._leaderless.remove(topic_id, index)
        if leader != state.replicas[0]:
            if sign > 0:
                self._not_preferred.add(topic_id, index)
            else:
                self._not_preferred.remove(topic_id, index)
