"""The broker's metrics: Kafka's names as its JMX exporter rules give them, present from the start.

Counters count where things happen; gauges of the replicas follow from what has changed
(:mod:`highwater_runtime.broker.replica_gauges`). The high watermark and the leader epoch have no name in Kafka, and are
``highwater_partition_…`` here.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.ports.metrics import SERIES_LEFT_OUT, Metrics

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
STRAYS: Final = "highwater_log_stray_partitions_total"

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
    STRAYS,
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
    SERIES_LEFT_OUT,
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
"""Series that each replica has of its own, with the labels ``topic`` and ``partition``."""


def initialise(metrics: Metrics) -> None:
    """Make every series of the broker as a whole exist, with 0."""
    for name in COUNTERS:
        metrics.counter(name, 0)
    for name in GAUGES:
        metrics.gauge(name, 0)
