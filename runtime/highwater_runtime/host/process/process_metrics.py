"""The metrics of this process (memory, processor time, file descriptors), as ``prometheus_client`` collects them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest


def process_metrics() -> bytes:
    """Return them in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    return generate_latest(registry)
