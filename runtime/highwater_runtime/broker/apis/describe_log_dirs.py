"""DescribeLogDirs: what this broker holds, and how many bytes each replica takes (KIP-113).

There is one log directory, and no replica moves between directories, so none is ever a future one. The size of the
file system and its free space (KIP-827) are not known here: the answer has −1.
"""

from __future__ import annotations

from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from highwater_runtime.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def handle(request: InboundRequest, replicas: ReplicaManager, log_dir: str) -> None:
    """Answer a DescribeLogDirsRequest; ``log_dir`` is the directory's path."""
    body: DescribeLogDirsRequest = request.body
    asked = None
    if body.topics is not None:
        asked = {(topic.topic, index) for topic in body.topics for index in topic.partitions}
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in replicas.partitions.values():
        if asked is None or (partition.topic, partition.index) in asked:
            topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(name=partition.topic))
            topic.partitions.append(_partition(partition))
    offline = any(not partition.log.is_online for partition in replicas.partitions.values())
    result = DescribeLogDirsResult(
        # As in Kafka, the state of a directory is one: an error of the disk under one log is the directory's.
        error_code=ErrorCode.KAFKA_STORAGE_ERROR if offline else ErrorCode.NONE,
        log_dir=log_dir,
        topics=[] if offline else list(topics.values()),
    )
    request.reply(DescribeLogDirsResponse(results=[result]))


def _partition(partition: Partition) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=partition.index,
        partition_size=partition.log.size_in_bytes,
        offset_lag=max(0, partition.high_watermark - partition.log.log_end_offset),
    )
