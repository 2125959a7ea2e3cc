"""The cluster as its controller sees it: follows the metadata log, of our nodes and of Apache Kafka's alike.

To ask brokers again and again for the metadata of 10,000 partitions would be a load of its own. The metadata log has
each change, at its time, and nothing else. It is read from the controller as a replica would read it (an observer
of KIP-595), and each answer is stamped with the time at which it came, before it is decoded.

Example: a broker is killed. ``leads(2)`` falls from 3,333 to 0 as the answers come in; ``last_leader_change`` is when
the last of them came.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar
from uuid import UUID

from highwater_lab.benchmarks.connection import Connection, LoadError
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import Endpoint
from highwater_runtime.raft.messages import METADATA_TOPIC_ID
from highwater_runtime.wire.codec import uvarint_at
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.records_codec import decode_metadata_record

T = TypeVar("T")

NO_LEADER: Final = -1
_UNCHANGED: Final = -2
_OBSERVER_ID: Final = 9999
_FETCH_VERSION: Final = 15
_OTHER_EPOCH: Final = {
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""What a controller answers that leads in another epoch than was asked for, or not yet."""
_MOST_BYTES: Final = 8 << 20
_WAIT_MS: Final = 500
_AGAIN_SECONDS: Final = 0.05
_READ: Final = {
    record.API_KEY
    for record in (
        RegisterBrokerRecord,
        TopicRecord,
        PartitionRecord,
        PartitionChangeRecord,
        RemoveTopicRecord,
        BrokerRegistrationChangeRecord,
    )
}
_UNFENCED: Final = -1


@dataclass(slots=True)
class Partition:
    """One partition's state."""

    leader: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]


@dataclass(slots=True)
class Changes:
    """How often what changed, since the view began."""

    registered: int = 0
    fenced: int = 0
    leaders: int = 0
    isr_shrunk: int = 0
    isr_grown: int = 0
    records: int = 0
    """Records of the metadata log."""

    def since(self, before: Changes) -> Changes:
        """What came after ``before``."""
        return Changes(
            self.registered - before.registered,
            self.fenced - before.fenced,
            self.leaders - before.leaders,
            self.isr_shrunk - before.isr_shrunk,
            self.isr_grown - before.isr_grown,
            self.records - before.records,
        )


@dataclass(slots=True)
class State:
    """What the log says so far; counts are kept, so that no question costs more with more partitions."""

    partitions: dict[tuple[UUID, int], Partition] = field(default_factory=dict)
    topics: dict[str, UUID] = field(default_factory=dict)
    names: dict[UUID, str] = field(default_factory=dict)
    leads: Counter[int] = field(default_factory=Counter)
    """Partitions led, by broker; those without a leader under ``NO_LEADER``."""
    missing: int = 0
    """Replicas that are not in the ISR of their partition."""
    alive: set[int] = field(default_factory=set)
    changes: Changes = field(default_factory=Changes)
    last_leader_change: float = 0.0
    """``time.monotonic()``."""

    def whole(self, partitions: int, brokers: int) -> bool:
        """So many partitions, all with a leader and every replica in sync, and so many brokers that are not fenced."""
        return (
            len(self.partitions) == partitions
            and not self.leads[NO_LEADER]
            and not self.missing
            and len(self.alive) == brokers
        )

    def apply(self, record: object, arrived: float) -> None:
        """One record of the metadata log."""
        self.changes.records += 1
        match record:
            case PartitionRecord():
                self._set(
                    (record.topic_id, record.partition_id),
                    Partition(record.leader, tuple(record.isr), tuple(record.replicas)),
                )
            case PartitionChangeRecord():
                self._change(record, arrived)
            case TopicRecord():
                self.topics[record.name] = record.topic_id
                self.names[record.topic_id] = record.name
            case RemoveTopicRecord():
                self.topics.pop(self.names.pop(record.topic_id))
                for key in [key for key in self.partitions if key[0] == record.topic_id]:
                    self._forget(self.partitions.pop(key))
            case RegisterBrokerRecord():
                self.changes.registered += 1
                self._alive(record.broker_id, alive=not record.fenced)
            case BrokerRegistrationChangeRecord() if record.fenced:
                self._alive(record.broker_id, alive=record.fenced == _UNFENCED)
            case _:
                pass

    def _alive(self, broker: int, *, alive: bool) -> None:
        if alive:
            self.alive.add(broker)
        elif broker in self.alive:
            self.alive.discard(broker)
            self.changes.fenced += 1

    def _change(self, record: PartitionChangeRecord, arrived: float) -> None:
        before = self.partitions[record.topic_id, record.partition_id]
        after = replace(before)
        if record.leader not in (_UNCHANGED, before.leader):
            after.leader = record.leader
            self.changes.leaders += 1
            self.last_leader_change = arrived
        if record.isr is not None:
            after.isr = tuple(record.isr)
            self.changes.isr_shrunk += len(after.isr) < len(before.isr)
            self.changes.isr_grown += len(after.isr) > len(before.isr)
        if record.replicas is not None:
            after.replicas = tuple(record.replicas)
        self._set((record.topic_id, record.partition_id), after)

    def _set(self, key: tuple[UUID, int], partition: Partition) -> None:
        before = self.partitions.get(key)
        if before is not None:
            self._forget(before)
        self.partitions[key] = partition
        self.leads[partition.leader] += 1
        self.missing += len(partition.replicas) - len(partition.isr)

    def _forget(self, partition: Partition) -> None:
        self.leads[partition.leader] -= 1
        self.missing -= len(partition.replicas) - len(partition.isr)


