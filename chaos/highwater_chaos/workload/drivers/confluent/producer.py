"""librdkafka's producer, at a rate, with every record an operation of the history.

A record's partition is drawn here and not by librdkafka, so that the operation can name it before it begins. Batching,
retries, sequence numbers and the bumping of producer epochs are librdkafka's own. Where it declares an idempotent
producer dead (a fatal error), what it still had gets its outcome and a new producer goes on.
"""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from random import Random
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from highwater_chaos.records.values import record_of
from highwater_chaos.workload.drivers.confluent.connection import KnownPartitions, common_properties
from highwater_chaos.workload.drivers.confluent.outcomes import describe
from highwater_chaos.workload.drivers.confluent.reporter import Reporter
from highwater_chaos.workload.history import MicroOp
from highwater_chaos.workload.metadata import PartitionKey, key_name
from highwater_chaos.workload.producer import VALUES_PER_PRODUCER, ProducerOptions
from highwater_runtime.ports import MS, SECOND

_POLL_SECONDS: Final = 0.05
_FULL_POLL_SECONDS: Final = 0.01
"""If no send may begin, sends that fall due are counted so often, and not each at its time: that took two cores of a
machine from brokers that were late. A delivery ends the poll at once."""
_MAX_BURST: Final = 100
"""Sends that are due together, between two looks at what was delivered."""


def drive_producer(options: ProducerOptions, seed: int, reporter: Reporter, finish: threading.Event) -> None:
    """Send at the rate of ``options`` until ``finish``, then return once every record has its outcome."""
    driven = _DrivenProducer(options, seed, reporter)
    try:
        driven.run(finish)
    finally:
        driven.close()


class _DrivenProducer:
    def __init__(self, options: ProducerOptions, seed: int, reporter: Reporter) -> None:
        self._options = options
        self._reporter = reporter
        self._random = Random(f"{seed}/{options.name}")
        self._next_value = options.index * VALUES_PER_PRODUCER + 1
        self._open = 0
        self._connect()

    def _connect(self) -> None:
        options = self._options
        ack_ns = options.request_timeout_ns if options.ack_timeout_ns is None else options.ack_timeout_ns
        self._dead = False
        self._producer = Producer(
            {
                **common_properties(options),
                "acks": options.acks,
                "enable.idempotence": options.idempotence,
                "request.timeout.ms": ack_ns // MS,  # librdkafka's name of what the broker may wait
                "message.timeout.ms": options.delivery_timeout_ns // MS,
                "error_cb": self._on_error,
            }
        )
        self._partitions = KnownPartitions(self._producer, options.topics)

    def _on_error(self, error: KafkaError) -> None:
        # Everything else (a broker that went away, all of them down) librdkafka mends by itself.
        self._dead = self._dead or error.fatal() or error.code() == KafkaError._FATAL

    def run(self, finish: threading.Event) -> None:
        due = time.monotonic()
        while not finish.is_set():
            if self._dead:
                self.close()
                self._connect()
            # librdkafka counts in milliseconds, and less than one is none: it would be asked again and again.
            wait = math.ceil(1000 * (due - time.monotonic())) / 1000
            least = _FULL_POLL_SECONDS if self._is_full else 0
            self._producer.poll(min(max(wait, least), _POLL_SECONDS))
            for _ in range(_MAX_BURST):
                if time.monotonic() < due:
                    break
                due += self._options.interval_ns * self._random.uniform(0.5, 1.5) / SECOND
                # Where it cannot keep up, sends are left out and not made up for: the rate is a wish, not a debt.
                due = max(due, time.monotonic() - 1)
                if self._partitions.keys and self._is_full:
                    self._reporter.hold_back()
                elif self._partitions.keys:
                    self._send(self._partitions.keys[self._random.randrange(len(self._partitions.keys))])

    @property
    def _is_full(self) -> bool:
        return self._open >= self._options.max_open

    def close(self) -> None:
        """Wait until every record has its outcome: ``message.timeout.ms`` bounds it."""
        self._partitions.stop()
        while self._producer.flush(1.0) or self._open:
            pass

    def _send(self, key: PartitionKey) -> None:
        value, self._next_value = self._next_value, self._next_value + 1
        operation = self._reporter.invoke(self._options.name, "send", (MicroOp("send", key_name(key), None, value),))
        self._open += 1
        topic, index = key
        options = self._options
        record = record_of(
            value,
            time.time_ns() // MS,
            keys=options.keys,
            tombstones=options.tombstones,
            dated=options.dated.get(topic, "CreateTime"),
        )
        try:
            self._producer.produce(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                timestamp=record.timestamp,
                partition=index,
                on_delivery=partial(self._delivered, operation, key, value),
            )
        except BufferError as error:
            self._refused(operation, key, value, f"_QUEUE_FULL: {error}")
        except KafkaException as error:
            self._refused(operation, key, value, describe(error.args[0]))

    def _refused(self, operation: int, key: PartitionKey, value: int, error: str) -> None:
        """``produce`` did not take it, so librdkafka never had it."""
        self._open -= 1
        self._reporter.fail(self._options.name, operation, (MicroOp("send", key_name(key), None, value),), error)

    def _delivered(
        self, operation: int, key: PartitionKey, value: int, error: KafkaError | None, message: Message
    ) -> None:
        self._open -= 1
        sent = MicroOp("send", key_name(key), None, value)
        if error is not None:
            self._reporter.info(self._options.name, operation, (sent,), describe(error))
        elif self._options.acks == 0:
            self._reporter.info(
                self._options.name, operation, (sent,), "acks=0: no response says whether it was written"
            )
        else:
            offset = message.offset()
            # A broker that recognised a repetition need not remember where the record stands.
            known = offset if offset is not None and offset >= 0 else None
            self._reporter.ok(self._options.name, operation, (MicroOp("send", key_name(key), known, value),))
