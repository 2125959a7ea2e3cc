"""What the host itself counts: connections, bytes, requests by API, as a set of metrics made at each scrape."""

from __future__ import annotations

from highwater_runtime.host.metrics import HostMetrics
from highwater_runtime.host.net.interference import api_name
from highwater_runtime.host.net.outbound import HostNetwork
from highwater_runtime.host.net.server import Server

REQUESTS = "kafka_network_requestmetrics_requests_total"
REQUEST_SECONDS = "highwater_request_handler_seconds_total"
CONNECTIONS = "kafka_server_socketservermetrics_connection_count"
CONNECTIONS_ACCEPTED = "highwater_connections_accepted_total"
CONNECTIONS_CLOSED = "highwater_connections_closed_for_cause_total"
RECEIVED_BYTES = "highwater_network_received_bytes_total"
SENT_BYTES = "highwater_network_sent_bytes_total"
QUEUED_BYTES = "highwater_network_unanswered_request_bytes"
LONGEST_TURN = "highwater_loop_turn_seconds_max"


def host_metrics(server: Server, network: HostNetwork) -> HostMetrics:
    """The host's counters as they stand now. Bytes are labelled by ``side``: of the ``server`` or of the ``client``."""
    metrics = HostMetrics()
    for name, (count, spent_ns) in server.requests.items():
        metrics.counter(REQUESTS, count, request=api_name(name))
        metrics.counter(REQUEST_SECONDS, spent_ns / 1e9, request=api_name(name))
    metrics.gauge(CONNECTIONS, server.connections)
    metrics.counter(CONNECTIONS_ACCEPTED, server.accepted)
    metrics.counter(CONNECTIONS_CLOSED, server.refused)
    metrics.counter(RECEIVED_BYTES, server.received_bytes, side="server")
    metrics.counter(SENT_BYTES, server.sent_bytes, side="server")
    metrics.counter(RECEIVED_BYTES, network.received_bytes, side="client")
    metrics.counter(SENT_BYTES, network.sent_bytes, side="client")
    metrics.gauge(QUEUED_BYTES, server.queued_bytes)
    metrics.gauge(LONGEST_TURN, server.node.longest_turn_ns / 1e9)
    return metrics
