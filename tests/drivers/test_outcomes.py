"""What a delivery report may be taken to prove."""

from __future__ import annotations

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs the package confluent-kafka")
from confluent_kafka import KafkaError  # noqa: E402

from highwater_chaos.workload.drivers.confluent.outcomes import describe, is_definite  # noqa: E402


@pytest.mark.parametrize(
    "code", [KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.INVALID_REQUIRED_ACKS]
)
def test_a_refusal_that_depends_on_the_record_alone_is_definite(code):
    assert is_definite(KafkaError(code))


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._FATAL,
        KafkaError._DESTROY,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError.INVALID_PRODUCER_EPOCH,
    ],
)
def test_whatever_may_follow_an_attempt_that_was_appended_is_not(code):
    assert not is_definite(KafkaError(code))


def test_errors_are_named_as_kafka_names_them():
    assert describe(KafkaError(KafkaError._MSG_TIMED_OUT)) == "_MSG_TIMED_OUT: Local: Message timed out"
