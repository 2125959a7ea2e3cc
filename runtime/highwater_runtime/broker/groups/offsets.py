"""The committed offsets of one group: what is committed, what is being written, and what may be forgotten.

Rules in words:

* A commit counts once its record is committed in ``__consumer_offsets``; of two commits for a partition the one whose
  record is further on counts. Until then a reader sees the earlier one, or is asked to wait if it wants none that is
  about to change (``requireStable``, KIP-447).
* Offsets are kept as long as the group has use for them (KIP-211). They expire ``offsets.retention.minutes`` after

  - the group became Empty, where it had members;
  - their commit, where the group never had any (a consumer that assigns itself), or if it is Stable and no member of it
    subscribes to the topic any more.

  A commit of an old client (OffsetCommit before v5) may have brought a time to live of its own instead.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from highwater_runtime.broker.groups.states import GroupState

NO_OFFSET: Final = -1

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """Where a group is in one partition.

    ``leader_epoch`` is that of the last record consumed, −1: unknown. ``commit_ms`` and ``expire_ms`` are wall time;
    ``expire_ms`` None: as configured.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = 0
    expire_ms: int | None = None


class _Stored(NamedTuple):
    committed: CommittedOffset
    record_offset: int


@dataclass(slots=True)
class GroupOffsets:
    """Committed offsets by topic and partition, and how many commits are being written of each.

    A commit that is being written has a *ticket*. Forgetting a partition voids those that are out: their records come
    before the tombstone.
    """

    _stored: dict[TopicPartition, _Stored] = field(default_factory=dict)
    _pending: dict[TopicPartition, int] = field(default_factory=dict)
    _void: dict[TopicPartition, int] = field(default_factory=dict)
    """The last ticket that is void, where there is one out."""
    _tickets: int = 0

    def get(self, partition: TopicPartition) -> CommittedOffset | None:
        """What is committed for a partition."""
        stored = self._stored.get(partition)
        return None if stored is None else stored.committed

    def items(self) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Everything that is committed, in order of first commit."""
        return [(partition, stored.committed) for partition, stored in self._stored.items()]

    def record_offsets(self) -> list[tuple[TopicPartition, int]]:
        """For everything that is committed, where its record is in ``__consumer_offsets``."""
        return [(partition, stored.record_offset) for partition, stored in self._stored.items()]

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a commit for this partition is being written."""
        return partition in self._pending

    @property
    def in_use(self) -> bool:
        """Whether anything is committed or being so."""
        return bool(self._stored or self._pending)

    def partitions(self) -> list[TopicPartition]:
        """Every partition that something is committed for, or is about to be."""
        return list(dict.fromkeys((*self._stored, *self._pending)))

    def begin(self, partition: TopicPartition) -> int:
        """A commit is about to be appended; returns its ticket."""
        self._pending[partition] = self._pending.get(partition, 0) + 1
        self._tickets += 1
        return self._tickets

    def end(
        self, partition: TopicPartition, ticket: int, committed: CommittedOffset | None, record_offset: int
    ) -> None:
        """The commit appended at ``record_offset`` is committed, or (``None``) its outcome is not known."""
        if committed is not None and ticket > self._void.get(partition, 0):
            self.store(partition, committed, record_offset)
        left = self._pending[partition] - 1
        if left:
            self._pending[partition] = left
        else:
            del self._pending[partition]
            self._void.pop(partition, None)

    def store(self, partition: TopicPartition, committed: CommittedOffset, record_offset: int) -> None:
        """``committed`` is in the log at ``record_offset``."""
        before = self._stored.get(partition)
        if before is None or before.record_offset < record_offset:
            self._stored[partition] = _Stored(committed, record_offset)

    def forget(self, partition: TopicPartition) -> None:
        """Nothing is committed for this partition any more."""
        self._stored.pop(partition, None)
        if partition in self._pending:
            self._void[partition] = self._tickets

    def expired(
        self,
        state: GroupState,
        protocol_type: str | None,
        state_since_ms: int | None,
        subscribed: Container[str] | None,
        *,
        now_ms: int,
        retention_ms: int,
    ) -> list[TopicPartition]:
        """Partitions whose offsets may be forgotten by the rules above; none of them has a commit under way."""
        if protocol_type is None:  # no member has ever joined
            subscribed, since_ms = (), None
        elif state is GroupState.EMPTY:
            subscribed, since_ms = (), state_since_ms
        elif state is GroupState.STABLE and subscribed is not None:
            since_ms = None
        else:
            return []
        gone = []
        for partition, (committed, _) in self._stored.items():
            if partition in self._pending or partition[0] in subscribed:
                continue
            base_ms = committed.commit_ms if since_ms is None else since_ms
            expire_ms = base_ms + retention_ms if committed.expire_ms is None else committed.expire_ms
            if now_ms >= expire_ms:
                gone.append(partition)
        return gone
