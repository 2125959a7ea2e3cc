"""The follower's side of replication: what is asked, what is believed, who waits."""

from __future__ import annotations

from uuid import UUID

import pytest
from following import BACKOFF_NS, TOPIC, Follower, batch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highwater_runtime.broker.fetch_repair import EARLIEST, LATEST
from highwater_runtime.log.errors import EpochRegressionError, LogOfflineError, UnexpectedAppendOffsetError
from highwater_runtime.log.records import assemble_batch
from highwater_runtime.ports import Endpoint, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from highwater_runtime.wire.messages.list_offsets_request import ListOffsetsRequest
from highwater_runtime.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)


@pytest.fixture
def follower(bench) -> Follower:
    return Follower(bench)


def test_a_follower_tells_who_it_is_and_where_its_log_ends(follower):
    follower.follow(2, 4)
    host, request, version, _ = follower.wire.sent[-1]
    assert (host, version) == ("broker-2", 15)
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (1, 11)
    assert (follower.asked.fetch_offset, follower.asked.last_fetched_epoch) == (0, -1)
    assert follower.asked.current_leader_epoch == 4


def test_below_version_15_the_broker_epoch_stays_at_home(follower):
    follower.version = 14
    follower.follow(2, 4)
    request = follower.wire.sent[-1][1]
    assert request.replica_id == 1
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (-1, -1)
    request.encode(14)


def test_the_last_fetched_epoch_survives_empty_answers(follower):
    follower.follow(2, 4)
    follower.answer(records=batch(0, 2, 3))
    for _ in range(3):
        assert (follower.asked.fetch_offset, follower.asked.last_fetched_epoch) == (2, 3)
        follower.answer()
    assert len(follower.wire.sent) == 5


def test_an_answer_to_an_older_question_is_dropped(follower):
    follower.follow(2, 4)
    follower.follow(3, 5, partition_epoch=1)
    assert [sent[0] for sent in follower.wire.sent] == ["broker-2", "broker-3"]
    follower.answer(nth=0, records=batch(0, 2, 4))
    assert follower.bench.log.log_end_offset == 0
    follower.answer(records=batch(0, 1, 4))
    assert follower.bench.log.log_end_offset == 1


def test_an_answer_of_the_same_leader_in_an_older_epoch_is_dropped(follower):
    follower.follow(2, 4)
    follower.follow(2, 5, partition_epoch=1)
    assert len(follower.wire.sent) == 1, "one request at a time for a leader"
    follower.answer(records=batch(0, 2, 4))
    assert follower.bench.log.log_end_offset == 0
    assert follower.asked.current_leader_epoch == 5, "the new question goes out at once"


def test_a_diverging_epoch_cuts_and_asks_again_at_once(follower):
    follower.follow(2, 4)
    follower.answer(records=batch(0, 2, 3) + batch(2, 3, 4))
    follower.follow(3, 6, partition_epoch=1)
    assert (follower.asked.fetch_offset, follower.asked.last_fetched_epoch) == (5, 4)
    follower.answer(diverging_epoch=EpochEndOffset(epoch=3, end_offset=2))
    assert (follower.asked.fetch_offset, follower.asked.last_fetched_epoch) == (2, 3)


@pytest.mark.parametrize(
    "error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER]
)
def test_a_refusal_backs_off_until_time_or_news(follower, error):
    follower.follow(2, 4)
    follower.answer(error_code=error)
    assert len(follower.wire.sent) == 1
    follower.pass_time(BACKOFF_NS - 1)
    assert len(follower.wire.sent) == 1
    follower.pass_time(1)
    assert len(follower.wire.sent) == 2
    follower.answer(error_code=error)
    follower.follow(2, 5, partition_epoch=1)
    assert len(follower.wire.sent) == 3


def test_a_broken_connection_backs_off(follower):
    follower.follow(2, 4)
    follower.wire.sent[-1][3](RpcFailure.DISCONNECTED)
    assert len(follower.wire.sent) == 1
    follower.pass_time(BACKOFF_NS)
    assert len(follower.wire.sent) == 2


def test_a_loop_keeps_its_leaders_endpoint_and_ends_at_another_one(follower, make_bench):
    """As Kafka's AbstractFetcherManager: partitions that are not named again are fetched no more."""
    follower.version = 12  # it names topics
    other = make_bench(topic="payments")
    other.become(2, epoch=1)
    follower.fetchers.follow(other.partition, follower.endpoints[2])
    follower.follow(2, 4)
    assert [t.topic for t in follower.wire.sent[-1][1].topics] == ["payments", "orders"]
    follower.endpoints[2] = Endpoint("broker-2-moved", 9092)
    follower.pass_time(BACKOFF_NS)
    follower.answer(records=batch(0, 2, 4))
    assert [to for to, *_ in follower.wire.sent] == ["broker-2", "broker-2"]
    follower.follow(2, 5, partition_epoch=1)
    assert follower.wire.sent[-1][0] == "broker-2-moved"
    assert [t.topic for t in follower.wire.sent[-1][1].topics] == ["orders"]
    follower.answer(nth=1, records=batch(2, 2, 4))
    assert follower.bench.log.log_end_offset == 2, "what the former loop asked for comes too late"
    other.become(2, epoch=2, partition_epoch=1)
    follower.fetchers.follow(other.partition, follower.endpoints[2])
    follower.answer()
    assert [t.topic for t in follower.wire.sent[-1][1].topics] == ["orders", "payments"]


