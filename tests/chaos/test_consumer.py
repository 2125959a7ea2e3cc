from __future__ import annotations

from uuid import UUID

import pytest

from highwater_chaos.records.values import record_of, value_of
from highwater_chaos.workload.consumer import ConsumerOptions, RecordingConsumer
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import MS, SECOND, Endpoint
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from highwater_runtime.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)


class Log:
    """What the scripted broker serves: one record a batch, value = 100 + offset."""

    def __init__(self, broker, count):
        self.broker = broker
        self.count = count
        self.start = 0
        self.fetch_errors = []  # errors to answer Fetches with first
        self.corrupt = False
        self.offset_errors = []
        self.fetches = []
        broker.handlers.update(FetchRequest=self.fetch, ListOffsetsRequest=self.list_offsets)

    def list_offsets(self, request):
        asked = request.body.topics[0].partitions[0]
        code = self.offset_errors.pop(0) if self.offset_errors else 0
        offset = -1 if code else (self.start if asked.timestamp == -2 else self.count)
        answer = ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=offset)
        request.reply(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[answer])]))

    def fetch(self, request):
        topic = request.body.topics[0]
        asked = topic.partitions[0]
        self.fetches.append(asked.fetch_offset)
        code, records = 0, b""
        if self.fetch_errors:
            code = self.fetch_errors.pop(0)
        elif asked.fetch_offset > self.count or asked.fetch_offset < self.start:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            records = b"".join(
                build_batch([record_of(100 + offset, 1)], base_offset=offset, timestamp_ms=1)
                for offset in range(asked.fetch_offset, min(self.count, asked.fetch_offset + 3))
            )
            if self.corrupt:
                records = records[:-1] + b"\xff"
        if not records and not code:
            return  # a long poll that finds nothing: no answer before the client's time-out
        data = PartitionData(partition_index=0, error_code=code, high_watermark=self.count, records=records)
        answer = FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[data])
        request.reply(FetchResponse(responses=[answer]))


@pytest.fixture
def start(scripted):
    def make(count, *, drain=False, expected=(), **script):
        log = Log(scripted.broker, count)
        for name, value in script.items():
            setattr(log, name, value)
        consumer = scripted.add(
            "consumer-0",
            lambda ports, recorder: RecordingConsumer(
                ConsumerOptions(
                    "consumer-0",
                    [Endpoint("broker-0", 9092)],
                    ["orders"],
                    drain=drain,
                    request_timeout_ns=500 * MS,
                    expected=expected,
                ),
                ports,
                recorder,
            ),
        )
        return consumer, log

    return make


def polled(scripted):
    return [
        (item.offset, item.value)
        for operation in scripted.recorder.operations
        if operation.type == "ok" and operation.f == "poll"
        for item in operation.value
    ]


def test_it_assigns_then_polls_everything_in_order(scripted, start):
    start(7)
    scripted.simulator.run_for(3 * SECOND)
    assert polled(scripted) == [(offset, 100 + offset) for offset in range(7)]
    assigns = [operation for operation in scripted.recorder.operations if operation.f == "assign"]
    assert [operation.type for operation in assigns] == ["invoke", "ok"]
    assert assigns[1].value[0].offset == 0


def test_a_poll_that_finds_nothing_is_an_empty_ok(scripted, start):
    start(0)
    scripted.simulator.run_for(5 * SECOND)
    polls = [operation for operation in scripted.recorder.operations if operation.f == "poll"]
    assert {operation.type for operation in polls} == {"invoke", "ok"}
    assert polled(scripted) == []


@pytest.mark.parametrize(
    "code",
    [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_TOPIC_ID],
)
def test_after_an_error_it_looks_for_the_leader_and_reads_on_without_gap(scripted, start, code):
    start(5, fetch_errors=[code, code])
    scripted.simulator.run_for(5 * SECOND)
    assert [offset for offset, _ in polled(scripted)] == [0, 1, 2, 3, 4]


