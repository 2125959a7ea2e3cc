"""The client's side of a fetch session (KIP-227): the partitions that it must name in its next Fetch.

Rules in words, as in Kafka's ``FetchSessionHandler``:

* The first request is a full one and names every partition. The leader answers it with a session id, or with 0 if it
  has no place for a session; then the next request is a full one again.
* Within a session a request names the partitions that are new or asked for otherwise than before, and those that are
  no longer wanted. An answer has only the partitions that have changed.
* After an error of the session, or a request without an answer, the leader's state of the session is unknown: the next
  request is full, and closes the old session by naming it.
* A partition that is asked for again goes to the end of the line, so that in full requests, too, all get their share
  of ``max_bytes``.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView
from typing import Final
from uuid import UUID

from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
"""Epoch of a full request for a new session."""
FINAL_EPOCH: Final = -1
"""Epoch of a full request that wants no session."""
_LAST_EPOCH: Final = 2**31 - 1

PartitionKey = tuple[UUID, int]
"""Topic id and partition index."""


def next_epoch(epoch: int) -> int:
    """Return the epoch of the request that follows the one of ``epoch`` in a session."""
    return 1 if epoch == _LAST_EPOCH else epoch + 1


class ClientFetchSession:
    """The partitions wanted from one leader. At most one request is under way at any time."""

    __slots__ = ("_asked", "_changed", "_epoch", "_forgotten", "_full", "_id", "_wanted")

    def __init__(self) -> None:
        self._wanted: dict[PartitionKey, tuple[str, FetchPartition]] = {}
        self._changed: dict[PartitionKey, None] = {}
        """Wanted partitions that are new to the session, or that it has with other parameters."""
        self._forgotten: dict[PartitionKey, str] = {}
        """Partitions to be forgotten by the session, with the topic's name."""
        self._asked: dict[PartitionKey, FetchPartition] = {}
        """What the last request asked for. Its response answers this, and not what is wanted since."""
        self._full: list[FetchTopic] | None = None
        """The topics of the last full request, as long as the same is wanted: a leader that is down is sent them again
        and again."""
        self._id = NO_SESSION
        self._epoch = FIRST_EPOCH

    def __len__(self) -> int:
        """How many partitions are wanted."""
        return len(self._wanted)

    @property
    def is_full(self) -> bool:
        """Return whether the request under way, or else the next one, is a full request."""
        return self._epoch == FIRST_EPOCH

    @property
    def partitions(self) -> KeysView[PartitionKey]:
        """Return the partitions that the last request asked for, in order."""
        return self._asked.keys()

    def asked(self, key: PartitionKey) -> FetchPartition | None:
        """Return the parameters with which the last request asked for a partition.

        None if it did not, or if the partition is not wanted any more.
        """
        return self._asked.get(key) if key in self._wanted else None

    def want(self, topic: str, topic_id: UUID, fetch: FetchPartition) -> None:
        """Fetch a partition with these parameters from the next request on. Do not change ``fetch`` afterwards."""
        key = (topic_id, fetch.partition)
        before = self._wanted.pop(key, None)
        self._wanted[key] = (topic, fetch)
        self._full = None
        if before is None or before[1] != fetch:
            self._changed[key] = None
            self._forgotten.pop(key, None)

    def forget(self, key: PartitionKey) -> None:
        """Stop fetching a partition from the next request on."""
        wanted = self._wanted.pop(key, None)
        if wanted is not None:
            self._full = None
            self._changed.pop(key, None)
            self._forgotten[key] = wanted[0]

    def fill(self, request: FetchRequest) -> None:
        """Fill in the next request: session, partitions, and the partitions to forget."""
        request.session_id, request.session_epoch = self._id, self._epoch
        if self.is_full:
            if self._full is None:
                self._asked.clear()
                self._full = self._ask(self._wanted)
            request.topics = self._full
        else:
            for key in self._forgotten:
                self._asked.pop(key, None)
            request.topics = self._ask(self._changed)
            forgotten: dict[UUID, ForgottenTopic] = {}
            for (topic_id, index), name in self._forgotten.items():
                if topic_id not in forgotten:
                    forgotten[topic_id] = ForgottenTopic(topic=name, topic_id=topic_id, partitions=[])
                forgotten[topic_id].partitions.append(index)
            request.forgotten_topics_data = list(forgotten.values())
        self._changed.clear()
        self._forgotten.clear()

    def _ask(self, named: Iterable[PartitionKey]) -> list[FetchTopic]:
        """Return what a request says of these partitions."""
        topics: list[FetchTopic] = []
        for key in named:
            name, fetch = self._wanted[key]
            if not topics or (topics[-1].topic_id is not key[0] and topics[-1].topic_id != key[0]):
                topics.append(FetchTopic(topic=name, topic_id=key[0], partitions=[]))
            topics[-1].partitions.append(fetch)
            self._asked[key] = fetch
        return topics

    def answered(self, error: int, session_id: int) -> None:
        """Update the session by the error code and the session id of a response."""
        if error == ErrorCode.NONE:
            self._id = session_id
            self._epoch = FIRST_EPOCH if session_id == NO_SESSION else next_epoch(self._epoch)
        else:
            if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION
            self._epoch = FIRST_EPOCH

    def failed(self) -> None:
        """Start a new session with the next request, because there was no response."""
        self._epoch = FIRST_EPOCH
