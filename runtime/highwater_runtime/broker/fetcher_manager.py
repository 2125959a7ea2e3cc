"""Which leader each followed partition is fetched from: one :class:`LeaderFetcher` for each leader broker."""

from __future__ import annotations

from highwater_runtime.broker.fetcher import FetchContext, LeaderFetcher
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.log.errors import LogError


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

    def follow(self, partition: Partition) -> None:
        """Fetch ``partition`` from the leader that it follows now."""
        if self._closed:
            return
        self.unfollow(partition.key, unless=partition.leader_id)
        self._leader_of[partition.key] = partition.leader_id
        fetcher = self._fetchers.get(partition.leader_id)
        if fetcher is None:
            fetcher = self._fetchers[partition.leader_id] = LeaderFetcher(partition.leader_id, self._context)
        fetcher.follow(partition)

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
        """End all loops."""
        self._closed = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._leader_of.clear()
