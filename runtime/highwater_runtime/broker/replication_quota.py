"""How much replication traffic a broker allows (KIP-73), as Kafka 3.9's ``ReplicationQuotaManager`` does.

Rules in words:

* A broker has two quotas, in bytes a second: ``leader.replication.throttled.rate`` for what followers fetch from it,
  ``follower.replication.throttled.rate`` for what it fetches itself. They count, and concern, those partitions only
  whose topic names this broker in ``leader.replication.throttled.replicas``, or ``follower.…`` (``PARTITION:BROKER``,
  separated by commas, or ``*``).
* All traffic of a throttled partition is counted, also that of replicas in sync. But only a replica that is not in sync
  is held back, so that no ISR shrinks for a throttle.
* A leader calls a follower in sync that is in the ISR (``ReplicaManager.shouldLeaderThrottle``). To others a quota that
  is exceeded shows no records, and no error.
* A follower calls itself in sync if its last fetch brought it to the high watermark of the leader
  (``AbstractFetcherThread.shouldFollowerThrottle``). Else it leaves the partition out of its fetches.
* The rate is that of the last eleven windows of a second, over the time since the oldest began, and at least over one
  window (``SimpleRate``). A fetch that begins below the rate may end far above it; the next ones then wait for longer.

Kafka counts the encoded size of the response; here only its records count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from highwater_runtime.metadata import ConfigResource, MetadataImage
from highwater_runtime.metadata.effective_config import ALL_BROKERS
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE
from highwater_runtime.metadata.topic_config import (
    FOLLOWER_THROTTLED_RATE,
    FOLLOWER_THROTTLED_REPLICAS,
    LEADER_THROTTLED_RATE,
    LEADER_THROTTLED_REPLICAS,
    throttled_partitions,
)
from highwater_runtime.ports import SECOND

WINDOW_NS: Final = SECOND
WINDOWS: Final = 11
"""Kafka's ``replication.quota.window.size.seconds`` and ``replication.quota.window.num``."""


class ReplicationQuota:
    """One of the two quotas of a broker. Without a ``rate`` nothing is ever held back."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self.rate: int | None = None
        self._now_ns = now_ns
        self._throttled: dict[str, frozenset[int] | None] = {}
        self._windows: deque[list[int]] = deque(maxlen=WINDOWS)
        """When each window began, and its bytes."""

    def throttle(self, topic: str, partitions: frozenset[int] | None) -> None:
        """Let exactly these partitions of the topic be throttled (None: all)."""
        if partitions is None or partitions:
            self._throttled[topic] = partitions
        else:
            self._throttled.pop(topic, None)

    def is_throttled(self, topic: str, partition: int) -> bool:
        """Whether traffic of this partition counts, and may be held back."""
        if topic not in self._throttled:
            return False
        partitions = self._throttled[topic]
        return partitions is None or partition in partitions

    def record(self, size: int) -> None:
        """So many bytes of throttled partitions went over the network."""
        now = self._now_ns()
        if not self._windows or now - self._windows[-1][0] >= WINDOW_NS:
            self._windows.append([now, 0])
        self._windows[-1][1] += size

    @property
    def is_exceeded(self) -> bool:
        """Whether the rate is above what is allowed."""
        if self.rate is None or not self._throttled:
            return False
        now, windows = self._now_ns(), self._windows
        while windows and now - windows[0][0] >= WINDOWS * WINDOW_NS:
            windows.popleft()
        if not windows:
            return False
        elapsed = max(now - windows[0][0], WINDOW_NS)
        return sum(size for _, size in windows) * SECOND > self.rate * elapsed


class ReplicationQuotas:
    """Both quotas of one broker, as its topics and its own dynamic configuration say."""

    def __init__(self, broker_id: int, now_ns: Callable[[], int]) -> None:
        self._broker_id = broker_id
        self.leader = ReplicationQuota(now_ns)
        self.follower = ReplicationQuota(now_ns)

    def configure(self, image: MetadataImage, changed: Mapping[ConfigResource, None]) -> None:
        """Take over what is configured now of the resources that ``changed`` names."""
        for resource in changed:
            if resource.type == TOPIC_RESOURCE:
                properties = image.topic_config(resource.name)
                for quota, name in (
                    (self.leader, LEADER_THROTTLED_REPLICAS),
                    (self.follower, FOLLOWER_THROTTLED_REPLICAS),
                ):
                    quota.throttle(resource.name, throttled_partitions(properties.get(name, ""), self._broker_id))
        if any(resource.type == BROKER_RESOURCE for resource in changed):
            self.leader.rate = self._rate(image, LEADER_THROTTLED_RATE)
            self.follower.rate = self._rate(image, FOLLOWER_THROTTLED_RATE)

    def _rate(self, image: MetadataImage, name: str) -> int | None:
        for broker in (str(self._broker_id), ALL_BROKERS):
            value = image.configs.get(ConfigResource(BROKER_RESOURCE, broker), {}).get(name)
            if value is not None:
                return int(value)
        return None
