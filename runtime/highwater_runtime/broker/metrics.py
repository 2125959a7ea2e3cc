"""The broker's metrics: Kafka's names as its JMX exporter rules give them, present from the start.

Gauges are computed from the partitions when something has changed; counters count where things happen. Offsets move
with every record: :func:`report_positions` is for when somebody asks. The high watermark and the leader epoch have no
name in Kafka, and are ``highwater_partition_…`` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.ports import Metrics

_REPLICA_MANAGER: Final = "kafka_server_replicamanager_"
_TOPICS: Final = "kafka_server_brokertopicmetrics_"

LEADER_COUNT: Final = _REPLICA_MANAGER + "leadercount"
PARTITION_COUNT: Final = _REPLICA_MANAGER + "partitioncount"
UNDER_REPLICATED: Final = _REPLICA_MANAGER + "underreplicatedpartitions"
UNDER_MIN_ISR: Final = _REPLICA_MANAGER + "underminisrpartitioncount"
AT_MIN_ISR: Final = _REPLICA_MANAGER + "atminisrpartitioncount"
OFFLINE_REPLICAS: Final = _REPLICA_MANAGER + "offlinereplicacount"
FAILED_PARTITIONS: Final = "kafka_server_replicafetchermanager_failedpartitionscount"
ISR_SHRINKS: Final = _REPLICA_MANAGER + "isrshrinks_total"
ISR_EXPANDS: Final = _REPLICA_MANAGER + "isrexpands_total"
FAILED_ISR_UPDATES: Final = _REPLICA_MANAGER + "failedisrupdates_total"

BYTES_IN: Final = _TOPICS + "bytesin_total"
BYTES_OUT: Final = _TOPICS + "bytesout_total"
MESSAGES_IN: Final = _TOPICS + "messagesin_total"
REPLICATION_BYTES_IN: Final = _TOPICS + "replicationbytesin_total"
REPLICATION_BYTES_OUT: Final = _TOPICS + "replicationbytesout_total"
PRODUCE_REQUESTS: Final = _TOPICS + "totalproducerequests_total"
FAILED_PRODUCE_REQUESTS: Final = _TOPICS + "failedproducerequests_total"
FETCH_REQUESTS: Final = _TOPICS + "totalfetchrequests_total"
FAILED_FETCH_REQUESTS: Final = _TOPICS + "failedfetchrequests_total"

PARTITION_UNDER_MIN_ISR: Final = "kafka_cluster_partition_underminisr"
PARTITION_AT_MIN_ISR: Final = "kafka_cluster_partition_atminisr"
PARTITION_UNDER_REPLICATED: Final = "kafka_cluster_partition_underreplicated"
PARTITION_ISR: Final = "kafka_cluster_partition_insyncreplicascount"
PARTITION_REPLICAS: Final = "kafka_cluster_partition_replicascount"
LOG_SIZE: Final = "kafka_log_log_size"
LOG_START_OFFSET: Final = "kafka_log_log_logstartoffset"
LOG_END_OFFSET: Final = "kafka_log_log_logendoffset"
HIGH_WATERMARK: Final = "highwater_partition_high_watermark"
LEADER_EPOCH: Final = "highwater_partition_leader_epoch"
PARTITION_LEADS: Final = "highwater_partition_leads"

COUNTERS: Final = (
    ISR_SHRINKS,
    ISR_EXPANDS,
    FAILED_ISR_UPDATES,
    BYTES_IN,
    BYTES_OUT,
    MESSAGES_IN,
    REPLICATION_BYTES_IN,
    REPLICATION_BYTES_OUT,
    PRODUCE_REQUESTS,
    FAILED_PRODUCE_REQUESTS,
    FETCH_REQUESTS,
    FAILED_FETCH_REQUESTS,
)
GAUGES: Final = (
    LEADER_COUNT,
    PARTITION_COUNT,
    UNDER_REPLICATED,
    UNDER_MIN_ISR,
    AT_MIN_ISR,
    OFFLINE_REPLICAS,
    FAILED_PARTITIONS,
)
PARTITION_GAUGES: Final = (
    PARTITION_UNDER_MIN_ISR,
    PARTITION_AT_MIN_ISR,
    PARTITION_UNDER_REPLICATED,
    PARTITION_ISR,
    PARTITION_REPLICAS,
    LOG_SIZE,
    LOG_START_OFFSET,
    LOG_END_OFFSET,
    HIGH_WATERMARK,
    LEADER_EPOCH,
    PARTITION_LEADS,
)


def initialise(metrics: Metrics) -> None:
    """Make every series of the broker as a whole exist, with 0."""
    for name in COUNTERS:
        metrics.counter(name, 0)
    for name in GAUGES:
        metrics.gauge(name, 0)


def forget_partition(metrics: Metrics, partition: Partition) -> None:
    """Drop the series of a partition that leaves this broker."""
    for name in PARTITION_GAUGES:
        metrics.forget(name, topic=partition.topic, partition=str(partition.index))


def report(metrics: Metrics, partitions: Mapping[PartitionKey, Partition], *, failed: int) -> None:
    """Set the gauges from ``partitions``. A replica that does not lead reports its log's size and zeros.

    ``failed`` is the number of those that are fetched no more in their leader epoch.
    """
    leaders = under_replicated = under_min = at_min = offline = 0
    for p in partitions.values():
        isr, leads = len(p.isr.committed), p.is_leader
        is_under_replicated = leads and isr < len(p.replicas)
        is_under_min = leads and isr < p.min_isr
        is_at_min = leads and isr == p.min_isr
        leaders += leads
        offline += p.log.failure is not None
        under_replicated += is_under_replicated
        under_min += is_under_min
        at_min += is_at_min
        labels = {"topic": p.topic, "partition": str(p.index)}
        metrics.gauge(PARTITION_UNDER_REPLICATED, float(is_under_replicated), **labels)
        metrics.gauge(PARTITION_UNDER_MIN_ISR, float(is_under_min), **labels)
        metrics.gauge(PARTITION_AT_MIN_ISR, float(is_at_min), **labels)
        metrics.gauge(LOG_SIZE, p.log.size_in_bytes, **labels)
    counts: Iterable[tuple[str, int]] = (
        (LEADER_COUNT, leaders),
        (PARTITION_COUNT, len(partitions)),
        (UNDER_REPLICATED, under_replicated),
        (UNDER_MIN_ISR, under_min),
        (AT_MIN_ISR, at_min),
        (OFFLINE_REPLICAS, offline),
        (FAILED_PARTITIONS, failed),
    )
    for name, value in counts:
        metrics.gauge(name, value)


def report_positions(metrics: Metrics, partitions: Mapping[PartitionKey, Partition]) -> None:
    """Set the gauges of where each replica stands. One that does not lead says 0 for what only the leader knows."""
    for p in partitions.values():
        leads = p.is_leader
        labels = {"topic": p.topic, "partition": str(p.index)}
        metrics.gauge(PARTITION_LEADS, float(leads), **labels)
        metrics.gauge(PARTITION_ISR, len(p.isr.committed) if leads else 0, **labels)
        metrics.gauge(PARTITION_REPLICAS, len(p.replicas) if leads else 0, **labels)
        metrics.gauge(LEADER_EPOCH, p.leader_epoch, **labels)
        metrics.gauge(HIGH_WATERMARK, p.high_watermark, **labels)
        metrics.gauge(LOG_START_OFFSET, p.log.log_start_offset, **labels)
        metrics.gauge(LOG_END_OFFSET, p.log.log_end_offset, **labels)
