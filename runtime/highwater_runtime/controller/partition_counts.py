"""How the cluster's partitions are, as its controller sees it: counts kept up record by record.

A partition that no broker leads is in no broker's metrics; the controller knows all of them. ``min.insync.replicas`` is
the topic's own, else the cluster's default, else this node's; it cannot ask for more replicas than there are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_runtime.metadata import NO_LEADER, ConfigResource, MetadataImage, PartitionRegistration, TopicImage
from highwater_runtime.metadata.registrations import ALL_BROKERS_RESOURCE, TOPIC_RESOURCE

MIN_ISR: Final = "min.insync.replicas"


class Counts(NamedTuple):
    """Numbers of partitions."""

    partitions: int = 0
    leaderless: int = 0
    not_preferred: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0


class PartitionCounts:
    """Counts over all partitions of one image."""

    def __init__(self, node_min_isr: int) -> None:
        self._now = [0] * len(Counts._fields)
        self._node_min_isr = node_min_isr
        self._min_isr: dict[str, int] = {}
        """By topic, as it was counted with."""

    @property
    def now(self) -> Counts:
        """As of the last change."""
        return Counts(*self._now)

    def load(self, image: MetadataImage) -> None:
        """Count again, from an image."""
        self._now = [0] * len(Counts._fields)
        self._min_isr.clear()
        for topic, _, state in image.all_partitions():
            self.changed(image, topic.name, None, state)

    def changed(
        self, image: MetadataImage, topic: str, before: PartitionRegistration | None, after: PartitionRegistration
    ) -> None:
        """A partition was made or changed."""
        least = self._min_isr.get(topic)
        if least is None:
            least = self._min_isr[topic] = self._least(image, topic)
        self._add(_counted(after, least), _NOTHING if before is None else _counted(before, least))

    def deleted(self, topic: TopicImage) -> None:
        """A topic is gone with all of its partitions."""
        least = self._min_isr.pop(topic.name, 1)
        for state in topic.partitions.values():
            self._add(_NOTHING, _counted(state, least))

    def configured(self, image: MetadataImage, resource: ConfigResource, key: str) -> None:
        """A property of a topic, of a broker or of all has changed: count the topics again that it concerns."""
        if key != MIN_ISR:
            return
        if resource.type == TOPIC_RESOURCE:
            topics = [resource.name]
        elif resource == ALL_BROKERS_RESOURCE:
            topics = list(self._min_isr)
        else:
            return
        for name in topics:
            before, after = self._min_isr.get(name), self._least(image, name)
            topic = image.topics_by_name.get(name)
            if topic is not None and before is not None and before != after:
                self._min_isr[name] = after
                for state in topic.partitions.values():
                    self._add(_counted(state, after), _counted(state, before))

    def _least(self, image: MetadataImage, topic: str) -> int:
        for resource in (ConfigResource(TOPIC_RESOURCE, topic), ALL_BROKERS_RESOURCE):
            value = image.configs.get(resource, {}).get(MIN_ISR)
            if value is not None:
                return int(value)
        return self._node_min_isr

    def _add(self, after: _Counted, before: _Counted) -> None:
        if after != before:
            for field, (new, old) in enumerate(zip(after, before, strict=True)):
                if new != old:
                    self._now[field] += new - old


_Counted = tuple[int, bool, bool, bool, bool]
_NOTHING: Final[_Counted] = (0, False, False, False, False)


def _counted(state: PartitionRegistration, least: int) -> _Counted:
    """What one partition adds to each of :class:`Counts`."""
    isr, replicas = len(state.isr), len(state.replicas)
    return (
        1,
        state.leader == NO_LEADER,
        state.leader != state.replicas[0],
        isr < replicas,
        isr < least and isr < replicas,
    )