def test_a_failed_partition_stays_failed_when_its_loop_ends(follower, make_bench):
    follower.follow(2, 4)
    follower.answer(records=batch(5, 2, 4))
    failed = dict(follower.fetchers.failed)
    assert len(failed) == 1
    other = make_bench(topic="payments")
    other.become(2, epoch=1)
    follower.fetchers.follow(other.partition, Endpoint("broker-2-moved", 9092))
    assert follower.fetchers.failed == failed
    follower.follow(2, 5, partition_epoch=1)
    assert follower.fetchers.failed == {}


def test_nobody_is_asked_after_the_end(follower):
    follower.follow(2, 4)
    follower.fetchers.close()
    follower.answer(records=batch(0, 2, 4))
    follower.pass_time(10 * BACKOFF_NS)
    assert len(follower.wire.sent) == 1
    assert follower.bench.log.log_end_offset == 0


# --- what the log refuses -------------------------------------------------------------------------------------------


def corrupt(records: bytes) -> bytes:
    return records[:-1] + bytes([records[-1] ^ 1])


def test_corrupt_records_are_asked_for_again_after_the_back_off(follower):
    follower.follow(2, 4)
    follower.answer(records=corrupt(batch(0, 2, 4)))
    assert (follower.bench.log.log_end_offset, follower.failures) == (0, [])
    follower.pass_time(BACKOFF_NS - 1)
    assert len(follower.wire.sent) == 1
    follower.pass_time(1)
    follower.answer(records=batch(0, 2, 4))
    assert follower.bench.log.log_end_offset == 2


def test_an_error_that_nobody_knows_is_one_more_refusal(follower):
    follower.follow(2, 4)
    follower.answer(error_code=32_000)
    follower.pass_time(BACKOFF_NS)
    assert len(follower.wire.sent) == 2


@pytest.mark.parametrize(
    ("records", "error"),
    [(batch(7, 1, 4), UnexpectedAppendOffsetError), (batch(2, 1, 3), EpochRegressionError)],
    ids=["a gap", "an older epoch"],
)
def test_a_partition_whose_log_refuses_fails_until_the_next_leader_epoch(follower, records, error):
    follower.follow(2, 4)
    follower.answer(records=batch(0, 2, 4))
    follower.answer(records=records)
    assert [type(e) for e in follower.fetchers.failed.values()] == [error]
    sent = len(follower.wire.sent)
    follower.pass_time(10 * BACKOFF_NS)
    assert len(follower.wire.sent) == sent, "a FAILED partition is not fetched"
    follower.follow(2, 5, partition_epoch=1)
    follower.answer(records=batch(2, 1, 5))
    assert (follower.bench.log.log_end_offset, follower.failures) == (3, [1, 0])


def test_a_repair_that_the_log_refuses_fails_the_partition(follower):
    out_of_range(follower)
    follower.bench.disk.set_errors("writes")
    follower.offsets(0)
    assert [type(e) for e in follower.fetchers.failed.values()] == [LogOfflineError]
    assert follower.bench.partition.check_leader_epoch(4) is ErrorCode.KAFKA_STORAGE_ERROR


# --- out of range -------------------------------------------------------------------------------------------------


def out_of_range(follower) -> None:
    follower.follow(2, 4)
    follower.answer(records=batch(0, 5, 4))
    follower.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    request = follower.wire.sent[-1][1]
    assert isinstance(request, ListOffsetsRequest)
    asked = request.topics[0].partitions[0]
    assert (request.replica_id, asked.timestamp, asked.current_leader_epoch) == (1, LATEST, 4)


def test_a_leader_that_ends_earlier_is_followed_there(follower):
    out_of_range(follower)
    follower.offsets(0)
    follower.pass_time(0)
    assert follower.bench.log.log_end_offset == 0
    assert follower.asked.fetch_offset == 0


def test_a_leader_that_begins_later_makes_the_follower_start_over(follower):
    out_of_range(follower)
    follower.offsets(20)
    assert follower.wire.sent[-1][1].topics[0].partitions[0].timestamp == EARLIEST
    follower.offsets(9)
    follower.pass_time(0)
    log = follower.bench.log
    assert (log.log_start_offset, log.log_end_offset, follower.bench.partition.high_watermark) == (9, 9, 9)
    assert follower.asked.fetch_offset == 9


