"""What producers and consumers of librdkafka have in common: properties, and which partitions there are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol

from confluent_kafka import KafkaException

from highwater_chaos.workload.consumer import ConsumerOptions
from highwater_chaos.workload.metadata import PartitionKey
from highwater_chaos.workload.producer import ProducerOptions
from highwater_runtime.ports import MS

_REFRESH_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 5.0


SECURITY: Final[dict[str, str]] = {}
"""How all clients of this process meet brokers; set before the first is made."""


class _Client(Protocol):
    def list_topics(self, topic: str, timeout: float) -> Any: ...


def common_properties(options: ProducerOptions | ConsumerOptions) -> dict[str, str | int | bool]:
    """Back to work soon after a node is back: what librdkafka waits by default is made for clusters that stand."""
    timeout_ms = options.request_timeout_ns // MS
    return {
        "bootstrap.servers": ",".join(map(str, options.bootstrap)),
        "client.id": options.name,
        # The broker answers within the request's own time-out; only where it does not is the connection given up.
        "socket.timeout.ms": max(timeout_ms + 500, 1500),
        "socket.connection.setup.timeout.ms": max(timeout_ms, 1000),
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1000,
        "topic.metadata.refresh.interval.ms": 5000,
        "enable.metrics.push": False,
        **SECURITY,
    }


class KnownPartitions:
    """The partitions of the workload's topics, asked for again and again: they may become more.

    It asks in a thread of its own, since a cluster in trouble lets one wait; ``stop`` when done.
    """

    def __init__(self, client: _Client, topics: Sequence[str]) -> None:
        self.keys: tuple[PartitionKey, ...] = ()
        self._client = client
        self._topics = tuple(topics)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._refresh, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _refresh(self) -> None:
        while not self._stopped.is_set():
            found = set(self.keys)
            for topic in self._topics:
                try:
                    about = self._client.list_topics(topic, timeout=_PATIENCE_SECONDS).topics[topic]
                except KafkaException:
                    continue  # the cluster has other worries; what is known stays
                if about.error is None:
                    found |= {(topic, index) for index in about.partitions}
            self.keys = tuple(sorted(found))
            self._stopped.wait(_REFRESH_SECONDS if self.keys else 0.1)
