"""How often librdkafka's producer is asked for deliveries."""

from __future__ import annotations

import threading
import time

import pytest

pytest.importorskip("confluent_kafka", reason="needs the package confluent-kafka")

from highwater_chaos.workload.drivers.confluent import producer
from highwater_chaos.workload.drivers.confluent.reporter import Reporter
from highwater_chaos.workload.producer import ProducerOptions
from highwater_runtime.ports import MS, Endpoint


class _NeverDelivers:
    """Takes every record, and no broker ever responds."""

    polls = 0

    def __init__(self, properties):
        pass

    def poll(self, seconds):
        _NeverDelivers.polls += 1
        time.sleep(seconds)

    def produce(self, *args, **options):
        pass


class _OnePartition:
    keys = (("orders", 0),)

    def __init__(self, client, topics):
        pass


def test_a_full_producer_does_not_ask_at_every_send_that_falls_due(monkeypatch):
    monkeypatch.setattr(producer, "Producer", _NeverDelivers)
    monkeypatch.setattr(producer, "KnownPartitions", _OnePartition)
    finish = threading.Event()
    written = []
    reporter = Reporter(time.monotonic_ns, written.append)
    options = ProducerOptions("producer-0", 0, [Endpoint("127.0.0.1", 1)], ["orders"], MS // 2, max_open=5)
    driven = producer._DrivenProducer(options, 1, reporter)

    def hold_back():
        Reporter.hold_back(reporter)
        if reporter.held_back == 1000:
            finish.set()

    monkeypatch.setattr(reporter, "hold_back", hold_back)
    driven.run(finish)
    assert len(written) == 5
    assert reporter.held_back >= 1000
    assert _NeverDelivers.polls < 200
