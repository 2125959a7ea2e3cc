"""What every controller, active or standby, reports when records commit: trace events and metrics.

It holds the committed image. Names of the metrics are those that Kafka's JMX exporter rules give.
"""

from __future__ import annotations

from typing import Any, Final

from highwater_runtime.controller.partition_counts import PartitionCounts
from highwater_runtime.metadata import (
    BrokerChanged,
    ConfigChanged,
    FeatureChanged,
    LeaderRecoveryState,
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
_UNCLEAN: Final = "kafka_controller_controllerstats_uncleanleaderelections_total"
BROKER_FENCED: Final = "highwater_controller_broker_fenced"
"""1 of a fenced broker, 0 of one that is not, by its id."""


def _is_recovering(partition: PartitionRegistration | None) -> bool:
    return partition is not None and partition.leader_recovery_state is LeaderRecoveryState.RECOVERING


class PublishedState:
    """The committed image, and the events and metrics that follow from each of its records."""

    def __init__(self, trace: Trace, metrics: Metrics, *, node_min_isr: int) -> None:
        self.image = MetadataImage()
        self._trace = trace
        self._metrics = metrics
        self._counts = PartitionCounts(node_min_isr)
        metrics.counter(_UNCLEAN, 0)
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
                self._counts.changed(self.image, change.topic, change.before, change.after)
                reason = "created" if change.before is None else "changed"
                if _is_recovering(change.after) and not _is_recovering(change.before):
                    self._metrics.counter(_UNCLEAN)
                self._emit_partition(change.topic, change.topic_id.hex, change.partition, change.after, offset, reason)
            case TopicDeleted(topic):
                self._counts.deleted(topic)
                for index, partition in sorted(topic.partitions.items()):
                    self._emit_partition(topic.name, topic.id.hex, index, partition, offset, "deleted")
            case ConfigChanged(resource, key):
                self._counts.configured(self.image, resource, key)
            case TopicCreated() | FeatureChanged() | ProducerIdsChanged() | NothingChanged():
                pass

    def load(self, image: MetadataImage) -> None:
        """Take up the state of a snapshot. No events: each of its records was reported by those who replayed it."""
        for broker_id in self.image.brokers:
            self._metrics.forget(BROKER_FENCED, broker=str(broker_id))
        self.image = image
        self._counts.load(image)
        for broker in image.brokers.values():
            self._metrics.gauge(BROKER_FENCED, float(broker.fenced), broker=str(broker.id))

    def publish_gauges(self) -> None:
        """Bring the gauges up to the image."""
        fenced = sum(broker.fenced for broker in self.image.brokers.values())
        counts = self._counts.now
        for name, value in (
            (_PREFIX + "activebrokercount", len(self.image.brokers) - fenced),
            (_PREFIX + "fencedbrokercount", fenced),
            (_PREFIX + "globalpartitioncount", counts.partitions),
            (_PREFIX + "globaltopiccount", len(self.image.topics_by_name)),
            (_PREFIX + "lastappliedrecordoffset", self.image.offset),
            (_PREFIX + "offlinepartitionscount", counts.leaderless),
            (_PREFIX + "preferredreplicaimbalancecount", counts.not_preferred),
            ("highwater_controller_under_replicated_partitions", counts.under_replicated),
            ("highwater_controller_under_min_isr_partitions", counts.under_min_isr),
            ("highwater_controller_metadata_version", self.image.metadata_version),
        ):
            self._metrics.gauge(name, float(value))

    def _broker_changed(self, change: BrokerChanged, offset: int) -> None:
        before, after = change.before, change.after
        if after is None:
            assert before is not None, "only a registered broker can be unregistered"
            self._metrics.forget(BROKER_FENCED, broker=str(change.broker_id))
            self._emit_broker(change.broker_id, before.epoch, offset, "unregistered")
            return
        self._metrics.gauge(BROKER_FENCED, float(after.fenced), broker=str(change.broker_id))
        if before is None or before.epoch != after.epoch:
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