def test_out_of_range_begins_anew_and_the_new_assignment_is_written_down(scripted, start):
    _, log = start(6)
    scripted.simulator.run_for(2 * SECOND)
    log.count = 2  # the log lost its tail
    scripted.simulator.run_for(4 * SECOND)
    assert [offset for offset, _ in polled(scripted)] == [0, 1, 2, 3, 4, 5, 0, 1]
    assigns = [o for o in scripted.recorder.operations if o.f == "assign" and o.type == "ok"]
    assert [operation.value[0].offset for operation in assigns] == [0, 0]


def test_records_before_the_position_are_not_polled_again(scripted, start):
    _, log = start(5)
    scripted.simulator.run_for(2 * SECOND)
    log.count = 8
    scripted.simulator.run_for(3 * SECOND)
    offsets = [offset for offset, _ in polled(scripted)]
    assert offsets == list(range(8))


def test_a_corrupt_batch_fails_the_poll(scripted, start):
    start(3, corrupt=True)
    scripted.simulator.run_for(2 * SECOND)
    failed = [operation for operation in scripted.recorder.operations if operation.type == "fail"]
    assert failed
    assert "CRC" in failed[0].error


def test_draining_ends_at_the_high_watermark_found_at_the_start(scripted, start):
    consumer, log = start(7, drain=True, offset_errors=[ErrorCode.OFFSET_NOT_AVAILABLE])
    assert scripted.simulator.run_for(10 * SECOND, predicate=lambda: consumer.drained)
    log.count = 50
    scripted.simulator.run_for(3 * SECOND)
    assert [offset for offset, _ in polled(scripted)] == list(range(7))
    assert consumer.remaining() == {}


def test_an_empty_partition_is_drained_at_once(scripted, start):
    consumer, _ = start(0, drain=True)
    assert scripted.simulator.run_for(10 * SECOND, predicate=lambda: consumer.drained)


def test_what_is_not_drained_is_named(scripted, start):
    consumer, _ = start(7, drain=True, fetch_errors=[ErrorCode.NOT_LEADER_OR_FOLLOWER] * 1000)
    scripted.simulator.run_for(3 * SECOND)
    assert not consumer.drained
    assert consumer.remaining() == {"orders-0": "0 of 7"}


def test_a_partition_that_no_broker_names_yet_is_not_drained(scripted, start):
    """The first metadata may lack what was written to: what is read then is not everything."""
    consumer, _ = start(7, drain=True, expected=[("orders", 0), ("orders", 1)])
    scripted.simulator.run_for(3 * SECOND)
    assert len(polled(scripted)) == 7
    assert not consumer.drained
    assert consumer.remaining() == {"orders-1": "nothing: no broker names it"}


def test_finished_means_no_poll_is_open(scripted, start):
    consumer, _ = start(0)
    scripted.simulator.run_for(SECOND // 2)
    consumer.finish()
    assert not consumer.idle
    assert scripted.simulator.run_for(5 * SECOND, predicate=lambda: consumer.idle)
    assert scripted.recorder.open_operations == 0


def test_a_value_that_nobody_can_have_sent_becomes_a_negative_number():
    assert [value_of(one) for one in (b"12", b"12   ", b"%d" % (2**63 - 1))] == [12, 12, 2**63 - 1]
    # int() would read a number from 1_2, +12 and -12, and the tables of a run cannot hold 2**63.
    strange = [value_of(one) for one in (None, b"garbage", b"1_2", b"+12", b"-12", b"12\n", b"%d" % 2**63)]
    assert all(-(2**32) <= one < 0 for one in strange)
    assert len(set(strange)) == len(strange)


def test_a_topic_without_an_id_and_its_leader_may_go_and_come_back(scripted, start):
    """The topic is deleted and its leader leaves the cluster, so that no address of it is known."""
    broker = scripted.broker
    here = broker.brokers[0]
    broker.topic_id, broker.brokers, broker.leader = UUID(int=0), {0: here, 1: here}, 1
    _, log = start(2)
    scripted.simulator.run_for(2 * SECOND)
    broker.topic_error, broker.brokers = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {0: here}
    scripted.simulator.run_for(12 * SECOND)
    broker.topic_error, broker.leader, log.count = 0, 0, 5
    scripted.simulator.run_for(5 * SECOND)
    assert polled(scripted) == [(offset, 100 + offset) for offset in range(5)]