def test_an_offset_that_is_in_range_after_all_is_asked_for_again_later(follower):
    out_of_range(follower)
    follower.offsets(20)
    follower.offsets(0)
    follower.pass_time(0)
    sent = len(follower.wire.sent)
    follower.pass_time(BACKOFF_NS)
    assert len(follower.wire.sent) == sent + 1
    assert follower.asked.fetch_offset == 5


def test_a_repair_that_is_overtaken_by_a_new_leader_changes_nothing(follower):
    out_of_range(follower)
    repair = follower.wire.sent[-1]
    follower.follow(3, 5, partition_epoch=1)
    follower.wire.sent.append(repair)
    follower.offsets(0)
    assert follower.bench.log.log_end_offset == 5


def test_the_loop_waits_for_a_repair(follower):
    """A Fetch that waits for records would hold up what the repair asks on the same connection."""
    out_of_range(follower)
    sent = len(follower.wire.sent)
    follower.follow(2, 5, partition_epoch=1)
    assert len(follower.wire.sent) == sent
    follower.offsets(0)
    follower.pass_time(0)
    assert (len(follower.wire.sent), follower.asked.current_leader_epoch) == (sent + 1, 5)


# --- whatever a leader answers ----------------------------------------------------------------------------------------

EDGES = (-(2**63), -2, -1, 0, 1, 2, 3, 5, 7, 2**31 - 1, 2**62, 2**63 - 1)
int64s = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)
int32s = st.sampled_from((-(2**31), -1, 0, 1, 3, 4, 5, 2**31 - 1))
errors = st.sampled_from((0, 0, 0, 0, int(ErrorCode.OFFSET_OUT_OF_RANGE), 6, -1, 32_000))
whole_batches = st.builds(
    lambda base, delta, epoch, count, payload: assemble_batch(
        payload, record_count=count, attributes=0, base_offset=base, last_offset=base + delta, leader_epoch=epoch,
        base_timestamp=0, max_timestamp=0,
    ),
    int64s, st.sampled_from((-1, 0, 1, 2, 5, 2**31 - 1)), int32s, int32s, st.binary(max_size=12),
)  # fmt: skip
partitions = st.builds(
    PartitionData,
    partition_index=st.sampled_from((0, 0, 0, 1, -1)),
    error_code=errors,
    high_watermark=int64s,
    log_start_offset=int64s,
    diverging_epoch=st.builds(
        EpochEndOffset, epoch=st.sampled_from((-1, -1, 0, 3, 4, -5, 2**31 - 1)), end_offset=int64s
    ),
    records=st.none()
    | st.binary(max_size=80)
    | whole_batches
    | st.lists(st.integers(0, 8).map(lambda base: batch(base, 2, 4)), max_size=3).map(b"".join),
)
fetched = st.builds(
    FetchResponse,
    error_code=st.sampled_from((0, 0, 0, 0, -1, 70)),
    session_id=int32s,
    responses=st.lists(
        st.builds(
            FetchableTopicResponse,
            topic_id=st.sampled_from((TOPIC, TOPIC, TOPIC, UUID(int=0))),
            partitions=st.lists(partitions, max_size=2),
        ),
        max_size=2,
    ),
)
offsets_listed = st.builds(
    ListOffsetsResponse,
    topics=st.lists(
        st.builds(
            ListOffsetsTopicResponse,
            name=st.sampled_from(("orders", "orders", "orders", "other")),
            partitions=st.lists(
                st.builds(
                    ListOffsetsPartitionResponse,
                    partition_index=st.sampled_from((0, 0, 0, 1)),
                    error_code=errors,
                    offset=int64s,
                    leader_epoch=int32s,
                ),
                max_size=2,
            ),
        ),
        max_size=2,
    ),
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(fetched, offsets_listed), min_size=1, max_size=8))
def test_no_answer_of_a_leader_ends_a_follower(make_bench, answers):
    """A malformed answer concerns one partition: asked again after the back-off, or FAILED until the next epoch."""
    follower = Follower(make_bench())
    follower.follow(2, 4)
    follower.answer(records=batch(0, 2, 4))
    for fetch, offsets in answers:
        if follower.fetchers.failed:
            break
        sent = len(follower.wire.sent)
        _, request, _, answered = follower.wire.sent[-1]
        answered(offsets if isinstance(request, ListOffsetsRequest) else fetch)
        follower.pass_time(BACKOFF_NS)
        partition, log = follower.bench.partition, follower.bench.log
        assert 0 <= log.log_start_offset <= partition.high_watermark <= log.log_end_offset < 2**63
        assert len(follower.wire.sent) == sent + 1 or follower.fetchers.failed
        follower.wire.sent[-1][1].encode(follower.wire.sent[-1][2])
    follower.follow(2, 5, partition_epoch=1)
    assert not follower.fetchers.failed