class ControllerView:
    """Follows one controller's log on a thread of its own, also over the controller's restarts."""

    def __init__(self, cluster_id: str, controller: Endpoint) -> None:
        self._cluster_id = cluster_id
        self._controller = controller
        self._state = State()
        self._changed = threading.Condition()
        self._closed = False
        self._failure: BaseException | None = None
        self._offset = 0
        self._epoch = 0
        self._leader_epoch = 0
        threading.Thread(target=self._follow, name="controller-view", daemon=True).start()

    def __enter__(self) -> ControllerView:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True  # the thread may wait for a node that is stuck; it ends with that node

    def look(self, what: Callable[[State], T]) -> T:
        """What the state says, consistently."""
        with self._changed:
            self._ensure_following()
            return what(self._state)

    def wait(self, what: Callable[[State], bool], deadline: float) -> bool:
        """Wait until it holds; False: it did not before ``deadline`` (``time.monotonic()``)."""
        with self._changed:
            while not what(self._state):
                self._ensure_following()
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 1.0))
            return True

    def changes(self) -> Changes:
        """The counts as they stand."""
        return self.look(lambda state: replace(state.changes))

    def _ensure_following(self) -> None:
        if self._failure is not None:
            raise LoadError(f"the metadata log cannot be followed: {self._failure}") from self._failure

    def _follow(self) -> None:
        while not self._closed:
            try:
                with Connection(self._controller) as connection:
                    while not self._closed:
                        self._fetch(connection)
            except (OSError, LoadError):
                time.sleep(_AGAIN_SECONDS)  # the controller is down, or not there yet
            except BaseException as failure:
                with self._changed:
                    self._failure = failure
                    self._changed.notify_all()
                return

    def _fetch(self, connection: Connection) -> None:
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=self._leader_epoch,
            fetch_offset=self._offset,
            last_fetched_epoch=self._epoch,
            log_start_offset=0,
            partition_max_bytes=_MOST_BYTES,
        )
        request = FetchRequest(
            cluster_id=self._cluster_id,
            replica_state=ReplicaState(replica_id=_OBSERVER_ID),
            max_wait_ms=_WAIT_MS,
            max_bytes=_MOST_BYTES,
            topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
        )
        answer = connection.call(request, _FETCH_VERSION)
        arrived = time.monotonic()
        if answer.error_code:
            raise LoadError(f"the controller refuses a Fetch: {ErrorCode(answer.error_code).name}")
        data = answer.responses[0].partitions[0]
        if data.error_code in _OTHER_EPOCH:
            self._leader_epoch = data.current_leader.leader_epoch
            time.sleep(_AGAIN_SECONDS)
            return
        if data.error_code:
            raise RuntimeError(f"the controller refuses to read its log: {ErrorCode(data.error_code).name}")
        if data.snapshot_id.end_offset >= 0 or data.diverging_epoch.end_offset >= 0:
            raise RuntimeError(f"the log begins behind, or parts from, offset {self._offset}: {data}")
        if not data.records:
            return
        # Decoded outside of the lock, so that nobody who looks waits for it.
        found = []
        for batch in iter_batches(data.records):
            if not batch.is_control:
                values = [one.value for one in batch.records() if one.value is not None]
                found += [decode_metadata_record(value) for value in values if _is_read(value)]
            self._offset, self._epoch = batch.end_offset, batch.leader_epoch
        with self._changed:
            for record in found:
                self._state.apply(record, arrived)
            self._changed.notify_all()


def _is_read(data: bytes) -> bool:
    _, position = uvarint_at(data, 0)
    return uvarint_at(data, position)[0] in _READ
