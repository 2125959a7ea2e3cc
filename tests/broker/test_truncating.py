"""A follower with the older protocols of truncation: TRUNCATING before FETCHING, in the messages of each release.

Every message goes through the codec in the version that it is sent in.
"""

from __future__ import annotations

from typing import Any

import pytest
from following import BACKOFF_NS, TOPIC, Follower, batch

from highwater_runtime.log.errors import LogOfflineError, UnexpectedAppendOffsetError
from highwater_runtime.ports import MS, RpcFailure
from highwater_runtime.ports.trace import LogTruncated, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.messages.list_offsets_request import ListOffsetsRequest
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from highwater_runtime.wire.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

ASKING = ("by-exact-leader-epoch", "by-leader-epoch", "as-1.1.1")


def with_two_epochs(follower: Follower) -> Follower:
    """Its log: [0, 1] of epoch 1, [2, 4] of epoch 3. It follows broker 2 in epoch 3, and knows that 2 is committed."""
    follower.follow(2, 3)
    if is_asking(follower):
        follower.epoch_end(-1)
    follower.answer(records=batch(0, 2, 1) + batch(2, 3, 3), high_watermark=2)
    assert (end(follower), follower.bench.partition.high_watermark) == (5, 2)
    return follower


def is_asking(follower: Follower) -> bool:
    return isinstance(follower.wire.sent[-1][1], OffsetForLeaderEpochRequest)


def asked_epoch(follower: Follower) -> int:
    """The epoch whose end the last request asks for."""
    assert is_asking(follower)
    return follower.asked.leader_epoch


def fetched_offset(follower: Follower) -> int:
    """The offset that the last request, a Fetch, asks for."""
    assert isinstance(follower.wire.sent[-1][1], FetchRequest)
    return follower.asked.fetch_offset


def end(follower: Follower) -> int:
    return follower.bench.log.log_end_offset


def cuts(follower: Follower) -> list[tuple[int, str]]:
    return [(e.offset, e.reason) for e in follower.bench.trace.events if isinstance(e, LogTruncated)]


def refusals(follower: Follower) -> list[str]:
    return [e.reason for e in follower.bench.trace.events if isinstance(e, TransitionTaken) and "refused" in e.reason]


@pytest.fixture(params=ASKING)
def follower(bench: Any, request: Any) -> Follower:
    """With a protocol that asks for the end of an epoch."""
    return with_two_epochs(Follower(bench, request.param))


@pytest.fixture
def exact(bench: Any) -> Follower:
    return with_two_epochs(Follower(bench, "by-exact-leader-epoch"))


# --- messages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "epoch_version", "fetch_version", "list_version"),
    [
        ("by-exact-leader-epoch", 1, 8, 3),
        ("by-leader-epoch", 0, 7, 1),
        ("to-high-watermark", None, 4, 1),
    ],
)
def test_requests_have_the_versions_of_the_release(bench, protocol, epoch_version, fetch_version, list_version):
    follower = with_two_epochs(Follower(bench, protocol))
    follower.follow(3, 4, partition_epoch=1)
    if epoch_version is not None:
        host, request, version, _ = follower.wire.sent[-1]
        assert (host, version, request.replica_id) == ("broker-3", epoch_version, -2)
        assert (request.topics[0].topic, follower.asked.partition, asked_epoch(follower)) == ("orders", 0, 3)
        follower.epoch_end(5, 3)
    host, request, version, _ = follower.wire.sent[-1]
    assert (host, version, request.replica_id, request.topics[0].topic) == ("broker-3", fetch_version, 1, "orders")
    assert (follower.asked.current_leader_epoch, follower.asked.last_fetched_epoch) == (-1, -1)
    follower.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    _, request, version, _ = follower.wire.sent[-1]
    assert (type(request), version) == (ListOffsetsRequest, list_version)
    assert (request.replica_id, follower.asked.current_leader_epoch) == (1, -1)


