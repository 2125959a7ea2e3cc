"""What every controller, active or standby, tells the outside when records commit: trace events and metrics.

It holds the committed image. Names of the metrics are those that Kafka's JMX exporter rules give.
"""

from __future__ import annotations

from typing import Any, Final

from highwater_runtime.metadata import (
    NO_LEADER,
    BrokerChanged,
    ConfigChanged,
    FeatureChanged,
    MetadataImage,
    NothingChanged,
    PartitionChanged,
    PartitionRegistration,
    ProducerIdsChanged,
    TopicCreated,
    TopicDeleted,
)
from highwater_runtime.ports import Metrics, Trace
from highwater_runtime.ports.trace import BrokerRegistered, BrokerRegistrationChanged
from highwater_runtime.ports.trace import PartitionChanged as PartitionChangedEvent

_PREFIX: Final = "kafka_controller_kafkacontroller_"


class PublishedState:
    """The committed image, and the events and metrics that follow from each of its records."""

    def __init__(self, trace: Trace, metrics: Metrics) -> None:
        self.image = MetadataImage()
        self._trace = trace
        self._metrics = metrics
        self._partitions = 0
        self._leaderless = 0
        self._not_preferred = 0
        metrics.counter("kafka_controller_controllerstats_uncleanleaderelections_total", 0)
        self.set_active(False)
        self.publish_gauges()

    def set_active(self, active: bool) -> None:
        """Whether this controller is the active one."""
        self._metrics.gauge(_PREFIX + "activecontrollercount", float(active))

    def apply(self, record: Any, offset: int) -> None:
        """Apply one committed record and emit its events; :meth:`publish_gauges` is the caller's, once per batch."""
        match self.image.apply(record, offset):
            case BrokerChanged() as change:
                self._broker_changed(change, offset)
            case PartitionChanged() as change:
                self._count(change.before, -1)
                self._count(change.after, +1)
                reason = "created" if change.before is None else "changed"
                self._emit_partition(change.topic, change.topic_id.hex, change.partition, change.after, offset, reason)
            case TopicDeleted(topic):
                for index, partition in sorted(topic.partitions.items()):
                    self._count(partition, -1)
                    self._emit_partition(topic.name, topic.id.hex, index, partition, offset, "deleted")
            case TopicCreated() | ConfigChanged() | FeatureChanged() | ProducerIdsChanged() | NothingChanged():
                pass

    def load(self, image: MetadataImage) -> None:
        """Take up the state of a snapshot. No events: each of its records was reported by those who replayed it."""
        self.image = image
        self._partitions = self._leaderless = self._not_preferred = 0
        for _, _, partition in image.all_partitions():
            self._count(partition, +1)

    def publish_gauges(self) -> None:
        """Bring the gauges up to the image."""
        fenced = sum(broker.fenced for broker in self.image.brokers.values())
        for name, value in (
            ("activebrokercount", len(self.image.brokers) - fenced),
            ("fencedbrokercount", fenced),
            ("globalpartitioncount", self._partitions),
            ("globaltopiccount", len(self.image.topics_by_name)),
            ("lastappliedrecordoffset", self.image.offset),
            ("offlinepartitionscount", self._leaderless),
            ("preferredreplicaimbalancecount", self._not_preferred),
        ):
            self._metrics.gauge(_PREFIX + name, float(value))
        self._metrics.gauge("highwater_controller_metadata_version", float(self.image.metadata_version))

    def _count(self, partition: PartitionRegistration | None, sign: int) -> None:
        if partition is not None:
            self._partitions += sign
            self._leaderless += sign * (partition.leader == NO_LEADER)
            self._not_preferred += sign * (partition.leader != partition.replicas[0])

    def _broker_changed(self, change: BrokerChanged, offset: int) -> None:
        before, after = change.before, change.after
        if after is None:
            assert before is not None, "only a registered broker can be unregistered"
            self._emit_broker(change.broker_id, before.epoch, offset, "unregistered")
        elif before is None or before.epoch != after.epoch:
            self._trace.emit(
                BrokerRegistered(
                    broker=change.broker_id,
                    broker_epoch=after.epoch,
                    metadata_offset=offset,
                    reason=after.incarnation_id.hex,
                )
            )
        else:
            if after.in_controlled_shutdown and not before.in_controlled_shutdown:
                self._emit_broker(change.broker_id, after.epoch, offset, "controlled-shutdown")
            if after.fenced != before.fenced:
                self._emit_broker(change.broker_id, after.epoch, offset, "fenced" if after.fenced else "unfenced")

    def _emit_broker(self, broker_id: int, epoch: int, offset: int, reason: str) -> None:
        self._trace.emit(
            BrokerRegistrationChanged(broker=broker_id, broker_epoch=epoch, metadata_offset=offset, reason=reason)
        )

    def _emit_partition(
        self, topic: str, topic_id: str, index: int, partition: PartitionRegistration, offset: int, reason: str
    ) -> None:
        self._trace.emit(
            PartitionChangedEvent(
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
        )
