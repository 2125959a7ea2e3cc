"""Clients of others, outside the cluster, that write and read while it is restarted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, Producer

_EVERY_S = 0.01
_READ_ALL_S = 60.0


class OutsideClients:
    """librdkafka's producer and consumer at work on a topic; what they saw is there once they have left."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 120_000}
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "outside",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._produce, self._consume)]
        self._last_ack: float | None = None
        self.acknowledged: set[bytes] = set()
        self.read: Counter[bytes] = Counter()
        self.failed: list[str] = []
        self.longest_gap_s = 0.0
        """Between two acknowledgements."""

    def __enter__(self) -> OutsideClients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _produce(self) -> None:
        number = 0
        while not self._ended.wait(_EVERY_S):
            self._producer.produce(self._topic, b"%d" % number, on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1
        self._producer.flush(120)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        now = time.monotonic()
        self.longest_gap_s = max(self.longest_gap_s, now - (self._last_ack or now))
        self._last_ack = now
        self.acknowledged.add(message.value())

    def _consume(self) -> None:
        self._consumer.subscribe([self._topic])
        until = None
        while until is None or time.monotonic() < until:
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.read[message.value()] += 1
            if self._ended.is_set():
                until = until or time.monotonic() + _READ_ALL_S
                if not self._threads[0].is_alive() and self.acknowledged <= self.read.keys():
                    break
        self._consumer.close()
