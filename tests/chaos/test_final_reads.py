"""With acks=1, final reads wait until what was acknowledged is committed: else they would not see it."""

from __future__ import annotations

import msgspec

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.engine.final_reads import Uncommitted
from highwater_runtime.ports.trace import (
    BecameLeader,
    HighWatermarkAdvanced,
    LogAppended,
    NodeEvent,
    PartitionChanged,
)

ID, NAME = "1" * 32, "orders-0"


def committed(leader: int, epoch: int) -> PartitionChanged:
    return PartitionChanged(
        partition=NAME,
        topic_id=ID,
        replicas=[0, 1],
        isr=[0, 1],
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=epoch,
        metadata_offset=epoch,
        reason="changed",
    )


def leads(epoch: int, end: int) -> BecameLeader:
    return BecameLeader(
        partition=NAME,
        topic_id=ID,
        leader_epoch=epoch,
        partition_epoch=epoch,
        offset=0,
        end_offset=end,
        isr=[0, 1],
        replicas=[0, 1],
    )


def appended(epoch: int, end: int, reason: str = "leader") -> LogAppended:
    return LogAppended(partition=NAME, leader_epoch=epoch, offset=end - 1, end_offset=end, reason=reason)


def high_watermark(offset: int) -> HighWatermarkAdvanced:
    return HighWatermarkAdvanced(partition=NAME, leader_epoch=0, offset=offset)


def left_after(*events: NodeEvent) -> list[str]:
    view = ClusterView("kraft")
    uncommitted = Uncommitted(view)
    view.followers.append(uncommitted.observe)
    for number, event in enumerate(events):
        view.observe((TimedEvent(number, number, "broker-0", 1, event),))
    return uncommitted.left()


def test_what_a_leader_has_appended_is_waited_for_until_it_is_committed() -> None:
    led = (committed(0, 1), leads(1, 5))
    assert left_after(*led, high_watermark(5)) == []
    assert left_after(*led, high_watermark(4)) == [NAME]
    assert left_after(*led, high_watermark(5), appended(1, 6)) == [NAME]
    assert left_after(*led, high_watermark(5), appended(1, 6), high_watermark(6)) == []
    assert left_after(*led, high_watermark(5), appended(1, 6, "follower")) == []


def test_what_a_topic_of_the_same_name_had_is_not_waited_for() -> None:
    former = (committed(0, 1), leads(1, 5), appended(1, 9))
    again = msgspec.structs.replace(committed(0, 1), topic_id="2" * 32, metadata_offset=9)
    assert left_after(*former, again) == []
    assert left_after(*former, again, msgspec.structs.replace(leads(1, 0), topic_id="2" * 32), appended(1, 2)) == [NAME]


def test_what_a_former_leader_has_is_not_waited_for() -> None:
    deposed = (committed(0, 1), leads(1, 5), high_watermark(5), appended(1, 7), committed(1, 2))
    assert left_after(*deposed) == []
    assert left_after(*deposed, leads(2, 5)) == []
    assert left_after(*deposed, leads(2, 6)) == [NAME]
    assert left_after(*deposed, leads(2, 5), appended(1, 8)) == []
