"""Observe the cluster through Apache Kafka's own metadata log.

Apache Kafka's nodes emit no events. But all that a cluster agrees upon (registrations, fencing, leaders, ISRs, epochs)
is in ``__cluster_metadata``, and any node may follow that log as a Raft observer: brokers do. So does this core, with
our own replica: it fetches from the leader, obeys divergence and snapshots, and hears of committed records only.

Records that say nothing of brokers and partitions are passed over, and so are kinds that are not known. One of those
that matter which cannot be read is passed over too, but with a complaint, for the view of the cluster is wrong from
there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from highwater_chaos.backends.local.apache_kafka.high_watermarks import HighWatermarks, Led, Report
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.metadata import (
    NO_LEADER,
    BrokerChanged,
    Change,
    MetadataImage,
    PartitionChanged,
    PartitionRegistration,
    TopicDeleted,
    differences,
)
from highwater_runtime.metadata.image import MetadataReplayError
from highwater_runtime.ports import ClientCore, Endpoint, Ports
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    NodeEvent,
)
from highwater_runtime.ports.trace import PartitionChanged as PartitionChangedEvent
from highwater_runtime.raft import RaftReplica
from highwater_runtime.wire.codec import DecodeError, uvarint_at
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from highwater_runtime.wire.records_codec import decode_metadata_record

OBSERVER_ID: Final = 9999
"""The observer's replica id; no node's."""

_KINDS: Final = {
    record.API_KEY: record.NAME
    for record in (
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        BrokerRegistrationChangeRecord,
        TopicRecord,
        RemoveTopicRecord,
        PartitionRecord,
        PartitionChangeRecord,
    )
}
"""The records that brokers and partitions are made of."""

_DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class ObserverOptions:
    """``voters``: where the controllers listen, by id; ``brokers``: where brokers do. ``report`` gets the events,
    ``complain`` sentences on what could not be understood. ``asks``: whether leaders are asked for high watermarks."""

    cluster_id: str
    voters: Mapping[int, Endpoint]
    brokers: Mapping[int, Endpoint]
    report: Report
    complain: Callable[[str], None]
    asks: bool = True


class MetadataObserver(ClientCore):
    """A core (``NodeCore`` and ``RaftListener``) that follows one cluster. Its disk begins empty."""

    def __init__(self, options: ObserverOptions, ports: Ports) -> None:
        config = NodeConfig.of({})
        self.image = MetadataImage()
        self._options = options
        self._ports = ports
        self._log = Log.open(ports.disk, _DIRECTORY, LogConfig.of(config), ports.clock)
        self._raft = RaftReplica(
            OBSERVER_ID, options.voters, options.cluster_id, ports, config, self._log, self, directory=_DIRECTORY
        )
        self._spokesman = min(options.voters)
        self._high_watermarks = HighWatermarks(options.brokers, self._led, options.report, ports)

    # --- NodeCore ---

    def start(self) -> None:
        """Look for the leader, and begin to ask for high watermarks."""
        self._raft.start()
        if self._options.asks:
            self._high_watermarks.start()

    def stop(self, on_stopped: Callable[[], None]) -> None:

        def stopped() -> None:
            self._log.close()
            on_stopped()

        self._raft.stop(stopped)

    # --- RaftListener ---

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:
        """Tell what a committed batch changed, all at once: it was committed as a whole."""
        del epoch, last_offset
        events: list[NodeEvent] = []
        for offset, data in enumerate(records, start=base_offset):
            record = self._read(data, offset)
            if record is None:
                continue
            try:
                change = self.image.apply(record, offset)
            except MetadataReplayError as error:
                self._options.complain(f"a record of the metadata log does not fit those before it: {error}")
                continue
            events += _events(change, offset)
        self._options.report(self._spokesman, *events)

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        """Tell how the state of a snapshot differs from what was known."""
        del epoch
        before, self.image = self.image, MetadataImage()
        for data in records:
            record = self._read(data, end_offset - 1)
            if record is not None:
                try:
                    self.image.apply_snapshot_record(record, end_offset - 1)
                except MetadataReplayError as error:
                    self._options.complain(f"a record of a metadata snapshot does not fit those before it: {error}")
        changes = differences(before, self.image)
        self._options.report(
            self._spokesman, *(event for change in changes for event in _events(change, end_offset - 1))
        )

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """From now on it is this controller's word that is reported."""
        del epoch
        if leader_id is not None:
            self._spokesman = leader_id

    # --- metadata ---

    def _read(self, data: bytes, offset: int) -> Any:
        try:
            _, position = uvarint_at(data, 0)
            key, _ = uvarint_at(data, position)
            if key not in _KINDS:
                return None
            return decode_metadata_record(data)
        except (DecodeError, IndexError) as error:
            self._options.complain(f"record {offset} of the metadata log cannot be read: {error}")
            return None

    def _led(self) -> Iterator[Led]:
        for topic, index, state in self.image.all_partitions():
            if state.leader != NO_LEADER:
                yield Led(topic.name, index, state.leader, state.leader_epoch)


def _events(change: Change, offset: int) -> Iterator[NodeEvent]:
    match change:
        case BrokerChanged():
            yield from _broker_events(change, offset)
        case PartitionChanged():
            reason = "created" if change.before is None else "changed"
            yield _partition_event(change.topic, change.topic_id.hex, change.partition, change.after, offset, reason)
        case TopicDeleted(topic):
            for index, partition in sorted(topic.partitions.items()):
                yield _partition_event(topic.name, topic.id.hex, index, partition, offset, "deleted")
        case _:
            pass  # the events of a topic are those of its partitions; nothing else is read


def _broker_events(change: BrokerChanged, offset: int) -> Iterator[NodeEvent]:
    broker, before, after = change.broker_id, change.before, change.after

    def changed(epoch: int, reason: str) -> NodeEvent:
        return BrokerRegistrationChanged(broker=broker, broker_epoch=epoch, metadata_offset=offset, reason=reason)

    if after is None:
        if before is not None:
            yield changed(before.epoch, "unregistered")
        return
    fenced_before, stopping_before = True, False
    if before is None or before.epoch != after.epoch:
        # A broker's epoch is the offset of its registration, also if the registration comes from a snapshot.
        yield BrokerRegistered(
            broker=broker, broker_epoch=after.epoch, metadata_offset=after.epoch, reason=after.incarnation_id.hex
        )
    else:
        fenced_before, stopping_before = before.fenced, before.in_controlled_shutdown
    if after.in_controlled_shutdown and not stopping_before:
        yield changed(after.epoch, "controlled-shutdown")
    if after.fenced != fenced_before:
        yield changed(after.epoch, "fenced" if after.fenced else "unfenced")


def _partition_event(
    topic: str, topic_id: str, index: int, partition: PartitionRegistration, offset: int, reason: str
) -> NodeEvent:
    return PartitionChangedEvent(
        partition=f"{topic}-{index}",
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        metadata_offset=offset,
        reason=reason,
    )
