"""How a broker lets the controller know that it has lost the logs of single partitions (KIP-858).

A replica whose log has failed must leave the ISR, and its leadership must go to another broker, while the broker lives
on. Kafka has a request for that: AssignReplicasToDirs with the directory id *LOST* says that the replica is in no
directory that is online. The controller takes it out of the ISR, unless it is the last member, and elects another
leader (:mod:`highwater_runtime.controller.kraft.lost_replicas`).

One request is in flight at a time; what comes up meanwhile travels in the next one. A request that fails as a whole is
repeated: the controller does nothing the second time. An error for one partition ends the matter (the topic has been
deleted, or the replica moved away).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.log.log import Log
from highwater_runtime.metadata.registrations import LOST_DIRECTORY
from highwater_runtime.ports import MS, Clock, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)

RETRY_BACKOFF_NS: Final = 500 * MS
VERSION: Final = 0


class LostLogs:
    """Reports this broker's failed logs. ``broker_epoch`` gives its present epoch."""

    def __init__(
        self, channel: ControllerChannel, clock: Clock, broker_id: int, broker_epoch: Callable[[], int]
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._waiting: dict[PartitionKey, None] = {}
        self._in_flight: dict[PartitionKey, None] = {}

    def report(self, log: Log, partition: Partition | None) -> None:
        """Let the controller know that the log of this partition is lost here, if this broker is in its ISR.

        Once more if that is on its way: an election may have come behind it that names this broker again.
        """
        del log
        if partition is None or self._broker_id not in partition.isr.committed:
            return
        self._waiting[partition.key] = None
        self._send()

    def _send(self) -> None:
        if not self._in_flight and self._waiting:
            self._in_flight, self._waiting = self._waiting, {}
            self._ask()

    def _ask(self) -> None:
        self._channel.ask(self._build, self._answered)

    def _build(self) -> tuple[AssignReplicasToDirsRequest, int]:
        topics: dict[UUID, TopicData] = {}
        for topic_id, index in self._in_flight:
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id))
            topic.partitions.append(PartitionData(partition_index=index))
        request = AssignReplicasToDirsRequest(
            broker_id=self._broker_id,
            broker_epoch=self._broker_epoch(),
            directories=[DirectoryData(id=LOST_DIRECTORY, topics=list(topics.values()))],
        )
        return request, VERSION

    def _answered(self, response: Any) -> None:
        if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
            # STALE_BROKER_EPOCH among them: this broker registers again, then repeats its request with its new epoch.
            self._clock.call_later(RETRY_BACKOFF_NS, self._ask)
            return
        self._in_flight = {}
        self._send()
