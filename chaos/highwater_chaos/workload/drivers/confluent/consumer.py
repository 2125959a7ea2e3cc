"""librdkafka's consumer over every partition from the beginning, with every poll an operation of the history.

Partitions are assigned by hand, as our own consumer does it: no group, so that a run's reads do not depend on a
coordinator. Where librdkafka says that a position is no longer there (out of range, or cut off by a truncation that it
noticed, KIP-320), the partition is read again from its beginning, and the history says so by an ``assign``.
"""

from __future__ import annotations

import threading
from typing import Final

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from highwater_chaos.records.values import content_of
from highwater_chaos.workload.consumer import ConsumerOptions
from highwater_chaos.workload.drivers.confluent.connection import KnownPartitions, common_properties
from highwater_chaos.workload.drivers.confluent.outcomes import describe
from highwater_chaos.workload.drivers.confluent.reporter import Reporter
from highwater_chaos.workload.history import MicroOp
from highwater_chaos.workload.metadata import PartitionKey, key_name
from highwater_runtime.log.records import Record

_POLL_SECONDS: Final = 1.0
_MAX_POLL_RECORDS: Final = 500
_LOOK_UP_SECONDS: Final = 2.0
_POSITION_LOST: Final = frozenset(
    {KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE}
)


def drive_consumer(options: ConsumerOptions, reporter: Reporter, finish: threading.Event) -> None:
    """Poll until ``finish``; the poll that is open then has its outcome before this returns."""
    driven = _DrivenConsumer(options, reporter)
    try:
        while not finish.is_set():
            driven.poll()
    finally:
        driven.close()


class _DrivenConsumer:
    def __init__(self, options: ConsumerOptions, reporter: Reporter) -> None:
        self._name = options.name
        self._reporter = reporter
        self._consumer = Consumer(
            {
                **common_properties(options),
                "group.id": f"highwater-{options.name}",  # the package insists; nothing is committed
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_uncommitted",
                "fetch.wait.max.ms": 500,
                "fetch.error.backoff.ms": 100,
                "check.crcs": True,
            }
        )
        self._partitions = KnownPartitions(self._consumer, options.topics)
        self._positions: dict[PartitionKey, int] = {}

    def close(self) -> None:
        self._partitions.stop()
        self._consumer.close()

    def poll(self) -> None:
        """Take up new partitions, then one poll."""
        self._assign([key for key in self._partitions.keys if key not in self._positions])
        operation = self._reporter.invoke(self._name, "poll")
        messages = [message for message in [self._consumer.poll(_POLL_SECONDS)] if message is not None]
        if messages:
            messages += self._consumer.consume(_MAX_POLL_RECORDS - 1, timeout=0)
        read: list[MicroOp] = []
        errors: list[str] = []
        lost: dict[PartitionKey, None] = {}
        for message in messages:
            self._take(message, read, errors, lost)
        if errors and not read:
            self._reporter.fail(self._name, operation, (), errors[0])
        else:
            self._reporter.ok(self._name, operation, read)
        for key in lost:
            del self._positions[key]
        if lost:
            self._consumer.incremental_unassign([TopicPartition(*key) for key in lost])

    def _take(self, message: Message, read: list[MicroOp], errors: list[str], lost: dict[PartitionKey, None]) -> None:
        topic, index, offset = message.topic(), message.partition(), message.offset()
        error = message.error()
        if error is not None:
            errors.append(describe(error))
            if error.code() in _POSITION_LOST and (topic, index) in self._positions:
                assert topic is not None
                assert index is not None
                lost[topic, index] = None
            return
        assert topic is not None
        assert index is not None
        assert offset is not None
        key = (topic, index)
        kind, time_ms = message.timestamp()
        headers = tuple(message.headers() or ())
        record = Record(offset, time_ms, message.key(), message.value(), headers)  # type: ignore[arg-type]  # no str
        value, altered = content_of(record, by_log=kind == TIMESTAMP_LOG_APPEND_TIME)
        read.append(MicroOp("poll", key_name(key), offset, value, altered=altered))
        self._positions[key] = offset + 1

    def _assign(self, keys: list[PartitionKey]) -> None:
        """Read ``keys`` from their beginning; one whose start offset is not known now is tried again at the next
        poll."""
        taken: list[TopicPartition] = []
        for key in keys:
            try:
                low, _ = self._consumer.get_watermark_offsets(TopicPartition(*key), timeout=_LOOK_UP_SECONDS)
            except KafkaException:
                continue
            self._positions[key] = low
            taken.append(TopicPartition(*key, low))
        if not taken:
            return
        put = {(place.topic, place.partition) for place in taken}
        assignment = [
            MicroOp("assign", key_name(key), offset if key in put else None, None)
            for key, offset in self._positions.items()
        ]
        operation = self._reporter.invoke(self._name, "assign", assignment)
        self._consumer.incremental_assign(taken)
        self._reporter.ok(self._name, operation, assignment)