def test_one_request_asks_for_all_partitions_of_a_leader_and_each_gets_its_own_end(bench, make_bench):
    """Responses name topics, not ids."""
    follower = with_two_epochs(Follower(bench, "by-exact-leader-epoch"))
    other = make_bench(topic="payments")
    other.become(3, epoch=1)
    bench.become(3, epoch=4, partition_epoch=1)
    follower.fetchers.follow(other.partition, follower.endpoints[3])
    follower.fetchers.follow(bench.partition, follower.endpoints[3])
    follower.pass_time(0)
    request = follower.wire.sent[-1][1]
    assert [(t.topic, [p.leader_epoch for p in t.partitions]) for t in request.topics] == [
        ("payments", [-1]),
        ("orders", [3]),
    ]
    follower.respond(
        OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(topic=topic, partitions=[EpochEndOffset(partition=0, **fields)])
                for topic, fields in (
                    ("orders", {"leader_epoch": 3, "end_offset": 4}),
                    ("payments", {"leader_epoch": -1, "end_offset": -1}),
                    ("nobody's", {"leader_epoch": 3, "end_offset": 0}),
                )
            ]
        )
    )
    assert [(t.topic, t.partitions[0].fetch_offset) for t in follower.wire.sent[-1][1].topics] == [
        ("payments", 0),
        ("orders", 2),
    ]


def test_a_follower_on_fetch_4_has_no_session_and_takes_no_log_start(bench):
    follower = with_two_epochs(Follower(bench, "to-high-watermark"))
    request = follower.wire.sent[-1][1]
    assert (request.session_id, request.session_epoch) == (0, -1)
    assert follower.asked.fetch_offset == 5, "each request names its partitions"
    follower.answer()
    assert follower.asked.fetch_offset == 5
    assert follower.bench.log.log_start_offset == 0


# --- where it cuts --------------------------------------------------------------------------------------------------


def test_nothing_is_fetched_before_the_log_is_cut(follower):
    sent = len(follower.wire.sent)
    follower.follow(3, 4, partition_epoch=1)
    assert (len(follower.wire.sent), asked_epoch(follower), end(follower)) == (sent + 1, 3, 5)
    follower.pass_time(10 * BACKOFF_NS)
    follower.fetchers.moved(follower.bench.partition.key)
    follower.pass_time(BACKOFF_NS)
    assert len(follower.wire.sent) == sent + 1, "one request at a time"
    follower.epoch_end(2, 3)
    assert (end(follower), fetched_offset(follower)) == (2, 2)
    assert cuts(follower) == [(2, "diverging-epoch")]


def test_without_asking_the_log_is_cut_to_the_high_watermark(bench):
    follower = with_two_epochs(Follower(bench, "to-high-watermark"))
    follower.follow(3, 4, partition_epoch=1)
    assert (end(follower), fetched_offset(follower)) == (2, 2)
    assert cuts(follower) == [(2, "high-watermark")]


def test_a_leader_that_knows_no_end_leaves_the_high_watermark(follower):
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(-1)
    assert (end(follower), fetched_offset(follower)) == (2, 2)
    assert cuts(follower) == [(2, "high-watermark")]


def test_an_end_beyond_the_own_log_cuts_nothing(follower):
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(9, 3)
    assert (end(follower), fetched_offset(follower), cuts(follower)) == (5, 5, [])


def test_an_epoch_that_is_not_here_is_asked_for_again_with_an_older_one(exact):
    """KIP-279: cut to the own end of epoch 1, and ask for the end of that."""
    exact.follow(3, 4, partition_epoch=1)
    exact.epoch_end(4, 2)
    assert (end(exact), asked_epoch(exact)) == (2, 1), "at once: each round drops an epoch, so it ends"
    exact.epoch_end(1, 1)
    assert (end(exact), fetched_offset(exact)) == (0, 0), "offset 1 is within the batch [0, 1]"


def test_an_offset_alone_is_believed_whatever_its_epoch(bench):
    """KIP-101: the leader has epoch 2 up to 4, this log epoch 3 from 2 on. [2, 3] differ for good (KAFKA-6361)."""
    follower = with_two_epochs(Follower(bench, "by-leader-epoch"))
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(5, 2)
    assert (end(follower), fetched_offset(follower)) == (5, 5)


# --- changes of leader ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "leader_epochs"), [("by-exact-leader-epoch", 1), ("by-leader-epoch", 5), ("to-high-watermark", 5)]
)
def test_a_follower_that_stays_with_its_leader_goes_on(bench, protocol, leader_epochs):
    follower = with_two_epochs(Follower(bench, protocol))
    follower.follow(2, 3 + leader_epochs, partition_epoch=1)
    follower.answer(records=batch(5, 1, 3))
    assert (end(follower), fetched_offset(follower), cuts(follower)) == (6, 6, [])


