"""Which leader each followed partition is fetched from: one :class:`LeaderFetcher` for each leader broker.

As in Kafka's ``AbstractFetcherManager`` (2.8 to 4.0), the endpoint of a leader belongs to its loop. A partition that is
to be followed at another endpoint of the same broker ends the loop, and another loop begins with that partition. The
others are not fetched until they are followed again: a leader with another endpoint has restarted, so they get new
leader epochs.
"""

from __future__ import annotations

from highwater_runtime.broker.fetcher import FetchContext, LeaderFetcher
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.log.errors import LogError
from highwater_runtime.ports import Endpoint


class FetcherManager:
    """Which leader each followed partition is fetched from; one loop for each leader."""

    def __init__(self, context: FetchContext) -> None:
        self._context = context
        self._fetchers: dict[int, LeaderFetcher] = {}
        self._leader_of: dict[PartitionKey, int] = {}
        self._closed = False

    @property
    def failed(self) -> dict[PartitionKey, LogError]:
        """FAILED partitions, and why."""
        return {key: error for fetcher in self._fetchers.values() for key, error in fetcher.failed.items()}

    def follow(self, partition: Partition, leader_at: Endpoint) -> None:
        """Fetch ``partition`` from the leader that it follows now, which listens at ``leader_at``."""
        if self._closed:
            return
        self.unfollow(partition.key, unless=partition.leader_id)
        fetcher = self._fetcher(partition.leader_id, leader_at)
        self._leader_of[partition.key] = partition.leader_id
        fetcher.follow(partition)

    def _fetcher(self, leader_id: int, endpoint: Endpoint) -> LeaderFetcher:
        before = self._fetchers.get(leader_id)
        if before is not None and before.endpoint == endpoint:
            return before
        fetcher = self._fetchers[leader_id] = LeaderFetcher(endpoint, self._context)
        if before is not None:
            before.close()
            fetcher.failed.update(before.failed)
            for key in [key for key, leader in self._leader_of.items() if leader == leader_id]:
                if key not in fetcher.failed:
                    del self._leader_of[key]
        return fetcher

    def unfollow(self, key: PartitionKey, *, unless: int | None = None) -> None:
        """Stop fetching it from any leader; with ``unless``, from any but that leader."""
        leader = self._leader_of.get(key)
        if leader is None or leader == unless:
            return
        del self._leader_of[key]
        fetcher = self._fetchers[leader]
        fetcher.unfollow(key)
        if not len(fetcher):
            fetcher.close()
            del self._fetchers[leader]

    def moved(self, key: PartitionKey) -> None:
        """Where the log of a partition begins is another."""
        leader = self._leader_of.get(key)
        if leader is not None:
            self._fetchers[leader].moved(key)

    def close(self) -> None:
        self._closed = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._leader_of.clear()
