"""Counters and gauges by name and labels; names are those of Kafka's JMX exporter rules where Kafka has them."""

from __future__ import annotations

from typing import Final, Protocol

SERIES_LEFT_OUT: Final = "highwater_partition_series_left_out"
"""Gauge: how many replicas have no series of their own, because they are more than ``metrics.partition.limit``."""


class Metrics(Protocol):
    """A core's metrics. Names are complete Prometheus names (counters end in ``_total``)."""

    def counter(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add ``amount`` (≥ 0; 0 makes the series exist) to a counter."""

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""

    def forget(self, name: str, **labels: str) -> None:
        """Remove one series, for example when its partition leaves this broker."""