def test_after_two_leader_epochs_of_its_leader_it_truncates_again(exact):
    """Kafka 2.0: the leader may have been a follower in between, and truncated."""
    exact.follow(2, 5, partition_epoch=1)
    exact.answer(records=batch(5, 1, 3))
    assert (end(exact), asked_epoch(exact)) == (5, 3), "the answer to the Fetch of before is dropped"


def test_after_two_leader_epochs_of_its_leader_the_high_watermark_stays_as_it_is(exact):
    exact.follow(2, 5, partition_epoch=1)
    exact.answer(high_watermark=5)
    assert exact.bench.partition.high_watermark == 2


def test_a_second_change_of_leader_truncates_a_second_time(follower):
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(5, 3)
    assert fetched_offset(follower) == 5
    follower.follow(2, 5, partition_epoch=2)
    assert asked_epoch(follower) == 3
    follower.epoch_end(2, 3)
    assert end(follower) == 2


def test_a_new_leader_while_truncating_is_asked_and_the_earlier_one_is_not_believed(follower):
    follower.follow(3, 4, partition_epoch=1)
    earlier = len(follower.wire.sent) - 1
    follower.follow(2, 5, partition_epoch=2)
    follower.answer(nth=earlier - 1)  # the Fetch of leader epoch 3, which is still under way there
    assert (follower.wire.sent[-1][0], asked_epoch(follower)) == ("broker-2", 3)
    follower.epoch_end(0, 3, nth=earlier)
    assert end(follower) == 5, "broker 3 leads no more"
    follower.epoch_end(2, 3)
    assert end(follower) == 2


def test_the_same_leader_in_a_later_epoch_is_asked_once_more(exact):
    exact.follow(3, 4, partition_epoch=1)
    exact.follow(3, 6, partition_epoch=2)
    sent = len(exact.wire.sent)
    exact.epoch_end(0, 3)
    assert (end(exact), len(exact.wire.sent), asked_epoch(exact)) == (5, sent + 1, 3), "it may have truncated since"
    exact.epoch_end(2, 3)
    assert end(exact) == 2


def test_a_broker_that_leads_now_cuts_nothing(follower):
    follower.follow(3, 4, partition_epoch=1)
    follower.bench.become(1, epoch=5, partition_epoch=2)
    follower.fetchers.unfollow(follower.bench.partition.key)
    follower.epoch_end(0, 3)
    assert end(follower) == 5


@pytest.mark.parametrize("protocol", ASKING)
def test_what_a_fetch_brings_after_the_log_was_cut_is_dropped(bench, protocol):
    """The Fetch of leader epoch 3 asked for offset 5. Its records do not follow on the log that was cut to 2."""
    follower = with_two_epochs(Follower(bench, protocol))
    fetch = len(follower.wire.sent) - 1
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(2, 3)
    assert end(follower) == 2
    follower.answer(nth=fetch, records=batch(5, 1, 3), high_watermark=6)
    assert (end(follower), follower.bench.partition.high_watermark) == (2, 2)
    assert not follower.fetchers.failed


def test_an_end_at_the_start_of_the_log_leaves_nothing(follower):
    """0 is an offset, and not the absence of one."""
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(0, 3)
    assert (end(follower), fetched_offset(follower)) == (0, 0)
    assert follower.bench.partition.high_watermark == 0, "it may not lie above the end of the log"


