"""Single partitions. Nodes in the simulator have no series of them."""

from __future__ import annotations

from typing import Final

from .model import CLUSTERS, POD, TOPIC, Board, Row, lines, partition

PARTITIONS: Final = Board(
    "highwater-partitions",
    "Highwater / Partitions",
    "ISR, high watermark, lag and leader epoch of each partition, with the faults in force over them.",
    (*CLUSTERS, TOPIC),
    [
        Row(
            "Partitions",
            [
                lines(
                    "ISR size by partition",
                    "As the leader has it.",
                    (
                        f"max by (topic, partition) ({partition('kafka_cluster_partition_insyncreplicascount')})",
                        "{{topic}}-{{partition}}",
                    ),
                ),
                lines(
                    "High watermark",
                    "What may be read. It never goes down on a leader.",
                    (partition("highwater_partition_high_watermark"), f"{{{{topic}}}}-{{{{partition}}}} {POD}"),
                ),
                lines(
                    "Replica lag",
                    "Records between the end of the leader's log and a replica's.",
                    (
                        "max by (namespace, strimzi_io_cluster, topic, partition) ("
                        f"{partition('kafka_log_log_logendoffset')} * {partition('highwater_partition_leads')})"
                        " - on (namespace, strimzi_io_cluster, topic, partition) group_right () "
                        f"{partition('kafka_log_log_logendoffset')}",
                        f"{{{{topic}}}}-{{{{partition}}}} {POD}",
                    ),
                ),
                lines(
                    "Leader epoch",
                    "One more with every election.",
                    (partition("highwater_partition_leader_epoch"), f"{{{{topic}}}}-{{{{partition}}}} {POD}"),
                ),
            ],
        ),
    ],
)
