"""A leader's answers to OffsetForLeaderEpoch, in the version of each protocol of the truncation ladder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from highwater_runtime.broker.apis import offset_for_leader_epoch
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from highwater_runtime.wire.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse


@pytest.fixture
def leader(bench: Any) -> Any:
    """Leads in epoch 5; its log: [0, 1] of epoch 1, [2, 4] of epoch 3, nothing of epoch 5 yet."""
    bench.become(2, epoch=3)
    for base_offset, count, epoch in ((0, 2, 1), (2, 3, 3)):
        records = build_batch([b"v"] * count, base_offset=base_offset, leader_epoch=epoch, timestamp_ms=1)
        bench.partition.append_from_leader(records, 3, 0)
    bench.become(1, epoch=5, partition_epoch=1)
    return bench


def answer(bench: Any, leader_epoch: int, version: int, current_leader_epoch: int = -1) -> tuple[int, int, int]:
    """The leader's error, epoch and end offset for ``leader_epoch``."""
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=leader_epoch, current_leader_epoch=current_leader_epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=[asked])])
    received = OffsetForLeaderEpochRequest.decode(request.encode(version), version)
    sent: list[Any] = []
    inbound = InboundRequest(received, version, "", "broker-2", sent.append)
    offset_for_leader_epoch.handle(inbound, SimpleNamespace(find_by_name=lambda *_: bench.partition))  # type: ignore[arg-type]
    response = OffsetForLeaderEpochResponse.decode(sent[0].encode(version), version)
    (topic,) = response.topics
    (end,) = topic.partitions
    assert (topic.topic, end.partition) == ("orders", 0)
    return end.error_code, end.leader_epoch, end.end_offset


def test_version_0_names_the_start_of_the_next_larger_epoch_and_no_epoch(leader):
    """KIP-101 (Kafka 1.1): also for an epoch that the leader never had."""
    ends = {epoch: answer(leader, epoch, 0) for epoch in range(-1, 7)}
    assert ends == {
        -1: (0, -1, -1),
        0: (0, -1, -1),  # older than its log
        1: (0, -1, 2),
        2: (0, -1, 2),
        3: (0, -1, 5),
        4: (0, -1, 5),
        5: (0, -1, 5),
        6: (0, -1, -1),  # newer than its log
    }


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_since_version_1_the_answer_names_the_largest_epoch_not_above(leader, version):
    """KIP-279."""
    ends = {epoch: answer(leader, epoch, version) for epoch in range(-1, 7)}
    assert ends == {
        -1: (0, -1, -1),
        0: (0, 0, 0),
        1: (0, 1, 2),
        2: (0, 1, 2),
        3: (0, 3, 5),
        4: (0, 3, 5),
        5: (0, 5, 5),
        6: (0, -1, -1),
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_only_since_version_2_the_leader_epoch_fences(leader, version):
    """KIP-320."""
    errors = [answer(leader, 3, version, current_leader_epoch=epoch)[0] for epoch in (4, 5, 6)]
    fenced = [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NONE, ErrorCode.UNKNOWN_LEADER_EPOCH]
    assert errors == (fenced if version >= 2 else [ErrorCode.NONE] * 3)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_follower_refuses_whatever_the_version(leader, version):
    leader.become(2, epoch=6, partition_epoch=2)
    assert answer(leader, 3, version) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
