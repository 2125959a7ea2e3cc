"""OffsetForLeaderEpoch v0 and v1, as followers send it: where does the epoch of my last record end at the leader?

One request is for all partitions of one leader that are TRUNCATING (KIP-101, KIP-279), by name. It does not name the
leader epoch that it is for. A follower that knows no epoch asks for -1, which no leader knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from highwater_runtime.broker.fetch_repair import is_offset
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.truncation import EpochEnd
from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def epoch_request(partitions: Sequence[Partition]) -> OffsetForLeaderEpochRequest:
    """The request for these partitions."""
    topics: dict[str, OffsetForLeaderTopic] = {}
    for partition in partitions:
        topic = topics.setdefault(partition.topic, OffsetForLeaderTopic(topic=partition.topic, partitions=[]))
        topic.partitions.append(
            OffsetForLeaderPartition(partition=partition.index, leader_epoch=partition.log.latest_epoch)
        )
    return OffsetForLeaderEpochRequest(topics=list(topics.values()))


def epoch_responses(response: Any) -> dict[tuple[str, int], EpochEnd | ErrorCode]:
    """What the leader answers, by topic name and partition index: an error, or an epoch with its end.

    The end offset is -1 if the leader knows no such epoch. An answer that no log can have is left out, and so is
    everything if no response came.
    """
    if isinstance(response, RpcFailure):
        return {}
    ends: dict[tuple[str, int], EpochEnd | ErrorCode] = {}
    for topic in response.topics:
        for answer in topic.partitions:
            at = (topic.topic, answer.partition)
            if answer.error_code != ErrorCode.NONE:
                ends[at] = error_of(answer.error_code)
            elif is_offset(answer.end_offset) or answer.end_offset == -1:
                ends[at] = EpochEnd(answer.leader_epoch, answer.end_offset)
    return ends