@pytest.mark.parametrize("protocol", ASKING)
def test_a_partition_that_truncates_is_in_no_fetch(bench, make_bench, protocol):
    """Not even in one that is sent for another partition of the same leader, and not if its log start moves."""
    follower = with_two_epochs(Follower(bench, protocol))
    follower.follow(3, 4, partition_epoch=1)
    other = make_bench(topic="payments")
    other.become(3, epoch=1)
    follower.epoch_end(0, 3, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    follower.fetchers.follow(other.partition, follower.endpoints[3])
    follower.fetchers.moved(follower.bench.partition.key)
    follower.pass_time(0)
    follower.epoch_end(-1, topic="payments")
    fetches = [request for _, request, _, _ in follower.wire.sent if isinstance(request, FetchRequest)]
    assert [topic.topic for topic in fetches[-1].topics] == ["payments"]


# --- errors and back-off ----------------------------------------------------------------------------------------------


def asks_again_after_the_back_off(follower: Follower) -> None:
    sent = len(follower.wire.sent)
    follower.pass_time(BACKOFF_NS - 1)
    assert (len(follower.wire.sent), end(follower)) == (sent, 5)
    follower.pass_time(1)
    assert (len(follower.wire.sent), asked_epoch(follower)) == (sent + 1, 3)
    follower.epoch_end(2, 3)
    assert (end(follower), fetched_offset(follower)) == (2, 2)


@pytest.mark.parametrize(
    ("error", "transition"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, "fetch-refused-not-leader"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "fetch-refused-other"),
        (32_000, "fetch-refused-other"),
    ],
)
def test_an_error_is_met_with_the_back_off(follower, error, transition):
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(0, 3, error_code=error)
    assert refusals(follower) == [transition]
    asks_again_after_the_back_off(follower)


@pytest.mark.parametrize("fields", [{"partition": 1}, {"end_offset": -2}, {"end_offset": 2**63 - 1}])
def test_a_response_that_tells_nothing_is_met_with_the_back_off(follower, fields):
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(**{"end_offset": 0, "epoch": 3, **fields})
    asks_again_after_the_back_off(follower)


def test_a_leader_that_does_not_answer_is_left_alone(follower):
    follower.follow(3, 4, partition_epoch=1)
    follower.wire.sent[-1][3](RpcFailure.DISCONNECTED)
    asks_again_after_the_back_off(follower)


def test_a_new_leader_ends_the_back_off(follower):
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(0, 3, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    follower.answer(nth=-2)  # the Fetch of leader epoch 3
    follower.follow(2, 5, partition_epoch=2)
    assert asked_epoch(follower) == 3


@pytest.mark.parametrize("protocol", [*ASKING, "to-high-watermark"])
def test_a_cut_that_cannot_be_yet_is_tried_again_soon(bench, protocol):
    """The recovery point has to be lowered first."""
    follower = with_two_epochs(Follower(bench, protocol))
    tries: list[int] = []

    def lowered(offset: int) -> bool:
        tries.append(offset)
        return len(tries) == 3

    bench.log.lower_recovery_point = lowered
    follower.follow(3, 4, partition_epoch=1)
    for cut in range(1, 4):
        if is_asking(follower):
            follower.epoch_end(2, 3)
        assert len(tries) == cut
        assert end(follower) == (5 if cut < 3 else 2)
        follower.pass_time(10 * MS - 1)
        assert len(tries) == cut
        follower.pass_time(1)
    assert fetched_offset(follower) == 2


@pytest.mark.parametrize("protocol", [*ASKING, "to-high-watermark"])
def test_a_cut_that_the_log_refuses_fails_the_partition(bench, protocol):
    follower = with_two_epochs(Follower(bench, protocol))
    bench.disk.set_errors("writes")
    follower.follow(3, 4, partition_epoch=1)
    if is_asking(follower):
        follower.epoch_end(2, 3)
    assert [type(e) for e in follower.fetchers.failed.values()] == [LogOfflineError]


def test_a_failed_partition_truncates_first_when_it_is_followed_again(follower):
    """KAFKA-6361, n < 20: the leader's batch begins below the follower's end."""
    follower.answer(records=batch(2, 4, 2))
    assert [type(e) for e in follower.fetchers.failed.values()] == [UnexpectedAppendOffsetError]
    follower.follow(2, 4, partition_epoch=1)
    assert asked_epoch(follower) == 3


def test_other_partitions_are_fetched_while_one_waits_to_truncate(bench, make_bench):
    follower = with_two_epochs(Follower(bench, "by-exact-leader-epoch"))
    follower.follow(3, 4, partition_epoch=1)
    follower.epoch_end(0, 3, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    other = make_bench(topic="payments")
    other.become(3, epoch=1)
    follower.fetchers.follow(other.partition, follower.endpoints[3])
    follower.pass_time(0)
    assert [t.topic for t in follower.wire.sent[-1][1].topics] == ["payments"]
    follower.epoch_end(-1, topic="payments")
    assert [t.topic for t in follower.wire.sent[-1][1].topics] == ["payments"]
    assert fetched_offset(follower) == 0
    assert other.partition.topic_id != TOPIC
