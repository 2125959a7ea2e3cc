"""What a delivery report of librdkafka may be taken to prove."""

from __future__ import annotations

import threading
import time

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs the package confluent-kafka")
from confluent_kafka import KafkaError, KafkaException  # noqa: E402

from highwater_chaos.workload.drivers.confluent import producer  # noqa: E402
from highwater_chaos.workload.drivers.confluent.outcomes import describe  # noqa: E402
from highwater_chaos.workload.drivers.confluent.reporter import Reporter  # noqa: E402
from highwater_chaos.workload.producer import ProducerOptions  # noqa: E402
from highwater_runtime.ports import MS, Endpoint  # noqa: E402


class _Refusing:
    """Takes every record, and reports ``error`` of it at the next poll; or refuses to take it, ``at_once``."""

    error: KafkaError
    at_once = False

    def __init__(self, properties):
        self._reports = []

    def produce(self, *args, on_delivery, **options):
        if self.at_once:
            raise KafkaException(self.error)
        self._reports.append(on_delivery)

    def poll(self, seconds):
        for report in self._reports:
            report(self.error, None)
        self._reports.clear()

    def flush(self, seconds):
        self.poll(seconds)
        return 0


class _OnePartition:
    keys = (("orders", 0),)

    def __init__(self, client, topics):
        pass

    def stop(self):
        pass


@pytest.fixture
def outcomes(monkeypatch):
    """``outcomes(code)``: how sends ended that were refused with this error."""
    monkeypatch.setattr(producer, "Producer", _Refusing)
    monkeypatch.setattr(producer, "KnownPartitions", _OnePartition)

    def run(code, *, at_once=False):
        monkeypatch.setattr(_Refusing, "error", KafkaError(code), raising=False)
        monkeypatch.setattr(_Refusing, "at_once", at_once)
        written, finish = [], threading.Event()

        def write(operation):
            written.append(operation)
            if len(written) > 4:
                finish.set()

        options = ProducerOptions("producer-0", 0, [Endpoint("127.0.0.1", 1)], ["orders"], MS)
        producer.drive_producer(options, 1, Reporter(time.monotonic_ns, write), finish)
        return {operation.type for operation in written} - {"invoke"}

    return run


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_RECORD,
    ],
)
def test_no_error_of_the_last_attempt_says_that_no_earlier_one_was_appended(outcomes, code):
    """A record was appended, and its leader died. In a larger batch it was refused with MSG_SIZE_TOO_LARGE."""
    assert outcomes(code) == {"info"}


def test_what_librdkafka_never_had_is_definite(outcomes):
    assert outcomes(KafkaError.MSG_SIZE_TOO_LARGE, at_once=True) == {"fail"}


def test_errors_are_named_as_kafka_names_them():
    assert describe(KafkaError(KafkaError._MSG_TIMED_OUT)) == "_MSG_TIMED_OUT: Local: Message timed out"
