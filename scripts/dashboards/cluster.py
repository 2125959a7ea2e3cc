"""The cluster: brokers, partitions, clients."""

from __future__ import annotations

from typing import Final

from .model import (
    CLUSTERS,
    OF,
    POD,
    TOPIC,
    Board,
    Row,
    controller,
    lines,
    number,
    partition,
    rate,
    replicas,
)

CLUSTER: Final = Board(
    "highwater-cluster",
    "Highwater / Cluster",
    "Under-replication, controller, changes of the ISR and load, with the faults in force over them.",
    (*CLUSTERS, TOPIC),
    [
        Row(
            "Now",
            [
                number("Active controllers", "One, in health.", f"sum({controller('activecontrollercount')})"),
                number(
                    "Under-replicated",
                    "Replicas out of sync.",
                    f"sum({replicas('underreplicatedpartitions')})",
                    bad=1,
                ),
                number(
                    "Under min ISR",
                    "These refuse acks=all.",
                    f"sum({replicas('underminisrpartitioncount')})",
                    bad=1,
                ),
                number("Offline", "Without a leader.", f"max({controller('offlinepartitionscount')})", bad=1),
                number("Brokers unfenced", "", f"max({controller('activebrokercount')})"),
                number("Topics", "", f"max({controller('globaltopiccount')})"),
            ],
        ),
        Row(
            "In-sync replicas",
            [
                lines(
                    "ISR changes",
                    "Shrinks, expansions, and failures to write an ISR.",
                    (rate(replicas("isrshrinks_total")), "shrinks"),
                    (rate(replicas("isrexpands_total")), "expands"),
                    (rate(replicas("failedisrupdates_total")), "failed"),
                    unit="ops",
                ),
                lines(
                    "Under-replicated and under min ISR",
                    "By the broker that leads.",
                    (replicas("underreplicatedpartitions"), f"{POD} under-replicated"),
                    (replicas("underminisrpartitioncount"), f"{POD} under min ISR"),
                    (replicas("atminisrpartitioncount"), f"{POD} at min ISR"),
                ),
                lines(
                    "Leaders by broker",
                    "And replicas on disks that have failed.",
                    (replicas("leadercount"), f"{POD} leads"),
                    (replicas("offlinereplicacount"), f"{POD} offline"),
                ),
            ],
        ),
        Row(
            "Load",
            [
                lines(
                    "Log size",
                    "On disk, by topic and broker.",
                    (
                        f"sum by (topic, kubernetes_pod_name) ({partition('kafka_log_log_size')})",
                        f"{{{{topic}}}} {POD}",
                    ),
                    unit="bytes",
                ),
                lines(
                    "Messages in",
                    "Records appended by producers.",
                    (
                        rate(f"kafka_server_brokertopicmetrics_messagesin_total{{{OF}}}", "kubernetes_pod_name"),
                        POD,
                    ),
                    unit="ops",
                ),
                lines(
                    "Bytes in and out",
                    "Of clients, and of replication.",
                    (rate(f"kafka_server_brokertopicmetrics_bytesin_total{{{OF}}}"), "in"),
                    (rate(f"kafka_server_brokertopicmetrics_bytesout_total{{{OF}}}"), "out"),
                    (rate(f"kafka_server_brokertopicmetrics_replicationbytesin_total{{{OF}}}"), "replication in"),
                    unit="Bps",
                ),
                lines(
                    "Requests that failed",
                    "By broker.",
                    (
                        rate(f"kafka_server_brokertopicmetrics_failedproducerequests_total{{{OF}}}"),
                        "produce",
                    ),
                    (rate(f"kafka_server_brokertopicmetrics_failedfetchrequests_total{{{OF}}}"), "fetch"),
                    unit="ops",
                ),
                lines(
                    "Elections out of the ISR",
                    "Unclean leader elections: records may be lost.",
                    (
                        "sum by (strimzi_io_cluster) (increase("
                        f"kafka_controller_controllerstats_uncleanleaderelections_total{{{OF}}}[$__rate_interval]))",
                        "{{strimzi_io_cluster}}",
                    ),
                ),
            ],
        ),
    ],
)
