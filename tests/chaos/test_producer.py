"""What a producer may claim: the line between ok, fail and info, and the rules of idempotence."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.workload.clients import largest_batch
from highwater_chaos.workload.producer import BATCH_BYTES, ProducerOptions, RecordingProducer
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import MS, SECOND, Endpoint
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.produce_request import ProduceRequest


def attempt(request):
    """(base sequence, producer epoch, value) of the one record in a Produce request."""
    data = request.body.topic_data[0].partition_data[0].records
    (batch,) = iter_batches(data)
    (record,) = batch.records()
    return batch.base_sequence, batch.producer_epoch, int(record.value)


@pytest.fixture
def start(scripted):
    def make(*, stop_after=1, **options):
        """A producer that makes ``stop_after`` sends, 100 ms apart or so."""
        settings = {
            "interval_ns": 100 * MS,
            "request_timeout_ns": 500 * MS,
            "delivery_timeout_ns": 3 * SECOND,
            **options,
        }
        producer = scripted.add(
            "producer-0",
            lambda ports, recorder: RecordingProducer(
                ProducerOptions("producer-0", 0, [Endpoint("broker-0", 9092)], ["orders"], **settings), ports, recorder
            ),
        )
        recorder = scripted.recorder
        scripted.simulator.run_for(
            60 * SECOND,
            predicate=lambda: sum(operation.type == "invoke" for operation in recorder.operations) >= stop_after,
        )
        producer.finish()
        return producer

    return make


@pytest.fixture
def outcomes(scripted):
    def wait(producer):
        assert scripted.simulator.run_for(30 * SECOND, predicate=lambda: producer.idle)
        return [
            (operation.type, operation.error)
            for operation in scripted.recorder.operations
            if operation.type != "invoke"
        ]

    return wait


def answers(scripted, *script):
    """Let the broker answer each attempt by the next item of the script, the last one for ever."""
    attempts = []

    def produce(request):
        attempts.append(attempt(request))
        return script[min(len(attempts), len(script)) - 1]

    scripted.broker.produce = produce
    return attempts


def test_an_acknowledged_send_is_ok_at_its_offset(scripted, start, outcomes):
    answers(scripted, (ErrorCode.NONE, 41))
    assert outcomes(start()) == [("ok", None)]
    assert scripted.recorder.operations[-1].value[0].offset == 41
    assert scripted.recorder.acknowledged == 1


def test_a_retry_repeats_the_same_value_under_the_same_sequence(scripted, start, outcomes):
    attempts = answers(scripted, None, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE)
    assert outcomes(start()) == [("ok", None)]
    assert len(attempts) == 3
    assert len(set(attempts)) == 1


def test_refused_before_the_append_every_time_is_fail(scripted, start, outcomes):
    answers(scripted, ErrorCode.NOT_ENOUGH_REPLICAS)
    assert outcomes(start()) == [("fail", "delivery timeout")]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_one_attempt_that_may_have_been_appended_makes_it_info(scripted, start, outcomes, answer):
    answers(scripted, answer, ErrorCode.NOT_ENOUGH_REPLICAS)
    assert outcomes(start())[0][0] == "info"


def test_a_broken_connection_leaves_the_outcome_open(scripted, start, outcomes):
    attempts = answers(scripted, None)
    producer = start(request_timeout_ns=2 * SECOND, delivery_timeout_ns=SECOND)
    scripted.simulator.run_for(SECOND, predicate=lambda: bool(attempts))
    scripted.simulator.kill("broker-0")
    assert outcomes(producer)[0][0] == "info"


def test_never_sent_is_fail(scripted, start, outcomes):
    scripted.broker.leader = -1
    attempts = answers(scripted, ErrorCode.NONE)
    producer = start()
    assert outcomes(producer) == [("fail", "delivery timeout, never sent")]
    assert attempts == []


@pytest.mark.parametrize("code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD])
def test_an_error_that_no_attempt_can_mend_fails_at_once(scripted, start, outcomes, code):
    attempts = answers(scripted, code)
    assert outcomes(start()) == [("fail", code.name)]
    assert len(attempts) == 1


def test_a_duplicate_is_an_acknowledgement_without_offset(scripted, start, outcomes):
    answers(scripted, None, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    assert outcomes(start()) == [("ok", None)]
    assert scripted.recorder.operations[-1].value[0].offset is None


def test_acks_0_acknowledges_nothing(scripted, start, outcomes):
    attempts = answers(scripted, ErrorCode.NONE)
    assert outcomes(start(acks=0, idempotence=False))[0][0] == "info"
    assert scripted.recorder.acknowledged == 0
    scripted.simulator.run_for(SECOND, predicate=lambda: bool(attempts))
    assert attempts[0][0] == -1, "without idempotence there is no sequence"


def test_sequences_count_up_without_gaps_and_at_most_five_are_in_flight(scripted, start, outcomes):
    waiting = []
    most = [0]

    def produce(request):
        waiting.append(request)
        most[0] = max(most[0], len(waiting))

    scripted.broker.produce = produce
    producer = start(stop_after=8, interval_ns=10 * MS, request_timeout_ns=10 * SECOND)
    scripted.simulator.run_for(SECOND)
    assert [attempt(request)[0] for request in waiting] == [0, 1, 2, 3, 4]
    assert most == [5]
    scripted.broker.produce = lambda _: 0
    for request in waiting:
        sequence, _, _ = attempt(request)
        scripted.broker.produce = lambda _, sequence=sequence: (0, sequence)
        scripted.broker.on_request(request)
    assert [kind for kind, _ in outcomes(producer)] == ["ok"] * 8


def batch_of(request):
    """(base sequence, values) of the batch in a Produce request."""
    (batch,) = iter_batches(request.body.topic_data[0].partition_data[0].records)
    return batch.base_sequence, [int(record.value) for record in batch.records()]


def test_what_waits_for_the_same_partition_goes_in_one_batch(scripted, start, outcomes):
    held, seen = [], []
    scripted.broker.produce = held.append
    producer = start(stop_after=9, interval_ns=10 * MS, request_timeout_ns=10 * SECOND, batch_bytes=4 * 70 + 61)
    scripted.simulator.run_for(SECOND)
    assert [batch_of(request)[0] for request in held] == [0, 1, 2, 3, 4], "nothing waits until five are in flight"

    def produce(request):
        sequence, values = batch_of(request)
        seen.append((sequence, len(values)))
        return 0, sequence

    scripted.broker.produce = produce
    for request in held:
        scripted.broker.on_request(request)
    assert [kind for kind, _ in outcomes(producer)] == ["ok"] * 9
    assert seen[5:] == [(5, 4)]
    done = [operation.value[0] for operation in scripted.recorder.operations if operation.type == "ok"]
    assert [(one.value, one.offset) for one in done] == [(value, value - 1) for value in range(1, 10)]


@pytest.mark.parametrize("last", [0, ErrorCode.MESSAGE_TOO_LARGE])
def test_a_batch_is_repeated_as_it_was_and_shares_one_outcome(scripted, start, outcomes, last):
    held, seen, loop = [], [], scripted.simulator.loop
    scripted.broker.produce = held.append
    producer = start(stop_after=7, interval_ns=10 * MS, request_timeout_ns=10 * SECOND, batch_bytes=1000)

    def produce(request):
        sequence, values = batch_of(request)
        if sequence < 5:
            return 0, sequence
        seen.append((sequence, values))
        if len(seen) == 1:
            loop.call_at(loop.now + 20 * MS, lambda: producer._begin(("orders", 0)))  # while the repetition waits
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return last if last and sequence == 5 else (0, sequence)

    scripted.broker.produce = produce
    for request in held:
        scripted.broker.on_request(request)
    kinds = [kind for kind, _ in outcomes(producer)]
    assert seen[:2] == [(5, [6, 7])] * 2, "a broker recognises a repetition by its records"
    assert kinds == ["ok"] * 5 + ["fail" if last else "ok"] * 2 + ["ok"]
    assert seen[2:] == ([] if last else [(7, [8])]), "a batch that is given up ends its producer epoch"


def test_after_a_failure_batches_are_repeated_in_order(scripted, start, outcomes):
    seen = []

    def produce(request):
        found = attempt(request)
        seen.append(found[0])
        # The broker accepts only what comes next, and its first answer to 0 is a refusal.
        if found[0] == 0 and seen.count(0) == 1:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        expected = len(accepted)
        if found[0] != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        accepted.append(found)
        return (ErrorCode.NONE, expected)

    accepted = []
    scripted.broker.produce = produce
    producer = start(stop_after=6, interval_ns=5 * MS)
    assert [kind for kind, _ in outcomes(producer)] == ["ok"] * 6
    assert [found[0] for found in accepted] == [0, 1, 2, 3, 4, 5]
    values = [found[2] for found in accepted]
    assert values == sorted(values), "order of sends is kept"


def test_a_send_given_up_leaves_a_gap_that_only_a_new_epoch_closes(scripted, start, outcomes):
    lost = []

    def produce(request):
        sequence, epoch, value = attempt(request)
        if not lost or value == lost[0]:
            lost[:] = [value]
            return None
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if epoch == 0 else (ErrorCode.NONE, sequence)

    scripted.broker.produce = produce
    producer = start(stop_after=3, request_timeout_ns=300 * MS, delivery_timeout_ns=SECOND, interval_ns=800 * MS)
    found = outcomes(producer)
    assert found[0][0] == "info"
    assert [kind for kind, _ in found[1:]] == ["ok", "ok"]


def test_a_broker_that_forgot_what_it_had_acknowledged_fails_the_next_send(scripted, start, outcomes):
    script = iter([(ErrorCode.NONE, 0), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, (ErrorCode.NONE, 0)])
    attempts = []

    def produce(request):
        attempts.append(attempt(request))
        return next(script)

    scripted.broker.produce = produce
    producer = start(stop_after=3)
    assert [kind for kind, _ in outcomes(producer)] == ["ok", "fail", "ok"]
    assert [(sequence, epoch) for sequence, epoch, _ in attempts] == [(0, 0), (1, 0), (0, 1)]


def test_values_are_unique_over_producers(scripted):
    made = [
        scripted.add(
            f"producer-{index}",
            lambda ports, recorder, index=index: RecordingProducer(
                ProducerOptions(
                    f"producer-{index}", index, [Endpoint("broker-0", 9092)], ["orders"], interval_ns=20 * MS
                ),
                ports,
                recorder,
            ),
        )
        for index in range(2)
    ]
    scripted.simulator.run_for(2 * SECOND)
    assert made[0] is not made[1]
    sent = [operation.value[0].value for operation in scripted.recorder.operations if operation.type == "invoke"]
    assert len(sent) > 50
    assert len(set(sent)) == len(sent)
    assert min(sent) > 0


def test_it_keeps_its_rate_and_waits_when_too_much_is_open(scripted, start):
    scripted.broker.produce = lambda _: None
    producer = start(stop_after=1000, interval_ns=MS, max_open=20, delivery_timeout_ns=600 * SECOND)
    assert producer.open_sends == 20


def test_what_travels_is_a_produce_request_that_encodes(scripted, start, outcomes):
    bodies = []

    def produce(request):
        bodies.append(ProduceRequest.decode(request.body.encode(request.version), request.version))
        return 0

    scripted.broker.produce = produce
    outcomes(start())
    assert bodies[0].acks == -1


def test_a_batch_fits_the_smallest_segment_and_the_smallest_limit_of_the_experiment():
    text = (Path(__file__).parents[1] / "tiny-experiment.yaml").read_text()
    cluster = parse_experiment(text, "tiny").cluster
    assert largest_batch(cluster) == BATCH_BYTES
    small = cluster.model_copy(update={"config": {**cluster.config, "log.segment.bytes": 1000}})
    assert largest_batch(small) == 1000
    topic = cluster.topics[0].model_copy(update={"config": {"max.message.bytes": "700"}})
    assert largest_batch(small.model_copy(update={"topics": [topic]})) == 700
